"""The prisoner's dilemma, repeated, with cheap talk: whatever the other does, to defect pays more."""

from __future__ import annotations

from games._cheap_talk import BOTS, CheapTalk
from games.matrix_game import PRESETS


class PrisonersDilemma(CheapTalk):
    """Both at once cooperate or defect: 3 each if both cooperate, 1 each if none does, else 5 for who defects and 0.

    `rounds` times, each after a word of at most `talk` characters that binds nobody (0: no talk).
    """

    bots = BOTS

    def __init__(self, rounds: int = 5, talk: int = 60):
        super().__init__(PRESETS["prisoners_dilemma"], rounds, talk)
