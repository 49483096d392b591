"""Agents come by a word, and `scrimmage play` seats them."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from arena import folder, play
from arena.agent import PLAYER, BotAgent, HumanAgent, LLMAgent, OracleAgent, RandomAgent, ScriptedAgent
from arena.cast import SIMPLE, Cast, _contents
from arena.cli import FAILED, MISUSED, STOPPED, main
from arena.commands.play import show
from arena.context import Left
from arena.game import Game
from arena.make import make
from arena.store import Store
from arena.suited import Unsuited
from arena.types import Match
from games.nim import Nim


def test_a_word_makes_an_agent():
    cast = Cast()
    assert cast.agent("random") == RandomAgent()
    assert cast.agent("oracle") == OracleAgent()
    assert isinstance(cast.agent("human"), HumanAgent)


def test_one_model_is_loaded_once_for_all_its_roles(monkeypatch, tmp_path):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path))
    cast = Cast(lambda _: None)
    kuhn, nim = cast.agent("tiny@kuhn"), cast.agent("tiny@nim")
    assert isinstance(kuhn, LLMAgent)
    assert isinstance(nim, LLMAgent)
    assert kuhn.engine is nim.engine
    assert (kuhn.name, kuhn.role.name, nim.role.name) == ("tiny@kuhn", "kuhn", "nim")


def test_the_checksum_of_an_agent_follows_its_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path / "cache"))
    cast = Cast(lambda _: None)
    assert cast.checksum("random") == cast.checksum("mcts:10") == ""
    script, role = tmp_path / "a.txt", tmp_path / "mine.yaml"
    script.write_text("[bet]")
    role.write_text("name: mine\nsystem: Play.\n")
    before = cast.checksum(f"script:{script}"), cast.checksum(f"tiny@{role}")
    assert before == (cast.checksum(f"script:{script}"), cast.checksum(f"tiny@{role}"))
    script.write_text("[fold]")
    role.write_text("name: mine\nsystem: Play well.\n")
    after = cast.checksum(f"script:{script}"), cast.checksum(f"tiny@{role}")
    assert not set(before) & set(after)


def test_the_checksum_of_a_folder_is_that_of_what_it_holds(tmp_path):
    with folder.fresh(tmp_path / "one") as one:
        (one / "weights").write_text("1")
    with folder.fresh(tmp_path / "two") as two:
        (two / "weights").write_text("1")
    assert _contents(tmp_path / "one", "") == _contents(tmp_path / "two", "")
    with folder.fresh(tmp_path / "two") as two:
        (two / "weights").write_text("2")
    assert _contents(tmp_path / "one", "") != _contents(tmp_path / "two", "")


class Heaps(Nim):
    """Nim with players of its own."""

    bots = {
        "greedy": lambda game, seat: {game.legal(seat)[-1]: 1.0},
        "shy": lambda game, seat: dict.fromkeys([move for move in game.legal(seat) if move[1:] == "1"], 1.0),
    }


class Mute(Game):
    roles = {"player": 1}


def test_a_game_s_own_bot_sits_down_by_its_name(capsys):
    lines = played(
        capsys, "tests.test_cast:Heaps", "heaps=[1,2]", "--seat", "first=bot:greedy", "--seat", "second=bot:shy"
    )
    assert [line.split()[1:] for line in lines[:2]] == [["(bot:greedy):", "[B2]"], ["(bot:shy):", "[A1]"]]
    drawn = {
        asyncio.run(play(Heaps(), dict.fromkeys(Heaps.roles, BotAgent("shy")), seed=s)).turns[0].move for s in range(20)
    }
    assert drawn == {"A1", "B1", "C1"}
    table = "name: heaps\nrounds: 4\ngame: {name: 'tests.test_cast:Heaps'}\nentrants: [{name: a, agent: 'bot:greedy'}, "
    Path("heaps.yaml").write_text(table + "{name: b, agent: random}]\n")
    assert main(["tournament", "heaps.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == 4


@pytest.mark.parametrize(
    ("game", "word", "line"),
    [
        (Heaps(), "bot:gredy", "Heaps has no bot 'gredy': did you mean 'greedy'? it has greedy, shy"),
        (Heaps(), "bot:xyz", "Heaps has no bot 'xyz': it has greedy, shy"),
        (make("kuhn_poker"), "bot:tit_for_tat", "kuhn_poker has no bot 'tit_for_tat': it has none"),
        (
            Mute(),
            "oracle",
            "agent 'oracle' needs a game with an oracle, which Mute has not",
        ),
        (make("taboo"), "random", "agent 'random' needs a game that lists its legal moves, which taboo does not"),
        (make("taboo"), "mcts:9", "agent 'mcts:9' needs a game that lists its legal moves, which taboo does not"),
        (make("connect_four"), "oracle", "agent 'oracle' needs a game with an oracle, which connect_four has not:"),
        (make("proposer_solver"), "oracle", "agent 'oracle' needs a game with an oracle, which proposer_solver has"),
    ],
)
def test_a_word_that_does_not_suit_the_game_is_told_before_anything_is_loaded(game, word, line):
    with pytest.raises(ValueError, match=r".*") as caught:
        Cast().check(word, game)
    assert str(caught.value).startswith(line)


def test_a_role_is_looked_at_where_it_first_comes_to_move():
    """Connect four of 6 x 7 has no oracle for who moves second either; in proposer_solver the solvers have one."""
    cast = Cast()
    for role in ("o", "o_0"):
        with pytest.raises(Unsuited, match=f"has not for '{role}'"):
            cast.check("oracle", make("connect_four"), role)
    cast.check("oracle", make("proposer_solver"), "solver")
    with pytest.raises(Unsuited, match="for 'proposer'"):
        cast.check("oracle", make("proposer_solver"), "proposer")


def test_agents_that_can_not_play_are_told_before_the_game(capsys):
    seats = ["--seat", "attacker=random", "--seat", "defender=random"]
    assert main(["play", "taboo", *seats]) == MISUSED
    assert capsys.readouterr().err.startswith("error: agent 'random' needs a game that lists its legal moves")
    Path("four.yaml").write_text(TABLE.replace("nim, params: {heaps: [1, 2]}", "connect_four"))
    assert main(["tournament", "four.yaml"]) == MISUSED
    assert "entrant 'perfect' at connect_four: agent 'oracle' needs a game with an oracle" in capsys.readouterr().err


def test_an_unknown_bot_is_one_line_of_every_command(capsys):
    assert main(["play", "kuhn_poker", "--seat", "first=bot:x", "--seat", "second=tiny@khun"]) == MISUSED
    assert capsys.readouterr().err == "error: kuhn_poker has no bot 'x': it has none\n"
    Path("small.yaml").write_text(TABLE)
    assert (
        main(["tournament", "small.yaml", "entrants=[{name: a, agent: 'bot:x'},{name: b, agent: random}]"]) == MISUSED
    )
    assert "nim(heaps=[1, 2]) has no bot 'x': it has none\n" in capsys.readouterr().err
    assert main(["train", "train/tiny/kuhn", "seats.second.agent=bot:x"]) == MISUSED
    assert "kuhn_poker has no bot 'x': it has none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("rnadom", "agent 'rnadom' not found: did you mean 'random'?"),
        ("mtcs:40", "agent 'mtcs:40' not found: did you mean 'mcts:40'?"),
        ("bots:shy", "agent 'bots:shy' not found: did you mean 'bot:shy'?"),
        ("tiny@khun", "role 'khun' not found: did you mean 'kuhn'?"),
        ("smollm2-135@kuhn", "model 'smollm2-135' not found: did you mean 'smollm2-135m'?"),
    ],
)
def test_an_unknown_word_names_the_nearest(word, line):
    with pytest.raises(ValueError, match=r".*") as caught:
        Cast().agent(word)
    assert str(caught.value) == line


def played(capsys, *words):
    assert main(["play", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_one_game_is_shown_move_by_move(capsys):
    lines = played(capsys, "nim", "heaps=[1]", "--seat", "first=random", "--seat", "second=oracle")
    assert lines[0] == "first_0 (random): [A1]"
    assert lines[1] == "nim(heaps=[1]) with seed 0: over"
    assert [line.split() for line in lines[3:]] == [["first_0", "random", "1.000"], ["second_0", "oracle", "-1.000"]]


def test_many_games_are_counted(capsys):
    lines = played(capsys, "nim", "heaps=[1,2]", "--seat", "first=oracle", "--seat", "second=random", "--games", "9")
    assert lines[1].split() == ["first_0", "oracle", "1.000"]
    assert lines[-1] == "9 games: 9 over; 0 with an illegal reply"


def test_a_seed_deals_the_same_game_again(capsys):
    words = ("kuhn_poker", "--seat", "first=random", "--seat", "second=random", "--seed", "3")
    assert played(capsys, *words) == played(capsys, *words)


def test_games_are_printed_as_json_one_a_line(capsys):
    words = ("--seat", "first=random", "--seat", "second=random", "--games", "2", "--json")
    assert [json.loads(line)["seed"] for line in played(capsys, "kuhn_poker", *words)] == [0, 1]


def test_somebody_at_the_terminal_plays(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("A1\n"))
    lines = played(capsys, "nim", "heaps=[1]", "--seat", "first=human", "--seat", "second=random")
    assert "first_0 (human): [A1]" in "\n".join(lines)


def left(capsys, monkeypatch, *words, typed=""):
    """What somebody saw who typed that and then left."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert main(["play", *words]) == STOPPED
    out, err = capsys.readouterr()
    assert err == "stopped: nobody answers for 'human' any more\n"
    return out


