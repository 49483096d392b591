"""PettingZoo's environments in words: own views, no reward lost, nothing left over, nothing taken from the globals."""

import copy
import pickle
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from arena.foreign.pettingzoo import Worded
from arena.game import GameInfo
from arena.make import make
from arena.testing import check_game

READY = ("chess", "connect_four", "leduc", "rps", "texas_holdem", "tictactoe")
X_WINS = ("0", "1", "3", "2", "6")  # a row of x: cells are numbered down the columns


class Survival(AECEnv):
    """Three players draw in turn from the GLOBAL streams and from nothing else; the lowest draw of a round drops out.

    The last one is paid 1, a player who drops out -1 at once. Observations hold the player's own draw only.
    """

    metadata = {"name": "survival_v0"}
    possible_agents = ["red", "green", "blue"]

    def observation_space(self, agent):
        return Box(0, 1, (1,), np.float64)

    def action_space(self, agent):
        return Discrete(3, start=1)

    def observe(self, agent):
        return np.array([self.draw.get(agent, 0.0)])

    def reset(self, seed=None, options=None):
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": {1: 1, 2: 1, 3: agent == "red"}} for agent in self.agents}
        self.draw = {}
        self.agent_selection = "red"

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._clear_rewards()
        self.draw[agent] = max(random.random() * np.random.random() for _ in range(action))
        waiting = [a for a in self.agents if a not in self.draw]
        if not waiting:
            lowest = min(self.agents, key=self.draw.get)
            self.rewards[lowest] = -1.0
            self.terminations[lowest] = True
            left = [a for a in self.agents if a != lowest]
            if len(left) == 1:
                self.rewards[left[0]] = 1.0
                self.terminations[left[0]] = True
            self.draw = {}
            waiting = left
        self._accumulate_rewards()
        self.agent_selection = waiting[0]
        self._deads_step_first()


class Signals(ParallelEnv):
    """Two rounds; everybody sees a light of their own and is paid 1 for naming it. Cut short after the second."""

    metadata = {"name": "signals_v0"}
    possible_agents = ["scout_0", "scout_1"]

    def observation_space(self, agent):
        return Discrete(2)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        self.chance = np.random.default_rng(seed)
        self.agents, self.round = self.possible_agents[:], 0
        return self.look(), {agent: {} for agent in self.agents}

    def look(self):
        self.light = {agent: int(self.chance.integers(2)) for agent in self.agents}
        return dict(self.light)

    def step(self, actions):
        rewards = {agent: float(action == self.light[agent]) for agent, action in actions.items()}
        self.round += 1
        seen, agents = self.look(), self.agents
        stopped = dict.fromkeys(agents, self.round == 2)
        self.agents = [] if self.round == 2 else agents
        return seen, rewards, dict.fromkeys(agents, False), stopped, {agent: {} for agent in agents}


def told(agent, observation):
    return f"{agent} sees {observation}."


def draws(agent, observation):
    return {f"draw {n}": n for n in (1, 2, 3)}


def lights(agent, observation):
    return {"dark": 0, "bright": 1}


def survival():
    return Worded(Survival, told, draws, info=GameInfo(chance=True))


def signals():
    return Worded(Signals(), told, lights, info=GameInfo(simultaneous=True, chance=True))


def short(name):
    game = make(f"pettingzoo:{name}")
    if name in ("chess", "connect_four"):
        game.info = replace(game.info, max_stages=6)
    if name == "rps":
        game = make("pettingzoo:rps", max_cycles=3)
    return game


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_a_ready_made_game_keeps_the_contract(name):
    check_game(lambda: short(name), games=3)


@pytest.mark.parametrize("make", [survival, signals])
def test_a_game_of_a_users_own_environment_keeps_the_contract(make):
    """O-03, O-04: the first draws from global streams only, and still equal seeds give equal games and nothing else."""
    check_game(make, games=3)


def test_the_winners_and_the_losers_reward_are_both_there_in_every_loop():
    """O-02: each is counted once by our loop, by `agent_iter` and by PettingZoo's parallel wrapper."""
    game = make("pettingzoo:tictactoe")
    game.reset(seed=1)
    own = dict.fromkeys(game.possible_agents, 0.0)
    for move in X_WINS:
        game.step(move)
        own = {seat: own[seat] + game.rewards[seat] for seat in own}
    game.reset(seed=1)
    script, theirs = iter(X_WINS), dict.fromkeys(game.possible_agents, 0.0)
    for seat in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        theirs[seat] += reward
        game.step(None if terminated or truncated else next(script))
    parallel = turn_based_aec_to_parallel(game)
    parallel.reset(seed=1)
    alike = dict.fromkeys(game.possible_agents, 0.0)
    for move in X_WINS:
        _, rewards, *_ = parallel.step({seat: move for seat in parallel.agents})
        alike = {seat: alike[seat] + rewards.get(seat, 0.0) for seat in alike}
    assert own == theirs == alike == {"first_0": 1.0, "second_0": -1.0}


