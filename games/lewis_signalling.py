"""Lewis's signalling game: two agents have to come to a language, for the words mean nothing yet."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

STATES = ("blue", "pink", "gold", "gray", "rose", "lime", "teal", "ruby")  # of one length: none is easier to say
WORDS = ("ba", "ko", "mi", "ze", "tu", "la", "no", "ri")
SENDER, RECEIVER = SEATS = "sender_0", "receiver_0"


class LewisSignalling(Game):
    """The sender sees one of `states` and says one of `words`; the receiver hears it and names a state.

    Both earn 1 if that is the state, else 0 (Lewis 1969, "Convention"). Nobody tells them which word means what.
    """

    roles: Mapping[str, int] = {"sender": 1, "receiver": 1}
    designs: Mapping[str, Any] = {"states": tuple(range(2, 9)), "words": tuple(range(1, 9))}

    def __init__(self, states: int = 3, words: int = 3):
        for name, count, least, most in (("states", states, 2, len(STATES)), ("words", words, 1, len(WORDS))):
            if not least <= count <= most:
                raise ValueError(f"{name} is {count}: use {least} to {most}")
        self.states, self.words = STATES[:states], WORDS[:words]
        # A word can stand for one state only, so m words name m of the n states, and each comes equally often.
        optimum = min(1.0, words / states)
        self.info = GameInfo(cooperative=True, chance=True, par=optimum, max_stages=2)
        self.known = {"optimum": optimum, "chance": 1 / states}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.state, self.word = rng.choice(self.states), ""
        return self._ask(SENDER, f"State: {self.state}.")

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.words if seat == SENDER else self.states

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if SENDER in moves:
            self.word = moves[SENDER]
            return self._ask(RECEIVER, f"Word: {self.word}.")
        named = moves[RECEIVER]
        self.score(**dict.fromkeys(SEATS, float(named == self.state)))
        self.tell(f"The state was {self.state}, the word {self.word}, the answer {named}.")
        return ()

    def _ask(self, seat: str, news: str) -> Seats:
        self.tell(f"{news} Actions: {' '.join(f'[{move}]' for move in self.legal(seat))}", seat)
        return (seat,)

    def knows(self, seat: str) -> str:
        return self.state if seat == SENDER else self.word

    def state_text(self) -> str:
        return f"State: {self.state}. Word: {self.word or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """One language of many: the first word is the first state, and so on; words too few are used again."""
        if seat == SENDER:
            return {self.words[self.states.index(self.state) % len(self.words)]: 1.0}
        return {self.states[self.words.index(self.word) % len(self.states)]: 1.0}