def test_who_plays_sees_open_moves_as_they_are_made_and_may_leave(capsys, monkeypatch):
    seats = ("--seat", "first=bot:greedy", "--seat", "second=human")
    out = left(capsys, monkeypatch, "tests.test_cast:Heaps", "heaps=[1,2]", *seats)
    assert out.splitlines()[0] == "first_0 (bot:greedy): B2"
    assert "over" not in out


class Whisper(Game):
    """One says a word that nobody hears, then the other guesses."""

    roles = {"first": 1, "second": 1}

    def start(self, rng, task):
        return ("first_0",)

    def parse(self, seat, text):
        return text

    def play(self, moves):
        return ("second_0",) if "first_0" in moves else ()


def test_who_plays_sees_hidden_moves_only_when_the_game_is_over(capsys, monkeypatch):
    Path("said.txt").write_text("honey\n")
    words = ("tests.test_cast:Whisper", "--seat", "first=script:said.txt", "--seat", "second=human")
    assert "first_0" not in left(capsys, monkeypatch, *words)
    assert "script:said.txt" not in left(capsys, monkeypatch, *words, typed="\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("sugar\n"))
    assert "first_0 (script:said.txt): honey\n" in "\n".join(played(capsys, *words))


class Leaver:
    name, role = "leaver", PLAYER

    async def act(self, context):
        raise Left("the lights went out")


def test_a_game_of_others_is_shown_while_it_is_played(capsys, monkeypatch):
    monkeypatch.setitem(SIMPLE, "leaver", Leaver)
    assert main(["play", "kuhn_poker", "--seat", "first=random", "--seat", "second=leaver"]) == STOPPED
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("first_0 (random): [")


def test_many_games_are_ticked_off_beside_the_results(capsys):
    seats = ("--seat", "first=random", "--seat", "second=random")
    played(capsys, "kuhn_poker", *seats, "--games", "3")
    assert main(["play", "kuhn_poker", *seats, "--games", "3"]) == 0
    assert [line.split("  ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "kuhn_poker: games 1/3",
        "kuhn_poker: games 3/3",
    ]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], MISUSED, "nobody sits at first, second: --seat: seat somebody: --seat first=human --seat second=random"),
        (["--seat", "frist=random"], MISUSED, "kuhn_poker has no role or seat 'frist': did you mean 'first'?"),
        (["--seat", "first=random"], MISUSED, "seat 'second_0' of kuhn_poker has no agent: give one for 'second'"),
        (["--seat", "first"], MISUSED, "'first' is not ROLE=AGENT: --seat: write it like --seat first=random"),
        (["--seat", "first=random", "--seat", "first=oracle"], MISUSED, "'first' is seated twice: --seat:"),
        (["--seat", "first=random", "--seat", "second=rnadom"], MISUSED, "agent 'rnadom' not found: did you mean"),
        (["--seat", "first=random", "--games", "0"], MISUSED, "games is 0: --games: play at least one"),
        (["cards=9", "--seat", "first=random"], MISUSED, "game 'kuhn_poker'"),
        (["--seat", "first=script:said.txt", "--seat", "second=random"], FAILED, "1 of 1 games broke off: first_0"),
    ],
)
def test_what_cannot_be_played_is_one_line(capsys, words, code, line):
    Path("said.txt").write_text("")
    assert main(["play", "kuhn_poker", *words]) == code
    assert capsys.readouterr().err.startswith(f"error: {line}")


