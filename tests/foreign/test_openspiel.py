"""OpenSpiel's games keep our contract: in words, with their own chance, secrets and rewards, all that can be played."""

import copy
import pickle
import random
import subprocess
import sys
from dataclasses import replace

import pytest

from arena.foreign import openspiel
from arena.foreign.openspiel_words import WORDS
from arena.make import make
from arena.solve import nash_conv, tree, uniform, values
from arena.testing import check_game

SMALL = {  # the dozen in words, small enough to be looked at from every position
    "kuhn_poker": {},
    "leduc_poker": {},
    "liars_dice": {"dice_sides": 3},
    "tic_tac_toe": {},
    "connect_four": {"rows": 4, "columns": 4},
    "breakthrough": {"rows": 4, "columns": 3},
    "hex": {"board_size": 3},
    "pig": {"winscore": 8},
    "goofspiel": {"num_cards": 4, "imp_info": True},
    "negotiation": {"num_items": 2, "num_symbols": 2, "utterance_dim": 1},
    "hanabi": {"colors": 2, "ranks": 2, "hand_size": 2},
    "chess": {},
}
LONG = 8  # stages after which the long ones among them are cut off


def small(name):
    game = make(f"openspiel:{name}", **SMALL[name])
    if name in ("chess", "pig", "negotiation"):
        game.info = replace(game.info, max_stages=LONG)
    return game


