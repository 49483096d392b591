"""Ratings are TrueSkill, and a pure function of the match log."""

import itertools
import math
import random
from dataclasses import replace

import pytest
import trueskill
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import ratings as room
from arena.ratings import MU, SIGMA, TAU, Player, Rating, Ratings, forecast, margin, rate_many, rate_pair
from arena.types import ENDINGS, Match


def match(id, *teams, scores, roles=(), **more):
    return Match(str(id), more.pop("game", "g"), tuple(teams), tuple(scores), tuple(roles), **more)


def duel(id, winner, loser, **more):
    return match(id, (winner,), (loser,), scores=(1.0, 0.0), **more)


def log(count, seed, agents="abcde"):
    """A random log of duels, a third of them draws, with two roles."""
    rng = random.Random(seed)
    roles = (("first",), ("second",))
    pairs = [rng.sample(agents, 2) for _ in range(count)]
    return [
        match(i, (a,), (b,), scores=rng.choice([(1, 0), (0, 1), (0.5, 0.5)]), roles=roles)
        for i, (a, b) in enumerate(pairs)
    ]


# -- the arithmetic ------------------------------------------------------------------------------------------------

GRID = list(itertools.product((0, 20, 25, 40), (10, 25, 30), (0.5, 2.0, SIGMA), (1.0, 8.0), (0.01, 0.1, 0.5)))


def worst_gap(pair):
    """The largest difference to the package over the grid, wherever the package has an answer."""
    worst = 0.0
    for mu_a, mu_b, sigma_a, sigma_b, p in GRID:
        env = trueskill.TrueSkill(draw_probability=p, tau=0)
        for drawn in (False, True):
            try:
                pair_of_teams = [(env.create_rating(mu_a, sigma_a),), (env.create_rating(mu_b, sigma_b),)]
                (want_a,), (want_b,) = env.rate(pair_of_teams, ranks=[0, 0 if drawn else 1])
            except FloatingPointError:
                continue
            (first,), (second,) = pair([Player(mu_a, sigma_a)], [Player(mu_b, sigma_b)], drawn, p)
            got = [*first, *second]
            worst = max(worst, *(abs(x - y) for x, y in zip(got, [*want_a, *want_b], strict=True)))
    return worst


def test_the_closed_form_is_what_the_package_computes():
    assert worst_gap(rate_pair) < 5e-5


def test_a_wrong_draw_margin_would_be_seen(monkeypatch):
    monkeypatch.setattr(room, "margin", lambda p, n=2.0: margin(p, n) / math.sqrt(2))
    assert worst_gap(rate_pair) > 0.01


def test_two_teams_are_rated_as_the_package_does():
    env = trueskill.TrueSkill(draw_probability=0.1, tau=0)
    one, two = [Player(25, 8), Player(30, 2)], [Player(28, 4), Player(20, 3), Player(18, 1)]
    for ranks, drawn in (([0, 1], False), ([0, 0], True)):
        want = env.rate([[env.create_rating(p.mu, p.sigma) for p in team] for team in (one, two)], ranks=ranks)
        got = rate_pair(one, two, drawn, 0.1)
        for expected, found in zip(itertools.chain(*want), itertools.chain(*got), strict=True):
            assert found == pytest.approx((expected.mu, expected.sigma), abs=5e-5)


players = st.builds(Player, st.floats(-500, 500), st.floats(0.3, 20), st.just(1))


@settings(max_examples=300, deadline=None)
@given(players, players, st.booleans(), st.sampled_from([1e-6, 0.01, 0.1, 0.5, 0.99]))
def test_a_duel_never_lowers_the_winner_or_breaks(a, b, drawn, p):
    ((mu_a, sigma_a),), ((mu_b, sigma_b),) = rate_pair([a], [b], drawn, p)
    assert all(map(math.isfinite, (mu_a, sigma_a, mu_b, sigma_b)))
    assert 0 < sigma_a <= a.sigma
    assert 0 < sigma_b <= b.sigma
    if drawn:
        assert (mu_a - a.mu) * (a.mu - b.mu) <= 1e-9  # a draw pulls the two together
    else:
        assert mu_a >= a.mu
        assert mu_b <= b.mu


tables = st.integers(3, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(players, min_size=1, max_size=2), min_size=n, max_size=n),
        st.lists(st.integers(0, n - 1), min_size=n, max_size=n),
    )
)


