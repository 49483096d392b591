"""The house has stairs, not ladders: who may import whom, and what may be heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BELOW = {
    "roles": {"roles"},
    "arena": {"roles", "arena"},
    "games": {"arena", "games"},
    "trainers": {"roles", "arena", "trainers"},
}
HEAVY = {"torch", "transformers", "peft", "safetensors", "gguf", "tokenizers", "huggingface_hub", "vllm", "ray"}
FILES = sorted(path for room in BELOW for path in (ROOT / room).rglob("*.py"))


def imported(source: str) -> set[str]:
    """The top-level packages that a module imports anywhere in it, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that the stairs can be read"
            found.add((node.module or "").partition(".")[0])
    return found


def climbing(room: str, source: str) -> set[str]:
    return imported(source) & set(BELOW) - BELOW[room]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_the_stairs(path):
    assert climbing(path.relative_to(ROOT).parts[0], path.read_text()) == set()


def test_an_import_up_the_stairs_is_seen_wherever_it_hides():
    assert climbing("arena", "def f():\n    from trainers.train import run\n") == {"trainers"}
    assert climbing("roles", "import arena.game as game\n") == {"arena"}
    assert climbing("games", "import trainers\nimport arena\n") == {"trainers"}
    assert climbing("trainers", "import games.nim\nimport roles, arena\n") == {"games"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_engines_and_trainers_are_heavy(path):
    if path.relative_to(ROOT).parts[0] != "trainers" and "engines" not in path.parts:
        assert not imported(path.read_text()) & HEAVY


def loaded(code: str) -> set[str]:
    """The modules of HEAVY that a fresh interpreter holds after `code`."""
    show = f"\nimport sys\nprint(*sorted({HEAVY!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code + show], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import arena; [getattr(arena, name) for name in arena.__all__]",
        "import arena.cli; arena.cli.build()",
        "from arena import config; from trainers.config import TrainConfig; list(config.keys(TrainConfig))",
        "import pathlib, tempfile\n"
        "from arena import config\nfrom trainers.config import TrainConfig\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'x.yaml'\n"
        "path.write_text('{name: x, game: {name: nim}}')\nconfig.load(TrainConfig, path)",
        "import roles; roles.names()",
        "from arena import make; from arena.make import names; names()",
    ],
)
def test_nothing_heavy_is_loaded_at_the_door(code):
    assert loaded(code) == set()


def test_a_heavy_import_is_seen():
    assert "torch" in loaded("import torch")
