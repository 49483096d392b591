"""Problems whose answers are computed: right ones are accepted in any form, wrong and hostile ones never."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.make import make
from arena.types import Verdict
from games.verify.expression import NoExpression, compute
from games.verify.kind import choices
from games.verify.problems import KINDS, Problems, check
from games.verify.ruling import ruling


@pytest.mark.parametrize(
    ("text", "value", "numbers"),
    [
        ("3 + 4 * 2", 11, (3, 4, 2)),
        ("(3+4)*2", 14, (3, 4, 2)),
        ("-(2 - 5) - 1", 2, (2, 5, 1)),
        ("8-3-2 ", 3, (8, 3, 2)),
    ],
)
def test_an_expression_is_computed_as_at_school(text, value, numbers):
    assert compute(text) == (value, numbers)


@given(st.text(alphabet="0123456789+-*() ", max_size=24))
@settings(max_examples=50)
def test_whatever_is_read_has_the_value_that_python_gives_it(text):
    try:
        value, _ = compute(text)
    except NoExpression:
        return
    digits = "".join(f" {int(part)} " if part.isdigit() else part for part in split(text))  # python refuses 007
    assert value == eval(digits.strip())


def split(text):
    parts, number = [], ""
    for c in text:
        if c.isdigit():
            number += c
        else:
            parts += [number, c] if number else [c]
            number = ""
    return [*parts, number] if number else parts


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "2 ** 3", "1 2", "(1", "1)", "²", "１", "9" * 13, "999999 * 999999 * 9", "(" * 90 + "1" + ")" * 90,
     "-" * 150 + "1", "1+" * 150 + "1", "__import__('os')", "1e3", "1\n+1"],
)  # fmt: skip
def test_what_is_no_expression_is_refused_and_never_run(text):
    with pytest.raises(NoExpression):
        compute(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [1, 3, 6])
def test_every_problem_has_right_and_wrong_choices(kind, level):
    rng, problems = random.Random(level), Problems(kind, level)
    first = set()
    for _ in range(40):
        task = problems.draw(rng)
        scores = [check(task, choice).score for choice in choices(task)]
        assert 0 < sum(scores) < len(scores)
        first.add(scores[0])
    assert first == {0.0, 1.0}  # where a right one stands says nothing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["prover_verifier", "think_act", "leader_workers", "generator_verifier_refiner"])
def test_what_is_told_beside_a_problem_says_nothing_of_its_answer(kind, name):
    """The planted fault was real: an answer to choose from, shown as the form of one, was right now and then."""
    told = set()
    for seed in range(30):
        game = make(name, kind=kind, **({"sneaky": 0.0} if name == "prover_verifier" else {}))
        game.reset(seed=seed)
        told.add(game.observe(game.acting[0])["text"].replace(game.task.prompt, ""))
    assert len(told) == 1


def test_facts_are_true_as_often_as_not():
    rng, problems = random.Random(0), Problems("facts", 2)
    yes = sum(problems.draw(rng).payload["answer"] == "yes" for _ in range(400))
    assert 160 < yes < 240  # four deviations


@pytest.mark.parametrize(
    ("kind", "payload", "answer", "status"),
    [
        ("arithmetic", {"answer": -3}, "-3", "ok"),
        ("arithmetic", {"answer": 3}, "03", "ok"),
        ("arithmetic", {"answer": 3}, "4", "wrong"),
        ("arithmetic", {"answer": 3}, "³", "malformed"),
        ("arithmetic", {"answer": 3}, "3 or 4", "malformed"),
        ("countdown", {"target": 24, "numbers": [3, 5, 9]}, "(9 - 5) * 3", "wrong"),
        ("countdown", {"target": 12, "numbers": [3, 5, 9]}, "(9 - 5) * 3", "ok"),
        ("countdown", {"target": 12, "numbers": [3, 5, 9]}, "3 + 9", "ok"),
        ("countdown", {"target": 12, "numbers": [3, 5, 9]}, "3 + 3 + 3 + 3", "wrong"),
        ("countdown", {"target": 12, "numbers": [3, 5, 9]}, "12", "wrong"),
        ("countdown", {"target": 12, "numbers": [3, 5, 9]}, "twelve", "malformed"),
        ("facts", {"answer": "yes"}, "YES", "ok"),
        ("facts", {"answer": "yes"}, "no", "wrong"),
        ("facts", {"answer": "yes"}, "yes, no", "malformed"),
    ],
)
def test_answers_are_checked(kind, payload, answer, status):
    verdict = KINDS[kind].check(payload, answer)
    assert (verdict.status, verdict.score) == (status, float(status == "ok"))


def test_what_is_held_out_is_never_drawn_and_is_the_same_every_time():
    problems, again = (Problems("facts", 1, held_out=30) for _ in range(2))
    held = {task.prompt for task in problems.held_out}
    assert problems.held_out == again.held_out
    assert len(held) == 30
    assert Problems("facts", 1, held_out=30, seed=8).held_out != problems.held_out
    rng = random.Random(0)
    assert not held & {problems.draw(rng).prompt for _ in range(300)}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kind": "aritmetic"}, "did you mean 'arithmetic'"),
        ({"level": 0}, "level is 0: use 1 to 6"),
        ({"held_out": -1}, "held_out is -1"),
        ({"held_out": 300}, "has hardly any more"),
    ],
)
def test_what_can_not_be_is_refused_in_one_line(params, message):
    with pytest.raises(ValueError, match=message):
        Problems(**params)


PASSED, FAILED = Verdict(1.0), Verdict(0.0, "wrong")
TABLE = [  # run, judge approves, the score
    (FAILED, True, 0.0),
    (FAILED, False, 0.0),
    (FAILED, None, 0.0),
    (PASSED, True, 1.0),
    (PASSED, False, 0.0),
    (PASSED, None, None),
    (None, True, None),
    (Verdict(None, "infra"), True, None),
]


@pytest.mark.parametrize(("run", "approves", "score"), TABLE)
def test_a_run_outranks_a_judge(run, approves, score):
    """O-43: no approval saves what failed or was not run; a veto is declared; no verdict is no score."""
    assert ruling(run, approves).score == score


def test_without_veto_a_run_decides_alone_and_without_runs_a_judge_does():
    """O-43"""
    assert [ruling(PASSED, approves, veto=False).score for approves in (True, False, None)] == [1.0, 1.0, 1.0]
    assert [ruling(FAILED, approves, veto=False).score for approves in (True, False, None)] == [0.0, 0.0, 0.0]
    assert ruling(None, True, veto=False).score is None
    assert [ruling(None, approves, runs=False).score for approves in (True, False, None)] == [1.0, 0.0, None]
