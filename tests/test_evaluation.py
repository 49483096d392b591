"""Any agent is measured in a game: exactly where it is small, by hand-made policies whose numbers are known."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter

import pytest

from arena import blunders, evaluation, exact, positions, solve, strategy
from arena.agent import HumanAgent, LLMAgent, OracleAgent, RandomAgent, ScriptedAgent
from arena.blunders import Judge, wilson
from arena.chat import Chat
from arena.cli import main
from arena.engines import models
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from arena.evaluation import Trial
from arena.make import make
from arena.search import SearchAgent
from roles import load

GOOFSPIEL = "openspiel:goofspiel(num_cards=4,imp_info=true,points_order=descending)"


def measured(label, agent, deals=4, **more):
    """The row of one agent in every role of a game."""
    game = make(label)
    trial = Trial(game, dict.fromkeys(game.roles, agent), agent.name, deals)
    met, unmet = evaluation.opponents(game, more)
    row = asyncio.run(evaluation.measure(trial, evaluation.unfold(game, trial.agents), met))
    row["left_out"] |= unmet
    return row


# -- exact values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "gain", "sets"),
    [
        ("kuhn_poker", 11 / 12, 12),
        ("kuhn_poker(seats=3)", 2.0625, 48),
        pytest.param("leduc_poker", 4.747222, 936, marks=pytest.mark.slow),
        ("liars_dice(sides=3)", 10 / 9, 192),
        ("liars_dice(sides=4)", 1.310119, 1024),
        (GOOFSPIEL, 17 / 12, 162),
        ("rock_paper_scissors", 0.0, 2),
    ],
)
def test_uniform_play_has_its_known_nash_conv_through_the_whole_path(label, gain, sets):
    if label.startswith("openspiel:"):
        pytest.importorskip("pyspiel")
    row = measured(label, RandomAgent(), deals=2)
    assert row["information_sets"] == sets
    assert (row["illegal_games"], row["illegal_mass"]) == pytest.approx((0, 0), abs=1e-12)
    assert row["nash_conv"] == pytest.approx(gain, abs=1e-6)
    assert row["exploitability"] == pytest.approx(gain / len(make(label).possible_agents), abs=1e-6)


def test_the_figures_of_goofspiel_are_those_of_openspiel():
    """Bids are made at once and only who won each prize is told: uniform play through OpenSpiel's own evaluation."""
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    theirs = pyspiel.convert_to_turn_based(pyspiel.load_game(GOOFSPIEL.removeprefix("openspiel:")))
    uniform = policy.TabularPolicy(theirs)
    assert len(uniform.states) == 162
    assert exploitability.nash_conv(theirs, uniform) == pytest.approx(17 / 12)


def test_perfect_play_can_not_be_exploited_and_wins_what_the_game_is_worth():
    row = measured("kuhn_poker", OracleAgent())
    assert row["nash_conv"] == pytest.approx(0, abs=1e-9)
    assert row["vs_equilibrium"]["exact"]["first_0"] == pytest.approx(-1 / 18)
    assert row["vs_equilibrium"]["exact"]["mean"] == pytest.approx(0)


def test_an_illegal_reply_is_a_forfeit_and_is_not_normalised_away():
    """Whoever always says zebra loses two chips at once, in either seat, and every game comes to it."""
    row = measured("kuhn_poker", ScriptedAgent(["[zebra]"] * 3))
    assert (row["illegal_mass"], row["illegal_games"]) == (1.0, pytest.approx(1.0))
    # As the first seat it forfeits at its first turn; as the second one too, for the other never ends the game alone.
    assert row["vs_random"]["exact"] == pytest.approx({"first_0": -2.0, "second_0": -2.0, "mean": -2.0})


