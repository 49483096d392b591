"""Talk that binds nobody, before a choice between working together and looking after oneself."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from arena.game import Bot, Seats
from arena.types import Task
from games._matrix import Table
from games._speech import spoken
from games.matrix_game import MatrixGame

TALK = 1000  # characters that a seat may be allowed
TRUST, GUARD = 0, 1  # the first move of a table is to work together
SEATS = "player_0", "player_1"


class CheapTalk(MatrixGame):
    """Two seats play `rounds` of a table; before each both say something at once, of at most `talk` characters.

    Nobody hears a word before both have spoken. With `talk` 0 nothing is said.
    """

    def __init__(self, table: Table, rounds: int, talk: int):
        longest = max(len(announced(move)) for move in table.moves[0])
        if talk and not longest <= talk <= TALK:
            raise ValueError(f"talk is {talk}: use {longest} to {TALK} characters, or 0 for silence")
        self.talk = talk
        self.use(table, rounds)
        self.read_facts(stages=2 if talk else 1)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.said: dict[str, str] = {}  # in this round
        return super().start(rng, task)

    @property
    def talking(self) -> bool:
        return self.talk > 0 and not self.said

    def legal(self, seat: str) -> tuple[str, ...]:
        """The moves; while talking an announcement of each of them, though anything else may be said too."""
        moves = super().legal(seat)
        return tuple(map(announced, moves)) if self.talking else moves

    def parse(self, seat: str, text: str) -> Any:
        if not self.talking:
            return super().parse(seat, text)
        return spoken(text, self.talk)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if self.talking:
            self.said = dict(moves)
            return self._ask()
        self.said = {}
        return super().play(moves)

    def _ask(self) -> Seats:
        if not self.talking:
            return super()._ask()
        for seat in SEATS:
            asked = f"First say something to the other, at most {self.talk} characters, like [{self.legal(seat)[0]}]"
            self.tell(f"{self._situation(seat)} {asked}", seat)
        return SEATS

    def _situation(self, seat: str) -> str:
        if not self.said:
            return super()._situation(seat)
        (other,) = (s for s in SEATS if s != seat)
        return f'{super()._situation(seat)} You said "{self.said[seat]}". The other said "{self.said[other]}".'

    def knows(self, seat: str) -> tuple[Any, ...]:
        return (*super().knows(seat), *self.said.items())

    def state_text(self) -> str:
        return " ".join([super().state_text(), *(f'{seat} said "{message}".' for seat, message in self.said.items())])


def announced(move: str) -> str:
    return f"I choose {move}"


def bot(choose: Callable[[Any, int], Mapping[int, float]]) -> Bot:
    """A player that announces what it is about to do. `choose(game, i)` has the odds of the moves of seat number i."""

    def play(game: CheapTalk, seat: str) -> Mapping[str, float]:
        words = game.legal(seat)  # announcements are in the order of the moves
        return {words[move]: odds for move, odds in choose(game, SEATS.index(seat)).items()}

    return play


def _done(game: CheapTalk, i: int) -> list[int]:
    """What seat number i did in each round."""
    return [game.table.moves[i].index(profile[i]) for profile in game.past]


def tit_for_tat(game: CheapTalk, i: int) -> Mapping[int, float]:
    """Works together at first, then does what the other did last."""
    return {[TRUST, *_done(game, 1 - i)][-1]: 1.0}


def grim(game: CheapTalk, i: int) -> Mapping[int, float]:
    """Works together until the other once didn't."""
    return {GUARD if GUARD in _done(game, 1 - i) else TRUST: 1.0}


def win_stay(game: CheapTalk, i: int) -> Mapping[int, float]:
    """Pavlov (Nowak and Sigmund 1993): repeats a move that paid the mean of its payoffs or more, else changes it."""
    if not game.past:
        return {TRUST: 1.0}
    last = _done(game, i)[-1]
    won = game.paid_for(game.past[-1])[i] >= game.table.pay[..., i].mean()
    return {last if won else 1 - last: 1.0}


BOTS: Mapping[str, Bot] = {
    "tit_for_tat": bot(tit_for_tat),
    "grim": bot(grim),
    "win_stay": bot(win_stay),
    "always_cooperate": bot(lambda game, i: {TRUST: 1.0}),
    "always_defect": bot(lambda game, i: {GUARD: 1.0}),
    "random": bot(lambda game, i: {TRUST: 0.5, GUARD: 0.5}),
}
