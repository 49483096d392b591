"""Games that are alike but for one draw of chance or one move: what a seat sees must not tell them apart too early."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from arena.game import Game
from arena.types import Episode, Turn

T = TypeVar("T")
Speak = Callable[[Game, str, random.Random], str]
Told = dict[str, tuple[tuple[Hashable, ...], tuple[str, ...], tuple[str, ...]]]


def twins(game: Game, seed: int, speak: Speak, count: int = 8) -> Iterator[tuple[Game, Told, list[Turn]]]:
    """The positions of a random game, and of `count` games like it but for one draw or one move.

    It is always the same `game`: look at it before going on. With each position goes, by seat, what it knew, heard and
    moved at each of its turns, the current one included; and the turns so far, as an episode has them.
    """
    tape, said = _Tape(seed), list[str]()
    yield from _follow(game, tape, said, speak, random.Random(seed), -1)
    rng = random.Random(seed)
    for twin in range(count):
        change_draw = bool(tape.noted) and twin % 2 == 0
        changed = tape.noted[:]
        if change_draw:
            changed[rng.randrange(len(changed))] = None
        other = _Tape(seed + 1000 * (twin + 1), changed)
        at = -1 if change_draw else rng.randrange(len(said))
        yield from _follow(game, other, said[:], speak, rng, at)


def _follow(
    game: Game, tape: _Tape, said: list[str], speak: Speak, rng: random.Random, change: int
) -> Iterator[tuple[Game, Told, list[Turn]]]:
    """Play the moves of `said` but for number `change`, then random ones, which are added to it."""
    game.deal(tape)
    told: Told = dict.fromkeys(game.possible_agents, ((), (), ()))
    step, turns = 0, list[Turn]()
    while seat := game.turn():
        knew, heard, moved = told[seat]
        told[seat] = ((*knew, game.knows(seat)), (*heard, game.observe(seat)["text"]), moved)
        yield game, told, turns
        legal = game.legal(seat)
        if step >= len(said):
            said.append(speak(game, seat, rng))
        elif step == change or (legal and said[step] not in legal):
            said[step] = speak(game, seat, rng)
        told[seat] = (*told[seat][:2], (*moved, said[step]))
        stage, text = game.stage, told[seat][1][-1]
        game.step(said[step])
        rewards = dict(game.rewards)
        turns.append(Turn(seat, stage, text, said[step], said[step], not game.judged, game.judged, rewards))
        step += 1


def so_far(game: Game, seed: int, turns: list[Turn]) -> Episode:
    """The episode of a game that is under way, with all that its seats mustn't see in it."""
    faced = {seat: task.id for seat, task in game.faced.items()}
    paid = {seat: {name: sum} for (seat, name), sum in game.paid.items()}
    return Episode(
        id=f"{seed}",
        game=str(game),
        seed=seed,
        task=None,
        agents=dict.fromkeys(game.possible_agents, "somebody"),
        faced=faced,
        turns=tuple(turns),
        contexts={},
        returns=dict.fromkeys(game.possible_agents),
        ending="over",
        paid=paid,
        notes=dict(game.notes),
        offers=tuple(game.offers),
    )


class _Tape(random.Random):
    """Plays `played` back, draws afresh where it is None or doesn't fit, and notes every draw."""

    def __init__(self, seed: int, played: list[Any] | None = None):
        super().__init__(seed)
        self.fresh = random.Random(seed)
        self.played, self.noted = played or [], list[Any]()

    def _draw(self, fits: Callable[[Any], bool], fresh: Callable[[], T]) -> T:
        at = len(self.noted)
        value = self.played[at] if at < len(self.played) else None
        self.noted.append(value if value is not None and fits(value) else fresh())
        drawn: T = self.noted[-1]
        return drawn

    def random(self) -> float:
        return self._draw(lambda value: isinstance(value, float), self.fresh.random)

    def _randbelow(self, n: int) -> int:
        return self._draw(lambda value: isinstance(value, int) and value < n, lambda: self.fresh.randrange(n))

    def getrandbits(self, k: int) -> int:
        return self._draw(lambda value: isinstance(value, int) and value < 1 << k, lambda: self.fresh.getrandbits(k))
