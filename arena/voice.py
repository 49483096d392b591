"""A seat that thinks at length or says something illegal first: which must not be seen by any other."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from arena.context import Context
from arena.game import Game, IllegalMove
from arena.play import play
from arena.twins import Speak
from arena.types import Episode
from roles import Role

SLIPS = {"stumbles": "", "stumbles at length": "ZEBRA" * 2000}  # 10,000 characters: what is hidden is their number too
WHOLE = Role(name="voice", action=r"(?s)\A(.*)\Z", say="{move}")  # a reply is a move, but for its thoughts


@dataclass
class Voice:
    """Says what `speak` says at one seat; it also `thinks` at length, or stumbles as often as it may, by its style."""

    game: Game
    seat: str
    speak: Speak
    seed: int
    style: str = ""
    said: int = 0
    slips: int = 0
    name: str = "voice"
    role: Role = field(default_factory=lambda: WHOLE)

    async def act(self, context: Context) -> str:
        text = self.speak(self.game, self.seat, random.Random(f"{self.seed} {self.seat} {self.said}"))
        slip = SLIPS.get(self.style) if self.slips < self.game.info.max_illegal else None
        if slip is not None and self._refused(slip) and not self._refused(text):
            self.slips += 1
            return slip
        self.said += 1
        return f"<think>{'ZEBRA ' * self.said * 7}</think>{text}" if self.style == "thinks" else text

    def _refused(self, text: str) -> bool:
        try:
            self.game.parse(self.seat, text)
        except IllegalMove:
            return True
        return False


def recorded(game: Game, seed: int, speak: Speak, one: str, style: str) -> Episode:
    """A whole random game through the arena, in which the seat `one` has a style."""
    voices = {seat: Voice(game, seat, speak, seed, style if seat == one else "") for seat in game.possible_agents}
    return asyncio.run(play(game, voices, seed=seed))
