"""The stag hunt, repeated, with cheap talk: to trust each other is best, to trust alone is worst."""

from __future__ import annotations

from games._cheap_talk import BOTS, CheapTalk
from games._matrix import table

# A hare is the safer game: a stag pays more only against somebody who hunts it more than two times in three.
TABLE = table(["stag", "hare"], [[[3, 3], [0, 2]], [[2, 0], [2, 2]]])


class StagHunt(CheapTalk):
    """Both at once hunt a stag or a hare: a stag takes two and pays each 3, a hare pays 2 to whoever hunts it.

    `rounds` times, each after a word of at most `talk` characters that binds nobody (0: no talk). The bots of the
    prisoner's dilemma play it too, with the stag for to cooperate.
    """

    bots = BOTS

    def __init__(self, rounds: int = 5, talk: int = 60):
        super().__init__(TABLE, rounds, talk)
