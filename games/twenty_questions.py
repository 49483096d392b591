"""Twenty questions about a word, whose answers are known to be true or false."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._words import PROPERTIES, WORDS, has

ASKER, ANSWERER = "asker_0", "answerer_0"
ANSWERS = YES, NO = "yes", "no"
GUESS = "guess: "
# Questions until the word is found, the right guess included: the mean of `bot:halving` over the 40 words.
HALVING = 6.25


def halving(game: TwentyQuestions, seat: str) -> Mapping[str, float]:
    """A bot that asks what is true of half of the words left, and guesses when two are; as answerer it is honest."""
    if seat == ANSWERER:
        return game.oracle(seat)
    left = [word for word in game.words if game.fits(word)] or [word for word in game.words if word not in game.missed]
    if len(left) <= 2:
        return {f"{GUESS}{left[0]}": 1.0}

    def unevenness(name: str) -> int:
        return abs(len(left) - 2 * sum(has(word, name) for word in left))

    unasked = [name for name in PROPERTIES if name not in game.answered]
    return {f"{min(unasked, key=unevenness)}?": 1.0}


class TwentyQuestions(Game):
    """The asker finds a secret word: it asks for properties, as in `animal?`, or guesses, as in `guess: horse`.

    The answerer says yes or no, which a table judges: it earns 1/`limit` for each true answer and pays as much for a
    false one, which the asker doesn't learn. The asker earns 1 for the word and the share of the `limit` questions
    that it has left; a guess is one of them. Without an `answerer` the table answers.
    """

    bots = {"halving": halving}

    def __init__(self, words: int = 40, limit: int = 20, answerer: bool = True):
        if not 2 <= words <= len(WORDS):
            raise ValueError(f"words is {words}: use 2 to {len(WORDS)}")
        if not 1 <= limit <= len(PROPERTIES):
            raise ValueError(f"limit is {limit}: use 1 to {len(PROPERTIES)} questions")
        step = len(WORDS) / words  # words of every kind, however few
        self.words = tuple(WORDS[int(i * step)] for i in range(words))
        self.limit = limit
        self.roles = {"asker": 1, "answerer": 1} if answerer else {"asker": 1}
        self.info = GameInfo(chance=True, max_stages=2 * limit if answerer else limit)
        self.known = {"halving": HALVING} if (words, limit) == (40, 20) else {}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.word = rng.choice(self.words) if task is None else self._word(task)
        self.answered: dict[str, str] = {}  # property -> what was answered
        self.missed: list[str] = []  # wrong guesses
        self.question = ""  # the property that was asked for, until it is answered
        return self._ask()

    def _word(self, task: Task) -> str:
        word = task.payload.get("word")
        if word not in self.words:
            raise ValueError(f"task {task.id} has payload {dict(task.payload)}: give a word, one of {self.words}")
        return str(word)

    @property
    def left(self) -> int:
        """Questions that may still be asked."""
        return self.limit - len(self.answered) - len(self.missed)

    def fits(self, word: str) -> bool:
        """Whether all that was answered is true of `word`, and it wasn't guessed."""
        return word not in self.missed and all(_truth(word, name) == said for name, said in self.answered.items())

    def legal(self, seat: str) -> Sequence[str]:
        if seat == ANSWERER:
            return ANSWERS
        questions = [f"{name}?" for name in PROPERTIES if name not in self.answered]
        return [*questions, *(f"{GUESS}{word}" for word in self.words if word not in self.missed)]

    def parse(self, seat: str, text: str) -> str:
        if text in self.legal(seat):
            return text
        raise IllegalMove(
            "say [yes] or [no]"
            if seat == ANSWERER
            else "ask for a property that you haven't asked for, like [animal?], or guess a word, like [guess: horse]"
        )

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if ANSWERER in moves:
            return self._answer(moves[ANSWERER])
        move = moves[ASKER]
        if not move.startswith(GUESS):
            self.question = move.removesuffix("?")
            return (
                self._consult() if ANSWERER in self.possible_agents else self._answer(_truth(self.word, self.question))
            )
        word = move.removeprefix(GUESS)
        if word == self.word:
            self.score("found", **{ASKER: 1.0})
            self.score("early", **{ASKER: (self.left - 1) / self.limit})
            return self._close(found=True)
        self.missed.append(word)
        return self._ask() if self.left else self._close(found=False)

    def _answer(self, said: str) -> Seats:
        name, self.question = self.question, ""
        self.answered[name] = said
        if ANSWERER in self.possible_agents:
            true = said == _truth(self.word, name)
            self.score("true" if true else "false", **{ANSWERER: (1 if true else -1) / self.limit})
        return self._ask() if self.left else self._close(found=False)

    def _close(self, *, found: bool) -> Seats:
        true = sum(_truth(self.word, name) == said for name, said in self.answered.items())
        self.note(found=float(found), questions=float(self.limit - self.left + found))
        if self.answered:
            self.note(true_answers=true / len(self.answered))
        self.tell(f"The word was {self.word}.")
        return ()

    def _ask(self) -> Seats:
        unasked = " ".join(name for name in PROPERTIES if name not in self.answered)
        words = " ".join(word for word in self.words if word not in self.missed)
        self.tell(
            f"Words: {words}. Properties: {unasked}. Answers: {self._answers()}. Questions left: {self.left}. "
            f"Ask for a property, like [animal?], or guess, like [guess: {self.words[0]}]",
            ASKER,
        )
        return (ASKER,)

    def _consult(self) -> Seats:
        self.tell(f"The word is {self.word}. Question: {self.question}? Say [yes] or [no]", ANSWERER)
        return (ANSWERER,)

    def _answers(self) -> str:
        told = [f"{name}? {said}" for name, said in self.answered.items()]
        return ", ".join([*told, *(f"{word}? no" for word in self.missed)]) or "none"

    def knows(self, seat: str) -> Hashable:
        if seat == ANSWERER:
            return self.word, self.question
        return tuple(self.answered.items()), tuple(self.missed)

    def state_text(self) -> str:
        return f"Word: {self.word}. Question: {self.question or 'none'}. Answers: {self._answers()}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The true answer; which question is best isn't known."""
        return {_truth(self.word, self.question): 1.0} if seat == ANSWERER and self.question else {}


def _truth(word: str, name: str) -> str:
    return YES if has(word, name) else NO
