"""A config is a dataclass, filled from files and words; whatever doesn't fit is one line that helps."""

import ast
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import config
from arena.commands.learn import validate
from arena.config import ConfigError
from arena.tournament import TournamentConfig, check
from trainers.config import TrainConfig

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Lamp:
    watts: float = 5.0
    colour: str = "white"


@dataclass(frozen=True)
class Room:
    name: str = "???"
    seed: int = 0
    lamp: Lamp = field(default_factory=Lamp)
    lamps: dict[str, Lamp] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    width: float | None = None


def write(text: str, name: str = "room.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def refused(text: str, *words: str) -> str:
    """The one line with which a config is refused."""
    with pytest.raises(ConfigError) as caught:
        config.load(Room, write(text), words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_words_win_over_the_file_and_the_file_over_the_schema():
    room = config.load(Room, write("name: hall\nlamp: {watts: 7}\n"), ["lamp.colour=red", "lamps.desk.watts=2"])
    assert room == Room("hall", lamp=Lamp(7.0, "red"), lamps={"desk": Lamp(2.0)})
    assert type(room.lamps["desk"]) is Lamp
    assert type(room.extra) is dict


def test_a_later_word_wins():
    assert config.load(Room, write("name: hall"), ["seed=1", "seed=2"]).seed == 2


def test_text_is_kept_as_it_is_typed():
    """`off`, `1e-5` and `007` are text where text is wanted, not False, 0.00001 and 7."""
    for word in ("off", "1e-5", "007", "no", "a b", "x: y", "[bet]", ""):
        assert config.load(Room, write("seed: 1"), [f"name={word}"]).name == word


def test_text_that_yaml_takes_for_something_else_is_refused_in_a_file():
    line = refused("name: off\n")
    assert line == "name is False (bool): room.yaml: it is text: put it in quotes"


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("name: a\nsede: 1\n", (), "unknown key 'sede': room.yaml: did you mean seed?"),
        ("name: a\nlamp: {wats: 1}\n", (), "unknown key 'lamp.wats': room.yaml: did you mean lamp.watts?"),
        (
            "name: a\nlamps: {desk: {wats: 1}}\n",
            (),
            "unknown key 'lamps.desk.wats': room.yaml: did you mean lamps.desk.",
        ),
        ("name: a\nwatts: 1\n", (), "unknown key 'watts': room.yaml: did you mean lamp.watts?"),
        ("name: a\nzzz: 1\n", (), "unknown key 'zzz': room.yaml: the keys here are name, seed,"),
        (
            "name: a\n",
            ("lamp.colr=red",),
            "unknown key 'lamp.colr': command line, 'lamp.colr=red': did you mean lamp.colour?",
        ),
        ("name: a\n", ("seed=abc",), "seed: Value 'abc' of type 'str' could not be converted to Integer: command line"),
        ("name: a\nseed: 1.5\n", (), "seed: Value '1.5' of type 'float' could not be converted to Integer: room.yaml"),
        ("name: a\nlamp: 3\n", (), "lamp is 3: room.yaml: it holds keys: lamp.name=value"),
        ("name: a\nnotes: abc\n", (), "notes is 'abc': room.yaml: it is a list: notes=[abc]"),
        ("name: a\nlamp: {watts: null}\n", (), "lamp.watts: Incompatible value 'None'"),
        ("seed: 1\n", (), "name has no value: room.yaml: set it: name=..."),
        ("name: a\nseed: ${sede}\n", (), "seed: Interpolation key 'sede' not found: room.yaml"),
        ("", (), "the config is empty: room.yaml"),
        ("# only a remark\n", (), "the config is empty: room.yaml"),
        ("- a\n- b\n", (), "a list, not keys and values: room.yaml"),
        ("name: [a\n", (), "not YAML: room.yaml, line 2, column 1"),
        ("name: a\nname: b\n", (), "not YAML: room.yaml, line 2, column 1: found duplicate key name"),
        ("name: a\n", ("seed",), "'seed' is not key=value: command line: write it like steps=20"),
        ("name: a\n", ("=3",), "'=3' is not key=value: command line"),
        ("name: a\n", ("notes=[a",), "not a YAML value: command line, 'notes=[a'"),
    ],
)
def test_each_fault_is_one_line(text, words, line):
    assert refused(text, *words).startswith(line)


def test_a_file_that_is_not_text_is_refused():
    Path("room.yaml").write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"not text: room\.yaml"):
        config.load(Room, "room.yaml")


def test_an_unknown_config_names_the_nearest(monkeypatch, tmp_path):
    shelf = tmp_path / "shelf"
    (shelf / "train").mkdir(parents=True)
    (shelf / "train" / "kuhn_selfplay.yaml").write_text("name: kuhn")
    monkeypatch.setattr(config, "library", lambda: shelf)
    with pytest.raises(ConfigError, match="did you mean train/kuhn_selfplay"):
        config.load(Room, "kuhn_selfplya", kind="train")
    for name in ("kuhn_selfplay", "train/kuhn_selfplay", "configs/train/kuhn_selfplay.yaml"):
        assert config.load(Room, name, kind="train").name == "kuhn"


