"""Who meets whom follows from the plan and from results alone, whatever the shape."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from arena import pairing as pairing_room
from arena import schedule as room
from arena.make import GameConfig, make
from arena.pairing import Pairing, pair, round_of
from arena.ratings import Rating
from arena.schedule import Plan, Schedule
from arena.shapes import Round, ladder, points, regret, shares, swiss
from arena.types import Match

KUHN, NIM = GameConfig("kuhn_poker"), GameConfig("nim", {"heaps": [1, 2]})
TIGER = GameConfig("dec_tiger", {"horizon": 3})


def plan(entrants, *games, rounds=4, seed=1, name="t", **more):
    return Plan(name, games or (KUHN,), tuple(entrants), rounds, seed, **more)


def static(asked: Plan) -> list[Pairing]:
    """All matches of a shape that doesn't look at results."""
    schedule, found = Schedule(asked), []
    while block := schedule.block({}):
        found += block
    return found


def win(pairing: Pairing, strength, pool="t") -> Match:
    """The pairing as it ends where the stronger always wins."""
    met = pairing.met
    return Match(pairing.id, pairing.game, tuple((who,) for who in met), tuple(strength[who] for who in met), pool=pool)


def played(asked: Plan, result) -> list[list[Pairing]]:
    """All blocks of a tournament whose matches end as `result` says."""
    schedule, done, found = Schedule(asked), {}, []
    while block := schedule.block(done):
        found.append(block)
        done.update({one.id: result(one) for one in block})
    return found


# -- pairings ------------------------------------------------------------------------------------------------------


def test_seats_are_rotated_on_one_deal_and_make_one_match():
    found = static(plan("abc"))
    assert len({one.id for one in found}) == len({one.deal for one in found}) == len(found) == 3 * 4
    for one in found:
        first, second = (tuple(seating.values()) for seating in one.seatings)
        assert first == second[::-1]
    assert Counter(one.met for one in found) == {("a", "b"): 4, ("a", "c"): 4, ("b", "c"): 4}


def test_unpaired_games_still_share_their_deals():
    found = static(plan("abc", paired=False))
    assert len({one.id for one in found}) == len(found) == 3 * 4 * 2
    seatings = Counter(tuple(one.seatings[0].values()) for one in found)
    assert seatings == dict.fromkeys(itertools.permutations("abc", 2), 4)
    assert {one.deal for one in found} == {one.deal for one in static(plan("abc"))}


def test_three_seats_are_rotated_so_that_everybody_sits_everywhere_once():
    (one,) = pair("t", 1, make("kuhn_poker", seats=3), "abc", 0)
    assert len(one.seatings) == 3
    for seat in one.seatings[0]:
        assert {seating[seat] for seating in one.seatings} == set("abc")


def test_ids_and_deals_follow_from_the_arguments_alone():
    assert static(plan("ab")) == static(plan("ba"))
    ids = {one.id for one in static(plan("ab"))}
    assert ids < {one.id for one in static(plan("abc", rounds=5))}  # more of it plays only what is new
    nim = [GameConfig("nim", {"heaps": heaps}) for heaps in ([1, 2], [1, 3])]
    others = [plan("ab", seed=2), plan("ab", name="other"), plan("ac"), plan("ab", GameConfig("tic_tac_toe"))]
    others += [plan("ab", paired=False), *(plan("ab", game) for game in nim)]
    found = [{one.id for one in static(other)} for other in others]
    for one, other in itertools.combinations([ids, *found], 2):
        assert not one & other


def test_the_round_of_a_match_is_in_its_id():
    for one in static(plan("abc", name="r-1")):
        assert round_of(one.id, "r-1") == one.round
    assert [round_of(id, "t") for id in ("t-x-1", "u-0001-1", "", "t-0007-ab")] == [-1, -1, -1, 7]


def test_in_a_cooperative_game_everybody_also_sits_with_itself():
    found = static(plan("ab", TIGER, rounds=1))
    seatings = [[tuple(seating.values()) for seating in one.seatings] for one in found]
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
        ("ab", GameConfig("proposer_solver"), 1, "proposer_solver is played by 9, but there are 2 entrants: a, b"),
        ("ab", GameConfig("kuhn_pocker"), 1, "did you mean 'kuhn_poker'"),
    ],
)
def test_what_can_not_be_played_or_rated_is_refused_at_once(entrants, game, rounds, message):
    with pytest.raises(ValueError, match=message):
        Schedule(plan(entrants, game, rounds=rounds))


