"""A round robin seats everybody everywhere on the same deals, survives its agents, and resumes without a double."""

import asyncio
import io
import math
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

import arena
from arena import config as configs
from arena import tournament as room
from arena.agent import PLAYER
from arena.cast import Cast
from arena.make import GameConfig
from arena.ratings import MU
from arena.store import Store
from arena.tournament import EntrantConfig, TournamentConfig, match_of, round_robin, run, schedule

KUHN = GameConfig("kuhn_poker")
BOTS = {"random": lambda role: arena.RandomAgent(), "oracle": lambda role: arena.OracleAgent()}


@dataclass
class Odd:
    """An agent that does as it is told: raise, hang, flood, or first count and then play."""

    deed: str
    name: str = "odd"
    role: object = PLAYER
    asked: int = 0

    async def act(self, context):
        self.asked += 1
        if self.deed == "raise" or (self.deed == "break" and self.asked > 7):
            raise RuntimeError("no answer")
        if self.deed == "die" and self.asked > 7:
            raise KeyboardInterrupt
        if self.deed == "hang":
            await asyncio.sleep(3600)
        if self.deed == "flood":
            return "x" * 1_000_000
        if self.deed == "slow":
            await asyncio.sleep(0.001 * (context.seed[-2] % 5))
        return f"[{context.legal[-1]}]"


def play(entrants, game=KUHN, rounds=5, seed=1, **more):
    return asyncio.run(round_robin(entrants, game, rounds, seed, **more))


def with_odd(deed):
    odd = Odd(deed)
    return {**BOTS, "odd": lambda role: odd}, odd


# -- who meets whom ------------------------------------------------------------------------------------------------


def test_seats_are_rotated_on_one_deal_and_make_one_match():
    found = schedule("abc", KUHN, rounds=4, seed=1)
    assert len({pairing.id for pairing in found}) == len({pairing.deal for pairing in found}) == len(found) == 3 * 4
    for pairing in found:
        one, two = (tuple(seating.values()) for seating in pairing.seatings)
        assert one == two[::-1]
    assert Counter(tuple(pairing.seatings[0].values()) for pairing in found) == {
        ("a", "b"): 4,
        ("a", "c"): 4,
        ("b", "c"): 4,
    }


def test_unpaired_games_still_share_their_deals():
    found = schedule("abc", KUHN, rounds=4, seed=1, paired=False)
    assert len({pairing.id for pairing in found}) == len(found) == 3 * 4 * 2
    seatings = Counter(tuple(pairing.seatings[0].values()) for pairing in found)
    assert seatings == dict.fromkeys([(a, b) for a in "abc" for b in "abc" if a != b], 4)
    assert {pairing.deal for pairing in found} == {pairing.deal for pairing in schedule("abc", KUHN, 4, 1)}


def test_the_cards_are_really_the_same_in_both_seatings():
    class Ear(Odd):
        async def act(self, context):
            heard.append((context.seed[-1], context.messages[-1]["content"].split(".")[0]))
            return f"[{context.legal[-1]}]"

    heard = []
    play({"a": lambda role: Ear(""), "b": lambda role: Ear("")}, rounds=1, concurrency=1)
    assert len(heard) == 4
    assert heard[:2] == heard[2:]


def test_rotations_share_no_chance_but_the_deal():
    same = {"a": BOTS["random"], "b": BOTS["random"]}
    standings = play(same, rounds=100)
    assert standings.payoff["a", "b"].mean != 0  # with shared replies every game would be met by its mirror image


def test_ids_and_deals_follow_from_the_arguments_alone():
    assert schedule("ab", KUHN, 2, 1) == schedule("ba", KUHN, 2, 1)
    ids = {pairing.id for pairing in schedule("ab", KUHN, 2, 1)}
    assert ids < {pairing.id for pairing in schedule("abc", KUHN, 3, 1)}  # more of it plays only what is new
    others = [schedule("ab", KUHN, 2, 2), schedule("ab", KUHN, 2, 1, "other"), schedule("ac", KUHN, 2, 1)]
    others += [schedule("ab", GameConfig("tic_tac_toe"), 2, 1), schedule("ab", KUHN, 2, 1, paired=False)]
    nim = [schedule("ab", GameConfig("nim", {"heaps": heaps}), 2, 1) for heaps in ([1, 2], [1, 3])]
    for other in (*others, *nim):
        assert not ids & {pairing.id for pairing in other}
    assert not {pairing.id for pairing in nim[0]} & {pairing.id for pairing in nim[1]}


def test_in_a_cooperative_game_everybody_also_sits_with_itself():
    found = schedule("ab", GameConfig("dec_tiger", {"horizon": 3}), rounds=1, seed=1)
    seatings = [[tuple(seating.values()) for seating in pairing.seatings] for pairing in found]
    assert seatings == [[("a", "a")], [("a", "b"), ("b", "a")], [("b", "b")]]


