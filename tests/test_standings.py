"""Standings: a batch fit over a whole log, which says how far it can be trusted."""

import io
import json
import math
import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from arena.fit import EQUALS_DRAW, SPREAD
from arena.ratings import TASK
from arena.standings import ELO, Standings
from arena.types import ENDINGS, RATED, Match

SEATS = (("first",), ("second",))


def duel(id, a, b, points, game="g", roles=()):
    """A match in which `a` makes 1, a half, or 0 points."""
    return Match(str(id), game, ((a,), (b,)), (points, 1 - points), roles)


def series(a, b, wins, draws=0, losses=0, game="g"):
    results = [1.0] * wins + [0.5] * draws + [0.0] * losses
    return [duel(f"{game}-{a}-{b}-{i}", a, b, points, game) for i, points in enumerate(results)]


def random_log(count, seed, agents="abcd", draws=0.2, roles=SEATS):
    rng = random.Random(seed)
    log = []
    for i in range(count):
        a, b = rng.sample(agents, 2)
        ahead = 1 / (1 + math.exp((ord(a) - ord(b)) / 2))
        points = 0.5 if rng.random() < draws else float(rng.random() < ahead)
        log.append(duel(i, a, b, points, roles=roles))
    return log


def few(log, **more):
    """Standings with as few samples as the test can bear: the point estimates don't depend on them."""
    return Standings.of(log, **{"samples": 20, **more})


def text(table):
    console = Console(file=io.StringIO(), width=200, markup=False, highlight=False, emoji=False)
    console.print(table)
    return console.file.getvalue()


# -- the fit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "draws", "losses"), [(7, 2, 3), (5, 0, 1), (20, 0, 0), (3, 9, 3), (0, 4, 0), (1, 1, 0)]
)
def test_two_agents_have_the_strengths_at_which_the_posterior_is_level(wins, draws, losses):
    standings = few(series("a", "b", wins, draws, losses))
    half = standings.row("a").elo / ELO
    assert standings.row("b").elo == pytest.approx(-half * ELO, abs=1e-9)
    win, draw, loss = standings.forecast("a", "b")
    n = wins + draws + losses
    assert win / loss == pytest.approx(math.exp(2 * half))
    # d/d(strength of a): points seen less points expected, less the pull of the prior
    assert wins + draws / 2 - n * (win + draw / 2) - half / SPREAD**2 == pytest.approx(0, abs=1e-9)
    if draws:
        log_nu = math.log(draw / math.sqrt(win * loss))
        assert draws - n * draw - (log_nu - EQUALS_DRAW) / SPREAD**2 == pytest.approx(0, abs=1e-9)
    else:
        assert draw == 0


def test_many_matches_of_two_agents_give_the_shares_seen():
    standings = few(series("a", "b", 4000, 1000, 1000))
    assert tuple(standings.forecast("a", "b")) == pytest.approx((4 / 6, 1 / 6, 1 / 6), abs=1e-3)
    lead = standings.row("a").elo - standings.row("b").elo
    assert lead == pytest.approx(400 * math.log10(4), abs=1)  # odds of 4 to 1
    assert standings.draws["g"] == pytest.approx(0.2, abs=1e-3)  # nu = 1000 / sqrt(4000 * 1000) = 1/2: 0.5 / 2.5


def test_a_chain_of_agents_adds_up():
    standings = few([*series("a", "b", 3000, 0, 1000), *series("b", "c", 3000, 0, 1000)])
    win, _, loss = standings.forecast("a", "c")
    assert win / loss == pytest.approx(9, rel=0.02)


def test_who_has_won_everything_is_far_ahead_and_finite():
    standings = few([*series("a", "b", 50), *series("b", "c", 50), *series("a", "c", 50)])
    assert [row.agent for row in standings.rows] == ["a", "b", "c"]
    assert 300 < standings.row("a").elo < 1500


def test_a_strength_that_is_nought_by_symmetry_is_found():
    """Its steps shrink for ever, since a nought has no last digit."""
    standings = few([*series("a", "b", 2), *series("b", "c", 2), *series("a", "c", 2)])
    assert standings.row("b").elo == pytest.approx(0, abs=1e-9)
    assert standings.row("a").elo == pytest.approx(-standings.row("c").elo)


