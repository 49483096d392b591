"""From the reports of leaves to a verdict: what the trainer makes of evidence that may be forged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arena.sandbox.equality import same
from arena.sandbox.report import Report, outcome, raised, show, tell, tidy
from arena.sandbox.verdict import Limits, Raised, Status, Verdict

OUT_OF_TURN = "answers out of turn"


def calls(leaf: Report, total: int, limits: Limits) -> Verdict:
    """Passed if each of `total` calls returned a value."""
    blank = spent(leaf, total)
    fault, lines = leaf.fault(limits), leaf.lines()
    if fault == "infra":
        return replace(blank, status="infra", detail=leaf.told())
    if fault == "tampered" or lines is None or len(lines) > total + 1 or (lines and "load" not in lines[0]):
        return replace(blank, status="tampered", detail=OUT_OF_TURN)
    if not lines:
        return replace(blank, status=fault or "crashed", detail=leaf.told())
    if lines[0]["load"] is not None:
        error = raised(lines[0]["load"])
        return replace(blank, status=_of(error), detail=tell(error))
    values = tuple(map(outcome, lines[1:]))
    errors = [value for value in values if isinstance(value, Raised)]
    known = replace(blank, values=values, passed=len(values) - len(errors))
    if fault or len(values) < total:
        return replace(known, status=fault or "crashed", detail=leaf.told())
    if errors:
        status = "memory" if any(_of(error) == "memory" for error in errors) else _of(errors[0])
        return replace(known, status=status, detail=tell(errors[0]))
    return replace(known, status="passed")


def answers(called: Verdict, expected: Sequence[object]) -> Verdict:
    """The verdict on calls whose values should be the expected ones, which may be a Raised."""
    if called.status == "tampered":
        return called
    right = [_agree(*pair) for pair in zip(called.values, expected, strict=False)]
    verdict = replace(called, passed=sum(right))
    if len(right) < len(expected) or called.status not in ("passed", "error"):
        return verdict
    if all(right):
        return replace(verdict, status="passed", detail="")
    wrong = right.index(False)
    detail = f"call {wrong + 1}: got {show(called.values[wrong])}"
    nothing = all(isinstance(value, Raised) for value in called.values)
    return replace(verdict, status="error" if nothing else "failed", detail=detail)


def printed(leaf: Report, expected: str, limits: Limits) -> Verdict:
    """Passed if a program printed what is expected, but for white space at the ends of lines, and raised nothing."""
    blank = spent(leaf, 1)
    fault, lines = leaf.fault(limits), leaf.lines()
    if fault:
        return replace(blank, status=fault, detail=OUT_OF_TURN if fault == "tampered" else leaf.told())
    if lines is None or len(lines) > 1:
        return replace(blank, status="tampered", detail=OUT_OF_TURN)
    if lines and lines[0].get("end") is not None:
        error = raised(lines[0]["end"])
        return replace(blank, status=_of(error), detail=tell(error))
    if _text(leaf.out) != _text(expected):
        return replace(blank, status="failed", detail=f"printed {tidy(repr(leaf.out))}")
    return replace(blank, status="passed", passed=1)


def tests(server: Report, suite: Report, limits: Limits) -> Verdict:
    """Passed if every test that was found before anything ran is reported once, as passed, and the end was reached."""
    faults = server.fault(limits), suite.fault(limits)
    lines = suite.lines()
    names = _names(lines[0]) if lines else None
    both = replace(
        spent(suite, len(names or ())),
        cpu=server.cpu + suite.cpu,
        rss_kb=max(server.rss_kb, suite.rss_kb),
    )
    if "infra" in faults:
        return replace(both, status="infra", detail=server.told() if faults[0] == "infra" else suite.told())
    hello = server.lines()
    if server.why == "protocol" or hello is None or (hello and "load" not in hello[0]):
        return replace(both, status="tampered", detail=OUT_OF_TURN)
    if not lines or names is None:
        why = lines[0].get("invalid") if lines else None
        return replace(both, status="invalid_tests", detail=tidy(why) if type(why) is str else suite.told())
    results, ended = [line for line in lines[1:] if "test" in line], lines[-1] == {"end": True}
    told = [line["test"] for line in results]
    if suite.why == "protocol" or len(results) + 1 + ended != len(lines) or told != names[: len(told)]:
        return replace(both, status="invalid_tests", detail="the tests speak out of turn")
    failures = [line.get("failure") for line in results]
    known = replace(both, passed=failures.count(None))
    if ended and len(told) == len(names):
        if known.passed == len(names):
            return replace(known, status="passed")
        place, failure = next((name, failure) for name, failure in zip(told, failures, strict=True) if failure)
        return replace(known, status="failed", detail=f"{tidy(place)}: {tell(raised(failure))}")
    return _unfinished(known, server, suite, limits)


def spent(leaf: Report, total: int) -> Verdict:
    """A verdict that says only what was printed and used."""
    return Verdict("infra", 0, total, stdout=leaf.out, cpu=leaf.cpu, wall=leaf.wall, rss_kb=leaf.rss_kb)


def _names(line: Mapping[str, Any]) -> list[str] | None:
    names = line.get("tests")
    return names if type(names) is list and all(type(name) is str for name in names) else None


def _unfinished(known: Verdict, server: Report, suite: Report, limits: Limits) -> Verdict:
    """Whose fault it is that a suite didn't reach its end: the solution's if its process ended first."""
    if (load := _load(server)) is not None:
        return replace(known, status=_of(load), detail=tell(load))
    if suite.fault(limits) == "timeout" or server.fault(limits) == "timeout":
        return replace(known, status="timeout", detail="the tests and the solution took too long together")
    if server.why != "peer":
        return replace(known, status=server.fault(limits) or "crashed", detail=f"the solution {server.told()}")
    if suite.why == "output":
        return replace(known, status="output_limit", detail="the tests printed too much")
    return replace(known, status="invalid_tests", detail=f"the tests {suite.told()}")


def _load(server: Report) -> Raised | None:
    """What the solution raised while it was loaded."""
    lines = server.lines()
    return raised(lines[0]["load"]) if lines and lines[0].get("load") is not None else None


def _of(error: Raised) -> Status:
    return "memory" if error.kind == "MemoryError" else "error"


def _agree(value: object, expected: object) -> bool:
    if isinstance(value, Raised) or isinstance(expected, Raised):
        return isinstance(value, Raised) and isinstance(expected, Raised) and value.kind == expected.kind
    return same(value, expected)


def _text(output: str) -> list[str]:
    return [line.rstrip() for line in output.rstrip().split("\n")]
