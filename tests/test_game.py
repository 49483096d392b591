"""A game keeps PettingZoo's contract and the arena's: turns, hidden moves, illegal moves, endings, copies."""

import copy
import pickle
import warnings
from collections.abc import Mapping

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from arena.game import Game, GameInfo, IllegalMove
from arena.types import Task


class Haggle(Game):
    """Two buyers bid 1 to 3 at once, for two rounds; a seller then takes or leaves the higher bid."""

    roles: Mapping[str, int] = {"buyer": 2, "seller": 1}
    info = GameInfo(simultaneous=True, chance=True, max_illegal=1, forfeit=-5.0)

    def start(self, rng, task):
        self.worth, self.bids = rng.randint(1, 9), []
        self.tell(f"It is worth {self.worth}.", "seller_0")
        self.tell("Bid [1] to [3].", "buyer_0", "buyer_1")
        return "buyer_0", "buyer_1"

    def legal(self, seat):
        return ("take", "leave") if seat == "seller_0" else ("1", "2", "3")

    def play(self, moves):
        if "seller_0" in moves:
            self.score(seller_0=max(self.bids[-1]) - self.worth if moves["seller_0"] == "take" else 0)
            return ()
        self.bids.append((int(moves["buyer_0"]), int(moves["buyer_1"])))
        self.score(buyer_0=-0.5, buyer_1=-0.5)
        self.tell(f"Bids: {self.bids[-1]}.")
        return ("buyer_0", "buyer_1") if len(self.bids) < 2 else ("seller_0",)

    def state_text(self):
        return f"{self.worth} {self.bids}"


class Race(Game):
    """Each says go until somebody has said it three times; zero-sum among three."""

    roles: Mapping[str, int] = {"runner": 3}
    info = GameInfo(zero_sum=True, max_illegal=0, forfeit=-2.0, perfect_information=True)

    def start(self, rng, task):
        self.steps = 0
        return ("runner_0",)

    def legal(self, seat):
        return ("go",)

    def play(self, moves):
        self.steps += 1
        if self.steps == 7:
            self.score(runner_0=2, runner_1=-1, runner_2=-1)
            return ()
        return (f"runner_{self.steps % 3}",)

    def state_text(self):
        return str(self.steps)


def text(game, seat):
    return game.observe(seat)["text"]


def say(game, *moves):
    for move in moves:
        game.step(move)


