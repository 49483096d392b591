"""Rock, paper, scissors: the smallest game of simultaneous moves."""

from __future__ import annotations

from collections.abc import Mapping

from arena.game import GameInfo
from games._matrix import table
from games.matrix_game import MatrixGame

BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
WINS = [[(BEATS[one] == two) - (BEATS[two] == one) for two in BEATS] for one in BEATS]
TABLE = table(list(BEATS), [[[win, -win] for win in row] for row in WINS])


class RockPaperScissors(MatrixGame):
    """Both throw at once, `rounds` times; every round pays 1 to its winner and costs the loser 1."""

    roles: Mapping[str, int] = {"player": 2}
    info = GameInfo(zero_sum=True, simultaneous=True)
    # The game is symmetric, so its value is 0; only throwing each a third of the time can't be exploited.
    known: Mapping[str, float] = {"value": 0.0, "uniform_nash_conv": 0.0}
    shown = False  # everybody knows who beats whom

    def __init__(self, rounds: int = 1):
        self.use(TABLE, rounds)