class Counting(TorchEngine):
    """Notes every prompt after which replies are scored."""

    def __init__(self, model):
        super().__init__(model)
        self.prompts = []

    async def score(self, ids, replies, *, policy="live"):
        self.prompts.append(tuple(ids))
        return await super().score(ids, replies, policy=policy)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("kuhn_poker", "kuhn"),
        pytest.param("leduc_poker", "leduc", marks=pytest.mark.slow),
        pytest.param("nim", "nim", marks=pytest.mark.slow),
    ],
)
def test_a_language_model_is_asked_once_for_every_information_set(own_folder, label, role):
    model, tokenizer = models.load(models.find("tiny"))
    engine, game = Counting(Transformer(model)), make(label)
    agents = dict.fromkeys(game.roles, LLMAgent("tiny", load(role), engine, Chat(tokenizer)))
    space = evaluation.unfold(game, agents)
    table = asyncio.run(strategy.strategy(space, agents))
    assert len(engine.prompts) == len(space.information)
    assert max(map(sum, table.values())) < 1e-6  # weights at random hardly ever say a move: nothing makes up for it
    # Both seats of Nim read the same at the same heaps: two decisions behind one prompt.
    alike = Counter((known.heard, known.moves) for known in space.information)
    assert sorted(Counter(engine.prompts).values()) == sorted(alike.values())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sampling": {"temperature": 0.5}}, "has temperature 0.5: free replies are exact at 1 only"),
        ({"action": r"\[([^\[\]]+)\]"}, "also takes"),
    ],
)
def test_what_can_not_be_told_exactly_is_left_out_with_its_reason(own_folder, changes, reason):
    model, tokenizer = models.load(models.find("tiny"))
    agent = LLMAgent("tiny", load("kuhn", **changes), TorchEngine(Transformer(model)), Chat(tokenizer))
    row = measured("kuhn_poker", agent, deals=2)
    assert reason in row["left_out"]["exact values"]
    assert "nash_conv" not in row
    assert row["vs_equilibrium"]["sampled"]["mean"]["n"] == 2


def test_all_seats_opponents_and_agents_meet_the_same_deals_of_the_same_game():
    game = make("kuhn_poker(seats=3)")
    seeds = []
    for agent in (RandomAgent(), ScriptedAgent(["[check]"] * 9)):
        trial = Trial(game, dict.fromkeys(game.roles, agent), "x", 5)
        for key, opponent in (
            ("vs_random", RandomAgent("them")),
            ("vs_script", ScriptedAgent(["[check]"] * 9, "them")),
        ):
            played = asyncio.run(evaluation._games(trial, key, opponent))
            for episode, seat in played:
                assert {who for who, name in episode.agents.items() if name != "them"} == {seat}
                assert episode.game == str(game)
            assert [seat for _, seat in played] == 5 * game.possible_agents
            seeds.append([episode.seed for episode, _ in played])
    assert all(met == seeds[0] for met in seeds)
    assert [len(set(seeds[0][i : i + 3])) for i in range(0, 15, 3)] == [1] * 5  # one deal for all three seats
    assert len(set(seeds[0])) == 5


def test_a_searching_agent_has_no_odds_and_is_measured_by_games():
    row = measured("nim(heaps=[1, 2])", SearchAgent(simulations=20))
    assert "nash_conv" not in row
    assert "plays move by move" in row["left_out"]["exact values"]
    assert row["vs_equilibrium"]["sampled"]["mean"]["n"] == 4


def test_a_team_stands_beside_its_optimum():
    row = measured("dec_tiger", OracleAgent())
    assert row["team/return"] == pytest.approx(-4) == row["team/optimum"]
    assert row["team/random"] < row["team/return"] < row["team/centralised"]


def test_a_game_of_general_sum_has_no_fixed_opponents_but_those_that_are_named():
    row = measured("prisoners_dilemma(rounds=1, talk=0)", RandomAgent(), deals=2, random=RandomAgent())
    assert "general sum" in row["left_out"]["vs_random"]
    assert row["vs_random"]["sampled"]["mean"]["n"] == 2


def test_no_human_is_asked_hundreds_of_times_as_an_opponent_either():
    with pytest.raises(ValueError, match="human"):
        evaluation.opponents(make("kuhn_poker"), {"human": HumanAgent()})


