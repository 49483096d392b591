"""A round robin seats everybody everywhere on the same deals, survives its agents, and resumes without a double."""

import asyncio
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import arena
from arena import config as configs
from arena import schedule as schedule_room
from arena import tournament as room
from arena.agent import PLAYER
from arena.cast import Cast
from arena.cli import FAILED, MISUSED, main
from arena.guard import Rules
from arena.make import GameConfig
from arena.match import match_of, together
from arena.ratings import MU, Ratings
from arena.schedule import Plan, Schedule
from arena.scoreboard import payoff, records, scoreboard
from arena.store import Store
from arena.tournament import EntrantConfig, TournamentConfig, contest, run, so_far

KUHN = GameConfig("kuhn_poker")
BOTS = {"random": lambda *_: arena.RandomAgent(), "oracle": lambda *_: arena.OracleAgent()}


@dataclass
class Odd:
    """An agent that does as it is told: raise, hang, flood, or first count and then play."""

    deed: str
    name: str = "odd"
    role: object = PLAYER
    asked: int = 0

    async def act(self, context):
        self.asked += 1
        if self.deed == "raise" or (self.deed == "break" and self.asked > 3):
            raise RuntimeError("no answer")
        if self.deed == "die" and self.asked > 3:
            raise KeyboardInterrupt
        if self.deed == "hang":
            await asyncio.sleep(3600)
        if self.deed == "flood":
            return "x" * 1_000_000
        if self.deed == "slow":
            await asyncio.sleep(0.001 * (context.seed[-2] % 5))
        return f"[{context.legal[-1]}]"


def plan(entrants, *games, rounds=5, seed=1, name="round_robin", **more):
    return Plan(name, games or (KUHN,), tuple(entrants), rounds, seed, **more)


def play(entrants, *games, store=None, concurrency=64, watch=None, rules=None, **more):
    rules = rules or Rules()
    asked = plan(entrants, *games, strikes=rules.strikes, **more)
    return asyncio.run(contest(asked, entrants, store, rules=rules, concurrency=concurrency, watch=watch))


def same(one, other):
    """Whether two scoreboards are made of the same matches, in the same order; all that they say follows from these."""
    return replace(one, rated=None) == replace(other, rated=None)


def with_odd(deed):
    odd = Odd(deed)
    return {**BOTS, "odd": lambda *_: odd}, odd


def ids(store):
    return [match.id for match in store.log()]


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

    both = together([one("1", "a", "b", 2.0), one("2", "b", "a", 1.0, "forfeit")], "m")
    assert both == arena.Match("m", "g", (("a",), ("b",)), (0.5, -0.5), (), "forfeit", "p", ("1", "2"))
    broken = together([one("1", "a", "b", 2.0), one("2", "b", "a", 1.0, "infra")], "m")
    assert (broken.ending, broken.scores) == ("infra", ())
    assert together([one("1", "a", "b", 2.0)], "m") == replace(one("1", "a", "b", 2.0), id="m")


def test_the_better_player_stands_first_and_the_pay_offs_mirror_each_other():
    standings = play(BOTS, rounds=150)
    assert [rating.agent for rating in standings.overall.ratings] == ["oracle", "random"]
    assert [rating.matches for rating in standings.overall.ratings] == [150, 150]
    assert standings.overall.endings == {"over": 150}
    mine, theirs = standings.overall.payoff["oracle", "random"], standings.overall.payoff["random", "oracle"]
    assert mine.n == theirs.n == 150
    assert mine.mean == pytest.approx(-theirs.mean)
    assert mine.mean > 0.05
    assert ("oracle", "oracle") not in standings.overall.payoff


def test_game_by_game_the_perfect_bluffer_looks_like_chance():
    """It wins half of its hands, but more chips: only deals played from both sides show it to a rating of wins."""

    def gap(**more):
        rated = {rating.agent: rating for rating in play(BOTS, rounds=600, **more).overall.ratings}
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