# -- shapes --------------------------------------------------------------------------------------------------------


def test_a_challenger_meets_everybody_and_the_field_not_itself():
    found = static(plan("abcd", rounds=1, shape="gauntlet", challengers=("c",)))
    assert [set(one.met) for one in found] == [{"a", "c"}, {"b", "c"}, {"c", "d"}]
    two = static(plan("abcd", rounds=1, shape="gauntlet", challengers=("a", "c")))
    assert {frozenset(one.met) for one in two} == {frozenset(pair) for pair in ("ab", "ad", "cb", "cd")}


STRENGTH = {who: float(i) for i, who in enumerate("hgfedcba")}  # a is the best


def test_in_a_swiss_equals_meet_and_nobody_twice():
    """Eight players of fixed strength: three rounds leave one with three wins, three with two, and so on."""
    blocks = played(plan("abcdefgh", shape="swiss", rounds=3), lambda one: win(one, STRENGTH))
    assert [len(block) for block in blocks] == [4, 4, 4]
    meetings = [frozenset(one.met) for block in blocks for one in block]
    assert len(set(meetings)) == 12
    log = [win(one, STRENGTH) for block in blocks for one in block]
    assert sorted(points(log).values()) == [0, 1, 1, 1, 2, 2, 2, 3]
    second = points(log[:4])
    assert all(second[a] == second[b] for a, b in (one.met for one in blocks[1]))


def test_in_a_long_swiss_everybody_has_met_everybody_before_anybody_meets_again():
    blocks = played(plan("abcdef", shape="swiss", rounds=10), lambda one: win(one, STRENGTH))
    met = Counter(frozenset(one.met) for block in blocks for one in block)
    assert set(met.values()) == {2}


def test_whoever_sits_out_is_low_and_nobody_sits_out_again_before_all_have():
    blocks = played(plan("abcde", shape="swiss", rounds=5), lambda one: win(one, STRENGTH))
    idle = ["".join(set("abcde") - {who for one in block for who in one.met}) for block in blocks]
    assert sorted(idle) == list("abcde")
    scored = points(win(one, STRENGTH) for one in blocks[0])
    scored[idle[0]] += 1
    assert scored[idle[1]] == min(scored[who] for who in "abcde")


def test_a_ladder_matches_those_whose_order_is_least_certain():
    """Two are equals and the others far apart: the equals meet far more often than first and last."""
    strength = {"a": 30.0, "b": 20.0, "c": 20.0, "d": 1.0}
    blocks = played(plan("abcd", shape="ladder", rounds=30), lambda one: win(one, strength))
    met = Counter(frozenset(one.met) for block in blocks for one in block)
    assert met[frozenset("bc")] > 2 * met[frozenset("ab")]
    assert met[frozenset("bc")] > 10
    assert all(len(block) == 2 for block in blocks)


def test_the_skill_at_stake_is_largest_between_equals_and_shrinks_with_certainty():
    a, equal, worse = Rating("a", 25, 2), Rating("b", 25, 2), Rating("c", 15, 2)
    assert regret(a, equal) == pytest.approx((2 * 2**2) ** 0.5 * 0.3989423)  # s / sqrt(2 pi)
    assert regret(a, worse) < regret(a, replace(worse, sigma=4.0)) < regret(a, equal)
    assert regret(a, replace(equal, sigma=1.0)) < regret(a, equal)
    assert regret(a, worse) == regret(worse, a)


@pytest.mark.parametrize("shape", [swiss, ladder])
@pytest.mark.parametrize(("size", "tables"), [(1, 7), (2, 3), (3, 2)])
def test_tables_of_any_size_are_filled_and_nobody_sits_at_two(shape, size, tables):
    field = tuple("abcdefg")
    found = shape(Round(field, size, False, (), [], [], 1))
    seated = [who for one in found for who in one]
    assert [len(one) for one in found] == [size] * tables
    assert len(set(seated)) == len(seated)


