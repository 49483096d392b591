"""A game is played to its end, whatever the agents do, and the episode says what happened."""

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tokens import chatml

from arena.agent import PLAYER, LLMAgent, RandomAgent, ScriptedAgent
from arena.chat import Chat
from arena.context import Forfeit
from arena.engines.scripted import ScriptedEngine
from arena.game import Game, GameInfo
from arena.make import make
from arena.play import Job, play, play_many, seating
from arena.types import Episode, Task
from roles import Role, Sampling

CHAT = Chat(chatml())


class Guess(Game):
    """One seat guesses a or b three times; b pays 1, 0, 2."""

    roles: Mapping[str, int] = {"guesser": 1}
    info = GameInfo(max_illegal=1, forfeit=-1.0)

    def start(self, rng, task):
        self.pays = [1.0, 0.0, 2.0]
        self.tell("guess")
        return ("guesser_0",)

    def legal(self, seat):
        return ("a", "b")

    def play(self, moves):
        pay = self.pays.pop(0)
        self.score(guesser_0=pay if moves["guesser_0"] == "b" else 0.0)
        self.tell("guess")
        return ("guesser_0",) if self.pays else ()


class Both(Game):
    """Two seats say yes or no at once; the first to speak nonsense twice forfeits."""

    roles: Mapping[str, int] = {"voter": 2}
    info = GameInfo(zero_sum=True, simultaneous=True, max_illegal=1)

    def start(self, rng, task):
        self.tell("vote")
        return ("voter_0", "voter_1")

    def legal(self, seat):
        return ("yes", "no")

    def play(self, moves):
        win = float((moves["voter_0"] == "yes") - (moves["voter_1"] == "yes"))
        self.score(voter_0=win, voter_1=-win)
        return ()


@dataclass(frozen=True)
class Slow:
    """Says its script after some turns of the event loop."""

    replies: tuple[str, ...]
    waits: int
    name: str = "slow"
    role: Role = PLAYER

    async def act(self, context):
        for _ in range(self.waits):
            await asyncio.sleep(0)
        return self.replies[context.turn]


@dataclass(frozen=True)
class Broken:
    error: BaseException
    name: str = "broken"
    role: Role = PLAYER
    said: tuple[str, ...] = ()

    async def act(self, context):
        if context.turn < len(self.said):
            return self.said[context.turn]
        raise self.error


def run(game, agents, **options):
    return asyncio.run(play(game, agents, **{"seed": 0, **options}))


def say(*replies):
    return ScriptedAgent(replies)


def kuhn(seed, **options):
    return run(make("kuhn_poker"), {"first": RandomAgent(), "second": RandomAgent()}, seed=seed, **options)


# -- one game --------------------------------------------------------------------------------------------------------


def test_returns_are_the_sum_of_the_rewards_of_all_turns():
    """O-18"""
    episode = run(Guess(), {"guesser": say("[b]", "[b]", "[b]")})
    assert [turn.rewards["guesser_0"] for turn in episode.turns] == [1.0, 0.0, 2.0]
    assert episode.returns == {"guesser_0": 3.0}
    assert (episode.ending, episode.illegal) == ("over", False)


def test_every_turn_says_what_was_heard_replied_and_read():
    episode = run(make("kuhn_poker"), {"first": say("let me think [bet]"), "second": say("[fold]")}, seed=3)
    first, second = episode.turns
    assert first.heard.endswith("Moves: none. Actions: [check] [bet]")
    assert (first.seat, first.stage, first.reply, first.move, first.legal) == (
        "first_0", 0, "let me think [bet]", "bet", True,
    )  # fmt: skip
    assert (second.seat, second.stage, second.move) == ("second_0", 1, "fold")
    assert first.rewards == {"first_0": 0.0, "second_0": 0.0}
    assert second.rewards == {"first_0": 1.0, "second_0": -1.0}
    assert [m["content"] for m in episode.contexts["second_0"].messages] == [second.heard, "[fold]"]