def test_an_unknown_file_names_the_nearest_beside_it():
    write("name: a", "my_game.yaml")
    with pytest.raises(ConfigError, match=r"config 'my_gaem\.yaml' not found: did you mean my_game\.yaml\?"):
        config.load(Room, "my_gaem.yaml", kind="train")


def test_a_base_may_not_stand_on_itself():
    write("base: b.yaml\nname: a\n", "a.yaml")
    write("base: a.yaml\nseed: 1\n", "b.yaml")
    with pytest.raises(ConfigError, match="a config is its own base"):
        config.load(Room, "a.yaml")


def test_a_missing_base_names_the_nearest():
    write("name: x\n", "basic.yaml")
    assert "did you mean basic.yaml?" in refused("base: basik.yaml\nname: a\n")


TEXT = st.text(alphabet=st.sampled_from("ab \\${}:#'\"[]\n\té?-0"), max_size=12).filter(lambda text: text != "???")


@given(
    st.builds(
        Room, name=TEXT, seed=st.integers(-9, 9), notes=st.lists(TEXT, max_size=3), width=st.none() | st.floats(0, 1)
    )
)
def test_what_is_saved_reloads_equal(tmp_path_factory, room):
    path = tmp_path_factory.getbasetemp() / "saved.yaml"
    config.save(room, path)
    assert config.load(Room, path) == room


def test_the_difference_of_two_configs_names_each_key():
    a = Room("a", lamps={"desk": Lamp()}, extra={"n": 1})
    b = Room("a", seed=5, lamp=Lamp(watts=7.0), lamps={"wall": Lamp()}, extra={"n": 2})
    assert config.difference(a, a) == []
    assert config.difference(a, b) == [
        "seed: 0 -> 5",
        "lamp.watts: 5.0 -> 7.0",
        "lamps.desk.watts: 5.0 -> (none)",
        "lamps.desk.colour: white -> (none)",
        "extra.n: 1 -> 2",
        "lamps.wall.watts: (none) -> 5.0",
        "lamps.wall.colour: (none) -> white",
    ]


def test_a_folder_belongs_to_one_config(tmp_path):
    config.claim(tmp_path, Room("a"))
    config.claim(tmp_path, Room("a"))
    with pytest.raises(ConfigError, match=r"another config was run here: seed: 0 -> 5: .*give --folder another one"):
        config.claim(tmp_path, Room("a", seed=5))
    config.claim(tmp_path, Room("a", seed=5), free=("seed",))
    assert config.load(Room, tmp_path / "config.yaml").seed == 5


def test_the_keys_of_a_schema_are_dotted():
    assert list(config.keys(Room))[:5] == ["name", "seed", "lamp", "lamp.watts", "lamp.colour"]
    assert "lamps.<name>.watts" in set(config.keys(Room))
    assert "seats.<name>.agent" in set(config.keys(TrainConfig))


@pytest.mark.parametrize("name", config.names())
def test_every_config_that_ships_loads_and_can_run(name, tmp_path):
    if name.startswith("train/"):
        settings = config.load(TrainConfig, name)
        validate(replace(settings, model="tiny"), tmp_path)
        assert settings.name == name.rpartition("/")[2]
    else:
        settings = config.load(TournamentConfig, name)
        assert check(settings).expected


# -- every knob is turned by code ----------------------------------------------------------------------------------


def knobs(schema: type) -> set[str]:
    return {key.rpartition(".")[2] for key in config.keys(schema)} - {"<name>", "<i>"}


def read_names(sources: list[str]) -> set[str]:
    """Every attribute that is read somewhere: `x.name`, or `getattr(x, "name")`."""
    found = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
                found |= {arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)}
    return found


@pytest.mark.parametrize(
    ("schema", "rooms"), [(TrainConfig, ["trainers", "arena/curriculum.py"]), (TournamentConfig, ["arena"])]
)
def test_every_knob_is_read_by_code(schema, rooms):
    places = [ROOT / room for room in rooms]
    files = [
        p for place in places for p in (place.rglob("*.py") if place.is_dir() else [place]) if p.name != "config.py"
    ]
    assert knobs(schema) - read_names([p.read_text() for p in files]) == set()


def test_a_knob_that_nobody_reads_is_found():
    assert knobs(TrainConfig) >= {"gap", "micro_tokens", "agent", "params", "exploitability"}
    assert read_names(["x.lr\ny.gap = 3\ngetattr(z, 'kl')"]) == {"lr", "kl"}