def test_a_game_that_is_not_there_is_told_before_who_plays_it(capsys):
    assert main(["play", "kuhn_pokre"]) == MISUSED
    assert capsys.readouterr().err.startswith("error: game 'kuhn_pokre' not found: did you mean 'kuhn_poker'?")


@pytest.fixture
def stored(own_folder):
    """A run with one match in its store."""
    agents = {"first": ScriptedAgent(["[bet]"], name="ann"), "second": ScriptedAgent(["[fold]"], name="bob")}
    episode = asyncio.run(play(make("kuhn_poker"), agents, seed=1))
    match = Match("m-0001", "kuhn_poker", (("ann",), ("bob",)), (1.0, -1.0), episodes=(episode.id,))
    with Store("run/store.db") as store:
        store.add(match, [episode])
    return match


def test_matches_are_listed_and_replayed(capsys, stored):
    assert main(["replay", "run"]) == 0
    assert "m-0001  kuhn_poker  ann - bob  1 - -1  over" in capsys.readouterr().out
    assert main(["matches", "run", "--where", "agent=eve"]) == 0
    assert "m-0001" not in capsys.readouterr().out
    assert main(["replay", "run", "m-0001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("    first_0 hears: Card: ")
    assert lines[2] == "first_0 (ann): [bet]"
    assert main(["replay", "run", "m-0001", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["ending"] == "over"


def test_a_match_or_store_that_is_not_there_is_one_line(capsys, stored):
    assert main(["replay", "run", "m-0002"]) == MISUSED
    assert "match 'm-0002' is not in run/store.db: did you mean 'm-0001'?" in capsys.readouterr().err
    assert main(["matches", "walk"]) == MISUSED
    assert capsys.readouterr().err.startswith("error: there is no store: walk: name the folder of a run")
    assert main(["replay", "walk"]) == MISUSED
    assert capsys.readouterr().err.startswith("error: match 'walk' is in no store of runs/: name its run too")


TABLE = """
name: small
rounds: 3
game: {name: nim, params: {heaps: [1, 2]}}
entrants: [{name: chance, agent: random}, {name: perfect, agent: oracle}]
"""


def standings(capsys, *words):
    assert main(["tournament", "small.yaml", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_tournament_is_played_rated_and_goes_on(capsys):
    Path("small.yaml").write_text(TABLE)
    first = standings(capsys)
    assert first["matches"] == 3
    assert first["ratings"][0]["agent"] == "perfect"
    assert standings(capsys) == first
    assert standings(capsys, "rounds=4")["matches"] == 4
    assert json.loads(Path("runs/small/report.json").read_text())["matches"] == 4
    assert main(["tournament", "small.yaml", "rounds=4"]) == 0
    assert "small: nim(heaps=[1, 2]), 4 matches (4 over)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["seed=1"], "another config was run here: seed: 0 -> 1: runs/small: give --folder another one"),
        (["rouns=1"], "unknown key 'rouns': command line, 'rouns=1': did you mean rounds?"),
        (["rounds=0"], "rounds is 0: command line, 'rounds=0': give a number of at least 1"),
        (["name=../up"], "name '../up' can't name a folder"),
        (
            ["entrants=[{name: a, agent: rnadom},{name: b, agent: random}]"],
            "entrant 'a' at nim(heaps=[1, 2]): agent 'rnadom' not found: did you mean 'random'?",
        ),
        (["entrants=[{nam: a}]"], "unknown key 'entrants[0].nam': command line, 'entrants=[{nam: a}]': did you mean"),
        (["entrants=[]"], "nim(heaps=[1, 2]) is played by 2, but there are 0 entrants"),
    ],
)
def test_a_tournament_that_cannot_be_played_is_one_line(capsys, words, line):
    Path("small.yaml").write_text(TABLE)
    standings(capsys)
    assert main(["tournament", "small.yaml", *words]) == MISUSED
    assert capsys.readouterr().err.startswith(f"error: {line}")


def test_a_hostile_reply_is_shown_as_text(capsys):
    agents = {"first": ScriptedAgent(["\x1b[2J\x1b]0;owned\x07[bet]\n\u202eend"]), "second": ScriptedAgent(["[fold]"])}
    show(asyncio.run(play(make("kuhn_poker"), agents, seed=1)))
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("first_0 (scripted): [bet] end")


def test_a_script_is_a_file_of_replies_one_a_line(tmp_path):
    file = tmp_path / "moves.txt"
    file.write_text("[check]\n[call]\n", encoding="utf-8")
    agent = Cast().agent(f"script:{file}")
    assert (agent.replies, agent.name) == (("[check]", "[call]"), f"script:{file}")
    with pytest.raises(ValueError, match="needs a text file of replies, one a line"):
        Cast().agent(f"script:{tmp_path / 'none.txt'}")
