"""Theorems that every table knows, with their proofs: the lemmas that a library begins with."""

from __future__ import annotations

from typing import NamedTuple


class Theorem(NamedTuple):
    """A statement and a proof of it from the axioms and the theorems that stand before it in its theory."""

    statement: str
    proof: str


THEORIES: dict[str, dict[str, Theorem]] = {
    "nat": {
        "zero_add": Theorem("forall a: 0 + a = a", "induction a; simp; simp; rw IH"),
        "succ_add": Theorem("forall a b: s(a) + b = s(a + b)", "induction b; simp; simp; rw IH"),
        "add_comm": Theorem("forall a b: a + b = b + a", "induction b; simp; rw zero_add; simp; rw IH; rw succ_add"),
        "add_assoc": Theorem("forall a b c: (a + b) + c = a + (b + c)", "induction c; simp; simp; rw IH"),
        "zero_mul": Theorem("forall a: 0 * a = 0", "induction a; simp; simp; rw IH"),
        "succ_mul": Theorem(
            "forall a b: s(a) * b = a * b + b",
            "induction b; simp; simp; rw IH; rw add_assoc; rw add_comm 2; rw <- add_assoc",
        ),
        "mul_comm": Theorem("forall a b: a * b = b * a", "induction b; simp; rw zero_mul; simp; rw IH; rw succ_mul"),
        "mul_add": Theorem("forall a b c: a * (b + c) = a * b + a * c", "induction c; simp; simp; rw IH; rw add_assoc"),
    },
    "list": {
        "zero_add": Theorem("forall a: 0 + a = a", "induction a; simp; simp; rw IH"),
        "succ_add": Theorem("forall a b: s(a) + b = s(a + b)", "induction b; simp; simp; rw IH"),
        "app_nil_right": Theorem("forall l: l ++ nil = l", "induction l; simp; simp; rw IH"),
        "app_assoc": Theorem("forall k l m: (k ++ l) ++ m = k ++ (l ++ m)", "induction k; simp; simp; rw IH"),
        "len_app": Theorem(
            "forall k l: len(k ++ l) = len(k) + len(l)",
            "induction k; simp; rw zero_add; simp; rw IH; rw succ_add",
        ),
        "rev_app": Theorem(
            "forall k l: rev(k ++ l) = rev(l) ++ rev(k)",
            "induction k; simp; rw app_nil_right; simp; rw IH; rw app_assoc",
        ),
        "rev_rev": Theorem("forall l: rev(rev(l)) = l", "induction l; simp; simp; rw rev_app; simp; rw IH"),
        "len_rev": Theorem("forall l: len(rev(l)) = len(l)", "induction l; simp; simp; rw len_app; simp; rw IH"),
    },
    "bool": {
        "not_not": Theorem("forall p: ~~p = p", "induction p; simp; simp"),
        "and_comm": Theorem(
            "forall p q: p & q = q & p", "induction p; induction q; simp; simp; induction q; simp; simp"
        ),
        "or_comm": Theorem(
            "forall p q: p | q = q | p", "induction p; induction q; simp; simp; induction q; simp; simp"
        ),
        "and_assoc": Theorem("forall p q r: (p & q) & r = p & (q & r)", "induction p; simp; simp"),
        "not_and": Theorem("forall p q: ~(p & q) = ~p | ~q", "induction p; simp; simp"),
        "and_or": Theorem("forall p q r: p & (q | r) = p & q | p & r", "induction p; simp; simp"),
    },
    "logic": {
        "and_swap": Theorem("p & q -> q & p", "intro; cases h1; split; assumption; assumption"),
        "or_swap": Theorem("p | q -> q | p", "intro; cases h1; right; assumption; left; assumption"),
        "chain": Theorem("(p -> q) -> (q -> r) -> p -> r", "intro; intro; intro; apply h2; apply h1; assumption"),
        "contrapose": Theorem("(p -> q) -> ~q -> ~p", "intro; intro; intro; apply h2; apply h1; assumption"),
        "not_not": Theorem("~~p -> p", "intro; classical; apply h1; assumption"),
        "middle": Theorem("p | ~p", "classical; apply h1; right; intro; apply h1; left; assumption"),
        "peirce": Theorem(
            "((p -> q) -> p) -> p",
            "intro; classical; apply h2; apply h1; intro; exfalso; apply h2; assumption",
        ),
        "not_or": Theorem(
            "~(p | q) -> ~p & ~q",
            "intro; split; intro; apply h1; left; assumption; intro; apply h1; right; assumption",
        ),
    },
}
