"""TextArena's games: fenced from the global seed, offline, paid once at the end, and refused where they can't be."""

import random
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arena.foreign import textarena
from arena.game import IllegalMove
from arena.make import make
from arena.testing import check_game

COMMON = (
    *"0123456789EO", "0,0", "1,2", "a2,a3", "a2a3", "e2e4", "up", "down", "left", "right", "roll", "hold", "hit",
    "draw", "pass", "check", "call", "fold", "accept", "reject", "heads", "rock", "cooperate", "continue", "done",
    "stand", "red", "0 1", "1 1", "0 0", "1 0", "0 1 2", "A B",
    "X 4", "O 2", "A 5", "play 1", "h 0 0", "A:5, B:10, C:5", "1 2 3 4",
)  # fmt: skip


SCRIPT = {  # what is said first where nobody would guess it
    "Bandit": ("red",),
    "Cryptarithm": ("S 9", "E 5"),
    "TwoDollar": ("[Propose] $1.50",),
    "ColonelBlotto": ("A:7, B:7, C:6",),
    "Countdown": ("0 1 +",),
    "Crosswords": ("6 2 a",),
    "LogicPuzzle": ("alice park X",),
    "NewRecruit": ("[Propose] ABCDEABC",),
    "PegJump": ("4 5", "4->5", "14 5"),
    "RushHour": ("A+", "A-", "B+", "B-"),
    "SecretMafia": ("Player 0", "Player 1", "Player 5"),
    "Set": ("0, 1, 2", "1, 2, 3"),
    "SettlersOfCatan": ("1", "2"),
    "Sokoban": ("up", "down"),
    "Taboo": ("a word",),
}


def test_a_refusal_does_not_wait_for_the_package():
    code = "import sys; from arena.foreign.textarena import load\ntry: load('Wordle-v0-long', {})\n"
    code += "except ValueError as error: print(error, 'textarena' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"textarena game 'Wordle-v0-long' is refused: {textarena.REFUSED['Wordle']} False\n"


def test_an_id_that_begins_with_a_refused_family_is_of_it():
    begins = {name: re.split(r"-v\d", name)[0] for name in textarena.names()}
    refused = {name: family for name, family in begins.items() if family in textarena.REFUSED}
    assert len(refused) > 10
    assert {name: textarena.family(name) for name in refused} == refused


def say(game, seat, rng):
    """A move that the game takes, if a few tries find one: what it has put in brackets, or a word of many games."""
    shown = re.findall(r"\[([^\[\]\n]{1,40})\]", game.observe(seat)["text"] + game.state_text())
    filled = [re.sub(r"\b[A-Z]\b", lambda _: str(rng.randrange(5)), word) for word in shown]
    known = SCRIPT.get(textarena.family(game.name.partition(":")[2]), ())
    guesses = [*rng.sample(shown, min(4, len(shown))), *rng.sample(filled, min(4, len(shown))), *rng.sample(COMMON, 8)]
    for word in known or guesses:
        try:
            game.parse(seat, word)
        except IllegalMove:
            continue
        return word
    return "none of these"


def families():
    """One id of every game, the shortest, which is its usual size."""
    found = {}
    for name in sorted(textarena.names(), key=len, reverse=True):
        found[textarena.family(name)] = name
    return sorted(found.values())


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.slow
def test_every_game_that_is_not_refused_plays_offline(offline, capsys):
    """As far as words that anybody would try lead; sums, the global streams and the terminal are watched on the way."""
    refused, played, finished = {}, [], []
    for name in families():
        if reason := textarena.refusal(name):
            refused[name] = reason
            continue
        before, numpy_before = random.getstate(), np.random.get_state()[1].tolist()
        game, rng = make(f"textarena:{name}"), random.Random(1)
        game.reset(seed=2)
        assert game.observe(game.agent_selection)["text"], name
        legal = 0
        while game.acting and game.stage < 20:
            game.step(say(game, game.agent_selection, rng))
            legal += not game.judged
            assert not game.ending or not game.info.zero_sum or sum(game.rewards.values()) == 0, name
        assert random.getstate() == before, name
        assert np.random.get_state()[1].tolist() == numpy_before, name
        played += [name] if legal else []
        finished += [name] if game.ending == "over" else []
    assert capsys.readouterr().out == ""
    assert len(families()) == 96
    assert len(played) >= 65, sorted(set(families()) - set(played) - set(refused))
    assert len(finished) >= 15
    assert set(textarena.REFUSED) == {textarena.family(name) for name in refused} - BY_PYTHON - UNIMPORTABLE


BY_PYTHON = {  # f-strings that only Python 3.12 reads
    "Checkers", "Chess", "IteratedStagHunt", "Klondike", "ReverseTicTacToe", "UltimateTexasHoldem",
} if sys.version_info < (3, 12) else set()  # fmt: skip
UNIMPORTABLE = {"BabyAiText", "UsedCar"}


