"""Taboo: make the other say a word unawares, while the other tries to find out which."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted
from games._speech import folded, forms, says, spoken
from games._words import WORDS

ATTACKER, DEFENDER = SEATS = "attacker_0", "defender_0"
GUESS = re.compile(r"(?i)guess:\s*(\S+?)[.!?]?")


class Guess(NamedTuple):
    word: str


class Taboo(Game):
    """In turn, the attacker leads the talk to a secret word, and the defender answers, or guesses once: `guess: horse`.

    The defender loses where it says the word unawares or guesses wrong, and wins by the right guess; after `turns` of
    each nobody has won. The attacker may not say the word: nor its plural, nor either cut up into neighbouring words,
    nor, from five letters on, inside of a longer word. Letters count as they look. SPAG, arXiv:2404.10642.
    """

    roles: Mapping[str, int] = {"attacker": 1, "defender": 1}

    def __init__(self, turns: int = 4, talk: int = 120):
        counted("turns", turns, ROUNDS)
        if not 20 <= talk <= 1000:
            raise ValueError(f"talk is {talk} characters: use 20 to 1000")
        self.turns, self.talk = turns, talk
        self.info = GameInfo(zero_sum=True, chance=True, max_stages=2 * turns)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.word = rng.choice(WORDS) if task is None else _word(task)
        self.said: list[str] = []  # by the attacker and the defender in turn
        return self._ask()

    def parse(self, seat: str, text: str) -> str | Guess:
        message = spoken(text, self.talk)
        if seat == ATTACKER:
            if says(message, self.word, inside=True):
                raise IllegalMove("that says the secret word")
            return message
        if not folded(message).startswith("guess:"):
            return message
        if guess := GUESS.fullmatch(message):
            return Guess(guess[1])
        raise IllegalMove("guess one word, like [guess: horse]")

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        if isinstance(move, Guess):
            right = folded(move.word) in map(folded, forms(self.word))
            return self._close("guessed" if right else "misguessed", DEFENDER if right else ATTACKER)
        self.said.append(move)
        if seat == DEFENDER and says(move, self.word):
            return self._close("said", ATTACKER)
        if len(self.said) == 2 * self.turns:
            return self._close("", "")
        return self._ask()

    def _close(self, how: str, winner: str) -> Seats:
        """Pay the winner, if there is one, and note which way the game went."""
        self.note(**{name: float(name == how) for name in ("said", "guessed", "misguessed")})
        if winner:
            self.score(how, **{seat: 1.0 if seat == winner else -1.0 for seat in SEATS})
        self.tell(f"The word was {self.word}. {f'{winner} wins.' if winner else 'Nobody wins.'}")
        return ()

    def _ask(self) -> Seats:
        seat = SEATS[len(self.said) % 2]
        turn = f"Turn {len(self.said) // 2 + 1} of {self.turns}."
        if seat == ATTACKER:
            head = f"Secret word: {self.word}. {turn}"
            ask = "Say something that makes the defender say the word; don't say it yourself."
        else:
            head, ask = (
                turn,
                "Answer without the secret word, which you don't know, or guess it once, like guess: horse",
            )
        self.tell("\n".join([head, *self.talked(), ask]), seat)
        return (seat,)

    def talked(self) -> list[str]:
        """Who said what, a line each."""
        return [f'{("Attacker", "Defender")[i % 2]}: "{message}"' for i, message in enumerate(self.said)]

    def knows(self, seat: str) -> Hashable:
        return (self.word if seat == ATTACKER else "", *self.said)

    def state_text(self) -> str:
        return "\n".join([f"Secret word: {self.word}.", *self.talked()])


def _word(task: Task) -> str:
    word = task.payload.get("word")
    if not isinstance(word, str) or not re.fullmatch("[a-z]{3,20}", word):
        raise ValueError(f"task {task.id} has payload {dict(task.payload)}: give a word of 3 to 20 small letters")
    return word