@pytest.mark.parametrize(
    ("entrants", "game", "rounds", "message"),
    [
        ("a", KUHN, 1, "kuhn_poker is played by 2, but there are 1 entrants: a"),
        ("ab", KUHN, 0, "rounds is 0: play at least 1"),
        (["a", ""], KUHN, 1, "entrant ''"),
        (["a", "a"], KUHN, 1, "entrant 'a': give every entrant a name of its own"),
        (["a", "task:x"], KUHN, 1, "entrant 'task:x'"),
        ("ab", GameConfig("dec_tiger", {"horizon": 40}), 1, r"dec_tiger\(horizon=40\) has no par"),
        ("ab", GameConfig("proposer_solver"), 1, "not zero-sum: the returns of proposer, solver can't be held against"),
        ("ab", GameConfig("kuhn_pocker"), 1, "did you mean 'kuhn_poker'"),
    ],
)
def test_what_can_not_be_played_or_rated_is_refused_at_once(entrants, game, rounds, message):
    with pytest.raises(ValueError, match=message):
        schedule(entrants, game, rounds, 1)


# -- matches and standings -----------------------------------------------------------------------------------------


def test_an_episode_becomes_a_match_of_teams_and_roles():
    game = arena.make("kuhn_poker")
    agents = {"first": arena.ScriptedAgent(["[bet]"], "a"), "second": arena.ScriptedAgent(["[fold]"], "b")}
    episode = asyncio.run(arena.play(game, agents, seed=1))
    match = match_of(episode, game, pool="p")
    assert (match.id, match.game, match.pool, match.ending) == (episode.id, "kuhn_poker", "p", "over")
    assert match.teams == (("a",), ("b",))
    assert match.roles == (("first",), ("second",))
    assert match.scores == (1.0, -1.0)
    broken = match_of(replace(episode, ending="infra", returns=dict.fromkeys(episode.returns)), game)
    assert (broken.ending, broken.scores) == ("infra", ())


def test_a_cooperative_episode_is_a_match_against_the_task():
    game = arena.make("dec_tiger", horizon=2)
    team = {
        "agent_0": arena.ScriptedAgent(["[listen]"] * 2, "a"),
        "agent_1": arena.ScriptedAgent(["[listen]"] * 2, "b"),
    }
    match = match_of(asyncio.run(arena.play(game, team, seed=1)), game)
    assert match.teams == (("a", "b"), ("task:dec_tiger",))
    assert match.scores == (-4.0, -4.0)  # two times -2, and that is par


def test_games_of_one_deal_are_scored_together():
    def one(id, first, second, score, ending="over"):
        scores = () if ending == "infra" else (score, -score)
        return arena.Match(id, "g", ((first,), (second,)), scores, (("x",), ("y",)), ending, "p", (id,))

    both = room.together([one("1", "a", "b", 2.0), one("2", "b", "a", 1.0, "forfeit")], "m")
    assert both == arena.Match("m", "g", (("a",), ("b",)), (0.5, -0.5), (), "forfeit", "p", ("1", "2"))
    broken = room.together([one("1", "a", "b", 2.0), one("2", "b", "a", 1.0, "infra")], "m")
    assert (broken.ending, broken.scores) == ("infra", ())
    assert room.together([one("1", "a", "b", 2.0)], "m") == replace(one("1", "a", "b", 2.0), id="m")


def test_the_better_player_stands_first_and_the_pay_offs_mirror_each_other():
    standings = play(BOTS, rounds=150)
    assert [rating.agent for rating in standings.ratings] == ["oracle", "random"]
    assert [rating.matches for rating in standings.ratings] == [150, 150]
    assert standings.endings == {"over": 150}
    mine, theirs = standings.payoff["oracle", "random"], standings.payoff["random", "oracle"]
    assert mine.n == theirs.n == 150
    assert mine.mean == pytest.approx(-theirs.mean)
    assert mine.mean > 0.05
    assert ("oracle", "oracle") not in standings.payoff


def test_game_by_game_the_perfect_bluffer_looks_like_chance():
    """It wins half of its hands, but more chips: only deals played from both sides show it to a rating of wins."""

    def gap(**more):
        rated = {rating.agent: rating for rating in play(BOTS, rounds=600, **more).ratings}
        return (rated["oracle"].mu - rated["random"].mu) / math.hypot(rated["oracle"].sigma, rated["random"].sigma)

    assert gap() > 4
    assert abs(gap(paired=False)) < 3


def test_unpaired_games_rate_roles():
    with Store("store.db") as store:
        play(BOTS, rounds=3, store=store, paired=False)
        assert {r.agent: r.matches for r in store.ratings("round_robin", "kuhn_poker", "first")} == dict.fromkeys(
            BOTS, 3
        )
        assert {r.agent: r.matches for r in store.ratings("round_robin")} == dict.fromkeys(BOTS, 6)