@pytest.mark.parametrize(("deals", "agent", "message"), [(1, RandomAgent(), "at least 2"), (9, HumanAgent(), "human")])
def test_what_makes_no_sense_is_refused(deals, agent, message):
    game = make("kuhn_poker")
    with pytest.raises(ValueError, match=message):
        Trial(game, dict.fromkeys(game.roles, agent), "x", deals)


# -- blunders ------------------------------------------------------------------------------------------------------


def test_the_blunder_rate_of_random_play_by_hand():
    """Nim with 1 and 2. First: of A1, B1, B2 only B1 keeps the win; after it one more move remains, which is forced.

    Second, after perfect B1: everything loses, so nothing is a blunder. Moves a game: (1 + 1/3 + 1) / 2.
    """
    found = measured("nim(heaps=[1, 2])", RandomAgent())["vs_equilibrium"]["blunders"]
    assert found["moves"] == pytest.approx(7 / 6)
    assert found["rate"] == pytest.approx((2 / 3) / (7 / 3))
    assert found["at_stake"] == pytest.approx(2 / 3)
    assert found["lost"] == pytest.approx(2 * (2 / 3) / 2)  # from a win to a loss, in one seat of two
    assert found["illegal"] == 0
    assert [(ply["ply"], ply["rate"]) for ply in found["by_ply"]] == [
        (0, pytest.approx(2 / 3)),
        (1, 0.0),
        (2, 0.0),
    ]


def test_who_never_says_a_move_blunders_where_there_was_something_to_lose():
    """Nim with 1 and 2 is won for the first seat, and after perfect play lost for the second."""
    row = measured("nim(heaps=[1, 2])", ScriptedAgent(["[zebra]"] * 4))
    played = row["vs_equilibrium"]["blunders"]
    assert (played["rate"], played["illegal"], played["at_stake"], played["lost"]) == (0.5, 0.5, 1.0, 1.0)
    assert (played["moves"], played["games"]) == (1.0, 8)
    assert [tuple(ply.values()) for ply in played["by_ply"]] == [(0, 0.5, 1.0), (1, 0.5, 0.0)]
    table = positions.positions(make("nim(heaps=[1, 2])"))
    perfect = asyncio.run(strategy.strategy(table, dict.fromkeys(("first", "second"), OracleAgent())))
    silent = {known: (0.0,) * len(known.legal) for known in table.information}
    whole = blunders.exact(table, silent, perfect, perfect).to_json()
    assert {**whole, "games": 8, "low": played["low"], "high": played["high"]} == played


@pytest.mark.slow
def test_perfect_play_never_blunders_and_tic_tac_toe_is_a_draw():
    row = measured("tic_tac_toe", OracleAgent(), deals=2)
    assert row["vs_equilibrium"]["blunders"]["rate"] == 0
    assert row["vs_equilibrium"]["exact"]["mean"] == 0
    assert row["information_sets"] == 4520  # boards at which somebody moves


def test_an_illegal_reply_at_a_lost_position_is_no_blunder_and_at_a_won_one_it_is():
    game = make("nim(heaps=[1, 1])")  # lost for who moves first
    game.reset(seed=0)
    judge = Judge(make("nim(heaps=[1, 1])"))
    for _ in range(game.info.max_illegal):
        game.step("zebra")
    assert judge.loss(game, "zebra") == 0
    won = make("nim(heaps=[1, 2])")
    won.reset(seed=0)
    for _ in range(won.info.max_illegal):
        won.step("zebra")
    assert Judge(make("nim(heaps=[1, 2])")).loss(won, "zebra") == 2


def test_played_games_agree_with_the_exact_rate():
    label = "nim(heaps=[1, 2, 2])"
    whole = measured(label, RandomAgent())["vs_random"]["blunders"]
    game = make(label)
    trial = Trial(game, dict.fromkeys(game.roles, RandomAgent()), "x", 150)
    episodes = asyncio.run(evaluation._games(trial, "vs_random", RandomAgent()))
    found = trial.judge.sampled(episodes)
    assert found.games == 300
    assert found.low < whole["rate"] < found.high
    assert found.moves == pytest.approx(whole["moves"], abs=0.25)


