"""Whether a task gives itself away: its prompt says the answer that is in its payload."""

from __future__ import annotations

import re
from typing import Any

from arena.clusters import canonical
from arena.types import Task


def leaks(task: Task) -> bool:
    """Whether the prompt says the answer of the payload: as a word of three characters or more, or where answers stand.

    A short answer may be part of any honest prompt; after `=`, `:` or `is` at the end of a line it is none.
    """
    answer = said_answer(task)
    if not isinstance(answer, (str, int, float)) or isinstance(answer, bool) or not str(answer).strip():
        return False
    text, said = re.escape(canonical(str(answer))), canonical(task.prompt)
    if len(canonical(str(answer))) >= 3 and re.search(rf"(?<!\w){text}(?!\w)", said):
        return True
    return any(re.search(rf"(?:=|:|\bis)\s*{text}\W*$", canonical(line)) for line in task.prompt.splitlines())


def said_answer(task: Task) -> Any:
    """What a payload says is right: its `answer`, or the `value` that a game keeps for its verifier."""
    return task.payload.get("answer", task.payload.get("value"))
