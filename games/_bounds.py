"""How large a game may be made, so that it is ready at once and can be played to its end."""

from __future__ import annotations

SEATS = 1000  # of a role
ROUNDS = 1000  # or offers, or turns: each time seats may hear all that came before
HORIZON = 100  # steps for which a team is planned
HELD_OUT = 1000  # problems, each of which is made before the game begins


def counted(name: str, count: int, most: int, least: int = 1) -> int:
    """`count` itself; raises ValueError, with the bounds, where it isn't from `least` to `most`."""
    if not least <= count <= most:
        raise ValueError(f"{name} is {count}: use {least} to {most}")
    return count
