"""Credit: who is compared with whom, and what comes of it; every number is worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.context import Choice, Context, View
from arena.types import Episode, Turn
from trainers import credit as rules
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit, legality_advantages, option_advantages

PEERS, GRPO, BASELINE = (CreditConfig(estimator=name) for name in ("peers", "grpo", "baseline"))


def an_episode(returns, *, seed=0, turns=None, ending="over", faced=None, game="g", rewards=None, moves=None):
    """An episode without tokens: `turns` lists who replied (by default each seat once), `rewards` what each paid."""
    order = turns if turns is not None else list(returns)
    rewards = rewards or [{}] * len(order)
    moves = moves or ["m"] * len(order)
    made = tuple(
        Turn(s, i, "", m, m, True, rewards=r) for i, (s, m, r) in enumerate(zip(order, moves, rewards, strict=True))
    )
    contexts = {seat: Context() for seat in returns}
    return Episode(f"e{seed}", game, seed, None, {}, faced or {}, made, contexts, returns, ending)


def firsts(found, seat, count):
    """The advantage at the first turn of `seat` in each of `count` episodes."""
    return [found.seats[i, seat].advantages[0] for i in range(count)]


def test_a_seat_is_compared_with_the_others_who_had_the_same_deal():
    episodes = [an_episode({"a_0": r}, seed=7) for r in (1.0, 0.0, 0.5)] + [an_episode({"a_0": 100.0}, seed=8)] * 2
    found = credit(episodes, ["a"], PEERS, Baselines())
    assert firsts(found, "a_0", 5) == pytest.approx([0.75, -0.75, 0.0, 0.0, 0.0])
    assert found.counters["groups"] == 2
    assert found.counters["zero_signal_groups"] == 1


def test_solvers_who_face_one_task_are_peers_across_seats_and_deals():
    posed = {"solver_0": "t", "solver_1": "t"}
    episodes = [an_episode({"solver_0": 1.0, "solver_1": 0.0}, seed=s, faced=posed) for s in (1, 2)]
    found = credit(episodes, ["solver"], PEERS, Baselines())
    assert found.counters["groups"] == 1
    assert firsts(found, "solver_0", 2) == pytest.approx([2 / 3, 2 / 3])
    assert firsts(found, "solver_1", 2) == pytest.approx([-2 / 3, -2 / 3])


def test_roles_games_and_tasks_are_never_compared():
    episodes = [
        an_episode({"a_0": 1.0, "b_0": 5.0}, seed=1),
        an_episode({"a_0": 0.0, "b_0": 7.0}, seed=1),
        an_episode({"a_0": 9.0}, seed=1, game="h"),
    ]
    found = credit(episodes, ["a", "b"], PEERS, Baselines())
    assert firsts(found, "a_0", 2) == [1.0, -1.0]
    assert firsts(found, "b_0", 2) == [-2.0, 2.0]


def test_a_frozen_seat_never_enters_a_group():
    episodes = [an_episode({"a_0": r, "judge_0": 9.0}, seed=1) for r in (1.0, 0.0)]
    found = credit(episodes, ["a"], PEERS, Baselines())
    assert set(found.seats) == {(0, "a_0"), (1, "a_0")}
    assert "advantage/judge" not in found.counters


def test_alone_in_its_group_a_seat_is_compared_with_the_baseline():
    memory = Baselines()
    memory.update("g", "a", 0.25, 0.95)
    found = credit([an_episode({"a_0": 1.0}, seed=1), an_episode({"a_0": 0.0}, seed=2)], ["a"], PEERS, memory)
    assert firsts(found, "a_0", 2) == [0.75, -0.25]
    assert found.counters["alone"] == 2


def test_the_baseline_is_read_before_it_is_updated_and_once_a_batch():
    memory = Baselines()
    first = credit([an_episode({"a_0": r}, seed=r) for r in (2.0, 4.0)], ["a"], BASELINE, memory)
    assert firsts(first, "a_0", 2) == [-2.0, 2.0]  # nothing known yet: the other of the batch
    assert memory.mean("g", "a") == 3.0  # and not 0.05 x 3: no zero start
    second = credit([an_episode({"a_0": r}, seed=r) for r in (0.0, 10.0)], ["a"], BASELINE, memory)
    assert firsts(second, "a_0", 2) == [-3.0, 7.0]
    assert memory.mean("g", "a") == pytest.approx((0.95 * 3 + 5) / 1.95)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_within_a_batch_changes_no_baseline(returns, shuffle):
    mixed = list(returns)
    shuffle.shuffle(mixed)
    memories = []
    for values in (returns, mixed):
        memories.append(Baselines())
        credit([an_episode({"a_0": r}, seed=i) for i, r in enumerate(values)], ["a"], BASELINE, memories[-1])
    assert memories[0].mean("g", "a") == pytest.approx(memories[1].mean("g", "a"))


def test_grpo_divides_by_the_deviation_and_a_constant_group_is_exactly_zero():
    mixed = [an_episode({"a_0": r}, seed=1) for r in (1.0, 0.0)]
    same = [an_episode({"a_0": 0.1}, seed=2)] * 3  # the mean of three 0.1 is not 0.1 in floating point
    found = credit(mixed + same, ["a"], GRPO, Baselines())
    assert firsts(found, "a_0", 2) == pytest.approx([0.5 / (0.5 + 1e-6), -0.5 / (0.5 + 1e-6)])
    assert [found.seats[i, "a_0"].advantages for i in (2, 3, 4)] == [(0.0,)] * 3


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=6),
    st.floats(-100, 100),
    st.sampled_from(["peers", "grpo"]),
)
def test_a_constant_added_to_all_rewards_changes_nothing(returns, constant, estimator):
    """Identity 5."""
    if estimator == "grpo" and 0 < np.ptp(returns) < 1e-3:
        return  # the division by 1e-6 makes rounding visible
    config = CreditConfig(estimator=estimator)
    plain, moved = (
        credit([an_episode({"a_0": r + c}, seed=1) for r in returns], ["a"], config, Baselines())
        for c in (0.0, constant)
    )
    assert firsts(plain, "a_0", len(returns)) == pytest.approx(firsts(moved, "a_0", len(returns)), abs=1e-9)


def test_a_baseline_drawn_towards_zero_is_seen(monkeypatch):
    """The planted fault of identity 5: a mean over one sample too many lets a constant through."""
    monkeypatch.setattr(
        "trainers.credit.whole.leave_one_out", lambda values: np.array(values) - sum(values) / (len(values) + 1)
    )
    plain, moved = (
        credit([an_episode({"a_0": r + c}, seed=1) for r in (0.0, 1.0)], ["a"], CreditConfig(), Baselines())
        for c in (0.0, 6.0)
    )
    assert np.subtract(firsts(moved, "a_0", 2), firsts(plain, "a_0", 2)) == pytest.approx([2.0, 2.0])


def zero_sum_games(rng, count):
    """Equal players in a game whose first seat is better off by 1: a die each and a bonus."""
    episodes = []
    for i in range(count):
        first = 1.0 + float(rng.choice([-1.0, 1.0]))
        episodes.append(an_episode({"first_0": first, "second_0": -first}, seed=i // 4))
    return episodes


@pytest.mark.parametrize("estimator", ["peers", "grpo"])
def test_equal_players_of_a_zero_sum_game_get_no_advantage_from_their_seat(estimator):
    """Identity 6: by role the mean advantage is 0, though the seats' returns are 1 and -1 on average."""
    found = credit(
        zero_sum_games(np.random.default_rng(0), 40), ["first", "second"], CreditConfig(estimator), Baselines()
    )
    for role in ("first", "second"):
        assert found.counters[f"advantage/{role}"] == pytest.approx(0.0, abs=1e-12)
        assert abs(found.counters[f"return/{role}"]) > 0.5


