"""The small language of `--where`: which matches are meant, as terms that all have to hold."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from arena.config import ConfigError, nearest, one_of
from arena.types import ENDINGS

# What a field is in SQL. Only these expressions get into a query; what a user writes is bound to a placeholder.
WORDS = {
    "id": "m.uid",
    "pool": "m.pool",
    "game": "m.game",
    "ending": "m.ending",
    "fault": "json_extract(m.record, '$.fault')",
    "reason": "json_extract(m.record, '$.reason')",
    "task": "f.task",
    "agent": "s.agent",
    "role": "s.role",
    "against": "o.agent",
}
NUMBERS = {"turns": "m.turns", "illegal": "m.illegal", "tokens": "m.tokens", "score": "s.score"}
COUNTS = ("turns", "illegal", "tokens")
FIELDS = (*WORDS, *NUMBERS)
SEATED = ("agent", "role", "score", "against")  # all of these are said of one and the same seat

TERM = re.compile(
    r"""\s*(?P<field>\w+)\s*(?P<sign>!=|<=|>=|=|<|>|~)\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"']+))(?=\s|$)"""
)


class Term(NamedTuple):
    """`field` compared with `value`; `sign` is = or != of anything, ~ (contains) of words, < <= > >= of numbers."""

    field: str
    sign: str
    value: str | float


def parse(text: str) -> tuple[Term, ...]:
    """The terms of a text like `game=kuhn_poker agent="my model" score>0`; raises ConfigError for what isn't one."""
    terms, at = [], 0
    while text[at:].strip():
        found = TERM.match(text, at)
        if found is None:
            raise ConfigError(
                f"can't read {text[at:].strip()!r}",
                "--where",
                remedy='write terms like game=nim agent="my model" score>0',
            )
        value = next(found[name] for name in ("double", "single", "bare") if found[name] is not None)
        terms.append(_term(found["field"], found["sign"], value))
        at = found.end()
    return tuple(terms)


def _term(field: str, sign: str, value: str) -> Term:
    if field not in FIELDS:
        near = nearest(field, FIELDS)
        raise ConfigError(f"no field {field!r}", "--where", near, f"there are {', '.join(FIELDS)}")
    wrong = sign == "~" if field in NUMBERS else sign[0] in "<>"
    if wrong:
        signs = "=, !=, <, <=, > or >=" if field in NUMBERS else "=, != or ~ (contains)"
        raise ConfigError(f"{field} can't be compared by {sign}", "--where", remedy=f"use {signs}")
    if field not in NUMBERS:
        if field == "ending" and sign != "~":
            one_of("--where ending", value, ENDINGS)
        return Term(field, sign, value)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (field in COUNTS and number != int(number)):
        remedy = "give a whole number" if field in COUNTS else "give a number"
        raise ConfigError(f"{field} is compared with {value!r}", "--where", remedy=remedy)
    return Term(field, sign, number)


def query(terms: Sequence[Term], columns: str) -> tuple[str, list[str | float]]:
    """SQL for `columns` of the matches m that all terms hold for, after a number and up to a limit, and its values.

    It goes through an index in the order of the page, so a page costs the same however far back it is: the two last
    placeholders are the number of the match to go on after, and the limit.
    """
    seated = any(term.field in SEATED for term in terms)
    source, key = ("seat s CROSS JOIN match m ON m.id = s.match_id", "s.match_id") if seated else ("match m", "m.id")
    tests, values = [], list[str | float]()
    for term in terms:
        tests.append(_test(term, key))
        values.append(term.value)
    where = " AND ".join([*tests, f"{key} > ?"])
    # A match has several seats; the order of the index brings them together, so grouping sorts nothing.
    return f"SELECT {columns} FROM {source} WHERE {where} GROUP BY {key} ORDER BY {key} LIMIT ?", values


def _test(term: Term, key: str) -> str:
    expression = WORDS.get(term.field) or NUMBERS[term.field]
    test = f"instr({expression}, ?) > 0" if term.sign == "~" else f"{expression} {term.sign} ?"
    if term.field == "against":
        return f"EXISTS(SELECT 1 FROM seat o WHERE o.match_id = {key} AND o.team <> s.team AND {test})"
    if term.field == "task":
        return f"EXISTS(SELECT 1 FROM faced f WHERE f.match_id = {key} AND {test})"
    return test
