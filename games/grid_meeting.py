"""Meeting in a grid: two robots in the dark are to be in one cell, and each feels only the walls beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import product

from arena.dec_pomdp import DecPomdp, tabulate
from games._tabular import TabularGame

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "stay": (0, 0)}
WANTED, STRAY = 0.6, 0.1  # probabilities of the step that was meant, and of each of the four others
LEFT, RIGHT, NONE = "left wall", "right wall", "no wall"
# Bernstein, Hansen and Zilberstein 2005 posed the problem; the tables are those of GridSmall.dpomdp (two observations,
# Amato, Bernstein and Zilberstein 2006), and the best returns by horizon those listed at masplan.org.
OPTIMUM = {1: 0.37, 2: 0.91, 3: 1.550444, 4: 2.241577, 5: 2.970496}


class GridMeeting(TabularGame):
    """Two robots begin in opposite corners of `side` x `side` cells. Every step that ends with both in one cell pays 1.

    A robot that moves goes where it means to with probability 0.6, else it stays or goes any other way alike, and no
    way leads through a wall. Each feels whether it stands at the left wall or the right one, and not the other robot.
    """

    roles: Mapping[str, int] = {"agent": 2}
    hidden, senses = "robots' cells", "felt"

    def __init__(self, horizon: int = 2, side: int = 2):
        if side not in (2, 3):
            raise ValueError(f"side is {side}: use 2 or 3")
        self.side = side
        self.optima = OPTIMUM if side == 2 else {}
        self.solved = 4 if side == 2 else 3  # beyond, the search takes more than a second
        self.lay(model(side), horizon)


@cache
def model(side: int) -> DecPomdp:
    """The tables; a state is the row and the column of both robots, counted from the upper left corner."""
    cells = [f"{row},{column}" for row, column in product(range(1, side + 1), repeat=2)]
    walls = (LEFT, RIGHT) if side == 2 else (LEFT, NONE, RIGHT)
    return tabulate(
        map(" ".join, product(cells, repeat=2)),
        [tuple(STEPS)] * 2,
        [walls] * 2,
        start={f"1,{side} {side},1": 1.0},
        move=lambda state, moves: met(*(landed(*robot, side) for robot in zip(state.split(), moves, strict=True))),
        sense=lambda moves, state: [{felt(cell, side): 1.0} for cell in state.split()],
        pay=lambda state, moves, after: float(len(set(after.split())) == 1),
    )


@cache
def landed(cell: str, move: str, side: int) -> Mapping[str, float]:
    """The odds of the cell in which a robot ends; a step into a wall leaves it where it is."""
    if move == "stay":
        return {cell: 1.0}
    row, column = map(int, cell.split(","))
    odds: Counter[str] = Counter()
    for step, (down, right) in STEPS.items():
        inside = 1 <= row + down <= side and 1 <= column + right <= side
        odds[f"{row + down},{column + right}" if inside else cell] += WANTED if step == move else STRAY  # type: ignore[assignment]
    return odds


def met(one: Mapping[str, float], two: Mapping[str, float]) -> dict[str, float]:
    """The odds of both cells, of robots that stray independently."""
    return {f"{a} {b}": p * q for a, p in one.items() for b, q in two.items()}


def felt(cell: str, side: int) -> str:
    """The wall beside a cell, as far as a robot feels."""
    column = int(cell.split(",")[1])
    return LEFT if column == 1 else RIGHT if column == side else NONE
