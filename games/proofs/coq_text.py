"""Statements of the built-in checker as Coq's own, and what a proof may say there: tactics, and nothing else."""

from __future__ import annotations

import re

from games.proofs import equations, logic
from games.proofs.kernel import is_equation
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
LONG = 8000  # characters of a proof
FORBIDDEN = re.compile(
    r"\b(admit|give_up|abstract|native_compute|native_cast_no_check|vm_cast_no_check|exact_no_check|change_no_check"
    r"|convert_concl_no_check|Redirect|Drop|Load|Declare|Extraction|Admitted|Abort|Qed|Defined|Save|Axiom)\b|ltac2?:|\$"
)
TACTIC = re.compile(r"[a-z_][A-Za-z0-9_']*|[0-9]+\s*:|\[|\(|all\s*:")
BULLET = re.compile(r"[-+*{}\s]+")


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
    """What ends in a dot and a blank, outside of comments and strings; raises `Malformed` where one isn't closed."""
    found, now, at, comments, quoted = list[str](), "", 0, 0, False
    text += "\n"
    while at < len(text):
        letter, two = text[at], text[at : at + 2]
        if quoted:
            now, quoted, at = now + letter, letter != '"', at + 1
        elif two in ("(*", "*)") and (comments or two == "(*"):
            comments, at = comments + (1 if two == "(*" else -1), at + 2
        elif comments:
            at += 1
        elif letter == "." and text[at + 1].isspace() and not now.endswith("."):
            found.append(now.strip())
            now, at = "", at + 1
        else:
            now, quoted, at = now + letter, letter == '"', at + 1
    if comments or quoted:
        raise Malformed("a comment or a string isn't closed")
    return [sentence for sentence in (*found, now.strip()) if sentence]


def check_statement(text: str) -> None:
    """Raise `Malformed` unless it can be nothing but one term: no sentence ends in it and its brackets match."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
    ends = text.rstrip().endswith(".") or re.search(r"\.\s", text)
    if depth or ends or '"' in text or "(*" in text or ":=" in text or FORBIDDEN.search(text) or len(text) > LONG:
        raise Malformed(f"{text[:60]!r} is not a single term")


def tactics(proof: str) -> list[str]:
    """The sentences of a proof, bullets apart from what follows; raises `Malformed` for what is no tactic."""
    if len(proof) > LONG:
        raise Malformed(f"the proof has {len(proof)} characters: use at most {LONG}")
    found = []
    for sentence in sentences(proof):
        bare = sentence.lstrip("-+*{} \n\t")
        if bare and not TACTIC.match(bare):
            raise Malformed(f"{bare[:40]!r} is no tactic")
        if word := FORBIDDEN.search(sentence):
            raise Malformed(f"{word[0]!r} is forbidden in a proof")
        found.append(sentence)
    return found