def test_a_baseline_that_forgets_the_role_would_give_an_advantage_to_the_seat(monkeypatch):
    """Identity 6 under `baseline`, and the planted fault that breaks it: one average for both roles."""

    def settled():
        rng, memory = np.random.default_rng(0), Baselines()
        for _ in range(60):
            found = credit(zero_sum_games(rng, 64), ["first", "second"], BASELINE, memory)
        return [found.counters["advantage/first"], found.counters["advantage/second"]]

    assert settled() == pytest.approx([0.0, 0.0], abs=0.3)
    mean, update = Baselines.mean, Baselines.update
    monkeypatch.setattr(Baselines, "mean", lambda self, game, role: mean(self, game, "any"))
    monkeypatch.setattr(
        Baselines, "update", lambda self, game, role, value, decay: update(self, game, "any", value, decay)
    )
    first, second = settled()
    assert first > 0.7
    assert second < -0.7


def test_role_weights_multiply_the_advantages_of_their_role_only():
    episodes = [an_episode({"a_0": r, "b_0": r}, seed=1) for r in (1.0, 0.0)]
    found = credit(episodes, ["a", "b"], replace(PEERS, role_weights={"a": 0.5}), Baselines())
    assert firsts(found, "a_0", 2) == [0.5, -0.5]
    assert firsts(found, "b_0", 2) == [1.0, -1.0]