def test_pay_offs_are_the_means_that_one_computes_by_hand():
    def one(id, a, b, score, **more):
        return arena.Match(id, "g", ((a,), (b,)), (score, -score), **more)

    found = room.payoff([one("1", "a", "b", 1.0), one("2", "b", "a", 2.0), one("3", "a", "c", 3.0)])
    assert found == {
        ("a", "b"): (-0.5, 2),
        ("b", "a"): (0.5, 2),
        ("a", "c"): (3.0, 1),
        ("c", "a"): (-3.0, 1),
    }
    assert room.payoff([arena.Match("4", "g", (("a",), ("b",)), (), ending="infra")]) == {}
    team = arena.Match("5", "g", (("a", "b"), ("task:g",)), (5.0, 9.0))
    alone = arena.Match("6", "g", (("a", "a"), ("task:g",)), (7.0, 9.0))
    assert room.payoff([team, alone]) == {("a", "b"): (5.0, 1), ("b", "a"): (5.0, 1), ("a", "a"): (7.0, 1)}


def test_a_perfect_tic_tac_toe_player_never_loses():
    standings = play(BOTS, GameConfig("tic_tac_toe"), rounds=5)
    assert standings.ratings[0].agent == "oracle"
    assert standings.payoff["oracle", "random"].mean >= 0.5


def test_a_team_of_perfect_agents_stands_above_chance():
    standings = play(BOTS, GameConfig("dec_tiger", {"horizon": 3}), rounds=8)
    assert [rating.agent for rating in standings.ratings] == ["oracle", "random"]
    assert set(standings.payoff) == {(a, b) for a in BOTS for b in BOTS}
    assert standings.payoff["oracle", "oracle"].mean > standings.payoff["random", "random"].mean


def test_the_result_does_not_depend_on_what_runs_at_once():
    entrants, _ = with_odd("slow")
    one, many = play(entrants, concurrency=1), play(entrants, concurrency=16)
    assert one == many
    assert one != play(entrants, seed=2)


def test_the_table_shows_names_as_they_are():
    entrants = {"[bold]x[/]": BOTS["random"], "a\x1b[31m\u202e": BOTS["oracle"]}
    standings = play(entrants, rounds=2)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(standings.table())
    text = console.export_text()
    assert "[bold]x[/]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "2 matches (2 over)" in text
    record = standings.to_json()
    assert {row["agent"] for row in record["ratings"]} == set(entrants)
    assert math.isclose(record["ratings"][0]["low"], standings.ratings[0].low)


# -- agents that fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["raise", "hang"])
def test_an_agent_that_does_not_answer_costs_its_matches_and_no_others(deed):
    entrants, _ = with_odd(deed)
    with Store("store.db") as store:
        standings = play(entrants, store=store, patience=0.05)
    assert standings.endings == {"infra": 10, "over": 5}
    assert {r.agent: r.matches for r in standings.ratings} == {"random": 5, "oracle": 5, "odd": 0}
    assert next(r.mu for r in standings.ratings if r.agent == "odd") == MU
    assert ("odd", "random") not in standings.payoff


def test_an_agent_that_floods_forfeits():
    entrants, _ = with_odd("flood")
    standings = play(entrants)
    assert standings.endings["forfeit"] > 0
    assert "infra" not in standings.endings
    assert standings.ratings[-1].agent == "odd"
    assert standings.payoff["odd", "random"].mean < -0.5


def test_an_error_of_the_game_stops_the_tournament_and_keeps_what_was_finished(monkeypatch):
    rules = type(arena.make("kuhn_poker"))
    real, calls = rules.play, []

    def broken(self, moves):
        calls.append(1)
        if len(calls) == 20:
            raise ZeroDivisionError("a bug in the rules")
        return real(self, moves)

    monkeypatch.setattr(rules, "play", broken)
    with Store("store.db") as store:
        with pytest.raises(ZeroDivisionError, match="a bug in the rules"):
            play(BOTS, store=store)
        kept = len(store.matches())
        assert 0 < kept < 5
        assert play(BOTS, store=store) == play(BOTS)


# -- resuming ------------------------------------------------------------------------------------------------------


def test_an_interrupted_tournament_goes_on_and_plays_nothing_twice():
    entrants, odd = with_odd("die")
    with Store("store.db") as store:
        with pytest.raises(KeyboardInterrupt):
            play(entrants, store=store, concurrency=3)
        kept = [match.id for match in store.log()]
        assert 0 < len(kept) < 15
        odd.deed = ""
        ticks = []
        standings = play(entrants, store=store, concurrency=3, tick=ticks.append)
        assert ticks == list(range(len(kept) + 1, 16))
        assert len({match.id for match in store.log()}) == len(store.matches(limit=1000)) == 15
        assert store.check() == []
        assert store.ratings("round_robin") == list(standings.ratings)
    assert standings == play({**BOTS, "odd": lambda role: Odd("")})
    with Store("store.db") as store:
        ticks.clear()
        assert play(entrants, store=store, tick=ticks.append) == standings
        assert ticks == []


