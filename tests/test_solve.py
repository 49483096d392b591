"""The exact solver, against hand formulas that know nothing of trees."""

import itertools
import random
import time
from collections.abc import Mapping

import pytest

from arena import solve
from arena.game import Game, GameInfo
from games.dec_tiger import DecTiger, reward
from games.kuhn_poker import KuhnPoker
from games.nim import Nim
from games.rock_paper_scissors import RockPaperScissors

DEALS = [(a, b) for a in "JQK" for b in "JQK" if a != b]


@pytest.fixture(scope="module")
def kuhn():
    return solve.tree(KuhnPoker())


def card_and_line(known):
    """What a card player needs of an information set: 'Card: Q. Moves: bet. ...' is ('Q', 'bet')."""
    card, line, _ = known.heard[-1].split(". ")
    return card.removeprefix("Card: "), line.removeprefix("Moves: ")


def chips(plan, first, second):
    """The first seat's expected chips for one deal, written out; `plan[card, line]` is (passive, bold) in probability,
    and what is missing costs 2."""
    win = 1 if "JQK".index(first) > "JQK".index(second) else -1

    def lost(p):
        return 1 - sum(p)

    p1, p2, p3, p4 = plan[first, "none"], plan[second, "check"], plan[second, "bet"], plan[first, "check, bet"]
    answer = p4[0] * -1 + p4[1] * 2 * win - 2 * lost(p4)
    after_check = p2[0] * win + p2[1] * answer + 2 * lost(p2)
    after_bet = p3[0] * 1 + p3[1] * 2 * win + 2 * lost(p3)
    return p1[0] * after_check + p1[1] * after_bet - 2 * lost(p1)


def by_hand(plan):
    return sum(chips(plan, *deal) for deal in DEALS) / 6


def best_by_hand(plan, seat):
    """The best of all 64 pure strategies of a seat, tried one after another."""
    lines = ("none", "check, bet") if seat == 0 else ("check", "bet")
    keys = [(card, line) for card in "JQK" for line in lines]
    sign = 1 if seat == 0 else -1
    pure = (dict(zip(keys, bits, strict=True)) for bits in itertools.product(((1, 0), (0, 1)), repeat=6))
    return max(sign * by_hand({**plan, **chosen}) for chosen in pure)


def test_kuhn_has_twelve_information_sets(kuhn):
    assert len(kuhn.information) == 12
    assert {known.role for known in kuhn.information} == {"first", "second"}
    again = [known for known in kuhn.information if known.moves]
    assert {known.moves for known in again} == {("check",)}
    assert all(len(known.heard) == 2 and known.legal == ("fold", "call") for known in again)


def test_uniform_and_equilibrium_play_have_their_published_values(kuhn):
    uniform, perfect = solve.uniform(kuhn), solve.oracle_policy(kuhn)
    assert solve.nash_conv(kuhn, uniform) == pytest.approx(11 / 12, abs=1e-12)
    assert solve.exploitability(kuhn, uniform) == pytest.approx(11 / 24, abs=1e-12)
    assert solve.nash_conv(kuhn, perfect) == pytest.approx(0, abs=1e-12)
    assert solve.values(kuhn, perfect) == pytest.approx({"first_0": -1 / 18, "second_0": 1 / 18})
    assert solve.values(kuhn, uniform)["first_0"] == pytest.approx(1 / 8)


def test_any_policy_is_worth_what_the_hand_formula_says(kuhn):
    rng = random.Random(0)
    for _ in range(20):
        policy, plan = {}, {}
        for known in kuhn.information:
            bold, legality = rng.random(), rng.choice((1.0, 1.0, rng.random(), 0.0))
            policy[known] = plan[card_and_line(known)] = (legality * (1 - bold), legality * bold)
        first = by_hand(plan)
        assert solve.values(kuhn, policy) == pytest.approx({"first_0": first, "second_0": -first})
        best = best_by_hand(plan, 0), best_by_hand(plan, 1)
        assert solve.best_response(kuhn, policy, "first_0") == pytest.approx(best[0])
        assert solve.best_response(kuhn, policy, "second_0") == pytest.approx(best[1])
        assert solve.nash_conv(kuhn, policy) == pytest.approx(best[0] - first + best[1] + first)