def test_single_games_that_have_no_draws_are_rated_as_such():
    """Two seats of Kuhn poker always win and lose: a margin for draws would take each win for a larger one."""
    rps = GameConfig("rock_paper_scissors")
    three = GameConfig("kuhn_poker", {"seats": 3})
    with Store("store.db") as store:
        board = play({**BOTS, "third": BOTS["random"]}, KUHN, rps, three, paired=False, store=store)
        assert board.rated.draws == {"kuhn_poker": 0.0}  # of three, two may lose alike
        plain = Ratings.rebuild(store.log(), frozen=board.overall.entrants)
        known = Ratings.rebuild(store.log(), board.overall.entrants, {"kuhn_poker": 0.0})
        assert store.rebuild("round_robin").table("round_robin") == known.table("round_robin")
        assert list(board.overall.ratings) == known.table("round_robin") != plain.table("round_robin")
        assert store.check() == []
    assert play(BOTS, rounds=2).rated.draws == {}  # the mean of two games may well be equal


def test_a_draw_of_a_game_that_has_none_is_refused():
    drawless = Schedule(plan(BOTS, paired=False))
    log = {"m": arena.Match("m", "kuhn_poker", (("oracle",), ("random",)), (0.0, 0.0), pool="round_robin")}
    with pytest.raises(ValueError, match="'kuhn_poker' has draw probability 0"):
        scoreboard(drawless, log)


def test_pay_offs_are_the_means_that_one_computes_by_hand():
    def one(id, a, b, score, **more):
        return arena.Match(id, "g", ((a,), (b,)), (score, -score), **more)

    found = payoff([one("1", "a", "b", 1.0), one("2", "b", "a", 2.0), one("3", "a", "c", 3.0)])
    assert found == {
        ("a", "b"): (-0.5, 2),
        ("b", "a"): (0.5, 2),
        ("a", "c"): (3.0, 1),
        ("c", "a"): (-3.0, 1),
    }
    assert payoff([arena.Match("4", "g", (("a",), ("b",)), (), ending="infra")]) == {}
    team = arena.Match("5", "g", (("a", "b"), ("task:g",)), (5.0, 9.0))
    alone = arena.Match("6", "g", (("a", "a"), ("task:g",)), (7.0, 9.0))
    assert payoff([team, alone]) == {("a", "b"): (5.0, 1), ("b", "a"): (5.0, 1), ("a", "a"): (7.0, 1)}


def test_a_perfect_tic_tac_toe_player_never_loses():
    standings = play(BOTS, GameConfig("tic_tac_toe"), rounds=5)
    assert standings.overall.ratings[0].agent == "oracle"
    assert standings.overall.payoff["oracle", "random"].mean >= 0.5


def test_a_team_of_perfect_agents_stands_above_chance():
    standings = play(BOTS, GameConfig("dec_tiger", {"horizon": 3}), rounds=8)
    assert [rating.agent for rating in standings.overall.ratings] == ["oracle", "random"]
    assert set(standings.overall.payoff) == {(a, b) for a in BOTS for b in BOTS}
    assert standings.overall.payoff["oracle", "oracle"].mean > standings.overall.payoff["random", "random"].mean


def test_the_result_does_not_depend_on_what_runs_at_once():
    entrants, _ = with_odd("slow")
    one, many = play(entrants, concurrency=1), play(entrants, concurrency=16)
    assert same(one, many)
    assert not same(one, play(entrants, seed=2))


@pytest.mark.slow
def test_several_games_have_a_list_each_and_one_over_all():
    tiger = [GameConfig("dec_tiger", {"horizon": horizon}) for horizon in (2, 3)]
    board = play(BOTS, KUHN, *tiger, rounds=6)
    assert [one.game for one in board.games] == ["kuhn_poker", "dec_tiger", "dec_tiger(horizon=3)"]
    assert [one.matches for one in board.games] == [6, 18, 18]
    assert board.overall.endings == {"over": 42}
    for rating in board.overall.ratings:
        assert rating.matches == sum(r.matches for one in board.games for r in one.ratings if r.agent == rating.agent)
    assert all(0 <= cell.mean <= 1 for cell in board.overall.payoff.values())
    record = board.to_json()
    assert [one["game"] for one in record["games"]] == [one.game for one in board.games]
    assert record["table"][0]["agent"] == "oracle"


