"""Situations of ratings in which other tools went wrong."""

import math
from dataclasses import replace

import pytest

from arena import ratings as room
from arena.ratings import MU, Player, Rating, Ratings, forecast, rate_many, rate_pair
from arena.standings import Standings
from arena.store import Store
from arena.types import Match


def match(id, *agents, scores, **more):
    return Match(id, "g", tuple((agent,) for agent in agents), tuple(scores), **more)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        (Player(0, 1), Player(300, 1)),
        (Player(1253, 1.3), Player(2038, 1.1)),
        (Player(-1e6, 0.01), Player(1e6, 0.01)),
    ],
)
def test_an_upset_between_well_known_players_has_finite_ratings(winner, loser, drawn):
    """O-33: the upset of the century, won or drawn, in a duel and among others."""
    for p in (0.01, 0.1, 0.5):
        ((up, sigma_up),), ((down, sigma_down),) = rate_pair([winner], [loser], drawn, p)
        many = rate_many([[winner], [loser], [Player(MU, 8)]], [0, 0 if drawn else 1, 2], p)
        for value in (up, down, sigma_up, sigma_down, *(x for team in many for player in team for x in player)):
            assert math.isfinite(value)
        assert winner.mu <= up
        assert down <= loser.mu
        assert 0 < sigma_up <= winner.sigma
        assert 0 < sigma_down <= loser.sigma


def test_one_absurd_match_does_not_lose_the_others():
    """O-33: a thousand wins the one way and then one the other way: the list still stands."""
    ratings = Ratings(frozen={"a", "b"})
    for i in range(1000):
        ratings.add(match(f"{i}", "a", "b", scores=(1, 0)))
    before = ratings.rating("b").mu
    assert ratings.add(match("upset", "b", "a", scores=(1, 0)))
    assert ratings.rating("b").mu > before
    assert [rating.agent for rating in ratings.table()] == ["a", "b"]


@pytest.mark.parametrize("places", [[0, 0, 1, 2, 3], [0, 1, 1, 1, 2], [0, 0, 0, 0, 0], [1, 0, 3, 2, 3]])
def test_tied_winners_are_equal_and_above_the_third(places):
    """O-34: from equal priors a better place is never below, and equal places are equal."""
    agents = "abcde"
    ratings = Ratings.rebuild([match("1", *agents, scores=[-place for place in places])])
    mu = [ratings.rating(agent).mu for agent in agents]
    for i, j in ((i, j) for i in range(5) for j in range(5)):
        if places[i] == places[j]:
            assert mu[i] == mu[j]
        elif places[i] < places[j]:
            assert mu[i] > mu[j]


WRONG = ["alice", "Win", "win", "", None, math.nan, math.inf, True]


@pytest.mark.parametrize("label", WRONG)
def test_an_outcome_that_is_not_a_number_is_an_error_and_writes_nothing(label, tmp_path):
    """O-35: no label falls into the branch of the draw; neither the ratings nor the store take it."""
    wrong = match("1", "player_0", "player_1", scores=(label, 0.0))
    ratings = Ratings()
    with pytest.raises(ValueError, match=r"'1' has the score .*: give every team a finite number, .* for a draw"):
        ratings.add(wrong)
    assert ratings.table() == []
    with Store(tmp_path / "store.db") as store:
        with pytest.raises(ValueError, match="finite number"):
            store.add(wrong, [])
        assert store.matches() == []
    for i in range(10):
        ratings.add(match(str(i), "player_0", "player_1", scores=(1.0, 0.0)))
    assert ratings.rating("player_0").mu > ratings.rating("player_1").mu + 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ending": "Over"}, "did you mean 'over'"),
        ({"ending": None}, "allowed are over, forfeit, truncated, cut_off, infra"),
        ({"scores": (1.0,)}, "2 teams but 1 scores"),
        ({"teams": (("a",), ())}, "a team without agents"),
        ({"teams": (("a",), ("",))}, "must be names, not ''"),
        ({"roles": (("first",), ("second", "third"))}, "don't fit the teams"),
    ],
)
def test_a_match_that_can_be_read_in_two_ways_is_an_error(change, message):
    """O-35: endings, names and shapes are checked like scores are."""
    ratings = Ratings()
    with pytest.raises(ValueError, match=message):
        ratings.add(replace(match("1", "a", "b", scores=(1, 0)), **change))
    assert ratings.table() == []


def test_places_need_not_come_sorted():
    """O-36: A, B, C with places 3, 1, 2, in any order of listing."""
    score = {"A": -3, "B": -1, "C": -2}
    found = []
    for order in ("ABC", "ACB", "BAC", "BCA", "CAB", "CBA"):
        ratings = Ratings.rebuild([match("1", *order, scores=[score[agent] for agent in order])])
        assert [rating.agent for rating in ratings.table()] == ["B", "C", "A"]
        assert ratings.rating("B").mu > MU > ratings.rating("A").mu
        found.append(ratings.table())
    assert all(table == found[0] for table in found)