def test_a_policy_that_never_speaks_legally_loses_its_forfeit(kuhn):
    silent = dict.fromkeys(kuhn.information, (0.0, 0.0))
    assert solve.values(kuhn, silent) == pytest.approx({"first_0": -2.0, "second_0": 2.0})
    uniform = solve.uniform(kuhn)
    assert solve.against(kuhn, silent, uniform) == pytest.approx({"first_0": -2.0, "second_0": -2.0})
    mixed = solve.mixed(kuhn, {"first_0": silent, "second_0": uniform})
    assert solve.values(kuhn, mixed) == pytest.approx({"first_0": -2.0, "second_0": 2.0})


def test_playing_an_agent_against_another_takes_both_seats(kuhn):
    uniform, perfect = solve.uniform(kuhn), solve.oracle_policy(kuhn)
    plans = [{card_and_line(k): tuple(p[k]) for k in kuhn.information} for p in (perfect, uniform)]
    first = {k: plans[0][k] if k[1] in ("none", "check, bet") else plans[1][k] for k in plans[0]}
    second = {k: plans[1][k] if k[1] in ("none", "check, bet") else plans[0][k] for k in plans[0]}
    expected = {"first_0": by_hand(first), "second_0": -by_hand(second)}
    assert solve.against(kuhn, perfect, uniform) == pytest.approx(expected)


def test_nash_conv_of_kuhn_takes_under_five_milliseconds(kuhn):
    uniform = solve.uniform(kuhn)
    start = time.process_time()
    for _ in range(50):
        solve.nash_conv(kuhn, uniform)
    assert (time.process_time() - start) / 50 < 0.005


def test_a_bad_policy_is_refused(kuhn):
    uniform = solve.uniform(kuhn)
    some = kuhn.information[0]
    with pytest.raises(ValueError, match="nothing for first_0 after 'Card"):
        solve.values(kuhn, {k: p for k, p in uniform.items() if k != some})
    for row in ((0.9, 0.2), (-0.1, 0.5), (1.0,), (0.3, 0.3, 0.4), (float("nan"), 0.5)):
        with pytest.raises(ValueError, match="at most 1 in all"):
            solve.values(kuhn, {**uniform, some: row})


def test_rounding_is_not_illegal_play(kuhn):
    thirds = dict.fromkeys(kuhn.information, (1 / 3 + 1e-9, 2 / 3))
    plan = {card_and_line(k): (1 / 3, 2 / 3) for k in kuhn.information}
    assert solve.values(kuhn, thirds)["first_0"] == pytest.approx(by_hand(plan), abs=1e-7)


def test_moves_of_one_stage_are_chosen_blindly():
    """Were the second seat to see the first one's throw, it would have three information sets and win them all."""
    tree = solve.tree(RockPaperScissors())
    assert [known.seat for known in tree.information] == ["player_0", "player_1"]
    rock = {known: (1.0, 0.0, 0.0) for known in tree.information}
    assert solve.values(tree, rock) == {"player_0": 0.0, "player_1": 0.0}
    assert solve.best_response(tree, rock, "player_1") == 1.0
    assert solve.nash_conv(tree, rock) == 2.0
    assert solve.nash_conv(tree, solve.uniform(tree)) == pytest.approx(0)
    lean = {known: (0.5, 0.25, 0.25) for known in tree.information}
    assert solve.nash_conv(tree, lean) == pytest.approx(2 * 0.25)