def test_wins_draws_and_losses_are_counted_by_hand():
    def one(id, a, b, first, second, **more):
        return arena.Match(id, "g", ((a,), (b,)), (first, second), **more)

    log = [one("1", "a", "b", 1.0, 0.0), one("2", "a", "b", 0.1 + 0.2, 0.3), one("3", "b", "a", 0.0, 1.0)]
    log += [arena.Match("4", "g", (("a",), ("b",)), (), ending="infra")]
    three = arena.Match("5", "g", (("a",), ("b",), ("c",)), (2.0, 1.0, 2.0))
    assert records(log) == {"a": (2, 1, 0), "b": (0, 1, 2)}
    assert records([three]) == {"a": (1, 1, 0), "b": (0, 0, 2), "c": (1, 1, 0)}


def test_unlike_roles_that_share_no_sum_are_compared_over_whole_rotations():
    """Everybody proposes once and solves once for the same deal: the score is the mean over both."""
    sums = GameConfig("proposer_solver", {"solvers": 1})
    with Store("store.db") as store:
        play({"mine": BOTS["random"], "yours": BOTS["random"]}, sums, rounds=3, store=store)
        for match in store.log():
            _, episodes = store.match(match.id)
            for team, score in zip(match.teams, match.scores, strict=True):
                roles = {seat: e for e in episodes for seat, who in e.agents.items() if who == team[0]}
                assert set(roles) == {"proposer_0", "solver_0"}
                assert score == sum(e.returns[seat] for seat, e in roles.items()) / 2


# -- agents that fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deed", "reason"), [("raise", "RuntimeError: no answer"), ("hang", "no reply within 0.05 s")])
def test_an_agent_that_does_not_answer_costs_its_matches_and_no_others(deed, reason):
    """O-33: one that fails never costs the others their results."""
    entrants, _ = with_odd(deed)
    with Store("store.db") as store:
        board = play(entrants, store=store, rules=Rules(patience=0.05))
    assert board.overall.endings == {"infra": 10, "over": 5}
    assert {r.agent: r.matches for r in board.overall.ratings} == {"random": 5, "oracle": 5, "odd": 0}
    assert next(r.mu for r in board.overall.ratings if r.agent == "odd") == MU
    assert ("odd", "random") not in board.overall.payoff
    (fault,) = board.faults
    assert fault[:4] == ("odd", "kuhn_poker", "infra", 10)
    assert fault.reason.endswith(reason)


@pytest.mark.parametrize(
    ("deed", "reason"),
    [("raise", "RuntimeError: no answer"), ("hang", "no reply within 0.02 s"), ("flood", "replied 1000000 characters")],
)
def test_by_rule_every_failure_is_a_forfeit(deed, reason):
    entrants, _ = with_odd(deed)
    board = play(entrants, rounds=2, rules=Rules(patience=0.02, crash="forfeit", hang="forfeit"))
    assert set(board.overall.endings) == {"forfeit", "over"}
    assert board.overall.ratings[-1].agent == "odd"
    assert board.overall.payoff["odd", "random"].mean < -0.5
    assert {(fault.agent, fault.ending) for fault in board.faults} == {("odd", "forfeit")}
    assert reason in board.faults[0].reason
    assert not board.withdrawn


def test_a_flood_is_not_kept():
    entrants, _ = with_odd("flood")
    with Store("store.db") as store:
        play(entrants, rounds=1, store=store)
        bodies = [store.match(match.id)[1] for match in store.log()]
    assert max(len(turn.reply) for episodes in bodies for episode in episodes for turn in episode.turns) < 100


