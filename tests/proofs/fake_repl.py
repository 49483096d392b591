"""A REPL that answers as Lean's does, and cheats in the way that it is told: `python fake_repl.py WAY`."""

import json
import re
import sys
import time

WAY = sys.argv[1]


def answer(**parts):
    sys.stdout.write(json.dumps({"env": 1, **parts}) + "\n\n")
    sys.stdout.flush()


def message(severity, text):
    return {"severity": severity, "pos": {"line": 1, "column": 0}, "data": text}


proving = False
for line in sys.stdin:
    if not line.strip():
        continue
    command = json.loads(line)["cmd"]
    name = (re.search(r"\bt[0-9a-f]{16}\b", command) or [""])[0]
    if command.startswith("theorem"):
        proving = command.rstrip().endswith("sorry") is False
        if not proving:
            bad = WAY == "ill_typed"
            answer(messages=[message("error", "type expected") if bad else message("warning", "uses sorry")])
        elif WAY == "error":
            answer(messages=[message("error", "unsolved goals")])
        elif WAY == "sorries":
            answer(sorries=[{"goal": "False"}])
        elif WAY == "hang":
            time.sleep(60)
        elif WAY == "flood":
            sys.stdout.write("x" * (1 << 21))
            sys.stdout.flush()
            time.sleep(60)
        elif WAY == "die":
            sys.exit(1)
        elif WAY == "nonsense":
            sys.stdout.write("proved!\n\n")
            sys.stdout.flush()
        elif WAY == "boast":
            answer(messages=[message("info", f"'{name}' does not depend on any axioms")])
        else:
            answer()
    elif command.startswith("#print axioms"):
        depends = {
            "classical": "propext, Classical.choice",
            "sorry_ax": "sorryAx",
            "native": "propext, Lean.ofReduceBool",
            "boast": "sorryAx",
            "own_axiom": "cheat",
        }
        if WAY == "two_messages":
            answer(messages=[message("info", f"'{name}' does not depend on any axioms"), message("info", f"{name}")])
        elif WAY == "other_name":
            answer(messages=[message("info", "'other' does not depend on any axioms")])
        elif WAY == "more_text":
            answer(messages=[message("info", f"'{name}' does not depend on any axioms [cheat]")])
        elif WAY in depends:
            answer(messages=[message("info", f"'{name}' depends on axioms: [{depends[WAY]}]")])
        else:  # also after an error
            answer(messages=[message("info", f"'{name}' does not depend on any axioms")])
    elif "#check" in command:
        answer(messages=[message("info", f"@{name} : {'True' if WAY == 'edited' and proving else '1 = 1'}")])
    else:
        answer(env=0, messages=[message("error", "unknown package")] if WAY == "no_header" else [])
