"""What the games of a step say of themselves: rewards by their names, and the figures that they note."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from arena.types import Episode, role_of


def figures(episodes: Sequence[Episode]) -> dict[str, float]:
    """`reward/{role}/{name}`: the mean over all seats of the role, 0 where it wasn't paid; `game/{name}`: the mean over
    the episodes that note it. Episodes and seats that could not be scored say nothing.
    """
    scored = [episode for episode in episodes if episode.ending != "infra"]
    seats: dict[str, int] = defaultdict(int)
    paid: dict[tuple[str, str], float] = defaultdict(float)
    noted: dict[str, list[float]] = defaultdict(list)
    for episode in scored:
        for seat in (seat for seat, value in episode.returns.items() if value is not None):
            seats[role_of(seat)] += 1
            for name, reward in episode.paid.get(seat, {}).items():
                paid[role_of(seat), name] += reward
        for name, value in episode.notes.items():
            noted[name].append(value)
    rewards = {f"reward/{role}/{name}": total / seats[role] for (role, name), total in sorted(paid.items())}
    return {**rewards, **{f"game/{name}": fmean(values) for name, values in sorted(noted.items())}}