def test_whoever_keeps_breaking_is_withdrawn_and_said_to_be(monkeypatch):
    monkeypatch.setattr(schedule_room, "BLOCK", 1)
    entrants, odd = with_odd("raise")
    board = play(entrants, rounds=10, rules=Rules(strikes=3))
    assert odd.asked == 4  # it was in two matches of a round: after two rounds it had broken four, and was out
    assert board.overall.endings == {"infra": 4, "over": 10}
    ((who, reason),) = board.withdrawn.items()
    assert who == ("odd", "kuhn_poker")
    assert reason.endswith("RuntimeError: no answer")
    assert not play(entrants, rounds=10, rules=Rules(strikes=0)).withdrawn


def test_one_that_breaks_at_one_game_goes_on_at_the_others(monkeypatch):
    monkeypatch.setattr(schedule_room, "BLOCK", 1)
    nim = GameConfig("nim", {"heaps": [1, 2]})

    def picky(game, role):
        return Odd("raise") if game == "kuhn_poker" else arena.RandomAgent()

    board = play({**BOTS, "picky": picky}, KUHN, nim, rounds=6)
    assert list(board.withdrawn) == [("picky", "kuhn_poker")]
    assert {one.game: one.endings for one in board.games} == {
        "kuhn_poker": {"infra": 4, "over": 6},
        "nim(heaps=[1, 2])": {"over": 18},
    }


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
        assert same(play(BOTS, store=store), play(BOTS))


def test_a_tournament_of_which_nothing_could_be_rated_failed(capsys):
    Path("silent.txt").write_text("")
    Path("broken.yaml").write_text(
        "{name: broken, rounds: 1, game: {name: kuhn_poker}, "
        "entrants: [{name: a, agent: 'script:silent.txt'}, {name: b, agent: 'script:silent.txt'}]}"
    )
    assert main(["tournament", "broken.yaml"]) == FAILED
    out, err = capsys.readouterr()
    assert "has 0 replies" in out
    assert "error: no match could be rated: 1 infra; the reasons stand in runs/broken/report.json" in err


# -- resuming ------------------------------------------------------------------------------------------------------


SHAPES = ["round_robin", "swiss", "gauntlet", "ladder"]


def shaped(shape):
    return {"shape": shape, "challengers": ("odd",) if shape == "gauntlet" else ()}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interrupted_tournament_goes_on_and_plays_nothing_twice(shape):
    entrants, odd = with_odd("die")
    whole = play({**BOTS, "odd": lambda *_: Odd("")}, **shaped(shape))
    with Store("store.db") as store:
        with pytest.raises(KeyboardInterrupt):
            play(entrants, store=store, concurrency=3, **shaped(shape))
        kept = ids(store)
        assert 0 < len(kept) < whole.overall.matches
        assert (store.rated(), store.lists(), store.check()) == (["round_robin"], [], [])
        some = Ratings.rebuild(store.log(), frozen=entrants)
        assert store.rebuild("round_robin").table("round_robin") == some.table("round_robin") != []
        odd.deed = ""
        ticks = []
        board = play(entrants, store=store, concurrency=3, watch=lambda _, done: ticks.append(done), **shaped(shape))
        assert ticks == list(range(len(kept) + 1, whole.overall.matches + 1))
        assert len(set(ids(store))) == len(store.matches(limit=1000)) == whole.overall.matches
        assert set(kept) <= set(ids(store))
        assert store.check() == []
        assert store.ratings("round_robin") == list(board.overall.ratings)
    assert same(board, whole)
    with Store("store.db") as store:
        ticks.clear()
        assert same(play(entrants, store=store, watch=lambda _, done: ticks.append(done), **shaped(shape)), whole)
        assert ticks == []
        assert same(so_far(plan(entrants, **shaped(shape)), store.log()), whole)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kept", [0, 1, 7, 10])
def test_cut_off_after_any_match_it_comes_to_the_same_log(shape, kept):
    entrants = {**BOTS, "odd": lambda *_: Odd("slow"), "other": BOTS["random"]}
    with Store("whole.db") as store:
        whole = play(entrants, store=store, rounds=4, **shaped(shape))
        finished = store.matches(limit=1000)
    with Store("cut.db") as store:
        for match in finished[:kept]:
            store.add(match, [])
        assert same(play(entrants, store=store, rounds=4, concurrency=2, **shaped(shape)), whole)
        assert ids(store) == sorted(match.id for match in finished)