@pytest.mark.parametrize("shape", ["swiss", "ladder"])
def test_a_round_depends_on_what_was_played_and_not_on_the_order_in_which_it_ended(shape):
    asked = plan("abcdef", KUHN, NIM, shape=shape, rounds=4)

    def laid_out(reverse, strength):
        schedule, done = Schedule(asked), {}
        while block := schedule.block(done):
            ended = block[::-1] if reverse else block
            done.update({one.id: win(one, strength) for one in ended})
        return sorted(done)

    assert laid_out(False, STRENGTH) == laid_out(True, STRENGTH)
    assert laid_out(False, STRENGTH) != laid_out(False, dict(zip("bdface", range(6), strict=True)))


def test_points_are_the_share_of_the_others_that_were_beaten():
    assert shares([1.0, 0.0]) == [1.0, 0.0]
    assert shares([0.1 + 0.2, 0.3]) == [0.5, 0.5]
    assert shares([3.0, 1.0, 1.0]) == [1.0, 0.25, 0.25]
    assert shares([1.0]) == [0.0]


# -- blocks and withdrawals ----------------------------------------------------------------------------------------


def test_rounds_that_do_not_depend_on_each_other_are_laid_out_many_at_once(monkeypatch):
    monkeypatch.setattr(room, "BLOCK", 7)
    schedule = Schedule(plan("abc", rounds=7))
    assert [len(schedule.block({})) for _ in range(4)] == [9, 9, 3, 0]
    assert schedule.expected == 21


@pytest.mark.parametrize("shape", ["round_robin", "swiss", "gauntlet", "ladder"])
def test_the_expected_number_of_matches_is_the_one_that_is_played(shape):
    more = {"challengers": ("a",)} if shape == "gauntlet" else {}
    asked = plan("abcde", KUHN, NIM, TIGER, shape=shape, **more)
    if shape in ("swiss", "ladder"):
        asked = replace(asked, games=(KUHN, NIM))
    assert sum(map(len, played(asked, lambda one: win(one, STRENGTH)))) == Schedule(asked).expected


def test_who_is_withdrawn_leaves_a_game_when_its_block_is_over():
    def result(one):
        if "a" in one.met and one.game == "kuhn_poker":
            return replace(win(one, STRENGTH), ending="infra", scores=(), fault="a", reason="it broke")
        return win(one, STRENGTH)

    blocks = played(plan("abcd", KUHN, NIM, shape="swiss", rounds=6, strikes=2), result)
    seen = [{(one.game, who) for one in block for who in one.met} for block in blocks]
    assert [("kuhn_poker", "a") in told for told in seen] == [True, True, False, False, False, False]
    assert all(("nim(heaps=[1, 2])", "a") in told for told in seen)


def test_it_ends_when_too_few_are_left():
    def result(one):
        return replace(win(one, STRENGTH), ending="infra", scores=(), fault=one.met[0], reason="it broke")

    assert len(played(plan("ab", shape="swiss", rounds=9, strikes=2), result)) == 2


def test_a_broken_match_that_is_nobody_s_fault_withdraws_nobody():
    def result(one):
        return replace(win(one, STRENGTH), ending="infra", scores=(), reason="no verdict")

    assert len(played(plan("ab", shape="swiss", rounds=9, strikes=1), result)) == 9


# -- planted faults ------------------------------------------------------------------------------------------------


def test_an_id_that_forgot_the_seating_would_be_seen(monkeypatch):
    real = pairing_room.derive
    monkeypatch.setattr(pairing_room, "derive", lambda *parts: real(*(p for p in parts if p not in ("a", "b"))))
    found = static(plan("ab", rounds=1, paired=False))
    assert len({one.id for one in found}) < len(found)


def test_a_swiss_that_forgot_who_met_would_be_seen(monkeypatch):
    monkeypatch.setattr(Round, "met", lambda self: Counter())
    blocks = played(plan("abcdef", shape="swiss", rounds=10), lambda one: win(one, STRENGTH))
    assert set(Counter(frozenset(one.met) for block in blocks for one in block).values()) != {2}