def test_the_strengths_are_found_from_any_start():
    from arena.fit import design, fit
    from arena.tally import tally

    counted = tally(random_log(60, 1))
    form = design(counted.comparisons, list("abcd"), ["g"])
    counts = counted.counts()
    want = fit(form, counts)
    for start in (want + 30, want - 300, np.linspace(-80, 80, len(want))):
        assert fit(form, counts, start) == pytest.approx(want, abs=1e-9)
    assert np.isfinite(fit(form, counts * 1e9)).all()


def test_teams_are_as_strong_as_the_mean_of_their_members():
    log = [
        Match(f"{i}", "g", (("a", "b"), ("c", "d")) if i % 2 else (("a", "c"), ("b", "d")), (1.0, 0.0))
        for i in range(40)
    ]
    standings = few(log)
    assert [row.agent for row in standings.rows] == ["a", "b", "c", "d"]
    assert standings.row("b").elo == pytest.approx(standings.row("c").elo)
    doubled = [replace(match, teams=tuple((*team, *team) for team in match.teams)) for match in log]
    assert few(doubled).row("a").elo == pytest.approx(standings.row("a").elo)


def test_a_free_for_all_is_read_by_its_places():
    log = [Match(f"{i}", "g", (("b",), ("c",), ("a",)), (2.0, 1.0 + i % 3, 9.0)) for i in range(30)]
    standings = few(log)
    assert standings.rows[0].agent == "a"
    assert standings.row("b").elo == pytest.approx(standings.row("c").elo)  # c is behind it, beside it, before it
    assert standings.row("a").points == 1.0
    assert {row.matches for row in standings.rows} == {30}


def test_a_cooperative_team_is_placed_by_the_tasks_it_solves():
    hard, easy = (f"{TASK}hard",), (f"{TASK}easy",)
    log = [Match(f"a{i}", "g", (("a",), hard), (1.0, 0.0)) for i in range(9)]
    log += [Match(f"b{i}", "g", (("b",), hard), (0.0, 1.0)) for i in range(9)]
    log += [Match(f"c{i}", "g", (("b",), easy), (1.0, 0.0)) for i in range(9)]
    standings = few(log)
    assert [row.agent for row in standings.rows] == ["a", "b"]
    assert standings.islands == (("a", "b", *easy, *hard),)


# -- the seat ------------------------------------------------------------------------------------------------------


def test_the_better_seat_is_not_taken_for_skill():
    # Equals; who sits first wins 3 in 4. `a` sat there twice as often.
    log = [duel(f"1{i}", "a", "b", float(i % 4 > 0), roles=SEATS) for i in range(4000)]
    log += [duel(f"2{i}", "b", "a", float(i % 4 > 0), roles=SEATS) for i in range(2000)]
    standings = few(log)
    assert standings.row("a").elo == pytest.approx(0, abs=0.5)
    first, second = standings.seats["g", "first"], standings.seats["g", "second"]
    assert first == pytest.approx(-second)
    assert first - second == pytest.approx(400 * math.log10(3), abs=1)
    unaware = few([replace(match, roles=()) for match in log])
    assert unaware.row("a").elo > 10
    assert unaware.seats == {}


def test_a_seat_that_was_never_changed_has_no_strength_of_its_own():
    assert few(series("a", "b", 3, 0, 1)).seats == {}
    fixed = [replace(match, roles=SEATS) for match in series("a", "b", 3, 0, 1)]
    assert few(fixed).seats == {}
    assert few(fixed).row("a").elo == pytest.approx(few(series("a", "b", 3, 0, 1)).row("a").elo)


# -- what the order of things changes: nothing ---------------------------------------------------------------------

logs = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from("gh")
    ),
    min_size=1,
    max_size=25,
)


def built(plays):
    return [duel(i, a, b, points, game, SEATS) for i, (a, b, points, game) in enumerate(plays) if a != b]


@settings(max_examples=25, deadline=None)
@given(logs, st.randoms(use_true_random=False))
def test_a_shuffled_log_gives_the_same_numbers_to_the_last_digit(plays, rng):
    log = built(plays)
    shuffled = [
        replace(match, teams=match.teams[::-1], scores=match.scores[::-1], roles=match.roles[::-1])
        if rng.random() < 0.5
        else match
        for match in log
    ]
    shuffled += rng.choices(log, k=3) if log else []  # told twice
    rng.shuffle(shuffled)
    want = few(log).to_json()
    assert few(shuffled).to_json() == want
    json.dumps(want, allow_nan=False)