def test_matches_that_broke_off_are_played_again():
    entrants, odd = with_odd("break")
    with Store("store.db") as store:
        first = play(entrants, store=store, concurrency=1)
        assert first.overall.endings["infra"] > 0
        odd.deed = ""
        second = play(entrants, store=store, concurrency=1)
        assert "infra" not in second.overall.endings
        assert len(store.matches(limit=1000)) == 15
    assert same(second, play({**BOTS, "odd": lambda *_: Odd("")}))


@pytest.mark.parametrize("shape", ["swiss", "ladder"])
def test_what_broke_off_stays_where_later_rounds_depend_on_it(shape):
    """Played again it would change who meets whom, and what was played would belong to no tournament."""
    entrants, odd = with_odd("break")
    more = {"rounds": 6, "shape": shape, "rules": Rules(strikes=0), "concurrency": 1}
    with Store("store.db") as store:
        play(entrants, store=store, **more)
        before = {match.id: match.ending for match in store.log()}
        odd.deed = ""
        play(entrants, store=store, **more)
        after = {match.id: match.ending for match in store.log()}
    early = {id for id, ending in before.items() if ending == "infra" and int(id.split("-")[1]) < 5}
    assert len(early) > 1
    assert after.keys() == before.keys()
    assert {id for id, ending in after.items() if ending == "infra"} == early


def test_more_rounds_and_a_new_entrant_only_play_what_is_new():
    ticks = []
    with Store("store.db") as store:
        play(BOTS, store=store, rounds=3)
        play(BOTS, store=store, watch=lambda *_: ticks.append(1))
        assert len(ticks) == 2
        play({**BOTS, "odd": lambda *_: Odd("")}, store=store, watch=lambda *_: ticks.append(1))
    assert len(ticks) == 2 + 10


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_rounds_than_were_played_are_refused_and_change_nothing(shape):
    """A table of five rounds would disagree with the pay-offs and ratings of a store that holds seven."""
    entrants = {**BOTS, "odd": lambda *_: Odd("")}
    with Store("store.db") as store:
        play(entrants, store=store, rounds=7, **shaped(shape))
        before, rated = ids(store), store.ratings("round_robin")
        with pytest.raises(ValueError, match="rounds is 5, but matches of 7 rounds were played: give rounds=7 or more"):
            play(entrants, store=store, rounds=5, **shaped(shape))
        assert (ids(store), store.ratings("round_robin")) == (before, rated)
        more = play(entrants, store=store, rounds=8, **shaped(shape))
        assert more.rated.table("round_robin") == store.rebuild("round_robin").table("round_robin")
        assert same(more, play(entrants, rounds=8, **shaped(shape)))


def test_the_command_refuses_fewer_rounds_and_leaves_the_folder_as_it_was(capsys):
    words = ["tournament", "kuhn", "--folder=k"]
    assert main([*words, "rounds=3"]) == 0
    before = {path.name: path.read_bytes() for path in Path("k").iterdir() if path.suffix != ".db"}
    capsys.readouterr()
    assert main([*words, "rounds=2"]) == MISUSED
    assert "rounds is 2, but matches of 3 rounds were played" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in Path("k").iterdir() if path.suffix != ".db"} == before