def test_who_proposes_what_others_propose_shares_the_reward_but_not_the_penalty():
    def proposals(moves, returns):
        return [
            an_episode({"proposer_0": r}, seed=1, turns=["proposer_0"], moves=[m])
            for m, r in zip(moves, returns, strict=True)
        ]

    config = replace(PEERS, share=["proposer"])
    found = credit(proposals("xxy", [1.0, 1.0, 1.0]), ["proposer"], config, Baselines())
    assert firsts(found, "proposer_0", 3) == pytest.approx([-0.25, -0.25, 0.5])  # returns 1/2, 1/2, 1
    found = credit(proposals("xxy", [-1.0, -1.0, 1.0]), ["proposer"], config, Baselines())
    assert firsts(found, "proposer_0", 3) == pytest.approx([-1.0, -1.0, 2.0])
    other = [replace(e, faced={"proposer_0": t}) for e, t in zip(proposals("xx", [1.0, 1.0]), "ab", strict=True)]
    found = credit([*other, *other], ["proposer"], replace(BASELINE, share=["proposer"]), Baselines())
    assert found.counters["return/proposer"] == 0.5  # one move, but it answers two tasks: shared by two each
    found = credit(proposals("xxy", [1.0, 1.0, 1.0]), ["proposer"], PEERS, Baselines())
    assert firsts(found, "proposer_0", 3) == [0.0] * 3


def test_an_unknown_estimator_is_told_the_nearest_and_a_foreign_one_is_found():
    with pytest.raises(ValueError, match="did you mean 'peers'"):
        rules.find("peer")
    with pytest.raises(ValueError, match="can't be loaded"):
        rules.find("trainers.credit:nothing")
    assert rules.find("trainers.credit:grpo") is rules.grpo


def test_an_estimator_that_loses_a_trajectory_is_refused(monkeypatch):
    monkeypatch.setitem(rules.ESTIMATORS, "peers", lambda trajectories, config, baselines: [])
    with pytest.raises(ValueError, match="0 credits for 1 trajectories"):
        credit([an_episode({"a_0": 1.0})], ["a"], PEERS, Baselines())


def test_what_credit_remembers_comes_back_from_json_to_the_last_bit():
    memory = Baselines()
    pi = (0.7, 0.3)
    episodes = [choosing(0, 1.0, pi=pi), choosing(1, -1.0, pi=pi)]
    credit(episodes, ["a"], CreditConfig("neurd", drift=0.3, alpha=0.1), memory)
    credit([an_episode({"a_0": r}, seed=r) for r in (2.0, 4.1)], ["a"], BASELINE, memory)
    copy = Baselines()
    copy.load(json.loads(json.dumps(memory.state())))
    assert copy.state() == memory.state()
    after = [credit([choosing(0, 0.3)], ["a"], CreditConfig("neurd", alpha=0.1), m) for m in (memory, copy)]
    np.testing.assert_array_equal(after[0].seats[0, "a_0"].options[0], after[1].seats[0, "a_0"].options[0])


# -- neurd -------------------------------------------------------------------------------------------------------------


def choosing(taken, value, *, pi=(0.5, 0.5), drawn=True, prompt=(1, 2), ending="over", by="a_0"):
    """One seat that took one option (-1: an illegal reply) at one prompt. With `by`, whose reply ended the game."""
    options = tuple((10 + a,) for a in range(len(pi)))
    view = View()
    view.extend(prompt)
    reply = options[taken] if taken >= 0 else (99,)
    view.extend(reply, logprobs=None if drawn else [-1.0] * len(reply), version=0)
    choice = Choice(
        len(prompt), options, tuple("xyz"[: len(pi)]), taken, 0, 0, 0, tuple(float(x) for x in np.log(pi)), drawn
    )
    context = Context(views=[view], choices=[choice], turn=1)
    span = (len(prompt), len(view.tokens))
    paid = {"a_0": value}
    if by == "a_0":
        turns = (Turn("a_0", 0, "", "", "", taken >= 0, rewards=paid, span=span),)
    else:
        turns = (Turn("a_0", 0, "", "", "", taken >= 0, span=span), Turn(by, 1, "", "", "", False, rewards=paid))
    return Episode("e", "g", 0, None, {}, {}, turns, {"a_0": context}, {"a_0": value}, ending)


