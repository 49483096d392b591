"""What an answer is worth that was run, judged, or both: a run outranks a judge."""

from __future__ import annotations

from arena.types import Verdict


def ruling(run: Verdict | None, approves: bool | None, *, runs: bool = True, veto: bool = True) -> Verdict:
    """The one verdict that follows from a run and a judge.

    `run` is None where there was none, `approves` None where the judge said nothing that is a verdict. `runs` says
    whether the task can be run at all: then only a run gives marks. A judge's rejection of what passed counts as 0 with
    `veto`, else not at all. Where nothing follows the score is None: not scored, which is never a 0 nor an approval.
    """
    if runs:
        if run is None or run.score is None:
            return Verdict(None, "not run", "the task can be run, and wasn't: nobody's approval stands for that")
        if run.score == 0 or not veto:
            return run
    if approves is None:
        return Verdict(None, "malformed", "the judge gave no verdict")
    if not approves:
        return Verdict(0.0, "rejected", "the judge rejected it")
    return run if runs and run is not None else Verdict(1.0)