def team_value(horizon, policy):
    """DecTiger by direct recursion over the tiger and both memories; `policy(past)` gives (listen, left, right)."""
    doors = ("left", "right")

    def go(step, tiger, pasts):
        if step == horizon:
            return 0.0
        total = 0.0
        for one, two in itertools.product(range(3), repeat=2):
            moves = [("listen", *doors)[a] for a in (one, two)]
            p = policy(pasts[0])[one] * policy(pasts[1])[two]
            if p == 0:
                continue
            future = 0.0
            both = moves == ["listen", "listen"]
            for tiger_after in (tiger,) if both else doors:
                for heard in itertools.product(doors, repeat=2):
                    q = 1.0 if both else 0.5
                    for side in heard:
                        q *= (0.85 if side == tiger_after else 0.15) if both else 0.5
                    after = [(*past, (m, h)) for past, m, h in zip(pasts, moves, heard, strict=True)]
                    future += q * go(step + 1, tiger_after, after)
            total += p * (reward(tiger, *moves) + future)
        return total

    return sum(go(0, tiger, ((), ())) for tiger in doors) / 2


def lean(past):
    """Some stochastic policy that looks at what was heard."""
    return (0.7, 0.1, 0.2) if not past else (0.5, 0.4, 0.1) if past[-1][1] == "right" else (0.6, 0.1, 0.3)


def past_of(known):
    """((move, heard), ...) of an information set of DecTiger."""
    told = known.heard[-1].partition("so far: ")[2].partition(". Actions")[0]
    return tuple((m[0], m[2].rstrip(")")) for m in (part.split(" ") for part in told.split(", ")) if m[0] != "none")


@pytest.mark.parametrize("horizon", [1, 2])
def test_dec_tiger_is_worth_what_a_direct_recursion_says(horizon):
    tree = solve.tree(DecTiger(horizon))
    for policy in (lean, lambda past: (1 / 3, 1 / 3, 1 / 3)):
        value = team_value(horizon, policy)
        found = solve.values(tree, {known: policy(past_of(known)) for known in tree.information})
        assert found == pytest.approx({"agent_0": value, "agent_1": value})
    best = solve.oracle_policy(tree)
    assert solve.values(tree, best)["agent_0"] == pytest.approx(DecTiger(horizon).known["optimum"])
    assert solve.nash_conv(tree, best) == pytest.approx(0)


@pytest.mark.slow
def test_dec_tiger_reaches_its_published_optimum_at_horizon_three():
    tree = solve.tree(DecTiger(3))
    best = solve.oracle_policy(tree)
    assert solve.values(tree, best)["agent_1"] == pytest.approx(5.190812, abs=1e-6)
    assert solve.nash_conv(tree, best) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("heaps", "misere", "value"), [((1, 2, 3), False, -1), ((1, 2), False, 1), ((2, 2), True, -1)])
def test_nim_is_won_by_whom_bouton_says(heaps, misere, value):
    tree = solve.tree(Nim(heaps, misere))
    perfect = solve.oracle_policy(tree)
    assert solve.values(tree, perfect)["first_0"] == pytest.approx(value)
    assert solve.nash_conv(tree, perfect) == pytest.approx(0)


class Draws(Game):
    """Draws in every way that can be enumerated, and pays the first seat what it drew."""

    roles: Mapping[str, int] = {"player": 1}
    info = GameInfo(chance=True)

    def __init__(self, way):
        self.way = way

    def start(self, rng, task):
        self.drawn = self.way(rng)
        return ("player_0",)

    def legal(self, seat):
        return ("ok",)

    def play(self, moves):
        self.score(player_0=self.drawn)
        return ()


@pytest.mark.parametrize(
    ("way", "mean"),
    [
        (lambda rng: rng.choice([1, 2, 6]), 3),
        (lambda rng: rng.randint(1, 6), 3.5),
        (lambda rng: rng.randrange(0, 10, 5), 2.5),
        (lambda rng: sum(rng.sample(range(30), 2)), 29),
        (lambda rng: rng.sample([0, 1], 2, counts=[1, 3])[0], 0.75),
        (lambda rng: rng.choices((0, 10), (0.85, 0.15))[0], 1.5),
        (lambda rng: rng.choices((0, 10), cum_weights=(1, 4))[0], 7.5),
        (lambda rng: sum(rng.choices((0, 1), k=3)), 1.5),
        (lambda rng: rng.choices((0, 1), (0, 1))[0], 1),
        (lambda rng: rng.getrandbits(2), 1.5),
        (lambda rng: shuffled(rng)[0] * 10, 20),
        (lambda rng: rng.choice([2]) + rng.randint(0, 1) * rng.randint(0, 2), 2.5),
    ],
)
def test_every_kind_of_draw_branches_with_its_exact_odds(way, mean):
    tree = solve.tree(Draws(way))
    assert solve.values(tree, solve.uniform(tree)) == pytest.approx({"player_0": mean})