def test_an_illegal_move_is_told_and_asked_again_and_then_forfeits():
    episode = run(Guess(), {"guesser": say("[b]", "hm", "[a]", "[z]")})
    assert [turn.legal for turn in episode.turns] == [True, False, True, False]
    assert episode.turns[1].rewards == {}
    assert "say [a] or [b]" in episode.turns[1].reason
    assert "say [a] or [b]" in episode.turns[2].heard
    assert (episode.ending, episode.returns["guesser_0"]) == ("forfeit", 1.0 - 1.0)
    assert episode.illegal
    assert "guesser_0" in episode.reason


def test_a_simultaneous_stage_waits_for_all_and_keeps_their_order():
    slow, quick = Slow(("[yes]",), 20), Slow(("[no]",), 0)
    for seats in ({"voter_0": slow, "voter_1": quick}, {"voter_0": quick, "voter_1": slow}):
        episode = run(Both(), seats)
        assert [turn.seat for turn in episode.turns] == ["voter_0", "voter_1"]
        assert episode.returns["voter_0"] == (1.0 if seats["voter_0"] is slow else -1.0)
        assert episode.turns[0].rewards == {}
        assert episode.turns[1].rewards == episode.returns


def test_one_seat_s_illegal_reply_does_not_shift_the_other_s():
    episode = run(Both(), {"voter_0": say("hm", "[no]"), "voter_1": say("[yes]")})
    assert [(turn.seat, turn.legal) for turn in episode.turns] == [
        ("voter_0", False), ("voter_1", True), ("voter_0", True),
    ]  # fmt: skip
    assert episode.returns == {"voter_0": -1.0, "voter_1": 1.0}


def test_a_reply_whose_stage_came_to_nothing_is_still_a_turn():
    """Every sampled reply is a turn, also beside a forfeit or a seat that was cut off."""

    class Strict(Both):
        info = GameInfo(zero_sum=True, simultaneous=True, max_illegal=0)

    episode = run(Strict(), {"voter_0": say("hm"), "voter_1": say("[yes]")})
    assert [(turn.seat, turn.move, turn.legal) for turn in episode.turns] == [
        ("voter_0", "", False), ("voter_1", "yes", True),
    ]  # fmt: skip
    assert (episode.ending, episode.returns) == ("forfeit", {"voter_0": -1.0, "voter_1": 1.0})
    assert episode.turns[1].rewards == {}
    broken = run(Strict(), {"voter_0": Broken(OSError("gone")), "voter_1": say("hm")})
    assert [(turn.seat, turn.legal) for turn in broken.turns] == [("voter_1", False)]


def test_a_game_without_an_end_is_truncated():
    class Endless(Guess):
        info = GameInfo(max_stages=4)

        def play(self, moves):
            self.score(guesser_0=1.0)
            return ("guesser_0",)

    episode = run(Endless(), {"guesser": RandomAgent()})
    assert (episode.ending, episode.reason, episode.returns) == ("truncated", "4 stages played", {"guesser_0": 4.0})


def test_spans_are_the_sampled_ids_of_each_turn():
    role = Role(name="guess", sampling=Sampling(max_tokens=30))
    engine = ScriptedEngine(CHAT.encode, ["so [b]", "hm", "[a]", "[b]"], end=CHAT.end)
    episode = run(Guess(), {"guesser": LLMAgent("me", role, engine, CHAT)})
    view = episode.contexts["guesser_0"].view
    assert [CHAT.text(view.tokens[slice(*turn.span)]) for turn in episode.turns] == ["so [b]", "hm", "[a]", "[b]"]
    assert sum(stop - start for start, stop in (turn.span for turn in episode.turns)) == sum(view.mask)
    assert {turn.stop for turn in episode.turns} == {"stop"}


# -- agents that fail ------------------------------------------------------------------------------------------------