@settings(max_examples=25, deadline=None)
@given(logs, st.permutations("abcd"))
def test_other_names_and_other_units_of_score_give_the_same_strengths(plays, names):
    log = built(plays)
    renamed = dict(zip("abcd", names, strict=True))
    other = [
        replace(
            match,
            teams=tuple((renamed[agent],) for (agent,) in match.teams),
            scores=tuple(1000 * score - 7 for score in match.scores),
        )
        for match in log
    ]
    one, two = few(log), few(other)
    for row in one.rows:
        twin = two.row(renamed[row.agent])
        assert (row.elo is None) == (twin.elo is None)
        assert (row.elo or 0) == pytest.approx(twin.elo or 0, abs=1e-6)
        assert row.points == twin.points
    assert one.draws == pytest.approx(two.draws)
    assert one.cycles == two.cycles


def test_an_estimate_that_read_the_order_would_be_seen():
    """Online ratings do depend on it, which is why they are not what is published."""
    from arena.ratings import Ratings

    log = random_log(60, 3)
    assert Ratings.rebuild(log).rating("a").mu != Ratings.rebuild(log[::-1]).rating("a").mu
    assert few(log).to_json() == few(log[::-1]).to_json()


@pytest.mark.parametrize("ending", ENDINGS)
def test_only_endings_that_tell_of_skill_count(ending):
    more = [Match(f"x{i}", "g", (("b",), ("a",)), (1.0, 0.0), ending=ending) for i in range(3)]
    standings = few([*series("a", "b", 3), *more])
    assert standings.row("a").matches == (6 if ending in RATED else 3)


def test_a_mirror_match_counts_for_nobody():
    assert few([duel("m", "a", "a", 1.0), *series("a", "b", 2)]).to_json() == few(series("a", "b", 2)).to_json()


def test_two_matches_of_one_id_are_an_error():
    with pytest.raises(ValueError, match="two different matches have the id '1'"):
        few([duel(1, "a", "b", 1.0), duel(1, "a", "b", 0.0)])


# -- how sure it is ------------------------------------------------------------------------------------------------


def posterior(wins, losses):
    """Quantiles of the Elo of the first of two agents, by summing the exact posterior over a grid."""
    d = np.linspace(-30, 30, 40_001)
    log_p = -wins * np.log1p(np.exp(-d)) - losses * np.log1p(np.exp(d)) - d**2 / (4 * SPREAD**2)
    below = np.cumsum(np.exp(log_p - log_p.max()))
    return [ELO / 2 * d[np.searchsorted(below, q * below[-1])] for q in (0.025, 0.975)]


@pytest.mark.parametrize(("wins", "losses", "slack"), [(600, 400, 0.06), (60, 40, 0.06), (10, 5, 0.06), (3, 1, 0.06)])
def test_an_interval_is_as_wide_as_the_exact_posterior(wins, losses, slack):
    low, high = posterior(wins, losses)
    row = Standings.of(series("a", "b", wins, 0, losses), samples=4000).row("a")
    assert (row.low, row.high) == pytest.approx((low, high), abs=slack * (high - low))


@pytest.mark.parametrize("wins", [1, 4, 10, 30, 1000])
def test_who_never_lost_might_lose_the_next_or_be_far_stronger(wins):
    low, high = posterior(wins, 0)
    row = Standings.of(series("a", "b", wins), samples=4000).row("a")
    assert row.low == pytest.approx(low, abs=0.06 * (high - low))
    assert row.high == pytest.approx(high, abs=0.06 * (high - low))
    assert row.low < row.elo < row.high


