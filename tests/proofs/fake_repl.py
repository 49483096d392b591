"""A REPL that answers as Lean's does, and cheats in the way that it is told: `python fake_repl.py WAY`."""

import json
import os
import re
import socket
import sys
import time
from pathlib import Path

WAY = sys.argv[1]
ODD = {
    "nonsense": "proved!",
    "number": "5",
    "list": '[{"env": 1}]',
    "no_env": '{"message": "Unknown environment."}',
    "true_env": '{"env": true}',
    "text_messages": '{"env": 1, "messages": "none"}',
    "number_message": '{"env": 1, "messages": [5]}',
    "no_severity": '{"env": 1, "messages": [{"data": "all is well"}]}',
    "text_sorries": '{"env": 1, "sorries": "none"}',
    "deep": "[" * 200_000,
    "two_answers": '{"env": 1}\n\n{"env": 1}',
}
AXIOMS = {
    "classical": "propext, Classical.choice, Quot.sound",
    "sorry_ax": "sorryAx",
    "native": "propext, Lean.ofReduceBool",
    "boast": "sorryAx",
    "own_axiom": "cheat",
}
PICKLE = "the environment after the header"


def tell(text):
    sys.stdout.write(text + "\n\n")
    sys.stdout.flush()


def answer(**parts):
    tell(json.dumps({"env": 1, **parts}))


def message(severity, text):
    return {"severity": severity, "pos": {"line": 1, "column": 0}, "data": text}


def escapes(pickle):
    """What a jail should have refused."""
    found = []
    for name, attempt in {
        "read": lambda: Path("/etc/passwd").read_text(),
        "list": lambda: os.listdir("/proc"),
        "write": lambda: Path("/tmp/escape").write_text(""),
        "forge": lambda: Path(pickle).write_text(""),
        "connect": lambda: socket.create_connection(("127.0.0.1", 22), timeout=1),
        "signal": lambda: os.kill(os.getppid() or 2, 0),
    }.items():
        try:
            attempt()
            found.append(name)
        except OSError:
            pass
    return found


def prove(name, pickle):
    if WAY in ODD:
        tell(ODD[WAY])
    elif WAY == "error":
        answer(messages=[message("error", "unsolved goals")])
    elif WAY == "odd_severity":
        answer(messages=[message("fatal", "panic")])
    elif WAY == "sorries":
        answer(sorries=[{"goal": "False"}])
    elif WAY == "hang":
        time.sleep(60)
    elif WAY == "flood":
        sys.stdout.write("x" * (1 << 21))
        sys.stdout.flush()
        time.sleep(60)
    elif WAY == "drip":
        while True:
            sys.stdout.write("x")
            sys.stdout.flush()
            time.sleep(0.01)
    elif WAY == "die":
        sys.exit(1)
    elif WAY == "boast":
        answer(messages=[message("info", f"'{name}' does not depend on any axioms")])
    elif WAY == "ahead":  # the next answer before its question
        answer()
        time.sleep(0.2)
        answer(messages=[message("info", f"@{name} : 1 = 1")])
    elif WAY == "escape":
        answer(messages=[message("error", f"escaped: {escapes(pickle)}")])
    else:
        answer()


def axioms(name):
    if WAY == "two_messages":
        answer(messages=[message("info", f"'{name}' does not depend on any axioms"), message("info", f"{name}")])
    elif WAY == "other_name":
        answer(messages=[message("info", "'other' does not depend on any axioms")])
    elif WAY == "more_text":
        answer(messages=[message("info", f"'{name}' does not depend on any axioms [cheat]")])
    elif WAY in AXIOMS:
        answer(messages=[message("info", f"'{name}' depends on axioms: [{AXIOMS[WAY]}]")])
    else:  # also after an error
        answer(messages=[message("info", f"'{name}' does not depend on any axioms")])


proving, stated, pickle = False, "", ""
for line in sys.stdin:
    if not line.strip():
        continue
    asked = json.loads(line)
    command = asked.get("cmd", "")
    name = (re.search(r"\bt[0-9a-f]{16}\b", command) or [""])[0]
    if "pickleTo" in asked:
        if WAY != "no_pickle":
            Path(asked["pickleTo"]).write_text(PICKLE)
        answer()
    elif "unpickleEnvFrom" in asked:
        pickle = asked["unpickleEnvFrom"]
        assert Path(pickle).read_text() == PICKLE
        answer()
    elif command.startswith("theorem"):
        proving = command.rstrip().endswith("sorry") is False
        if proving:
            assert f"theorem {name} : {stated} := by\n  " in command
            prove(name, pickle)
        else:
            stated = command.removeprefix(f"theorem {name} : ").removesuffix(" := sorry")
            bad = WAY == "ill_typed"
            answer(messages=[message("error", "type expected") if bad else message("warning", "uses sorry")])
    elif command.startswith("#print axioms"):
        axioms(name)
    elif "#check" in command:
        assert "set_option pp.all true" in command
        cut = "⋯" if WAY == "cut" else ""
        answer(messages=[message("info", f"@{name} : {'True' if WAY == 'edited' and proving else '1 = 1'}{cut}")])
    else:
        answer(env=0, messages=[message("error", "unknown package")] if WAY == "no_header" else [])