@pytest.mark.slow
def test_games_that_reach_for_the_network_are_all_refused():
    """By the source: whoever names nltk's or OpenRouter's services in a game's rules downloads or asks on use."""
    import textarena as package

    for folder in (Path(package.__file__).parent / "envs").iterdir():
        rules = folder / "env.py"
        if rules.exists() and re.search(r"nltk|OpenRouterAgent|OpenRouterJury", rules.read_text()):
            assert folder.name in textarena.REFUSED


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*what a seat may know:UserWarning")  # nobody says it of games of TextArena
@pytest.mark.parametrize("name", ["TicTacToe-v0", "PigDice-v0", "Nim-v0", "IndianPoker-v0-short"])
def test_a_game_keeps_the_contract(name):
    """O-03: TextArena seeds the global stream; here equal seeds give equal games, whatever is drawn elsewhere."""
    words = {
        "PigDice": ("roll", "hold"),
        "Nim": ("0 1", "1 1", "1 2"),
        "IndianPoker": ("check", "call", "fold", "bet 1"),
    }

    def speak(game, seat, rng):
        said = list(words.get(textarena.family(name), "012345678"))
        rng.shuffle(said)
        for word in said:
            try:
                game.parse(seat, word)
            except IllegalMove:
                continue
            return word
        return said[0]

    def short():
        game = make(f"textarena:{name}", **({"piles": [1, 2]} if name == "Nim-v0" else {}))
        game.info = replace(game.info, max_stages=5)
        return game

    check_game(short, games=2, speak=speak)


def test_the_win_is_paid_once_at_the_end():
    game, total = make("textarena:TicTacToe-v0"), 0.0
    game.reset(seed=1)
    for move in "01326":
        assert not any(game.rewards.values())
        game.step(move)
        total += game.rewards["first_0"]
    assert game.ending == "over"
    assert game.rewards == {"first_0": 1.0, "second_0": -1.0}
    assert total == 1.0


def test_an_illegal_move_is_judged_by_our_rules():
    """It is told to its seat alone, and the next one too many forfeits; TextArena's own count takes no part."""
    game = make("textarena:TicTacToe-v0")
    game.reset(seed=1)
    game.step("4")
    other, board = game.observe("first_0"), game.state_text()
    game.step("4")
    assert game.judged == "cell 4 is already occupied."
    assert game.observe("first_0") == other
    assert game.state_text() == board
    game.step("0")
    assert game.judged == ""
    game.step("1")
    game.step("1")
    assert (game.ending, game.rewards) == ("forfeit", {"first_0": 1.0, "second_0": -1.0})


def test_what_is_said_to_one_player_is_heard_by_that_one_only():
    """At Indian poker everybody sees the other's card and not their own."""
    game, seen = make("textarena:IndianPoker-v0-short"), set()
    for seed in range(8):
        game.reset(seed=seed)
        shown = [re.findall(r"card is: (\S+)", game.observe(seat)["text"]) for seat in ("first_0", "second_0")]
        assert [len(cards) for cards in shown] == [1, 1]
        seen.add((*shown[0], *shown[1]))
    assert len(seen) > 4


def test_the_words_of_a_talk_reach_the_other_player_under_the_speakers_name():
    game = make("textarena:IteratedPrisonersDilemma-v0")
    game.reset(seed=1)
    game.observe("second_0")
    game.step("let us both be kind")
    assert "Player 0: let us both be kind" in game.observe("second_0")["text"]
    assert game.judged == ""


def test_a_bet_of_its_kuhn_poker_moves_no_chip():
    """Why it is refused: after bet and call the winner has the antes, as after two checks."""
    game = textarena.TextArena("KuhnPoker-v0", {})
    chips = []
    for moves in (("bet", "call"), ("check", "check")):
        game.reset(seed=1)
        for move in moves:
            game.step(move)
        chips.append(game.sitting.now.env.state.game_state["player_chips"])
    assert chips[0] == chips[1]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("TicTacTo-v0", {}, "not found: did you mean 'textarena:TicTacToe-v0'"),
        ("TicTacToe-v0-train", {}, "not found: did you mean 'textarena:TicTacToe-v0'"),
        ("KuhnPoker-v0", {}, "'KuhnPoker-v0' is refused: its bets and calls never move a chip"),
        ("Wordle-v0", {}, "refused: it downloads word lists"),
        ("Debate-v0", {}, "refused: a model behind OpenRouter"),
        ("BabyAiText-v0", {}, "refused: it can't be imported: No module named"),
        ("Nim-v0", {"pile": [1]}, "no parameter 'pile': did you mean 'piles'"),
        ("Nim-v0", {"players": 5}, "doesn't start with 5 players"),
    ],
)
def test_what_cannot_be_played_says_why(name, params, message):
    with pytest.raises(ValueError, match=message):
        make(f"textarena:{name}", **params)


def test_parameters_reach_the_game_and_its_label():
    game = make("textarena:Nim-v0", piles=[1, 2])
    game.reset(seed=1)
    assert "[1, 2]" in game.state_text()
    assert game.label == "textarena:Nim-v0(piles=[1, 2])"
    assert make("textarena:Nim-v0", piles=[3, 4, 5]).label == "textarena:Nim-v0"
    assert make("textarena:Snake-v0", players=4).roles == {"first": 1, "second": 1, "third": 1, "fourth": 1}


@pytest.mark.slow
def test_without_the_package_one_line_names_the_extra():
    """O-54."""
    code = (
        "import sys; sys.modules['textarena'] = None\n"
        "import arena\n"
        "try: arena.make('textarena:Nim-v0')\n"
        "except ValueError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = run.stdout.splitlines()
    assert "pip install 'scrimmage[games]'" in line
