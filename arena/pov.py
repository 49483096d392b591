"""An episode as one of its seats lived it: the record that may be shown where the other seats' secrets must not be."""

from __future__ import annotations

from typing import Any

from arena.types import Episode


def pov(episode: Episode, seat: str) -> dict[str, Any]:
    """What `seat` heard and said, turn by turn, and what it got, as JSON.

    Left out is all that tells of others or of what is hidden: their turns, with number, length and thoughts; the stages
    between; the seed that dealt; tasks, which may hold a secret; rewards before the end. Raises ValueError for a seat
    that isn't there.
    """
    if seat not in episode.returns:
        raise ValueError(f"{episode.game} has no seat {seat!r}: it has {', '.join(episode.returns)}")
    own = [turn for turn in episode.turns if turn.seat == seat]
    return {
        "game": episode.game,
        "seat": seat,
        "agents": dict(episode.agents),
        "turns": [
            {"heard": t.heard, "reply": t.reply, "move": t.move, "legal": t.legal, "reason": t.reason} for t in own
        ],
        "ending": episode.ending,
        "return": episode.returns[seat],
    }