def shuffled(rng):
    items = [1, 2, 3]
    rng.shuffle(items)
    return items


def test_draws_that_cannot_be_enumerated_say_what_to_use_instead():
    for way in (lambda rng: rng.random(), lambda rng: rng.gauss(0, 1), lambda rng: rng.randrange(10**6)):
        with pytest.raises(ValueError, match="enumerate"):
            solve.tree(Draws(way))


def test_a_tree_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="more than 50 nodes"):
        solve.tree(KuhnPoker(), limit=50)


def test_moves_that_the_seat_cannot_know_are_refused():
    class Blind(Draws):
        def legal(self, seat):
            return ("a",) if self.drawn else ("b",)

    with pytest.raises(ValueError, match="player_0 may move"):
        solve.tree(Blind(lambda rng: rng.choice([0, 1])))


class Instalments(Draws):
    """Pays -5 at each of two stages; a forfeit costs 1."""

    def play(self, moves):
        self.score(player_0=-5)
        return ("player_0",) if self.stage == 1 else ()


def test_a_forfeit_costs_its_own_price_once_on_top_of_what_was_earned():
    tree = solve.tree(Instalments(lambda rng: 0))
    first, second = tree.information
    assert solve.values(tree, {first: (1.0,), second: (0.0,)}) == {"player_0": -6.0}
    assert solve.values(tree, {first: (0.5,), second: (0.5,)}) == {"player_0": 0.5 * -1 + 0.25 * -6 + 0.25 * -10}


def test_a_best_response_is_legal_even_where_a_forfeit_would_be_cheaper():
    tree = solve.tree(Instalments(lambda rng: 0))
    silent = dict.fromkeys(tree.information, (0.0,))
    assert solve.best_response(tree, silent, "player_0") == -10


def test_a_missing_oracle_is_named():
    tree = solve.tree(Draws(lambda rng: 1))
    with pytest.raises(ValueError, match="no oracle for player_0"):
        solve.oracle_policy(tree)


def test_the_game_it_was_made_from_is_left_alone():
    game = KuhnPoker()
    game.reset(seed=4)
    game.step("bet")
    state = game.state_text(), game.rng.getstate()
    solve.tree(game)
    assert (game.state_text(), game.rng.getstate()) == state


def test_a_best_response_that_peeks_would_be_seen(kuhn):
    """A planted fault: choosing the best move at every node, instead of at every information set, is clairvoyance."""
    bold = dict.fromkeys(kuhn.information, (0.0, 1.0))
    honest = solve.best_response(kuhn, bold, "second_0")
    assert honest == pytest.approx(best_by_hand({card_and_line(known): (0, 1) for known in bold}, 1))
    plans = tuple(
        tuple((tuple((n,) for group in own for n in group), others) for own, others in plan) for plan in kuhn.plans
    )
    peeking = solve.Tree(**{**{f: getattr(kuhn, f) for f in kuhn.__dataclass_fields__}, "plans": plans})
    assert solve.best_response(peeking, bold, "second_0") == pytest.approx(honest + 1 / 3 * 0.5)


def test_a_deal_too_wide_is_refused_before_its_outcomes_are_kept():
    """Twelve cards have 479,001,600 orders; the limit must hold long before they are listed."""

    class Wide(Game):
        roles = {"player": 1}
        dealt = 0

        def start(self, rng, task):
            Wide.dealt += 1
            cards = list(range(12))
            rng.shuffle(cards)
            return ("player_0",)

    with pytest.raises(ValueError, match="more than 50 nodes"):
        solve.tree(Wide(), limit=50)
    assert Wide.dealt <= 51