@pytest.mark.parametrize("kind", [Haggle, Race])
def test_a_game_passes_pettingzoo_s_own_tests(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(kind(), num_cycles=100)
        seed_test(kind, num_cycles=100)


def test_wrappers_of_pettingzoo_take_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(OrderEnforcingWrapper(Haggle()), num_cycles=30)
        parallel_api_test(turn_based_aec_to_parallel(Race()), num_cycles=30)


def test_each_reward_is_counted_once_by_agent_iter_and_by_an_own_loop():
    game, totals = Haggle(), {}
    game.reset(seed=3)
    for seat in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        totals[seat] = totals.get(seat, 0) + reward
        game.step(None if terminated or truncated else "take" if seat == "seller_0" else "2")
    game.reset(seed=3)
    own = dict.fromkeys(game.possible_agents, 0.0)
    while game.acting:
        game.step("take" if game.agent_selection == "seller_0" else "2")
        for seat, reward in game.rewards.items():
            own[seat] += reward
    assert totals == own == {"buyer_0": -1.0, "buyer_1": -1.0, "seller_0": 2.0 - game.worth}


def test_moves_of_one_stage_are_hidden_until_all_are_in():
    game = Haggle()
    game.reset(seed=0)
    assert game.acting == ("buyer_0", "buyer_1")
    before = text(game, "buyer_1"), game.infos["buyer_1"]["legal_actions"]
    game.step("3")
    assert (text(game, "buyer_1"), game.infos["buyer_1"]["legal_actions"]) == before
    assert text(game, "buyer_0") == ""
    assert game.acting == ("buyer_1",)
    assert game.stage == 0
    game.step("1")
    assert text(game, "buyer_0") == text(game, "buyer_1") == "Bids: (3, 1)."
    assert game.stage == 1


def test_an_illegal_move_is_told_to_its_seat_alone_and_asked_again_after_the_others():
    game = Haggle()
    game.reset(seed=0)
    game.step("7")
    assert game.judged == "say [1] or [2] or [3]"
    assert game.agent_selection == "buyer_1"
    assert game.acting == ("buyer_0", "buyer_1")
    assert text(game, "buyer_1") == "Bid [1] to [3]."
    game.step("2")
    assert game.judged == ""
    assert game.acting == ("buyer_0",)
    assert text(game, "buyer_0") == "That is not a legal move: say [1] or [2] or [3]\nBid [1] to [3]."
    game.step("1")
    assert game.bids == [(1, 2)]
    assert text(game, "buyer_0") == "Bids: (1, 2)."


def test_the_seat_out_of_tries_forfeits_and_only_it_pays_in_a_game_that_is_not_zero_sum():
    game = Haggle()
    game.reset(seed=0)
    say(game, "7", "2", "8")
    assert (game.ending, game.reason) == ("forfeit", "buyer_0: say [1] or [2] or [3]")
    assert game.rewards == {"buyer_0": -5.0, "buyer_1": 0.0, "seller_0": 0.0}
    assert game.infos["buyer_0"]["forfeit"].startswith("buyer_0")
    assert game.acting == ()
    assert all(game.terminations.values())


def test_a_forfeit_sums_to_zero_among_three():
    game = Race()
    game.reset(seed=0)
    say(game, "go", "stop")
    assert game.rewards == {"runner_0": 1.0, "runner_1": -2.0, "runner_2": 1.0}


def test_a_team_forfeits_together():
    class Team(Race):
        info = GameInfo(cooperative=True, max_illegal=0, forfeit=-3.0)

    game = Team()
    game.reset(seed=0)
    game.step("stop")
    assert set(game.rewards.values()) == {-3.0}
    assert game.teams() == (("runner_0", "runner_1", "runner_2"),)


def test_the_rules_are_judged_before_the_stage_limit():
    class Short(Race):
        info = GameInfo(zero_sum=True, max_stages=7)

    class Shorter(Race):
        info = GameInfo(zero_sum=True, max_stages=6)

    for kind, ending in ((Short, "over"), (Shorter, "truncated")):
        game = kind()
        game.reset(seed=0)
        while game.acting:
            game.step("go")
        assert game.ending == ending
        assert all(game.terminations.values()) == (ending == "over")
        assert all(game.truncations.values()) == (ending == "truncated")


def test_an_index_is_the_legal_move_at_it():
    game = Haggle()
    game.reset(seed=0)
    say(game, np.int64(2), 0)
    assert game.bids == [(3, 1)]


@pytest.mark.parametrize("thing", [None, -1, 3, True, 1.0, b"1", ["1"], {}, object()])
def test_anything_else_is_illegal_and_never_raises(thing):
    game = Haggle()
    game.reset(seed=0)
    game.step(thing)
    assert game.judged
    assert game.acting == ("buyer_0", "buyer_1")


def test_infos_speak_of_acting_seats_only():
    game = Haggle()
    game.reset(seed=0)
    game.step("1")
    assert game.infos["buyer_0"] == {}
    assert game.infos["seller_0"] == {}
    assert game.infos["buyer_1"]["action_mask"].tolist() == [1, 1, 1]


def test_legal_moves_of_others_are_not_worked_out_unless_asked_for():
    asked = []

    class Watched(Haggle):
        def legal(self, seat):
            asked.append(seat)
            return super().legal(seat)

        def parse(self, seat, text):
            return text

    game = Watched()
    game.reset(seed=0)
    say(game, "1", "2", "1", "1", "take")
    assert asked == []


def test_nothing_is_left_after_reset_even_when_seats_were_leaving():
    fresh, used = Haggle(), Haggle()
    fresh.reset(seed=5)
    used.reset(seed=4)
    say(used, "1", "9", "8")
    assert used.ending == "forfeit"
    used.step(None)
    used.reset(seed=5)
    assert position(used) == position(fresh)
    for game in (fresh, used):
        say(game, "3", "2", "3", "2", "take")
        while game.agents:
            game.step(None)
    assert position(used) == position(fresh)


def position(game):
    """All attributes but those that compare by identity."""
    return {name: part for name, part in vars(game).items() if name not in ("_spaces", "rng")}


def test_reset_without_a_seed_goes_on_and_with_one_repeats():
    game = Haggle()
    worths = []
    for seed in (1, None, None, None, 1, None, None, None):
        game.reset(seed=seed)
        worths.append(game.worth)
    assert worths[:4] == worths[4:]
    assert len(set(worths[:4])) > 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_copied_position_goes_on_by_itself(copied):
    game = Haggle()
    game.reset(seed=2)
    game.action_space("buyer_0").seed(1)
    game.step("3")
    other = copied(game)
    say(other, "1", "2", "2", "leave")
    assert game.acting == ("buyer_1",)
    assert game.bids == []
    assert other.bids == [(3, 1), (2, 2)]
    assert other.rng.random() == copied(game).rng.random()
    assert other.action_space("buyer_0") is other.action_space("buyer_0")
    assert other.action_space("buyer_0") is not game.action_space("buyer_0")


def test_random_play_is_legal_play():
    game = Haggle()
    game.reset(seed=0)
    space = game.action_space("buyer_0")
    space.seed(3)
    assert {space.sample() for _ in range(50)} == {"1", "2", "3"}
    assert {space.sample(np.array([0, 1, 0], np.int8)) for _ in range(9)} == {"2"}
    assert space.contains("anything")
    assert not space.contains(3)


def test_a_game_without_listed_moves_can_still_be_sampled():
    class Talk(Race):
        def legal(self, seat):
            return ()

        def parse(self, seat, text):
            return text

    game = Talk()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(game, num_cycles=20)
    game.reset(seed=0)
    assert game.infos["runner_0"] == {}


def test_seats_that_do_not_exist_are_named_at_once():
    class Wrong(Race):
        def __init__(self, answer):
            self.answer = answer

        def start(self, rng, task):
            return self.answer

    for answer in ("runner_0", None, ("runner_7",), ("runner_0", "runner_0")):
        with pytest.raises(ValueError, match="return a tuple of different seats of"):
            Wrong(answer).reset(seed=0)


def test_a_finished_game_says_so():
    game = Race()
    game.reset(seed=0)
    game.step("stop")
    while game.agents:
        game.step(None)
    with pytest.raises(RuntimeError, match="reset"):
        game.step("go")


def test_a_posed_task_is_heard_and_remembered():
    class Quiz(Race):
        def start(self, rng, task):
            super().start(rng, task)
            self.pose(task, "runner_0", "runner_2")
            return ("runner_0",)

    game, task = Quiz(), Task.new("2 + 2?", answer=4)
    game.reset(seed=0, options={"task": task})
    assert game.faced == {"runner_0": task, "runner_2": task}
    assert [text(game, seat) for seat in game.agents] == ["2 + 2?", "", "2 + 2?"]


def test_a_task_posed_to_nobody_in_particular_is_faced_by_all():
    game, task = Race(), Task.new("go?")
    game.reset(seed=0)
    game.pose(task)
    assert list(game.faced) == game.possible_agents


def test_a_parse_that_refuses_is_quoted():
    class Strict(Race):
        info = GameInfo(max_illegal=1)

        def parse(self, seat, text):
            raise IllegalMove("no")

    game = Strict()
    game.reset(seed=0)
    game.step("go")
    assert text(game, "runner_0") == "That is not a legal move: no"


def test_parts_that_were_one_object_are_one_in_the_copy():
    class Keeps(Haggle):
        def __init__(self):
            self.totals, self.dice = None, None

        def start(self, rng, task):
            self.totals, self.dice, self.own = self.rewards, rng, {"nested": [[1]]}
            return super().start(rng, task)

    game = Keeps()
    game.reset(seed=0)
    other = copy.deepcopy(game)
    assert other.totals is other.rewards
    assert other.dice is other.rng
    assert other.rewards is not game.rewards
    assert other.rng is not game.rng
    assert other.rng.getstate() == game.rng.getstate()
    assert other.own == game.own
    assert other.own["nested"][0] is not game.own["nested"][0]