def test_who_drops_out_on_the_way_is_paid_and_no_longer_asked():
    for seed in range(20):
        game = survival()
        game.reset(seed=seed)
        returns, asked = dict.fromkeys(game.possible_agents, 0.0), []
        while game.acting:
            asked.append(game.agent_selection)
            game.step("draw 1")
            returns = {seat: returns[seat] + game.rewards[seat] for seat in returns}
        assert sorted(returns.values()) == [-1.0, -1.0, 1.0]
        assert asked[:3] == ["red_0", "green_0", "blue_0"]
        first_out = next(seat for seat in returns if asked[3:].count(seat) == 0)
        assert returns[first_out] == -1.0
        assert len(asked) == 5


def test_a_parallel_environment_asks_all_at_once_and_is_cut_short_as_it_says():
    game = signals()
    game.reset(seed=1)
    assert game.acting == ("scout_0", "scout_1")
    for _ in range(2):
        for seat in game.acting:
            game.step("bright" if "sees 1" in game.observe(seat)["text"].split("\n")[-2] else "dark")
        assert game.rewards == {"scout_0": 1.0, "scout_1": 1.0}
    assert (game.ending, game.reason) == ("truncated", "the environment stopped after 2 stages")


def test_a_masked_action_is_not_offered_and_not_taken():
    game = survival()
    game.reset(seed=1)
    assert game.legal("red_0") == ("draw 1", "draw 2", "draw 3")
    game.step("draw 3")
    assert game.legal("green_0") == ("draw 1", "draw 2")
    game.step("draw 3")
    assert game.judged == "Actions: [draw 1] [draw 2]"
    game = make("pettingzoo:connect_four")
    game.reset(seed=1)
    for _ in range(6):
        game.step("3")
    assert "3" not in game.legal(game.agent_selection)


def test_global_streams_are_left_alone():
    for game in (survival(), make("pettingzoo:leduc"), make("pettingzoo:texas_holdem")):
        before, numpy_before = random.getstate(), np.random.get_state()[1].tolist()
        game.reset(seed=4)
        while game.acting:
            game.step(game.legal(game.agent_selection)[0])
        assert random.getstate() == before
        assert np.random.get_state()[1].tolist() == numpy_before


def test_a_hand_is_seen_by_its_holder_only():
    game, hands = make("pettingzoo:leduc"), set()
    for seed in range(40):
        game.reset(seed=seed)
        mine, theirs = (game.views[seat].split(".")[0] for seat in ("first_0", "second_0"))
        heard = game.observe(game.agent_selection)["text"]
        assert (mine if game.agent_selection == "first_0" else theirs) in heard
        assert heard.count("Your card") == 1
        hands.add((mine, theirs))
    assert len(hands) == 9


def test_the_spectators_view_names_the_owner_of_each_hand():
    """O-09: swapping the hands swaps the sections."""
    game = make("pettingzoo:texas_holdem")
    game.reset(seed=1)
    shown = dict(zip(*[iter(game.state_text().split("\n"))] * 2, strict=True))
    for i, seat in enumerate(game.possible_agents):
        held = game.table.now.env.unwrapped.env.get_state(i)["raw_obs"]["hand"]
        assert all(card[1] in shown[f"{seat}:"] for card in held)


@pytest.mark.parametrize("name", ["leduc", "texas_holdem"])
def test_no_hand_of_poker_costs_more_than_a_forfeit(name):
    game, worst, rng = make(f"pettingzoo:{name}"), 0.0, random.Random(0)
    for seed in range(20):
        game.reset(seed=seed)
        while game.acting:
            legal = game.legal(game.agent_selection)
            game.step("raise" if "raise" in legal else rng.choice([m for m in legal if m != "fold"]))
        worst = min(worst, *game.rewards.values())
    assert worst == game.info.forfeit


def test_rock_paper_scissors_pays_by_the_rules():
    game = make("pettingzoo:rps", num_actions=5, max_cycles=25)
    game.reset(seed=1)
    beats = {
        ("rock", "scissors"), ("rock", "lizard"), ("paper", "rock"), ("paper", "spock"), ("scissors", "paper"),
        ("scissors", "lizard"), ("spock", "rock"), ("spock", "scissors"), ("lizard", "spock"), ("lizard", "paper"),
    }  # fmt: skip
    for one in game.legal("player_0"):
        for two in game.legal("player_0"):
            game.step(one)
            game.step(two)
            assert game.rewards["player_0"] == ((one, two) in beats) - ((two, one) in beats), (one, two)