def neurd_of(episodes, memory=None, **changes):
    config = CreditConfig(estimator="neurd", gap=0.0, option_decay=0.0)
    found = credit(episodes, ["a"], replace(config, **changes), memory or Baselines())
    return [found.seats[i, "a_0"] for i in range(len(episodes))]


def test_every_option_is_pushed_by_its_mean_return_minus_the_sets_value():
    taken = [choosing(0, 1.0, pi=(0.75, 0.25)), choosing(0, 0.0, pi=(0.75, 0.25)), choosing(1, 2.0, pi=(0.75, 0.25))]
    for one in neurd_of(taken):  # q = (0.5, 2), v = 0.75 x 0.5 + 0.25 x 2 = 0.875
        np.testing.assert_allclose(one.options[0], [-0.375, 1.125])
        assert one.advantages == (0.0,)


def test_what_was_seen_before_makes_another_information_set():
    found = neurd_of(
        [choosing(0, 1.0), choosing(1, 0.0), choosing(0, 0.0, prompt=(1, 3)), choosing(1, 1.0, prompt=(1, 3))]
    )
    np.testing.assert_allclose(found[0].options[0], [0.5, -0.5])
    np.testing.assert_allclose(found[2].options[0], [-0.5, 0.5])


def test_the_push_is_not_multiplied_by_the_moves_probability():
    """A move of 1 % that is worth 1 more is pushed by nearly 1; a policy gradient would push it by nearly 0.01."""
    np.testing.assert_allclose(option_advantages([0.0, 1.0], [0.99, 0.01]), [-0.01, 0.99])


def test_an_option_that_was_never_drawn_is_neither_pushed_nor_part_of_the_value():
    np.testing.assert_array_equal(option_advantages([np.nan, 1.0], [0.5, 0.5]), [0.0, 0.0])
    np.testing.assert_allclose(option_advantages([np.nan, 1.0, 0.0], [0.5, 0.25, 0.25]), [0.0, 0.5, -0.5])


def test_the_pull_to_the_magnet_is_zero_at_the_magnet_and_sums_to_zero_under_the_policy():
    q, pi, m = [0.0, 0.0, 0.0], np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(option_advantages(q, pi, alpha=0.5, magnet=pi), 0.0, atol=1e-12)
    pulled = option_advantages(q, pi, alpha=0.5, magnet=m)
    kl = (pi * np.log(pi / m)).sum()
    np.testing.assert_allclose(pulled, -0.5 * (np.log(pi / m) - kl))
    assert pi @ pulled == pytest.approx(0.0)
    np.testing.assert_allclose(
        option_advantages(q, pi, alpha=0.5), option_advantages(q, pi, alpha=0.5, magnet=np.full(3, 1 / 3))
    )


def test_no_push_takes_a_probability_further_out_than_the_gap():
    assert option_advantages([0.0, 1.0], [0.01, 0.99], gap=0.02).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(option_advantages([1.0, 0.0], [0.01, 0.99], gap=0.02), [0.99, -0.01])
    np.testing.assert_allclose(option_advantages([0.0, 1.0], [0.03, 0.97], gap=0.02), [-0.97, 0.03])


def test_regularised_play_settles_where_policy_is_magnet_times_exp_q():
    """The fixed point of the pushes in a one-shot choice is pi ~ m exp(q / alpha): a quantal response."""
    q, m, alpha = np.array([1.0, 0.0, 0.5]), np.array([0.2, 0.5, 0.3]), 0.7
    logits = np.zeros(3)
    for _ in range(4000):
        pi = np.exp(logits) / np.exp(logits).sum()
        logits += 0.05 * option_advantages(q, pi, alpha=alpha, magnet=m)
    expected = m * np.exp(q / alpha)
    np.testing.assert_allclose(pi, expected / expected.sum(), atol=1e-6)


def test_a_rarely_drawn_option_keeps_an_estimate_that_fades():
    memory = Baselines()
    neurd_of([choosing(0, 1.0), choosing(1, -1.0)], memory, option_decay=0.5)
    (one,) = neurd_of([choosing(0, 0.0)], memory, option_decay=0.5)
    # q0 = (0.5 x 1 + 0) / 1.5 = 1/3, q1 = -1 from before
    np.testing.assert_allclose(one.options[0], [2 / 3, -2 / 3], rtol=1e-6)
    (one,) = neurd_of([choosing(0, 0.0)], memory, option_decay=0.0)
    assert one.options[0].tolist() == [0.0, 0.0]


