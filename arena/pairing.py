"""A match that is to be played: one deal, and who sits where in each of its games."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.game import Game
from arena.ratings import TASK
from arena.seeding import derive


class Pairing(NamedTuple):
    """One match to be played: the seed of its deal, and for each of its games the entrant at every seat."""

    id: str
    round: int
    game: str
    deal: int
    seatings: tuple[Mapping[str, str], ...]

    @property
    def met(self) -> tuple[str, ...]:
        """The entrants, without repeats, in the order of the first seating."""
        return tuple(dict.fromkeys(self.seatings[0].values()))


def places(game: Game) -> list[tuple[str, ...]]:
    """What an entrant takes: the seats of a team, or one seat in a cooperative game."""
    return [(seat,) for seat in game.possible_agents] if game.info.cooperative else [tuple(t) for t in game.teams()]


def pair(pool: str, seed: int, game: Game, met: Sequence[str], number: int, *, paired: bool = True) -> list[Pairing]:
    """The match, or without `paired` the matches, of these entrants at their places in round `number`.

    The entrants go round the places, so that each sits once at every one. All rotations share a deal. Ids and deals
    follow from the arguments alone.
    """
    taken = places(game)
    turned = list(dict.fromkeys((*met[i:], *met[:i]) for i in range(len(met))))
    what = (pool, str(game), seed)
    deal = derive(*what, "deal", *met, number)
    found = []
    for games in [turned] if paired else [[one] for one in turned]:
        named = derive(*what, "match", *(who for one in games for who in one), number)
        seatings = tuple({s: who for place, who in zip(taken, one, strict=True) for s in place} for one in games)
        found.append(Pairing(f"{pool}-{number:04d}-{named:016x}", number, str(game), deal, seatings))
    return found


def round_of(id: str, pool: str) -> int:
    """The round that a pairing of this pool was of, read from its id; -1 if it isn't one."""
    number = id.removeprefix(f"{pool}-").partition("-")[0]
    return int(number) if id.startswith(f"{pool}-") and number.isdecimal() else -1


# -- what can be played --------------------------------------------------------------------------------------------


def refuse_names(names: Sequence[str]) -> None:
    """Raise ValueError for entrants that can't be told apart, or not from a task."""
    for entrant in names:
        if not entrant or entrant.startswith(TASK) or names.count(entrant) > 1:
            raise ValueError(
                f"entrant {entrant!r}: give every entrant a name of its own, which does not begin with {TASK!r}"
            )


def refuse_game(game: Game, names: Sequence[str], *, paired: bool) -> None:
    """Raise ValueError, with the remedy, for a game that can't be rated, or not filled by these entrants.

    Where roles are unlike and the game isn't zero-sum, only sums over a whole rotation can be compared: there everybody
    has played every role once, for the same deal.
    """
    info = game.info
    if info.cooperative and info.par is None:
        raise ValueError(f"{game} has no par: a cooperative team is rated against the return that good play reaches")
    if not (info.cooperative or info.zero_sum or paired) and len(game.roles) > 1:
        raise ValueError(
            f"{game} is not zero-sum: the returns of {', '.join(game.roles)} can be compared over a whole rotation "
            "only: set paired=true"
        )
    needed = 1 if info.cooperative else len(game.teams())
    if len(names) < needed:
        raise ValueError(
            f"{game} is played by {needed}, but there are {len(names)} entrants: {', '.join(names) or 'none'}"
        )


def refuse_words(what: str, words: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError with the nearest match for the first of `words` that isn't known."""
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ValueError(f"{what} {word!r}: {hint}")
