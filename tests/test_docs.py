"""The documentation is true: its commands parse, its examples run, its configs and links exist."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

import roles
from arena import cli, config
from arena.testing import check_game
from arena.tournament import TournamentConfig
from trainers.config import TrainConfig

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICK = ("tournament", "games", "roles", "doctor", "play", "new")  # verbs that need no model


def blocks(language: str) -> list:
    """Every fenced block of a language, as a test parameter named by its page."""
    found = []
    for page in PAGES:
        for i, text in enumerate(re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)):
            found.append(pytest.param(text, id=f"{page.stem}-{i}"))
    return found


def commands() -> list[list[str]]:
    lines = [line for block in blocks("console") for line in block.values[0].splitlines()]
    assert all(line.startswith("$ scrimmage ") for line in lines)
    return [shlex.split(line)[2:] for line in lines]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_parses(words):
    command, _, _ = cli.build().parse_args(words, exit_on_error=False, print_error=False)
    assert command.__name__ in words[:2]


def needs_nothing(words: list[str]) -> bool:
    return words[0] in QUICK and not any("human" in word or "@" in word for word in words)


@pytest.mark.parametrize("words", [words for words in commands() if needs_nothing(words)], ids=" ".join)
def test_every_command_that_needs_no_model_runs(words, capsys):
    assert cli.main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("words", [words for words in commands() if words[0] in ("train", "tournament")], ids=" ".join)
def test_every_config_that_is_named_loads(words):
    name, *rest = words[1:]
    if name == "my_game.yaml":
        assert cli.main(["new", "game", "my_game"]) == 0
    changes = [word for word in rest if "=" in word]
    schema = TrainConfig if words[0] == "train" else TournamentConfig
    assert config.load(schema, name, changes, kind=words[0]).name


@pytest.mark.parametrize("text", blocks("python"))
def test_every_example_runs(text):
    exec(compile(text, "example", "exec"), {"__name__": "example"})


def test_the_game_of_the_readme_keeps_the_contract(recwarn):
    (shown,) = [block.values[0] for block in blocks("python") if block.id == "README-0"]
    Path("shown_game.py").write_text(shown)
    sys.path.append(".")
    check_game(importlib.import_module("shown_game").Bluff)
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_yaml_is_a_role_or_a_config(text):
    Path("shown.yaml").write_text(text)
    if "entrants:" in text:
        assert config.load(TournamentConfig, "shown.yaml").entrants
    elif "game:" in text:
        assert config.load(TrainConfig, "shown.yaml").name
    else:
        role = roles.load("shown.yaml")
        assert role.move("I say [5]") == "5"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(("schema", "page"), [(TrainConfig, "training.md"), (TournamentConfig, "tournaments.md")])
def test_every_knob_is_explained(schema, page):
    told = set(re.findall(r"`([a-z_<>.0-9]+)`", (ROOT / "docs" / page).read_text()))
    keys = list(config.keys(schema))
    leaves = {key for key in keys if not any(other.startswith(f"{key}.") for other in keys)}
    assert leaves - told == set()


@pytest.mark.parametrize(("kind", "page"), [("train", "training.md"), ("tournament", "tournaments.md")])
def test_every_config_is_told(kind, page):
    told = (ROOT / "docs" / page).read_text()
    missing = [name for name in config.names(kind) if f"`{name.removeprefix(f'{kind}/')}`" not in told]
    assert missing == []


def test_every_verb_is_told(capsys):
    assert cli.main(["--help"]) == 0
    listed = set(re.findall(r"^│ (\w+)", capsys.readouterr().out, re.M))
    told = set(re.findall(r"^\| `(\w+)|`, `(\w+)", (ROOT / "docs" / "cli.md").read_text(), re.M))
    assert listed - {word for pair in told for word in pair} == set()