def test_samples_of_strengths_and_draws_are_as_the_exact_posterior_has_them():
    from arena.fit import design, fit
    from arena.posterior import sample
    from arena.tally import tally

    counted = tally(series("a", "b", 5, 2, 1))
    form = design(counted.comparisons, ["a", "b"], ["g"])
    counts = counted.counts()
    found = sample(form, counts, fit(form, counts), np.random.default_rng(0), 20_000)
    d, log_nu = np.meshgrid(np.linspace(-15, 15, 601), np.linspace(-12, 8, 401), indexing="ij")
    whole = np.log(np.exp(d / 2) + np.exp(log_nu) + np.exp(-d / 2))
    log_p = (5 - 1) * d / 2 + 2 * log_nu - 8 * whole - d**2 / (4 * SPREAD**2)
    p = np.exp(log_p - (log_nu - EQUALS_DRAW) ** 2 / (2 * SPREAD**2))
    p /= p.sum()
    for known, seen in ((d, found[:, 0] - found[:, 1]), (log_nu, found[:, 2])):
        mean = (p * known).sum()
        deviation = math.sqrt((p * (known - mean) ** 2).sum())
        assert seen.mean() == pytest.approx(mean, abs=0.04 * deviation)
        assert seen.std() == pytest.approx(deviation, rel=0.04)
        assert ((seen - mean) ** 3).mean() == pytest.approx((p * (known - mean) ** 3).sum(), abs=0.15 * deviation**3)


def test_one_win_tells_nobody_apart_and_thirty_do():
    assert Standings.of(series("a", "b", 1)).groups == (("a", "b"),)
    assert Standings.of(series("a", "b", 30)).groups == (("a",), ("b",))


def test_matches_of_one_deal_are_weighed_together():
    # 40 deals of 10 matches each; all matches of a deal end alike, so that there are 40 facts and not 400.
    log = [duel(f"{deal}-{i}", "a", "b", float(deal % 5 > 1)) for deal in range(40) for i in range(10)]
    alone = Standings.of(log).row("a")
    together = Standings.of(log, block=lambda match: match.id.partition("-")[0]).row("a")
    assert together.elo == alone.elo
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(math.sqrt(10), rel=0.2)


def test_groups_are_the_runs_that_nothing_tells_apart():
    log = [*series("a", "b", 300, 0, 290), *series("b", "c", 400, 0, 100), *series("a", "c", 400, 0, 100)]
    standings = Standings.of(log)
    assert standings.groups == (("a", "b"), ("c",))
    assert [standings.letters(row.agent) for row in standings.rows] == ["a", "a", "b"]


def test_more_matches_are_needed_until_they_would_tell():
    # Two equals but for a lead of d; a match tells about d what p (1 - p) is, and (1.960 + 0.842)^2 / d^2 is wanted.
    standings = Standings.of(series("a", "b", 60, 0, 50), samples=4000)
    d = (standings.row("a").elo - standings.row("b").elo) / ELO
    p = 1 / (1 + math.exp(-d))
    assert standings.row("a").needed == pytest.approx((1.96 + 0.8416) ** 2 / d**2 / (p * (1 - p)) - 110, rel=0.05)
    assert standings.row("b").needed is None
    assert Standings.of(series("a", "b", 60, 0, 50), power=0.95).row("a").needed > standings.row("a").needed
    assert Standings.of(series("a", "b", 90, 0, 20)).row("a").needed == 0
    assert Standings.of(series("a", "b", 5, 0, 5)).row("a").needed is None  # no lead, no number