@settings(max_examples=150, deadline=None)
@given(tables, st.sampled_from([0.01, 0.1, 0.5]), st.randoms(use_true_random=False))
def test_a_free_for_all_never_breaks_and_does_not_read_the_order_of_listing(table, p, rng):
    teams, places = table
    results = rate_many(teams, places, p)
    for team, result in zip(teams, results, strict=True):
        for player, (mu, sigma) in zip(team, result, strict=True):
            assert math.isfinite(mu)
            assert 0 < sigma <= player.sigma + 1e-9
    for end, sign in ((min(places), 1), (max(places), -1)):
        if places.count(end) == 1:
            i = places.index(end)
            assert all(sign * (mu - old.mu) >= -1e-6 for old, (mu, _) in zip(teams[i], results[i], strict=True))
    order = list(range(len(teams)))
    rng.shuffle(order)
    assert rate_many([teams[i] for i in order], [places[i] for i in order], p) == [results[i] for i in order]


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 6).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
def test_from_equal_priors_a_better_place_is_never_below_and_an_equal_one_is_equal(places):
    results = [mu for ((mu, _),) in rate_many([[Player(MU, SIGMA)]] * len(places), places, 0.1)]
    for (place, mu), (other, nu) in itertools.combinations(zip(places, results, strict=True), 2):
        assert (mu == nu) if place == other else (mu - nu) * (other - place) > 0


def test_the_bare_package_would_fail_on_equal_places():
    env = trueskill.TrueSkill(draw_probability=0.1, tau=0)
    a, b, c = env.rate([(env.create_rating(),) for _ in range(3)], ranks=[0, 0, 0])
    assert abs(a[0].mu - b[0].mu) > 1e-4 or abs(b[0].mu - c[0].mu) > 1e-4 or abs(a[0].sigma - b[0].sigma) > 1e-4


@settings(max_examples=200, deadline=None)
@given(st.floats(-60, 60), st.floats(0.3, 20), st.floats(-60, 60), st.floats(0.3, 20), st.floats(0, 0.99))
def test_a_forecast_sums_to_one_and_is_the_same_from_the_other_side(mu, sigma, nu, tau, p):
    one, two = Rating("a", mu, sigma), Rating("b", nu, tau)
    seen = forecast(one, two, p)
    assert sum(seen) == pytest.approx(1, abs=1e-12)
    assert min(seen) >= 0
    assert forecast(two, one, p) == pytest.approx(tuple(reversed(seen)), abs=1e-12)


# -- the log -------------------------------------------------------------------------------------------------------


def test_a_first_duel_gives_the_numbers_of_the_textbook():
    ratings = Ratings.rebuild([duel(1, "alice", "bob")])
    assert ratings.rating("alice").mu == pytest.approx(29.396, abs=1e-3)
    assert ratings.rating("bob").mu == pytest.approx(20.604, abs=1e-3)
    assert ratings.rating("alice").sigma == pytest.approx(7.171, abs=1e-3)
    assert ratings.rating("alice").low == pytest.approx(29.396 - 3 * 7.171, abs=5e-3)
    assert [rating.agent for rating in ratings.table()] == ["alice", "bob"]


def test_rebuilding_from_the_log_gives_the_same_numbers():
    matches = log(200, seed=3)
    live = Ratings()
    assert all([live.add(match) for match in matches])
    again = Ratings.rebuild(Match.from_json(match.to_json()) for match in matches)
    for pool, game, role in live.lists():
        assert again.table(pool, game, role) == live.table(pool, game, role)
    assert live.lists() == [("main", "", ""), ("main", "g", "first"), ("main", "g", "second")]


def test_a_match_counts_once():
    ratings = Ratings.rebuild([duel(1, "a", "b")])
    before = ratings.table()
    assert not ratings.add(duel(1, "a", "b"))
    assert ratings.table() == before


def test_pools_games_and_roles_keep_their_own_lists():
    roles = (("first",), ("second",))
    ratings = Ratings.rebuild([duel(1, "a", "b", roles=roles), duel(2, "b", "a", roles=roles, pool="other")])
    assert ratings.rating("a", game="g", role="first").mu > MU
    assert ratings.rating("a", game="g", role="second") == Rating("a")
    assert ratings.rating("a", pool="other").mu < MU
    assert ratings.rating("a", game="chess", role="first") == Rating("a")