def test_forecast_and_update_share_one_margin(monkeypatch):
    """O-37: the probabilities sum to 1, follow the draw probability, and move with the margin that rates."""
    strong, weak = Rating("a", 30, 1), Rating("b", 20, 1)
    seen = [forecast(strong, weak, p) for p in (0.0, 0.1, 0.5)]
    assert all(sum(f) == pytest.approx(1, abs=1e-12) for f in seen)
    assert seen[0].p_draw == 0
    assert seen[0].p_win > 0.9
    assert seen[0].p_draw < seen[1].p_draw < seen[2].p_draw
    peers = Rating("a", 25, 1e-6), Rating("b", 25, 1e-6)
    assert forecast(*peers, 0.3).p_draw == pytest.approx(0.3, abs=1e-9)  # what a draw probability means
    asked = []
    monkeypatch.setattr(room, "margin", lambda p, n=2.0: asked.append((p, n)) or 1.0)
    forecast(strong, weak, 0.1)
    rate_pair([Player(30, 1)], [Player(20, 1)], True, 0.1)
    assert asked == [(0.1, 2.0), (0.1, 2.0)]


def test_list_profile_store_and_rebuild_agree_and_the_absent_stay_as_they_were(tmp_path):
    """O-52: A and B play five more games; C's rating, its uncertainty too, is the one it had."""
    before = [match(f"0{i}", "A", "BC"[i % 2], scores=(i % 2, 0.5)) for i in range(4)]
    games = [match(f"1{i}", "A", "B", scores=(1, 0)) for i in range(5)]
    ratings = Ratings.rebuild(before)
    absent = ratings.rating("C")
    for game in games:
        ratings.add(game)
    assert ratings.rating("C") == absent
    with Store(tmp_path / "store.db") as store:
        for game in [*before, *games]:
            store.add(game, [])
        store.rate(ratings)
        assert store.ratings() == ratings.table()
        assert Ratings.rebuild(store.log()).table() == ratings.table()
    assert [ratings.rating(rating.agent) for rating in ratings.table()] == ratings.table()


def test_standings_table_row_and_export_agree_and_the_absent_keep_the_strength_they_had():
    """O-52: two who have not met the others play on; what is shown of the others, intervals too, is what it was."""
    before = [match(f"0{i}", "C", "D", scores=(i % 3, 1)) for i in range(9)]
    games = [match(f"1{i}", "A", "B", scores=(1, i % 2)) for i in range(5)]
    alone, standings = Standings.of(before, samples=50), Standings.of([*games, *before], samples=50)
    for agent in "CD":
        assert standings.row(agent).elo == pytest.approx(alone.row(agent).elo, abs=1e-9)
        assert standings.row(agent).matches == alone.row(agent).matches
    columns = [[str(cell) for cell in column._cells] for column in standings.table().columns]
    for i, told in enumerate(standings.to_json()["rows"]):
        row = standings.row(told["agent"])
        assert row == standings.rows[i]
        assert told == {**told, "elo": row.elo, "low": row.low, "high": row.high, "points": row.points}
        shown = [column[i] for column in columns]
        assert shown[0] == row.agent
        assert shown[2:5] == [f"{value:+.0f}" for value in (row.elo, row.low, row.high)]


@pytest.mark.parametrize("label", WRONG)
def test_standings_take_no_label_for_a_draw_either(label):
    """O-35: the batch fit refuses what the ratings refuse."""
    with pytest.raises(ValueError, match="finite number"):
        Standings.of([match("1", "player_0", "player_1", scores=(label, 0.0))], samples=2)


def test_standings_read_places_that_do_not_come_sorted():
    """O-36: A, B, C with places 3, 1, 2, in any order of listing."""
    score = {"A": -3, "B": -1, "C": -2}
    found = [
        Standings.of([match("1", *order, scores=[score[agent] for agent in order])], samples=20).to_json()
        for order in ("ABC", "ACB", "BAC", "BCA", "CAB", "CBA")
    ]
    assert [row["agent"] for row in found[0]["rows"]] == ["B", "C", "A"]
    assert all(other == found[0] for other in found)


def test_standings_survive_an_upset_after_ten_thousand_wins():
    """O-33: one bad match neither breaks the fit nor turns the order."""
    log = [match(f"{i}", "a", "b", scores=(1, 0)) for i in range(10_000)] + [match("upset", "b", "a", scores=(1, 0))]
    standings = Standings.of(log, samples=50)
    assert [row.agent for row in standings.rows] == ["a", "b"]
    assert all(math.isfinite(x) for row in standings.rows for x in (row.elo, row.low, row.high))


def test_tied_winners_stand_equal_and_above_the_third():
    """O-34: places 0, 0, 1, 2, 3 in the batch fit."""
    standings = Standings.of([match("1", *"abcde", scores=[0, 0, -1, -2, -3])], samples=20)
    elo = {row.agent: row.elo for row in standings.rows}
    assert elo["a"] == pytest.approx(elo["b"], abs=1e-9)
    assert elo["b"] > elo["c"] > elo["d"] > elo["e"]
