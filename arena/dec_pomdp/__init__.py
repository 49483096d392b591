"""Small Dec-POMDPs as tables: the model, files that hold one, the exact value of a team, and the best team there is."""

from arena.dec_pomdp.bounds import centralised, omniscient
from arena.dec_pomdp.file import from_mapping, load
from arena.dec_pomdp.model import DecPomdp, tabulate
from arena.dec_pomdp.search import Plan, best
from arena.dec_pomdp.value import uniform, value

__all__ = [
    "DecPomdp", "Plan", "best", "centralised", "from_mapping", "load", "omniscient", "tabulate", "uniform", "value",
]  # fmt: skip
