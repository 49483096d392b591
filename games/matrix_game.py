"""Matrix games: everybody moves at once, and a table says what that pays."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted
from games._matrix import Table, table

ORDER = ("first", "second", "third", "fourth", "fifth", "sixth")
PRESETS: Mapping[str, Table] = {  # but for the dilemma's, the numbers are OpenSpiel's
    "matching_pennies": table(["heads", "tails"], [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]),
    "chicken": table(["dare", "swerve"], [[[0, 0], [4, 1]], [[1, 4], [3, 3]]]),
    "battle_of_sexes": table(["bach", "stravinsky"], [[[3, 2], [0, 0]], [[0, 0], [2, 3]]]),
    "coordination": table(["left", "right"], [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]),
    "prisoners_dilemma": table(["cooperate", "defect"], [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]),
    "stag_hunt": table(["stag", "hare"], [[[2, 2], [0, 1]], [[1, 0], [1, 1]]]),
}


def cycle(game: MatrixGame, seat: str) -> Mapping[str, float]:
    """Each of its moves in turn, one a round."""
    moves = game.legal(seat)
    return {moves[len(game.past) % len(moves)]: 1.0}


def copycat(game: MatrixGame, seat: str) -> Mapping[str, float]:
    """What the next seat did in the last round; the first move to begin with, and where it doesn't have that one."""
    moves, seats = game.legal(seat), game.possible_agents
    last = game.past[-1][(seats.index(seat) + 1) % len(seats)] if game.past else ""
    return {last if last in moves else moves[0]: 1.0}


class MatrixGame(Game):
    """All seats move at once, `rounds` times, and hear what was done. A table pays each of them by what all did.

    `preset` is a table of PRESETS, by default matching_pennies. For one of your own give `moves`, a list for every seat
    or one for all, and `payoffs`: `payoffs[a][b]` lists what the seats get if the first makes its move number a and the
    second its number b, and so on with more seats. Seats that the table doesn't tell apart have one role.
    """

    bots = {"cycle": cycle, "copycat": copycat}
    shown = True  # whether seats are told the table

    def __init__(
        self,
        preset: str = "",
        moves: Sequence[Any] | None = None,
        payoffs: Sequence[Any] | None = None,
        rounds: int = 1,
    ):
        if (moves is None) != (payoffs is None) or (preset and payoffs is not None):
            raise ValueError("give a preset, or moves and payoffs together")
        name = preset or "matching_pennies"
        if name not in PRESETS:
            raise ValueError(f"preset {preset!r} not found: there are {', '.join(PRESETS)}")
        self.use(PRESETS[name] if moves is None or payoffs is None else table(moves, payoffs), rounds)
        self.read_facts()

    def use(self, table: Table, rounds: int) -> None:
        self.table, self.rounds = table, counted("rounds", rounds, ROUNDS)
        self.briefs = tuple(self.brief(i) for i in range(len(table.moves)))
        self.actions = tuple(" ".join(f"[{move}]" for move in own) for own in table.moves)

    def read_facts(self, stages: int = 1) -> None:
        """Roles and facts, as they follow from the table; a round has so many stages."""
        table, count = self.table, len(self.table.moves)
        self.roles = {"player": count} if table.symmetric else dict.fromkeys(ORDER[:count], 1)
        self.info = GameInfo(
            zero_sum=table.zero_sum,
            cooperative=table.common,
            simultaneous=True,
            par=float(table.pay.max()) * self.rounds if table.common else None,
            max_stages=self.rounds * stages,
            forfeit=min(float(table.pay.min()) * self.rounds, -1.0),  # no better than any moves
        )

    @property
    def known(self) -> Mapping[str, float]:
        """Values of one round, worked out from the table."""
        return self.table.known

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.past: list[tuple[str, ...]] = []
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.table.moves[self._seats.index(seat)]

    def play(self, moves: Mapping[str, Any]) -> Seats:
        profile = tuple(moves[seat] for seat in self._seats)
        self.past.append(profile)
        self.score(**dict(zip(self._seats, self.paid_for(profile), strict=True)))
        return self._ask() if len(self.past) < self.rounds else self._close()

    def paid_for(self, profile: Sequence[str]) -> list[float]:
        """What one round pays, by seat."""
        at = tuple(own.index(move) for own, move in zip(self.table.moves, profile, strict=True))
        pay: list[float] = self.table.pay[at].tolist()
        return pay

    def _ask(self) -> Seats:
        for seat, actions in zip(self._seats, self.actions, strict=True):
            self.tell(f"{self._situation(seat)} Actions: {actions}", seat)
        return self._seats

    def _situation(self, seat: str) -> str:
        i = self._seats.index(seat)
        past = ", ".join(_against(i, profile) for profile in self.past) or "none"
        return f"{self.briefs[i]}Round {len(self.past) + 1} of {self.rounds}. You so far: {past}."

    def brief(self, i: int) -> str:
        """What seat number i hears before anything else: the table from its own side, own moves first."""
        if not self.shown:
            return ""
        own, others = self.table.moves[i], product(*self.table.moves[:i], *self.table.moves[i + 1 :])
        profiles = [(*rest[:i], move, *rest[i:]) for move, rest in product(own, others)]
        pays = (f"{_against(i, profile)} {self.paid_for(profile)[i]:g}" for profile in profiles)
        return f"Your pay: {', '.join(pays)}. "

    def _close(self) -> Seats:
        last = ", ".join(f"{seat} {move}" for seat, move in zip(self._seats, self.past[-1], strict=True))
        self.tell(f"Last round: {last}.")
        if not self.table.zero_sum:
            self.note(
                welfare=sum(sum(self.paid_for(profile)) for profile in self.past) / self.rounds / len(self._seats)
            )
        return ()

    def knows(self, seat: str) -> tuple[Any, ...]:
        return tuple(self.past)

    def state_text(self) -> str:
        return f"{' against '.join(self._seats)}: {', '.join(' '.join(profile) for profile in self.past) or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """Perfect play of the round; needs scipy where the equilibrium of a zero-sum table isn't uniform."""
        if self.table.best is None:
            return {}
        i = self._seats.index(seat)
        return dict(zip(self.table.moves[i], self.table.best[i].tolist(), strict=True))


def _against(i: int, profile: Sequence[str]) -> str:
    """A round from the side of seat number i: "rock against paper"."""
    return f"{profile[i]} against {' and '.join((*profile[:i], *profile[i + 1 :]))}"