def test_equals_up_to_rounding_owe_each_other_no_number_of_matches():
    """A lead of 1e-17 of strength would be found after 1e37 matches."""
    log = [*series("a", "b", 0, 1)]
    for one in "ab":  # they fared alike against three others
        log += [*series(one, "c", 4), *series(one, "d", 0, 4), *series(one, "e", 2, 0, 2)]
    standings = few(log)
    assert (standings.rows[0].agent, standings.rows[0].needed) == ("a", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entrants", "matches", "gap", "dealt"),
    [(4, 20, 87, 1), (4, 20, 400, 1), (8, 5, 200, 1), (8, 5, 0, 1), (4, 40, 100, 4)],
)
def test_intervals_hold_the_truth_as_often_as_they_say(entrants, matches, gap, dealt):
    """Of agents `gap` Elo points apart; of `dealt` matches that share a deal, half end alike."""
    truth = [gap * ((entrants - 1) / 2 - i) for i in range(entrants)]
    held = []
    for seed in range(100):
        rng, log = random.Random(seed), []
        for i, j in combinations(range(entrants), 2):
            ahead = 1 / (1 + 10 ** ((truth[j] - truth[i]) / 400))
            for deal in range(matches // dealt):
                won = [float(rng.random() < ahead) for _ in range(dealt)]
                won = won[:1] * dealt if rng.random() < 0.5 else won
                log += [duel(f"{i}-{j}-{deal}-{k}", f"a{i}", f"a{j}", points) for k, points in enumerate(won)]
        standings = Standings.of(log, block=lambda match: match.id.rpartition("-")[0], samples=200)
        rows = [standings.row(f"a{i}") for i in range(entrants)]
        held.append([row.low <= elo <= row.high for row, elo in zip(rows, truth, strict=True)])
    assert 0.925 < np.mean(held) < 0.99


# -- islands -------------------------------------------------------------------------------------------------------


def test_islands_are_fitted_apart_and_said_to_be():
    one, two = series("a", "b", 5, 0, 2), series("c", "d", 50, 0, 1)
    both = few([*one, *two], entrants=["e"])
    assert both.islands == (("a", "b"), ("c", "d"), ("e",))
    for alone, agent in ((few(one), "a"), (few(two), "c")):
        assert both.row(agent).elo == pytest.approx(alone.row(agent).elo, abs=1e-9)
    assert [row.agent for row in both.rows] == ["a", "b", "c", "d", "e"]
    assert not any("e" in group for group in both.groups)
    assert not any({"a", "c"} <= set(group) or {"b", "c"} <= set(group) for group in both.groups)
    assert both.row("e") == replace(both.row("e"), elo=None, low=None, high=None, points=None, matches=0, needed=None)
    assert both.notes[0].startswith("3 islands")
    with pytest.raises(ValueError, match="no matches link 'a' and 'd'"):
        both.forecast("a", "d")


def test_an_empty_log_has_nobody_and_entrants_without_matches_no_strength():
    assert few([]).rows == ()
    assert [row.elo for row in few([], entrants="ab").rows] == [None, None]
    assert few([], entrants="ab").groups == ()  # to be in none is not to be told apart from others
    assert few([duel("m", "a", "b", 1.0)], entrants="abc").groups == (("a", "b"),)
    json.dumps(few([], entrants="ab").to_json(), allow_nan=False)
    text(few([], entrants="ab").table())


# -- what is shown -------------------------------------------------------------------------------------------------


def test_a_forecast_of_any_pair_sums_to_one_and_is_the_same_from_the_other_side():
    standings = few([*random_log(80, 5), *series("a", "b", 2, game="h")])
    for game in "gh":
        seen = standings.forecast("a", "d", game)
        assert sum(seen) == pytest.approx(1)
        assert standings.forecast("d", "a", game) == pytest.approx(tuple(reversed(seen)))
    assert standings.forecast("a", "d", "h").p_draw == 0 < standings.forecast("a", "d", "g").p_draw
    with pytest.raises(ValueError, match="no game '' in these standings: they are of g, h"):
        standings.forecast("a", "d")
    with pytest.raises(ValueError, match="no agent 'aa' in these standings: did you mean 'a'"):
        standings.row("aa")


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"power": 1.0}, {"samples": 1}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="is"):
        Standings.of([], **wrong)


def test_the_table_shows_what_the_json_says_and_lets_no_name_touch_the_terminal():
    log = [
        *series("a[bet]", "b\x1b[31m\u202e", 6, 1, 3),
        *series("a[bet]", "c", 5, 0, 2),
        *series("c", "b\x1b[31m\u202e", 3),
    ]
    standings = Standings.of(log)
    shown = text(standings.table("cup \x1b]0;x\x07"))
    assert "a[bet]" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    for row in standings.to_json()["rows"]:
        (line,) = [line for line in shown.splitlines() if line.split()[:1] == [row["agent"].partition("\x1b")[0]]]
        assert f"{row['elo']:+.0f}" in line.split()
        assert f"{row['nash']:.3f}" in line.split()


def test_a_hundred_thousand_matches_are_a_matter_of_seconds_since_they_are_counted_first():
    from arena.tally import tally

    counted = tally(random_log(3000, 1))
    assert len(counted.blocks) <= 4 * 3 * 3
    assert sum(n for _, n in counted.blocks) == 3000