def test_the_magnet_drifts_towards_the_policy_batch_by_batch():
    memory = Baselines()
    pi = np.array([0.8, 0.2])
    (before,) = neurd_of([choosing(0, 0.0, pi=pi)], memory, alpha=1.0, drift=0.5)
    (after,) = neurd_of([choosing(0, 0.0, pi=pi)], memory, alpha=1.0, drift=0.5)
    np.testing.assert_allclose(before.options[0], option_advantages([np.nan] * 2, pi, alpha=1.0), rtol=1e-6)
    moved = np.sqrt(0.5 * pi) / np.sqrt(0.5 * pi).sum()
    np.testing.assert_allclose(
        after.options[0], option_advantages([np.nan] * 2, pi, alpha=1.0, magnet=moved), rtol=1e-6
    )


def test_a_magnet_of_ones_own_is_asked_for_every_choice():
    trajectories, seen = [], []

    def remember(given, config, memory):
        trajectories.extend(given)
        return rules.peers(given, config, memory)

    rules.ESTIMATORS["remember"] = remember
    try:
        credit([choosing(0, 0.0, pi=(0.8, 0.2))], ["a"], CreditConfig("remember"), Baselines())
    finally:
        del rules.ESTIMATORS["remember"]

    def magnet(trajectory, choice):
        seen.append((trajectory.role, choice.moves))
        return [0.8, 0.2]

    (one,) = rules.neurd(trajectories, CreditConfig("neurd", alpha=1.0), Baselines(), magnet)
    np.testing.assert_allclose(one.options[0], 0.0, atol=1e-6)
    assert seen == [("a", ("x", "y"))]


def test_legality_pushes_have_mean_zero_and_reach_a_set_where_all_is_illegal():
    found = legality_advantages([[True, True], [False, False, True, False]])
    # the batch: 3 of 6; the sets: 1 and 1/4; so b = 0.75 and 0.375
    np.testing.assert_allclose(found[0], [-0.25, -0.25])
    np.testing.assert_allclose(found[1], [0.375, 0.375, -0.625, 0.375])
    assert np.concatenate(found).mean() == pytest.approx(0.0)
    assert legality_advantages([]) == []


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_mean_legality_push_is_always_zero(illegal):
    assert np.concatenate(legality_advantages(illegal)).mean() == pytest.approx(0.0, abs=1e-12)


def test_free_replies_learn_legality_by_token_at_the_price_of_a_forfeit():
    episodes = [choosing(-1, -2.0, drawn=False, ending="forfeit"), choosing(0, 1.0, drawn=False)]
    config = CreditConfig("neurd", legality=0.5)
    found = credit(episodes, ["a"], config, Baselines(), forfeits={"g": -2.0})
    assert found.seats[0, "a_0"].advantages == (-0.5,)  # b = 1/2: -(1 - b) x |-2| x 0.5
    assert found.seats[1, "a_0"].advantages == (0.5,)
    assert found.seats[0, "a_0"].options[0].tolist() == [0.0, 0.0]


def test_a_win_by_anothers_forfeit_says_nothing_of_the_move():
    gift = choosing(1, 9.0, ending="forfeit", by="b_0")
    found = neurd_of([gift, choosing(0, 1.0), choosing(1, 0.0)])
    np.testing.assert_allclose(found[0].options[0], [0.5, -0.5])
    own = choosing(1, 9.0, ending="forfeit")  # the same return, but its own doing
    np.testing.assert_allclose(neurd_of([own, choosing(0, 1.0), choosing(1, 0.0)])[0].options[0], [-1.75, 1.75])


def test_neurd_without_scored_options_says_what_to_set():
    with pytest.raises(ValueError, match=r"rollout.score_options=true"):
        credit([an_episode({"a_0": 1.0})], ["a"], CreditConfig("neurd"), Baselines())


def test_an_impossible_probability_is_named():
    broken = choosing(0, 1.0)
    choices = broken.contexts["a_0"].choices
    choices[0] = replace(choices[0], logprobs=(float("nan"), -1.0))
    with pytest.raises(ValueError, match=r"options \['x', 'y'\] have log-probabilities"):
        neurd_of([broken])