def test_blunders_of_the_opponent_are_its_own():
    game = make("nim(heaps=[1, 2, 2])")
    trial = Trial(game, dict.fromkeys(game.roles, OracleAgent()), "x", 10)
    episodes = asyncio.run(evaluation._games(trial, "vs_random", RandomAgent()))
    assert trial.judge.sampled(episodes).rate == 0
    others = [(episode, next(who for who in game.possible_agents if who != seat)) for episode, seat in episodes]
    assert trial.judge.sampled(others).rate > 0


def test_an_interval_of_a_share_is_wilsons():
    low, high = wilson(0.5, 100)
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
    assert wilson(0.0, 10)[0] == 0.0


@pytest.mark.parametrize("label", ["nim(heaps=[1, 2, 3])", "nim(heaps=[2, 3], misere=true)"])
def test_positions_and_the_tree_tell_the_same(label):
    """Of a policy that goes by what is heard last, a part of it illegal."""
    table, tree = positions.positions(make(label)), solve.tree(make(label))

    def policy(space):
        found = {}
        for known in space.information:
            rng = random.Random(known.heard[-1])
            odds = [rng.random() for _ in (*known.legal, None)]
            found[known] = tuple(p / sum(odds) for p in odds[:-1])
        return found

    assert len(table.information) < len(tree.information)
    one, two = exact.summary(table, policy(table)), exact.summary(tree, policy(tree))
    for name in ("nash_conv", "exploitability", "illegal_games"):
        assert one[name] == pytest.approx(two[name])
    assert one["illegal_games"] > 0.1
    met = exact.against(table, policy(table), solve.uniform(table))
    assert met == pytest.approx(exact.against(tree, policy(tree), solve.uniform(tree)))


def test_what_has_chance_or_hides_something_or_is_too_large_is_no_table():
    for label in ("kuhn_poker", "truel", "rock_paper_scissors"):
        with pytest.raises(ValueError, match="perfect information without chance"):
            positions.positions(make(label))
    with pytest.raises(ValueError, match="more than 10 positions"):
        positions.positions(make("nim"), limit=10)


# -- the command ---------------------------------------------------------------------------------------------------


def test_any_agent_is_measured_by_a_command(capsys):
    assert main(["evaluate", "random", "--game", "kuhn_poker", "--deals", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nash_conv"] == pytest.approx(11 / 12)
    assert main(["evaluate", "bot:tit_for_tat", "--game", "prisoners_dilemma(rounds=2)", "--deals", "2"]) == 0
    assert "not measured" in capsys.readouterr().out


def test_a_game_is_made_with_parameters_as_for_play(capsys):
    words = ["evaluate", "random", "--game", "kuhn_poker", "seats=3", "--deals", "2", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["game"], found["nash_conv"]) == ("kuhn_poker(seats=3)", pytest.approx(2.0625))


def test_an_opponent_that_can_not_play_is_left_out_and_the_rest_is_measured(capsys):
    words = ["evaluate", "random", "--game", "connect_four", "--against", "oracle", "--deals", "2", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"]["vs_oracle"].startswith("agent 'oracle' needs a game with an oracle, which connect_four")
    assert found["left_out"]["vs_equilibrium"] == found["left_out"]["vs_oracle"]
    assert found["vs_random"]["sampled"]["mean"]["n"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "random"], "say which: --game kuhn_poker"),
        (["evaluate", "random", "seats=3"], "'seats=3' is of no game: say which: --game kuhn_poker"),
        (["evaluate", "random", "--game", "kuhn_poker", "seat=3"], "did you mean 'seats'?"),
        (["evaluate", "bot:tit_for_tat", "--game", "kuhn_poker"], "has no bot"),
        (["evaluate", "random", "--game", "kuhn_pokr"], "did you mean 'kuhn_poker'"),
        (["evaluate", "runs/nothing_there"], "no run"),
    ],
)
def test_misuse_is_one_line_before_anything_is_loaded(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err