def test_a_seat_out_of_budget_ends_the_game_as_cut_off_with_the_returns_so_far():
    role = Role(name="guess", budget=12, sampling=Sampling(max_tokens=12))
    engine = ScriptedEngine(CHAT.encode, ["[b] [b] [b] [b] [b] [b] [b] [b]"], end=CHAT.end)
    episode = run(Guess(), {"guesser": LLMAgent("me", role, engine, CHAT)})
    assert (episode.ending, episode.fault, episode.returns) == ("cut_off", "guesser_0", {"guesser_0": 1.0})
    assert episode.reason == "guesser_0: budget: all 12 tokens of the episode are used"


def test_an_agent_that_raises_is_no_loss_of_anybody():
    """O-26"""
    episode = run(make("kuhn_poker"), {"first": say("[check]"), "second": Broken(OSError("socket closed"))})
    assert episode.ending == "infra"
    assert episode.returns == {"first_0": None, "second_0": None}
    assert (episode.fault, episode.reason) == ("second_0", "second_0, turn 0: OSError: socket closed")


def test_who_gives_up_pays_the_price_of_a_forfeit_beside_what_was_earned():
    episode = run(Guess(), {"guesser": Broken(Forfeit("enough"), said=("[b]",))})
    lost = run(make("kuhn_poker"), {"first": Broken(Forfeit("enough")), "second": say("[bet]")})
    assert (episode.ending, episode.fault, episode.reason) == ("forfeit", "guesser_0", "guesser_0: enough")
    assert episode.returns == {"guesser_0": 0.0}  # 1 for the guess, then -1
    assert (lost.returns, lost.fault) == ({"first_0": -2.0, "second_0": 2.0}, "first_0")


def test_a_reply_that_is_no_text_is_named():
    episode = run(Guess(), {"guesser": Slow((7,), 0)})
    assert (episode.ending, "replied with int" in episode.reason) == ("infra", True)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("game", [Guess, Both])
def test_a_stop_from_outside_is_not_an_agent_s_fault(error, game):
    role = next(iter(game.roles))
    with pytest.raises(type(error)):
        run(game(), {role: Broken(error)})


def test_a_game_that_breaks_its_own_rules_is_a_loud_bug():
    class Buggy(Guess):
        def play(self, moves):
            raise ZeroDivisionError("rules")

    with pytest.raises(ZeroDivisionError):
        run(Buggy(), {"guesser": RandomAgent()})


# -- who sits where --------------------------------------------------------------------------------------------------


def test_agents_sit_by_role_or_by_seat():
    one, two = RandomAgent("one"), RandomAgent("two")
    assert seating(Both(), {"voter": one}) == {"voter_0": one, "voter_1": one}
    assert seating(Both(), {"voter": one, "voter_1": two}) == {"voter_0": one, "voter_1": two}


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ({"voters": RandomAgent()}, r"no role or seat 'voters': did you mean 'voter'"),
        ({"voter": RandomAgent(), "voter_2": RandomAgent()}, r"no role or seat 'voter_2': did you mean 'voter_[01]'"),
        ({"voter_0": RandomAgent()}, r"seat 'voter_1' of Both has no agent: give one for 'voter'"),
        ({"xyzzy": RandomAgent()}, r"no role or seat 'xyzzy': it has voter, voter_0, voter_1"),
    ],
)
def test_a_wrong_seat_is_refused_with_the_nearest(agents, message):
    with pytest.raises(ValueError, match=message):
        run(Both(), agents)


# -- the same again --------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_episode_and_another_stream_other_replies():
    assert kuhn(7) == kuhn(7)
    assert [kuhn(s).id for s in (7, 8)] == [kuhn(s).id for s in (7, 8)]
    deals = {kuhn(7, stream=("step", i)).turns[0].heard for i in range(20)}
    replies = {kuhn(7, stream=("step", i)).turns[0].reply for i in range(20)}
    assert (len(deals), len(replies)) == (1, 2)