@pytest.mark.parametrize("ending", ENDINGS)
def test_only_endings_that_tell_of_skill_are_rated(ending):
    scores = () if ending == "infra" else (1.0, 0.0)
    ratings = Ratings.rebuild([match(1, ("a",), ("b",), scores=scores, ending=ending)])
    assert bool(ratings.table()) == (ending in ("over", "forfeit", "truncated"))


def test_an_infra_match_that_is_played_again_is_rated():
    ratings = Ratings()
    assert not ratings.add(match(1, ("a",), ("b",), scores=(), ending="infra"))
    assert ratings.add(duel(1, "a", "b"))


@pytest.mark.parametrize("teams", [[("a",), ("a",)], [("a", "b"), ("b", "c")], [("a",), ("b",), ("a",)], [("a", "b")]])
def test_a_match_against_oneself_rates_nobody(teams):
    ratings = Ratings()
    assert not ratings.add(match(1, *teams, scores=range(len(teams))))
    assert ratings.table() == []


def test_a_frozen_agent_does_not_drift():
    settled = [duel(i, *pair) for i, pair in enumerate([("a", "b"), ("b", "a")] * 2000)]
    live, still = Ratings.rebuild(settled), Ratings.rebuild(settled, frozen={"a", "b"})
    assert still.rating("a").sigma < 0.12 < 0.3 < live.rating("a").sigma
    one = Ratings.rebuild([duel(1, "a", "b")], frozen={"a"})
    ((mu, sigma),), _ = rate_pair([Player(MU, SIGMA)], [Player(MU, math.hypot(SIGMA, TAU))], False, 0.1)
    assert (one.rating("a").mu, one.rating("a").sigma) == (mu, sigma)


def test_a_cooperative_team_plays_the_task():
    team, task = ("a", "b"), ("task:door",)
    ratings = Ratings.rebuild([match(1, team, task, scores=(5.0, 7.0)), match(2, team, task, scores=(9.0, 7.0))])
    assert ratings.rating("a").matches == 2
    assert ratings.rating("a").mu == ratings.rating("b").mu
    assert ratings.rating("task:door").matches == 2
    assert [rating.agent for rating in ratings.table()] == ["a", "b"]
    assert {rating.agent for rating in ratings.table(tasks=True)} == {"a", "b", "task:door"}


def test_an_agent_in_two_seats_of_a_team_counts_for_both():
    alone = Ratings.rebuild([duel(1, "a", "b")])
    doubled = Ratings.rebuild([match(1, ("a", "a"), ("b", "b"), scores=(1, 0))])
    assert doubled.table() == alone.table()
    mixed = Ratings.rebuild([match(1, ("a", "a"), ("b", "c"), scores=(0, 0))], draws={"g": 0.1})
    assert mixed.rating("a").mu == pytest.approx(MU)  # two average seats against two average seats: as expected


def test_the_draw_probability_is_learned_from_the_matches_with_a_floor():
    ratings = Ratings()
    assert ratings.draw_probability("g") == 0.1
    for i in range(90):
        ratings.add(match(i, ("a",), ("b",), scores=(0, 0)))
    assert ratings.draw_probability("g") == pytest.approx(91 / 100)
    assert ratings.draw_probability("other") == 0.1
    decisive = Ratings.rebuild(duel(i, "a", "b") for i in range(500))
    assert decisive.draw_probability("g") == 0.01


def test_a_draw_is_refused_where_the_game_has_none():
    ratings = Ratings(draws={"g": 0.0})
    ratings.add(duel(1, "a", "b"))
    before = ratings.table()
    with pytest.raises(ValueError, match=r"match '2': 'g' has draw probability 0, but scores are \[0.5, 0.5\]"):
        ratings.add(match(2, ("a",), ("b",), scores=(0.5, 0.5)))
    assert ratings.table() == before
    assert ratings.add(duel(2, "a", "b"))  # the refused one has left no trace, its id neither


def test_a_draw_probability_of_one_is_refused():
    with pytest.raises(ValueError, match=r"'g' is 1.0: it must be at least 0 and below 1"):
        Ratings(draws={"g": 1.0})