def test_the_dozen_has_words():
    assert set(WORDS) == set(SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_game_in_words_keeps_the_contract(name):
    check_game(lambda: small(name), games=5)


@pytest.mark.slow
def test_every_game_that_is_not_refused_plays_a_random_game_to_its_end():
    """Illegal ids, lost rewards and clashing words would show here; a copy made on the way goes the same way."""
    played = 0
    for name in openspiel.names():
        if openspiel.refusal(name):
            with pytest.raises(ValueError, match=f"{name!r} is refused: "):
                make(f"openspiel:{name}")
            continue
        game, rng = make(f"openspiel:{name}"), random.Random(1)
        game.reset(seed=3)
        returns, copies, moves = dict.fromkeys(game.possible_agents, 0.0), [], []
        while game.acting:
            if len(moves) == 3 and name != "bridge_uncontested_bidding":  # takes seconds to be made again
                copies = [pickle.loads(pickle.dumps(game)), copy.deepcopy(game)]
            seat = game.agent_selection
            moves.append(rng.choice(game.legal(seat)))
            game.step(moves[-1])
            assert not game.judged, (name, moves[-1])
            returns = {seat: returns[seat] + reward for seat, reward in game.rewards.items()}
        assert game.ending == "over", name
        assert list(returns.values()) == pytest.approx(
            [game.position.state.returns()[game.player[seat]] for seat in returns]
        ), name
        assert not game.info.zero_sum or sum(returns.values()) == pytest.approx(0), name
        assert not game.info.cooperative or len(set(returns.values())) == 1, name
        if game.stage < 100:
            for other in copies:
                for move in moves[3:]:
                    other.step(move)
                assert other.state_text() == game.state_text(), name
        played += 1
    assert played >= 118


def test_no_move_of_any_game_is_a_bracket_or_a_line_of_its_own():
    for name in ("negotiation", "goofspiel", "hanabi", "matrix_pd", "bargaining"):
        game = make(f"openspiel:{name}")
        game.reset(seed=1)
        for word in game.legal(game.agent_selection):
            assert word
            assert not set(word) & set("[]\n")


def solved(game):
    return tree(game), uniform(tree(game))


def test_kuhn_poker_is_the_same_game_as_ours():
    """NashConv and values of uniform play agree, although not a word of the two games is the same."""
    (foreign, anything), (own, as_well) = solved(make("openspiel:kuhn_poker")), solved(make("kuhn_poker"))
    assert nash_conv(foreign, anything) == pytest.approx(nash_conv(own, as_well), abs=1e-12)
    assert nash_conv(foreign, anything) == pytest.approx(11 / 12)
    assert values(foreign, anything)["first_0"] == pytest.approx(values(own, as_well)["first_0"])
    assert len(foreign.information) == len(own.information) == 12


def test_a_seat_reads_its_own_card_only():
    game, cards = make("openspiel:kuhn_poker"), set()
    for seed in range(30):
        game.reset(seed=seed)
        mine, theirs = (("JQK"[int(card)]) for card in game.state_text().split())
        text = game.observe("first_0")["text"]
        assert f"Your card: {mine} " in text
        assert f"Your card: {theirs} " not in text
        cards.add((mine, theirs))
    assert len(cards) == 6


def test_a_hand_of_hanabi_is_seen_by_the_others_only():
    game = make("openspiel:hanabi")
    game.reset(seed=2)
    text = game.observe("first_0")["text"]
    own, theirs = text.split("Hand of player +1:")
    assert own.count("unseen, told XX") == 5
    assert "unseen" not in theirs


def test_white_is_first_at_chess():
    """There player 0 of OpenSpiel is black and moves second."""
    game = make("openspiel:chess")
    game.reset(seed=1)
    assert game.acting == ("first_0",)
    for move in ("e4", "e5", "Qh5", "Nc6", "Bc4", "Nf6", "Qxf7#"):
        game.step(move)
    assert game.ending == "over"
    assert game.rewards == {"first_0": 1.0, "second_0": -1.0}


def test_a_simultaneous_node_is_one_stage_and_hides_the_first_bid():
    game = make("openspiel:goofspiel(imp_info=True,num_cards=4)")
    game.reset(seed=1)
    assert game.acting == ("first_0", "second_0")
    before = game.observe("second_0")
    game.step("4")
    assert game.observe("second_0") == before
    assert game.stage == 0
    game.step("1")
    assert game.stage == 1
    assert "Points by player: " in game.observe("first_0")["text"]


def test_a_take_of_negotiation_is_what_the_proposer_gets():
    game = make("openspiel:negotiation", enable_utterances=False)
    game.reset(seed=1)
    pool, worth = (
        [int(n) for n in line.split(":")[1].split()]
        for line in game.observe("first_0")["text"].split("\n")
        if line.startswith(("Items", "Worth"))
    )
    game.step("take " + " ".join(map(str, pool)))
    game.step("accept")
    assert game.rewards == {"first_0": float(sum(n * w for n, w in zip(pool, worth, strict=True))), "second_0": 0.0}


def test_chance_inside_openspiel_follows_the_seed_and_leaves_copies_alone():
    """O-03: negotiation deals from a generator of its own, which is seeded by the match."""
    game = make("openspiel:negotiation")
    deals = []
    for seed in (7, 7, 8):
        game.reset(seed=seed)
        deals.append(game.state_text())
    assert deals[0] == deals[1] != deals[2]
    assert copy.deepcopy(game).state_text() == pickle.loads(pickle.dumps(game)).state_text() == game.state_text()


def test_a_forfeit_costs_what_was_earned_before():
    """Else giving up would save the points that a wrong play at Hanabi loses."""
    game, rng = make("openspiel:hanabi", colors=2, ranks=2, hand_size=2, max_life_tokens=3), random.Random(0)
    for seed in range(50):
        game.reset(seed=seed)
        total = 0.0
        while game.acting and total < 1:
            game.step(rng.choice(game.legal(game.agent_selection)))
            total += game.rewards["first_0"]
        if game.acting:
            break
    game.step("none of it")
    game.step("none of it")
    assert game.ending == "forfeit"
    assert game.rewards == {"first_0": -total - 1, "second_0": -total - 1}


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("hexx", {}, "'hexx' not found: did you mean 'openspiel:hex'"),
        ("", {}, "not found: there are 2048"),
        ("hex(board=3)", {}, "no parameter 'board': did you mean 'board_size'"),
        ("hex", {"board": 3}, "no parameter 'board': did you mean 'board_size'"),
        ("tic_tac_toe", {"size": 3}, "no parameter 'size': it takes none"),
        ("hex(board_size=3,swap=True)", {"swap": True}, "'swap' is given in its name and beside it"),
        ("hex(board_size=3", {}, "close the bracket"),
        ("hex", {"board_size": "x"}, "Wrong type for parameter board_size"),
        ("hex", {"board_size": [1]}, "'hex' with"),
        ("liars_dice", {"players": 3}, "'liars_dice' with .*num_players"),
        ("mfg_garnet", {}, "refused: a mean-field game"),
        ("misere", {}, "refused: it can't be loaded without parameters: it takes game"),
        ("crossword", {}, "refused: its actions are structures"),
        ("negotiation", {"rng_seed": 3}, "leave 'rng_seed' out"),
    ],
)
def test_what_cannot_be_played_says_why(name, params, message):
    with pytest.raises(ValueError, match=message):
        make(f"openspiel:{name}", **params)


def test_one_game_has_one_label_however_it_is_written():
    written = [
        make("openspiel:goofspiel(num_cards=4,imp_info=True)"),
        make("openspiel:goofspiel(imp_info=true, num_cards=4)"),
        make("openspiel:goofspiel", num_cards=4, imp_info=True, points_order="random"),
    ]
    assert {game.label for game in written} == {"openspiel:goofspiel(imp_info=true, num_cards=4)"}
    assert make(written[0].label).params == written[0].params
    assert make("openspiel:misere", game="kuhn_poker(players=3)").roles == {"first": 1, "second": 1, "third": 1}
    assert type(make("openspiel:sheriff", item_penalty=1).params["item_penalty"]) is float


@pytest.mark.slow
def test_without_the_package_one_line_names_the_extra():
    """O-54: nothing of it is imported before it is asked for."""
    code = (
        "import sys; sys.modules['pyspiel'] = None\n"
        "import arena\n"
        "try: arena.make('openspiel:hex')\n"
        "except ValueError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = run.stdout.splitlines()
    assert "pip install 'scrimmage[games]'" in line
