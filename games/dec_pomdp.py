"""A Dec-POMDP of your own, from a file or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.dec_pomdp import from_mapping, load
from games._tabular import TabularGame


class DecPomdp(TabularGame):
    """Agents act at once for `horizon` steps, get one reward together, and each observes something of its own.

    The tables come from `file`, in the .dpomdp format or as YAML, or from `model`, a mapping of the same parts as the
    YAML (docs/dec_pomdp.md). Without either it is a lamp that two agents must switch together, hearing a click or none.
    """

    def __init__(self, horizon: int = 2, file: str = "", model: Mapping[str, Any] | None = None):
        if file and model is not None:
            raise ValueError("give a file or a model, not both")
        self.lay(load(file) if file else from_mapping(LAMP if model is None else model), horizon)


LAMP: Mapping[str, Any] = {
    "states": ["dark", "lit"],
    "start": "dark",
    "actions": [["push", "wait"]] * 2,
    "observations": [["click", "silence"]] * 2,
    "transition": {"*": "identity", "push push : dark": [0.2, 0.8]},
    "observation": {
        "* : *": [0, 0, 0, 1],
        "push push : lit": [0.81, 0.09, 0.09, 0.01],
        "push push : dark": [0.01, 0.09, 0.09, 0.81],
    },
    "reward": {"*": 0, "* : lit": 1, "push push : lit": -1},
}
