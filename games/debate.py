"""A debate: two to four speakers argue about a question whose answer is known to nobody but the referee."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted
from games._speech import BRACKETS, LONGEST, question, spoken
from games._topology import hearers
from games.verify.facts import ANSWERS
from games.verify.problems import Problems

JUDGE = "judge_0"
PAYS = ("verdict", "answers")
ORDERS = ("together", "turns")
SAID = re.compile(r"(?i)(yes|no)(?:[.,:;]? (.+))?")
QUOTE = re.compile(r"<q>(.*?)</q>")


class Speech(NamedTuple):
    """What a seat said: its answer, its words as they were (`plain`) and as they are shown, with quotes marked."""

    seat: str
    answer: str
    plain: str
    shown: str

    def __str__(self) -> str:
        return f'{self.seat} says {self.answer}: "{self.shown}"' if self.shown else f"{self.seat} says {self.answer}."


class Debate(Game):
    """Speakers say yes or no to a question, and why, for `rounds`; then the judge, who hears all, gives a verdict.

    The judge earns 1 for the truth. Pay by `verdict`: each speaker is given a side, and the one that the judge believes
    wins 1 from the other. By `answers` (MAPoRL, arXiv:2502.18439): each speech earns `own` if its answer is
    right and `others` times the share of right ones among the others', `swing` more where it corrects its last answer,
    and as much less where it gives up a right one after hearing a wrong one. `topology` says who hears whom: complete,
    ring, star, pairs, or pairs of numbers. Words in <q> and </q> are shown with whether somebody said them.
    """

    def __init__(
        self,
        debaters: int = 2,
        rounds: int = 2,
        topology: str | Sequence[Sequence[int]] = "complete",
        order: str = "together",
        pay: str = "verdict",
        talk: int = 120,
        level: int = 2,
        held_out: int = 0,
        own: float = 1.0,
        others: float = 0.5,
        swing: float = 0.5,
    ):
        if not 2 <= debaters <= 4:
            raise ValueError(f"debaters is {debaters}: use 2 to 4")
        counted("rounds", rounds, ROUNDS)
        for name, value, allowed in (("order", order, ORDERS), ("pay", pay, PAYS)):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}: use {' or '.join(allowed)}")
        if not 20 <= talk <= 1000:
            raise ValueError(f"talk is {talk} characters: use 20 to 1000")
        self.problems = Problems("facts", level, held_out)
        self.roles = {"debater": debaters, "judge": 1}
        self.debaters = tuple(f"debater_{i}" for i in range(debaters))
        heard = hearers(topology, debaters)
        self.hears = {seat: tuple(self.debaters[j] for j in heard[i]) for i, seat in enumerate(self.debaters)}
        self.rounds, self.order, self.pay, self.talk = rounds, order, pay, talk
        self.own, self.others, self.swing = own, others, swing
        stages = rounds if order == "together" else rounds * debaters
        self.info = GameInfo(simultaneous=order == "together", chance=True, max_stages=stages + 1)
        self.known = {"judge_max": 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.question, self.truth = _asked(self.problems.draw(rng) if task is None else task)
        flip = rng.randint(0, 1)  # so that no side is always the first to speak
        self.sides = {seat: ANSWERS[(i + flip) % 2] for i, seat in enumerate(self.debaters)}
        self.speeches: list[Speech] = []
        for seat in self._seats:
            self.pose(Task.new(self._brief(seat), answer=self.truth), seat)
        return self._ask()

    def legal(self, seat: str) -> Sequence[str]:
        """Bare answers; a speaker may add a reason in any words, and one that was given a side may say nothing else."""
        return (self.sides[seat],) if seat != JUDGE and self.pay == "verdict" else ANSWERS

    def parse(self, seat: str, text: str) -> str | Speech:
        """The judge's verdict, one word and nothing else; or a speech."""
        if seat == JUDGE:
            if text not in ANSWERS:
                raise IllegalMove("a verdict is [yes] or [no], and nothing else")
            return text
        message = spoken(text, self.talk).translate(BRACKETS)
        found = SAID.fullmatch(message)
        if found and found[1].lower() in self.legal(seat):
            answer, words = found[1].lower(), found[2] or ""
        elif self.pay == "verdict":
            answer, words = self.sides[seat], message  # whatever it says, it is said for its side
        else:
            raise IllegalMove("say yes or no and then why, like [yes: because it is even]")
        return Speech(seat, answer, words, QUOTE.sub(lambda quote: self._quoted(seat, quote[1]), words))

    def _quoted(self, seat: str, words: str) -> str:
        """A quote as it is shown: with who said so word for word, of those that `seat` has heard."""
        source = next((s.seat for s in self.heard(seat) if s.seat != seat and words.strip() and words in s.plain), "")
        return f"'{words}' [{source} said so]" if source else f"'{words}' [nobody said so]"

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if JUDGE in moves:
            return self._settle(moves[JUDGE])
        new = [moves[seat] for seat in self.debaters if seat in moves]  # not in the order in which they came
        if self.pay == "answers":
            for speech in new:
                self._verify(speech)
        self.speeches += new
        return self._ask()

    def _verify(self, speech: Speech) -> None:
        """Pay for one answer, before it is among the speeches. The credit's discount makes sums of them over turns."""
        seat, right = speech.seat, speech.answer == self.truth
        peers = [other for other in self.debaters if other != seat]
        self.score("answer", **{seat: self.own * right})
        self.score("others", **dict.fromkeys(peers, self.others * right / len(peers)))
        last = next((s.answer for s in reversed(self.speeches) if s.seat == seat), speech.answer)
        latest = {s.seat: s.answer for s in self.speeches if s.seat in self.hears[seat]}
        if right and last != self.truth:
            self.score("corrected", **{seat: self.swing})
        if not right and last == self.truth and speech.answer in latest.values():
            self.score("misled", **{seat: -self.swing})

    def _settle(self, verdict: str) -> Seats:
        self.score("truth", **{JUDGE: float(verdict == self.truth)})
        self.note(judge_right=float(verdict == self.truth))
        if self.pay == "verdict":
            self._award(verdict)
        else:
            final = {speech.seat: speech.answer == self.truth for speech in self.speeches}
            self.note(right=fmean(final.values()))
        self.tell(f"The verdict is {verdict}, the answer {self.truth}.")
        return ()

    def _award(self, verdict: str) -> None:
        """The side that was believed wins 1 in all from the other."""
        for side in ANSWERS:
            seats = [seat for seat, theirs in self.sides.items() if theirs == side]
            self.score("verdict", **dict.fromkeys(seats, (1 if side == verdict else -1) / len(seats)))

    def forfeit(self, seat: str, reason: str) -> None:
        """Without a verdict speakers that are paid by one can't be scored; a speaker that gives up loses it."""
        if self.pay == "verdict" and seat == JUDGE:
            self.unscore(*self.debaters)
        if self.pay == "verdict" and seat != JUDGE:
            foes = [other for other, side in self.sides.items() if side != self.sides[seat]]
            self.score("verdict", **dict.fromkeys(foes, -self.info.forfeit / len(foes)))
        super().forfeit(seat, reason)

    def heard(self, seat: str) -> list[Speech]:
        """The speeches that `seat` has heard or made."""
        return [s for s in self.speeches if seat == JUDGE or s.seat == seat or s.seat in self.hears[seat]]

    def _ask(self) -> Seats:
        done, last = divmod(len(self.speeches), len(self.debaters))
        if done == self.rounds:
            seats: Seats = (JUDGE,)
        else:
            seats = self.debaters if self.order == "together" else (self.debaters[last],)
        for seat in seats:
            posed = not any(s.seat == seat for s in self.speeches)  # before its first turn it has heard the question
            told = [*([] if posed else [self._brief(seat)]), *map(str, self.heard(seat)), self._request(seat, done + 1)]
            self.tell("\n".join(told), seat)
        return seats

    def _request(self, seat: str, turn: int) -> str:
        if seat == JUDGE:
            return "Your verdict: [yes] or [no]"
        why = f"Say why it is {self.sides[seat]}" if self.pay == "verdict" else "Say yes or no and why"
        return f"Round {turn} of {self.rounds}. {why}, at most {self.talk} characters."

    def _brief(self, seat: str) -> str:
        if seat == JUDGE:
            return f"Question: {self.question} You are the judge."
        side = f" You argue for {self.sides[seat]}." if self.pay == "verdict" else ""
        return f"Question: {self.question} You are {seat}.{side}"

    def knows(self, seat: str) -> Hashable:
        side = self.sides[seat] if seat != JUDGE and self.pay == "verdict" else ""
        return self.question, side, len(self.speeches) // len(self.debaters), *map(str, self.heard(seat))

    def state_text(self) -> str:
        return "\n".join([f"Question: {self.question} Answer: {self.truth}.", *map(str, self.speeches)])


def _asked(task: Task) -> tuple[str, str]:
    """The question of a task and its answer."""
    answer, asked = task.payload.get("answer"), question(task.prompt)
    if answer not in ANSWERS or not asked:
        raise ValueError(f"task {task.id}: give a question of at most {LONGEST} characters and an answer, yes or no")
    return asked, str(answer)