def test_an_environment_is_put_in_words_once():
    """O-06: around words, near or far, there is no second layer; and a game says which layers it has."""
    game = make("pettingzoo:tictactoe")
    assert game.chain == ("Worded", "raw_env")
    assert Worded(OrderEnforcingWrapper(Survival()), told, draws).chain == (
        "Worded",
        "OrderEnforcingWrapper",
        "Survival",
    )
    for wrapped in (game, OrderEnforcingWrapper(game), make("nim")):
        with pytest.raises(ValueError, match=r"speaks in words already \(Worded > .*wrap it once"):
            Worded(wrapped, told, draws)
    assert make("pettingzoo:tests.foreign.test_pettingzoo:survival").chain == ("Worded", "Survival")


def test_an_environment_handed_over_as_an_object_is_not_shared():
    env = Survival()
    games = [Worded(env, told, draws), Worded(env, told, draws)]
    for game in games:
        game.reset(seed=1)
    games[0].step("draw 1")
    assert games[1].agent_selection == "red_0"
    assert not hasattr(env, "draw")


def test_a_position_is_made_again_where_the_environment_cannot_be_copied():
    game = Worded(Stubborn, told, draws, info=GameInfo(chance=True))
    game.reset(seed=3)
    game.step("draw 2")
    for other in (copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        for move in ("draw 1", "draw 2"):
            other.step(move)
        assert game.stage == 1
    game.step("draw 1")
    game.step("draw 2")
    assert other.state_text() == game.state_text()
    assert other.rewards == game.rewards
    with pytest.raises(ValueError, match=r"Stubborn can't be copied .* hand over a function"):
        Worded(Stubborn(), told, draws).reset(seed=1)


class Stubborn(Survival):
    def __deepcopy__(self, memo):
        raise TypeError("never")

    def __reduce__(self):
        raise TypeError("never")


def test_without_words_an_environment_speaks_in_numbers():
    game = make("pettingzoo:tests.foreign.test_pettingzoo:Signals")
    game.reset(seed=1)
    assert game.legal("scout_1") == ("0", "1")
    assert game.observe("scout_1")["text"].startswith("You are scout_1. You observe: ")


def test_what_a_family_of_pettingzoo_needs_is_told_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymunk", None)  # as if it weren't installed
    told = r"can't be loaded: .*pymunk.*: it belongs to PettingZoo's own extra: pip install 'pettingzoo\[butterfly\]'"
    with pytest.raises(ValueError, match=told):
        make("pettingzoo:pettingzoo.butterfly.pistonball_v6:env")
    with pytest.raises(ValueError, match=r"No module named 'pettingzoo.buttered'$"):
        make("pettingzoo:pettingzoo.buttered.pistonball_v6:env")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("tictacto", {}, "not found: did you mean 'pettingzoo:tictactoe'"),
        ("ludo", {}, "there are chess, .*any other: 'pettingzoo:package.module:env'"),
        ("rps", {"cycles": 3}, "no parameter 'cycles': did you mean 'max_cycles'"),
        ("rps", {"num_actions": 4}, "there are words for 3 and 5"),
        ("no.such:env", {}, "can't be loaded: No module named 'no'"),
        ("pettingzoo.classic.rps.rps:envy", {}, "can't be loaded: .*envy"),
        ("tests.foreign.test_pettingzoo:Waves", {}, "actions of surfer_0 are Box.*write Worded"),
        ("tests.foreign.test_pettingzoo:READY", {}, "READY.* gives tuple, which is neither"),
    ],
)
def test_what_cannot_be_played_says_why(name, params, message):
    with pytest.raises(ValueError, match=message):
        make(f"pettingzoo:{name}", **params)


class Waves(Signals):
    possible_agents = ["surfer_0"]

    def action_space(self, agent):
        return Box(0, 1, (2,))


def test_roles_must_name_every_agent():
    with pytest.raises(ValueError, match=r"roles name the agents \['red'\]"):
        Worded(Survival, told, draws, roles={"lone": ["red"]})


@pytest.mark.slow
def test_without_a_package_one_line_names_the_extra():
    """O-54: rlcard is imported when its game is asked for, and not before."""
    code = (
        "import sys; sys.modules['rlcard'] = None\n"
        "import arena; arena.make('pettingzoo:tictactoe')\n"
        "try: arena.make('pettingzoo:leduc')\n"
        "except ValueError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = run.stdout.splitlines()
    assert "rlcard is not installed" in line
    assert "pip install 'scrimmage[games]'" in line