def test_matches_that_broke_off_are_played_again():
    entrants, odd = with_odd("break")
    with Store("store.db") as store:
        first = play(entrants, store=store, concurrency=1)
        assert first.endings["infra"] > 0
        odd.deed = ""
        second = play(entrants, store=store, concurrency=1)
        assert "infra" not in second.endings
        assert len(store.matches(limit=1000)) == 15
    assert second == play({**BOTS, "odd": lambda role: Odd("")})


def test_a_new_entrant_only_plays_its_own_matches():
    ticks = []
    with Store("store.db") as store:
        play(BOTS, store=store)
        play({**BOTS, "odd": lambda role: Odd("")}, store=store, tick=ticks.append)
    assert len(ticks) == 10


def test_stored_episodes_name_the_entrants():
    with Store("store.db") as store:
        play({"mine": BOTS["random"], "yours": BOTS["random"]}, rounds=1, store=store)
        (match,) = store.log()
        _, episodes = store.match(match.id)
    assert [tuple(episode.agents.values()) for episode in episodes] == [("mine", "yours"), ("yours", "mine")]
    assert match.episodes == tuple(episode.id for episode in episodes) == (f"{match.id}.0", f"{match.id}.1")
    assert match.teams == (("mine",), ("yours",))
    gains = [
        sum(e.returns[seat] for e in episodes for seat in e.agents if e.agents[seat] == who)
        for who in ("mine", "yours")
    ]
    assert match.scores == (gains[0] / 2, gains[1] / 2)


# -- configs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", configs.names("tournament"))
def test_every_config_runs(name):
    settings = configs.load(TournamentConfig, name, ["rounds=2"])
    standings = asyncio.run(run(settings, Cast().agent))
    assert set(standings.endings) <= {"over", "forfeit"}
    assert {rating.agent for rating in standings.ratings} == {entrant.name for entrant in settings.entrants}


def test_a_config_seats_other_agents_at_single_roles():
    entrants = [EntrantConfig("mixed", "random", {"second": "oracle"}), EntrantConfig("plain", "random")]
    asked = []

    def agent(word):
        asked.append(word)
        return Cast().agent(word)

    asyncio.run(run(TournamentConfig(name="t", rounds=1, game=KUHN, entrants=entrants), agent))
    assert asked == ["random", "oracle", "random", "random"]


@pytest.mark.parametrize(
    ("entrants", "message"),
    [
        ([EntrantConfig("a", "random"), EntrantConfig("a", "oracle")], "two entrants are called 'a'"),
        ([EntrantConfig("a", "random", {"frist": "oracle"}), EntrantConfig("b", "random")], "did you mean 'first'"),
        ([EntrantConfig("a", "randon"), EntrantConfig("b", "random")], "did you mean 'random'"),
        ([], "there are 0 entrants: none"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(entrants, message):
    with pytest.raises(ValueError, match=message):
        asyncio.run(run(TournamentConfig(name="t", game=KUHN, entrants=entrants), Cast().agent))


def test_every_knob_is_read():
    told = {}

    async def spy(entrants, game, rounds, seed, store=None, **more):
        told.update(entrants=list(entrants), game=game, rounds=rounds, seed=seed, **more)

    settings = TournamentConfig("t", 5, 6, False, 7, 8.0, KUHN, [EntrantConfig("a", "random")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "round_robin", spy)
        asyncio.run(run(settings, Cast().agent))
    told.pop("tick")
    assert told == {
        "entrants": ["a"],
        "game": KUHN,
        "rounds": 6,
        "seed": 5,
        "name": "t",
        "paired": False,
        "concurrency": 7,
        "patience": 8.0,
    }


# -- planted faults ------------------------------------------------------------------------------------------------


def test_an_id_that_forgot_the_seating_would_be_seen(monkeypatch):
    real = room.derive
    monkeypatch.setattr(room, "derive", lambda *parts: real(*(p for p in parts if p not in ("a", "b"))))
    found = schedule("ab", KUHN, 1, 1, paired=False)
    assert len({pairing.id for pairing in found}) < len(found)


def test_ratings_in_the_order_of_finishing_would_be_seen():
    entrants, _ = with_odd("slow")
    with Store("store.db") as store:
        standings = play(entrants, store=store, concurrency=16)
        finished = store.matches(limit=1000)
    shuffled = room.Ratings.rebuild(finished, frozen=entrants)
    assert [match.id for match in finished] != sorted(match.id for match in finished)
    assert shuffled.table() != list(standings.ratings)