def test_an_id_names_its_content():
    task = Task.new("2")
    ids = [
        kuhn(7).id, kuhn(8).id, kuhn(7, stream=(1,)).id, kuhn(7, task=task).id,
        run(make("kuhn_poker"), {"first": RandomAgent("x"), "second": RandomAgent()}, seed=7).id,
    ]  # fmt: skip
    assert len(set(ids)) == len(ids)
    assert kuhn(7, id="mine").id == "mine"


def test_an_episode_is_json_both_ways():
    role = Role(name="guess", sampling=Sampling(max_tokens=30))
    engine = ScriptedEngine(CHAT.encode, ["[b]", "hm", "[a]", "[b]"], end=CHAT.end)
    episode = run(Guess(), {"guesser": LLMAgent("me", role, engine, CHAT, score_options=True)}, task=Task.new("x"))
    assert Episode.from_json(json.loads(json.dumps(episode.to_json()))) == episode


def test_a_posed_task_is_what_its_seats_faced():
    task = Task.new("4", digit=4)
    replies = {"proposer": say("[7 + 12]"), "solver": say("[59]")}
    episode = run(make("proposer_solver", solvers=2), replies, task=task)
    assert episode.faced["proposer_0"] == task.id
    assert episode.faced["solver_0"] == episode.faced["solver_1"] != task.id
    assert episode.returns == {"proposer_0": 0.0, "solver_0": 1.0, "solver_1": 1.0}


# -- many games ------------------------------------------------------------------------------------------------------


def jobs(waits):
    return [Job(Guess(), {"guesser": Slow(("[b]",) * 3, wait, name=f"{i}")}, seed=i) for i, wait in enumerate(waits)]


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_episodes_come_in_the_order_of_the_jobs(concurrency):
    waits = random.Random(1).sample(range(40), 20)
    episodes = asyncio.run(play_many(jobs(waits), concurrency))
    assert [episode.seed for episode in episodes] == list(range(20))
    assert episodes == asyncio.run(play_many(jobs([0] * 20), 1))


def test_no_more_games_than_asked_for_are_under_way():
    under_way, most = set(), []

    class Watched(Guess):
        def start(self, rng, task):
            under_way.add(self)
            most.append(len(under_way))
            return super().start(rng, task)

        def play(self, moves):
            seats = super().play(moves)
            if not seats:
                under_way.discard(self)
            return seats

    games = [Job(Watched(), {"guesser": Slow(("[b]",) * 3, 5)}, seed=i) for i in range(30)]
    asyncio.run(play_many(games, 4))
    assert max(most) == 4


def test_a_job_that_cannot_be_played_stops_the_others():
    unseated = Job(Guess(), {}, seed=1)
    with pytest.raises(ValueError, match="has no agent"):
        asyncio.run(play_many([*jobs([30, 30]), unseated], 3))


def test_jobs_do_not_share_a_game():
    game = Guess()
    with pytest.raises(ValueError, match="jobs 0 and 1 share one game"):
        asyncio.run(play_many([Job(game, {}, seed=0), Job(game, {}, seed=1)], 2))
    with pytest.raises(ValueError, match="concurrency is 0"):
        asyncio.run(play_many([], 0))
    assert asyncio.run(play_many([], 5)) == []


def test_turns_are_told_as_they_are_made():
    """Between the replies, not after them."""
    heard = []

    class Counting(ScriptedAgent):
        async def act(self, context):
            heard.append(len(heard))
            return await super().act(context)

    episode = asyncio.run(play(Guess(), {"guesser": Counting(["[a]", "[b]", "[b]"])}, seed=0, told=heard.append))
    first, second, third = episode.turns
    assert heard == [0, first, 2, second, 4, third]


def test_the_end_of_every_game_of_many_is_told():
    counted = []
    jobs = [Job(Guess(), {"guesser": RandomAgent()}, seed=i) for i in range(5)]
    asyncio.run(play_many(jobs, 2, counted.append))
    assert counted == [1, 2, 3, 4, 5]