def test_an_agent_whose_files_have_changed_is_not_taken_for_the_one_who_played(capsys):
    """Half of the matches would be of other replies, under one name."""
    Path("lines.txt").write_text("[bet]\n[bet]\n")
    Path("s.yaml").write_text(
        "{name: s, rounds: 2, game: {name: kuhn_poker}, "
        "entrants: [{name: a, agent: 'script:lines.txt'}, {name: b, agent: random}]}"
    )
    assert main(["tournament", "s.yaml"]) == 0
    assert main(["tournament", "s.yaml", "rounds=3"]) == 0
    Path("lines.txt").write_text("[bet]\n[fold]\n")
    capsys.readouterr()
    assert main(["tournament", "s.yaml", "rounds=4"]) == MISUSED
    assert "the files of agent 'script:lines.txt' have changed since it played here" in capsys.readouterr().err
    Path("lines.txt").write_text("[bet]\n[bet]\n")
    assert main(["tournament", "s.yaml", "rounds=4"]) == 0
    assert main(["tournament", "s.yaml", "rounds=4", "--folder=other"]) == 0
    assert Path("other/agents.json").read_text() == Path("runs/s/agents.json").read_text()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_store_with_matches_of_another_tournament_is_refused(shape):
    with Store("store.db") as store:
        play({**BOTS, "odd": lambda *_: Odd("")}, store=store, **shaped(shape))
        with pytest.raises(ValueError, match="stored matches of 'round_robin' are not of this tournament"):
            play({**BOTS, "odd": lambda *_: Odd("")}, store=store, seed=2, **shaped(shape))


def test_a_wider_until_does_not_drop_what_was_played(monkeypatch):
    monkeypatch.setattr(schedule_room, "BLOCK", 4)
    with Store("store.db") as store:
        play(BOTS, store=store, rounds=8)
        assert play(BOTS, store=store, rounds=8, until=1e6).overall.matches == 8
    assert play(BOTS, rounds=8, until=1e6).overall.matches == 4


@pytest.mark.slow
def test_it_ends_when_the_intervals_are_narrow_enough(monkeypatch):
    monkeypatch.setattr(schedule_room, "BLOCK", 20)
    entrants = {"a": BOTS["random"], "b": BOTS["random"]}
    nim = GameConfig("nim", {"heaps": [1, 2]})
    with Store("store.db") as store:
        board = play(entrants, nim, rounds=400, until=150.0, store=store)
        n = board.overall.matches
        assert n % 20 == 0
        assert 20 <= n < 400
        assert board.overall.widest <= 150
        shorter = play(entrants, nim, rounds=n - 20)
        assert shorter.overall.widest > 150
        assert same(play(entrants, nim, rounds=400, until=150.0, store=store), board)
        assert len(ids(store)) == n
        narrower = play(entrants, nim, rounds=400, until=100.0, store=store)
    assert narrower.overall.matches > n


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


SHIPPED = [
    pytest.param(name, marks=[pytest.mark.slow] if name == "tournament/library" else [])
    for name in configs.names("tournament")
]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_config_runs(name):
    """Where a language model takes part, the tiny one takes its place."""
    settings = configs.load(TournamentConfig, name, ["rounds=1"])
    cast = Cast()
    room.check(settings, lambda word, game, role: cast.check(word.replace("smollm2-135m", "tiny"), game, role))
    board = asyncio.run(run(settings, lambda word: cast.agent(word.replace("smollm2-135m", "tiny"))))
    assert set(board.overall.endings) <= {"over", "forfeit"}
    assert {rating.agent for rating in board.overall.ratings} == {entrant.name for entrant in settings.entrants}
    assert all(rating.matches for rating in board.overall.ratings)


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

    async def spy(asked, entrants, store=None, **more):
        told.update(entrants=list(entrants), plan=asked, **more)

    rules = Rules(patience=8.0, strikes=9)
    who = [EntrantConfig("a", "random"), EntrantConfig("b", games={"nim": "random"}), EntrantConfig("c", "random")]
    games = [GameConfig("nim"), GameConfig("kuhn_poker")]
    settings = TournamentConfig(
        "t", 5, "gauntlet", 6, 0.5, True, 7, games=games, entrants=who, challengers=["a"], rules=rules
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "contest", spy)
        asyncio.run(run(settings, Cast().agent))
    told.pop("watch")
    asked = Plan("t", tuple(games), ("a", "b", "c"), 6, 5, "gauntlet", True, ("a",), {"b": ("nim",)}, 9, 0.5)
    assert told == {"entrants": ["a", "b", "c"], "plan": asked, "concurrency": 7, "rules": rules}


