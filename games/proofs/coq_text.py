"""Statements of the built-in checker as Coq's own, and what a proof may say there: tactics, and nothing else."""

from __future__ import annotations

import re
from itertools import pairwise

from games.proofs import equations, logic
from games.proofs.kernel import is_equation
from games.proofs.prover import LONG
from games.proofs.terms import SORTS, Malformed, Term

HEADER = "Require Import Arith List Bool Lia."
TYPES = {"nat": "nat", "list": "list nat", "bool": "bool"}
# Functions, not signs: these mean the same in every scope of Coq's notations.
NAMES = {
    "0": "0%nat",
    "s": "S",
    "+": "Nat.add",
    "*": "Nat.mul",
    "nil": "(@nil nat)",
    "::": "cons",
    "++": "(@app nat)",
    "rev": "(@rev nat)",
    "len": "(@length nat)",
    "true": "true",
    "false": "false",
    "~": "negb",
    "&": "andb",
    "|": "orb",
}
SIGNS = {"&": r"/\ ", "|": r"\/ ", "->": "-> "}
FORBIDDEN = re.compile(
    r"\b(admit|give_up|abstract|native_compute|native_cast_no_check|vm_cast_no_check|exact_no_check|change_no_check"
    r"|convert_concl_no_check|Redirect|Drop|Load|Declare|Extraction|Admitted|Abort|Qed|Defined|Save|Axiom)\b|ltac2?:|\$"
)
GOALS = r"(?:(?:[0-9][0-9, -]*|all|!|\[ *[A-Za-z_][A-Za-z0-9_']* *\]) *:(?!=))"
START = re.compile(rf"(?:[-+*{{}} ]|{GOALS} *(?={{)|{GOALS})*")  # bullets, braces and the goals that are meant
TACTIC = re.compile(r"[a-z_][A-Za-z0-9_']*|\[|\(")
BULLET = re.compile(rf"(?:[-+*{{}} ]|{GOALS} *(?={{))+")


def translate(statement: str) -> str:
    """The statement in Coq, closed: what holds classically is stated under the law of excluded middle."""
    if is_equation(statement):
        found = equations.read(statement)
        bound = "".join(f" ({v} : {TYPES[SORTS[v[0]]]})" for v in found.variables)
        equation = f"{_term(found.left)} = {_term(found.right)}"
        return f"forall{bound}, {equation}" if bound else equation
    formula = logic.read(statement)
    atoms = " ".join(sorted(set(logic.atoms(formula)))) or "p"
    return rf"(forall X : Prop, X \/ ~ X) -> forall {atoms} : Prop, {_formula(formula)}"


def _term(term: Term) -> str:
    if term[0] == "v":
        return str(term[1])
    return f"({' '.join([NAMES[term[0]], *map(_term, term[1:])])})" if term[1:] else NAMES[term[0]]


def _formula(formula: logic.Formula) -> str:
    if formula[0] == "atom":
        return str(formula[1])
    if formula == logic.FALSE:
        return "False"
    return f"({_formula(formula[1])} {SIGNS[formula[0]]}{_formula(formula[2])})"


def sentences(text: str) -> list[str]:
    """What ends in a dot and a blank, outside of comments and strings, all on one line.

    Raises `Malformed` where a comment or string isn't closed, and at two dots, since three end a sentence too.
    """
    found, now, quoted = list[str](), "", False
    text = _uncommented(text) + " "
    for letter, follows in pairwise(text):
        quoted ^= letter == '"'
        if not quoted and letter + follows == "..":
            raise Malformed("two dots are no part of a proof")
        if not quoted and letter + follows == ". ":
            found.append(now.strip())
            now = ""
        else:
            now += letter
    return [sentence for sentence in (*found, now.strip()) if sentence]


def _uncommented(text: str) -> str:
    """The text with a blank for each comment, as Coq reads it: what stood on both sides of one must not meet."""
    if strange := [letter for letter in text if not letter.isprintable() and letter not in "\n\t"]:
        raise Malformed(f"{strange[0]!r} is no blank of Coq's")
    found, at, comments, quoted = "", 0, 0, False
    text = re.sub(r"[\n\t]", " ", text)
    while at < len(text):
        two = text[at : at + 2]
        if not quoted and two in ("(*", "*)"):
            comments, at, found = comments + (1 if two == "(*" else -1), at + 2, found + " "
            if comments < 0:
                raise Malformed("a comment ends that didn't begin")
            continue
        if not comments:
            quoted ^= text[at] == '"'
            found += text[at]
        at += 1
    if comments or quoted:
        raise Malformed("a comment or a string isn't closed")
    return found


def check_statement(text: str) -> None:
    """Raise `Malformed` unless it can be nothing but one term: no sentence ends in it and its brackets match."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
    plain = all(letter.isprintable() or letter in "\n\t" for letter in text)
    ends = not text.strip() or text.rstrip().endswith(".") or re.search(r"\.[\s.]", text)
    strange = not plain or any(part in text for part in ('"', "(*", "*)", ":="))
    if len(text) > LONG or depth or ends or strange or FORBIDDEN.search(text):
        raise Malformed(f"{text[:60]!r} is not a single term")


def tactics(proof: str) -> list[str]:
    """The sentences of a proof; raises `Malformed` for what is no tactic, behind whatever bullets and braces."""
    if len(proof) > LONG:
        raise Malformed(f"the proof has {len(proof)} characters: use at most {LONG}")
    found = []
    for sentence in sentences(proof):
        bare = START.sub("", sentence, count=1)
        if bare and not TACTIC.match(bare):
            raise Malformed(f"{bare[:40]!r} is no tactic")
        if word := FORBIDDEN.search(sentence):
            raise Malformed(f"{word[0]!r} is forbidden in a proof")
        found.append(sentence)
    return found