def test_scores_that_differ_by_rounding_are_a_draw():
    ratings = Ratings.rebuild([match(1, ("a",), ("b",), scores=(0.1 + 0.2, 0.3))])
    assert ratings.rating("a").mu == MU


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_a_match_lists_its_teams_does_not_matter(scores, rng):
    warm = log(10, seed=1)
    order = list(range(len(scores)))
    rng.shuffle(order)
    listed = match("x", *((agent,) for agent in "abcde"[: len(scores)]), scores=scores)
    shuffled = replace(listed, teams=tuple(listed.teams[i] for i in order), scores=tuple(scores[i] for i in order))
    one, two = Ratings.rebuild([*warm, listed]).table(), Ratings.rebuild([*warm, shuffled]).table()
    for a, b in zip(one, two, strict=True):
        assert a.agent == b.agent
        assert (a.mu, a.sigma) == pytest.approx((b.mu, b.sigma), abs=1e-9)


def test_a_rating_that_read_the_order_of_listing_would_be_seen(monkeypatch):
    duel_of = room.rate_duel
    monkeypatch.setattr(room, "rate_duel", lambda *at: duel_of(*at[:4], False, at[5]))  # a draw is won by the first
    draw = match("x", ("a",), ("b",), scores=(0, 0))
    swapped = replace(draw, teams=(("b",), ("a",)))
    assert Ratings.rebuild([draw]).rating("a").mu != Ratings.rebuild([swapped]).rating("a").mu


# -- the fast way is the plain way ---------------------------------------------------------------------------------


class Plain(Ratings):
    """Rates a duel as it does any other match."""

    def _rate_duel(self, match, order, draw_probability):
        roles = match.roles or (("",), ("",))
        for game, told in (("", (("",), ("",))), (match.game, roles)):
            keys = [[(match.pool, game, a, role)] for (a,), (role,) in zip(match.teams, told, strict=True)]
            self._rate(keys, order, draw_probability)


@settings(max_examples=300, deadline=None)
@given(players, players, st.booleans(), st.sampled_from([1e-6, 0.01, 0.1, 0.5, 0.99]))
def test_a_duel_is_rated_as_two_teams_of_one_to_the_last_bit(a, b, drawn, p):
    ((mu, sigma),), ((nu, tau),) = rate_pair([a], [b], drawn, p)
    assert room.rate_duel(a.mu, a.sigma, b.mu, b.sigma, drawn, margin(p)) == (mu, sigma, nu, tau)


@pytest.mark.parametrize("frozen", [(), ("a",)])
def test_a_log_of_duels_is_rated_as_any_other_to_the_last_bit(frozen):
    one_list = [replace(each, roles=()) for each in log(60, seed=4)]
    task = [match(f"t{i}", ("a",), ("task:x",), scores=(i % 3, 1)) for i in range(9)]
    for matches in (log(400, seed=5), one_list, task):
        fast, plain = Ratings.rebuild(matches, frozen), Plain.rebuild(matches, frozen)
        assert fast.lists() == plain.lists() != []
        for where in fast.lists():
            assert fast.table(*where, tasks=True) == plain.table(*where, tasks=True)


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-12, 4e-10, 6e-10, 1e-9, 1.9e-9, 2e-9, 2.1e-9, 1.0]))
def test_two_places_are_those_of_the_scores_to_nine_decimals(score, gap):
    rounded = [round(score, 9), round(score + gap, 9)]
    want = [0, 0] if rounded[0] == rounded[1] else [1, 0] if rounded[0] < rounded[1] else [0, 1]
    assert room.places(match(1, ("a",), ("b",), scores=(score, score + gap))) == want


absurd = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**300), 10**300))


@settings(max_examples=80, deadline=None)
@given(st.lists(absurd, min_size=2, max_size=4), st.integers(1, 30))
def test_any_finite_scores_give_finite_ratings(scores, repeats):
    agents = "abcd"[: len(scores)]
    games = [match(i, *((agent,) for agent in agents), scores=scores) for i in range(repeats)]
    for rating in Ratings.rebuild(games).table():
        assert math.isfinite(rating.mu)
        assert 0 < rating.sigma < 10


@pytest.mark.parametrize("score", [10**400, -(10**400), math.nan, 1j, "1"])
def test_a_score_that_no_float_holds_is_refused_in_one_line(score):
    with pytest.raises(ValueError, match="has the score"):
        Ratings().add(match(1, ("a",), ("b",), scores=(score, 0.0)))


@pytest.mark.parametrize("p", [1 - 2**-53, math.nan, -0.1])
def test_a_draw_probability_that_leaves_no_margin_is_refused(p):
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        Ratings(draws={"g": p})