def test_an_entrant_may_play_some_games_only_and_each_with_another_agent():
    asked = []

    def agent(word):
        asked.append(word)
        return Cast().agent(word)

    games = [KUHN, GameConfig("nim", {"heaps": [1, 2]}), GameConfig("rock_paper_scissors")]
    who = [
        EntrantConfig("all", "random"),
        EntrantConfig("two", games={"kuhn_poker": "oracle", "nim(heaps=[1, 2])": "random"}),
        EntrantConfig("one", games={"nim": "oracle"}),
    ]
    settings = TournamentConfig(name="t", rounds=2, games=games[:2], entrants=who)
    board = asyncio.run(run(settings, agent))
    assert {one.game: one.matches for one in board.games} == {"kuhn_poker": 2, "nim(heaps=[1, 2])": 6}
    assert Counter(asked) == {"random": 2 + 2 + 2, "oracle": 2 + 2}
    with pytest.raises(ValueError, match="rock_paper_scissors is played by 2, but there are 1 entrants: all"):
        room.check(replace(settings, games=games))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": GameConfig("")}, "neither game nor games: give game="),
        ({"games": [KUHN]}, "both game and games"),
        ({"shape": "swis"}, "shape 'swis' not found: did you mean 'swiss'"),
        ({"until": -1.0}, "until is -1"),
        ({"shape": "gauntlet"}, "challengers are for a gauntlet, which needs at least one"),
        ({"challengers": ["a"]}, "challengers are for a gauntlet"),
        ({"shape": "gauntlet", "challengers": ["A"]}, "no such entrant to be a challenger: 'A'"),
        ({"game": GameConfig(""), "games": [KUHN, KUHN]}, "'kuhn_poker' is listed twice"),
        ({"entrants": [EntrantConfig("a", games={"kuhn_pokr": "random"})]}, "'kuhn_pokr': did you mean 'kuhn_poker'"),
        ({"game": GameConfig("proposer_solver", {"solvers": 1}), "paired": False}, "set paired=true"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_one_line(change, message):
    given = {"name": "t", "game": KUHN, "entrants": [EntrantConfig(name, "random") for name in "ab"], **change}
    with pytest.raises(ValueError, match=message) as told:
        room.check(TournamentConfig(**given))
    assert "\n" not in str(told.value)


def test_an_entrant_has_one_agent_or_one_for_each_game():
    for given in ({}, {"agent": "random", "games": {"nim": "random"}}):
        with pytest.raises(ValueError, match="give agent for all games, or games: an agent for each that it plays"):
            EntrantConfig("a", **given)


def test_an_agent_is_refused_where_it_can_not_play():
    """Before anybody plays, and with the name of the entrant and of the game."""
    bot = EntrantConfig("b", games={"rock_paper_scissors": "random", "nim": "bot:rock"})
    settings = TournamentConfig(
        name="t",
        games=[GameConfig("nim"), GameConfig("rock_paper_scissors")],
        entrants=[EntrantConfig("a", "oracle"), bot, EntrantConfig("c", "random")],
    )
    with pytest.raises(ValueError, match=r"entrant 'b' at nim: .*rock"):
        room.check(settings, Cast().check)
    swapped = replace(bot, games={"nim": "random", "rock_paper_scissors": "bot:rock"})
    room.check(replace(settings, entrants=[*settings.entrants, replace(swapped, name="d")][::2]), Cast().check)


# -- planted faults ------------------------------------------------------------------------------------------------


def test_ratings_in_the_order_of_finishing_would_be_seen():
    entrants, _ = with_odd("slow")
    with Store("store.db") as store:
        standings = play(entrants, store=store, concurrency=16)
        finished = store.matches(limit=1000)
    shuffled = Ratings.rebuild(finished, frozen=entrants)
    assert [match.id for match in finished] != sorted(match.id for match in finished)
    assert shuffled.table() != list(standings.overall.ratings)
