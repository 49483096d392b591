"""Situations in which the arithmetic of training went silently wrong elsewhere."""

import asyncio
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from tokens import chatml

from arena.agent import LLMAgent, ScriptedAgent
from arena.chat import Chat
from arena.context import Context, View
from arena.engines.scripted import ScriptedEngine
from arena.game import Game, GameInfo
from arena.make import make
from arena.play import play
from arena.types import Episode, Turn
from roles import Role, Sampling
from trainers import credit as rules
from trainers.baselines import Baselines
from trainers.batch import make_batch
from trainers.config import CreditConfig, LossConfig
from trainers.credit import SeatCredit, credit
from trainers.loss import token_terms
from trainers.rows import Row, all_rows, rows

CHAT = Chat(chatml())


class Crew(Game):
    """Three seats take turns, six in all; the team earns 1 at the second and at the fifth."""

    roles: Mapping[str, int] = {"crew": 3}
    info = GameInfo(cooperative=True)

    def start(self, rng, task):
        self.tell("go")
        return ("crew_0",)

    def legal(self, seat):
        return ("row",)

    def play(self, moves):
        if self.stage in (2, 5):
            self.score(**dict.fromkeys(self.possible_agents, 1.0))
        self.tell("go")
        return (f"crew_{self.stage % 3}",) if self.stage < 6 else ()


class Alone(Game):
    """One seat moves three times and earns 1, 0, 2."""

    roles: Mapping[str, int] = {"one": 1}

    def start(self, rng, task):
        return ("one_0",)

    def legal(self, seat):
        return ("go",)

    def play(self, moves):
        self.score(one_0=[1.0, 0.0, 2.0][self.stage - 1])
        return ("one_0",) if self.stage < 3 else ()


def speaker(say, name="live", **role):
    engine = ScriptedEngine(CHAT.encode, lambda ids, seed: say, end=CHAT.end)
    return LLMAgent(name, Role(name=name, **role), engine, CHAT)


def an_episode(returns, *, turns=1, length=2, seed=0, ending="over", fault=""):
    """Each seat of `returns` sampled `length` tokens at each of `turns` turns, with logprob -1."""
    contexts, made = {}, []
    for seat in returns:
        view = View()
        for i in range(turns):
            view.extend([1])
            view.extend([2] * length, logprobs=[-1.0] * length, version=0)
            made.append(Turn(seat, i, "", "", "m", True, span=(len(view.tokens) - length, len(view.tokens))))
        contexts[seat] = Context(views=[view], turn=turns)
    return Episode(f"e{seed}", "g", seed, None, {}, {}, tuple(made), contexts, returns, ending, fault=fault)


def a_row(length, advantage, role="a"):
    return Row(
        f"e{length}", "a_0", role, np.zeros(length, np.int32), np.ones(length, np.bool_),
        np.full(length, -1, np.float32), np.zeros(length, np.int32), np.ones(length, np.float32),
        np.full(length, advantage, np.float32),
    )  # fmt: skip


def loss_of(batch, rows_of_batch=None):
    """The batch's loss on the policy that sampled it, or that of some of its rows."""
    chosen = np.zeros(len(batch.tokens), bool)
    for b in range(len(batch.role)) if rows_of_batch is None else rows_of_batch:
        chosen[batch.starts[b] : batch.starts[b + 1]] = True
    chosen &= batch.mask
    columns = [torch.from_numpy(c[chosen]) for c in (batch.sampled_logp, batch.advantage, batch.weight)]
    loss, _ = token_terms(columns[0], *columns, LossConfig())
    return float(loss)


def test_a_shared_reward_is_earned_once_by_each_and_only_replies_are_trained():
    """O-08: the team's return is 2 and so is each seat's; a seat has as many samples as replies of its own."""
    crew = {"crew": speaker("[row]")}
    episode = asyncio.run(play(Crew(), crew, seed=1))
    assert dict(episode.returns) == {"crew_0": 2.0, "crew_1": 2.0, "crew_2": 2.0}
    found = credit([episode], ["crew"], CreditConfig("baseline"), Baselines())
    assert found.counters["return/crew"] == 2.0
    reply = [*CHAT.encode("[row]"), CHAT.end]
    for seat in episode.returns:
        (row,) = rows(episode, seat, "crew", SeatCredit((1.0, 1.0)), version=0)
        assert row.tokens[row.mask].tolist() == reply * 2


def test_the_end_of_each_own_turn_is_trained_though_it_is_also_the_padding():
    """O-16: pad and end of turn are one token here; others speak between; a row's loss is the same in a batch."""
    assert CHAT.tokenizer.pad_token_id == CHAT.end
    crew = {"crew_0": speaker("[row]"), "crew": speaker("so, after a long thought: [row]")}
    episode = asyncio.run(play(Crew(), crew, seed=1))
    found = {seat: rows(episode, seat, "crew", SeatCredit((1.0, 1.0)), version=0)[0] for seat in episode.returns}
    for row in found.values():
        own_ends = [i for i in np.flatnonzero(row.tokens == CHAT.end) if row.mask[i]]
        assert len(own_ends) == 2  # one each turn; the ends of the others' messages are context
        assert sum(row.tokens == CHAT.end) > 2
    short, long = found["crew_0"], found["crew_1"]
    assert len(short.tokens) < len(long.tokens)
    together = make_batch([short, long], "constant")
    assert len(together.tokens) == len(short.tokens) + len(long.tokens)
    for b, row in enumerate((short, long)):
        assert loss_of(together, [b]) == pytest.approx(loss_of(make_batch([row], "constant")), abs=1e-6)


@pytest.mark.parametrize("drop", [True, False])
def test_a_cut_off_sample_adds_nothing_anywhere_unless_it_is_asked_for(drop):
    """O-17: neither to the loss, the token count, nor the group's mean; one counter goes up."""
    group = [an_episode({"a_0": r}, length=n) for r, n in ((1.0, 2), (0.0, 3), (0.5, 4))]
    group.append(an_episode({"a_0": -9.0}, length=50, ending="cut_off", fault="a_0"))
    found = credit(group, ["a"], CreditConfig(drop_cut_off=drop), Baselines())
    batch = make_batch(all_rows(group, found, version=0, regularised=True)[0])
    assert found.counters["cut_off"] == 1
    if drop:
        assert [found.seats[i, "a_0"].advantages[0] for i in range(3)] == pytest.approx([0.75, -0.75, 0.0])
        assert batch.mask.sum() == 9
        assert batch.weight.max() == pytest.approx(1 / 9)
    else:
        assert found.seats[0, "a_0"].advantages[0] == pytest.approx(1 - (0 + 0.5 - 9) / 3)
        assert batch.mask.sum() == 59


def test_no_seat_of_a_game_that_was_cut_off_is_trained():
    """O-17: the other seats did nothing wrong, but their returns are of half a game."""
    group = [an_episode({"a_0": 1.0, "b_0": 1.0}, ending="cut_off", fault="a_0"), an_episode({"a_0": 0.0, "b_0": 0.0})]
    found = credit(group, ["a", "b"], CreditConfig(), Baselines())
    assert set(found.seats) == {(1, "a_0"), (1, "b_0")}
    assert found.counters["cut_off"] == 2


def test_every_reward_counts_and_each_turn_knows_what_was_still_to_come(monkeypatch):
    """O-18: rewards 1, 0, 2 are a return of 3; from the turns on 3, 2, 2."""
    episode = asyncio.run(play(Alone(), {"one": ScriptedAgent(["[go]"] * 3)}, seed=1))
    seen = []

    def look(trajectories, config, baselines):
        seen.extend(trajectories)
        return rules.peers(trajectories, config, baselines)

    monkeypatch.setitem(rules.ESTIMATORS, "look", look)
    credit([episode], ["one"], CreditConfig("look"), Baselines())
    (one,) = seen
    assert one.value == 3.0
    assert one.to_go == (3.0, 2.0, 2.0)


@pytest.mark.parametrize("normalisation", ["token", "sequence", "role"])
@pytest.mark.parametrize("micro_batches", [1, 2, 4, 8, 32])
def test_a_constant_loss_of_one_stays_one_however_the_step_is_split(normalisation, micro_batches):
    """O-21: uneven lengths, two roles; an advantage of -1 costs 1 a token. Fault: each part by its own count."""
    found = [a_row(1 + i % 5, -1.0, "ab"[i % 3 == 0]) for i in range(32)]
    batch = make_batch(found, normalisation)
    parts = [list(part) for part in np.array_split(np.arange(32), micro_batches)]
    assert sum(loss_of(batch, part) for part in parts) == pytest.approx(1.0, abs=1e-6)
    fault = sum(loss_of(make_batch([found[b] for b in part], normalisation)) for part in parts)
    assert fault == pytest.approx(micro_batches)


@pytest.mark.parametrize("estimator", ["peers", "grpo", "baseline"])
def test_what_could_not_be_scored_is_neither_a_zero_nor_trained(estimator):
    """O-22, and O-26 behind the game: 1, 0, None and an infra failure; then a group without any score."""
    group = [an_episode({"a_0": r}) for r in (1.0, 0.0, None, math.nan)]
    group.append(an_episode({"a_0": 0.0}, ending="infra"))
    found = credit(group, ["a"], CreditConfig(estimator), Baselines())
    assert set(found.seats) == {(0, "a_0"), (1, "a_0")}
    first, second = (found.seats[i, "a_0"].advantages[0] for i in (0, 1))
    assert first == pytest.approx(-second)  # the mean is 0.5
    assert first == pytest.approx(1.0, abs=1e-5)
    assert found.counters["unscored"] == 3
    batch = make_batch(all_rows(group, found, version=0)[0])
    assert batch.mask.sum() == 4
    found = credit(group[2:], ["a"], CreditConfig(estimator), Baselines())
    assert (dict(found.seats), found.counters["unscored"], found.counters["groups"]) == ({}, 3, 0)
    empty = make_batch(all_rows(group[2:], found, version=0)[0])
    assert loss_of(empty) == 0.0


def test_a_trajectory_counts_once_in_its_group_however_long_it_is(monkeypatch):
    """O-23, identity 11: rewards 1, 0, 1, 0 over 2, 1, 2, 1 turns have baseline 1/2, and not 2/3 over six turns."""
    group = [an_episode({"a_0": r}, turns=n) for r, n in ((1.0, 2), (0.0, 1), (1.0, 2), (0.0, 1))]

    def spread():
        found = credit(group, ["a"], CreditConfig("grpo"), Baselines())
        assert (found.counters["groups"], found.counters["group_size"]) == (1, 4)
        return [found.seats[i, "a_0"].advantages for i in range(4)]

    one, zero = pytest.approx(1.0, abs=1e-5), pytest.approx(-1.0, abs=1e-5)
    assert spread() == [(one, one), (zero,), (one, one), (zero,)]
    found = credit(group, ["a"], CreditConfig("peers"), Baselines())
    assert found.seats[0, "a_0"].advantages[0] == pytest.approx(1 - 1 / 3)  # the others: 0, 1, 0
    assert found.counters["advantage/a"] == pytest.approx(0.0)

    def by_turn(trajectories):  # the planted fault: every turn enters the group
        groups = defaultdict(list)
        for i, trajectory in enumerate(trajectories):
            groups[trajectory.peers] += [i] * len(trajectory.turns)
        return groups

    monkeypatch.setattr("trainers.credit.whole.groups", by_turn)
    with pytest.raises(AssertionError):
        assert spread() == [(one, one), (zero,), (one, one), (zero,)]


def test_a_valid_task_that_all_or_none_solve_earns_zero_and_only_a_malformed_one_is_fined():
    """O-42: solver rates 0, 1/4, 1 and a malformed proposal, through the game and its credit."""
    game = make("proposer_solver", solvers=4)
    role = {"action": r"(?s)(.*)"}

    def proposal(right, sum_of="0 + 10"):
        game.reset(seed=3)
        answer = str(int(game.digit + "0") + 10)
        seats = {f"solver_{i}": ScriptedAgent([answer if i < right else "1"], role=Role(**role)) for i in range(4)}
        return asyncio.run(play(game, {"proposer": ScriptedAgent([sum_of], role=Role(**role)), **seats}, seed=3))

    episodes = [proposal(0), proposal(1), proposal(4), proposal(4, "no sum")]
    assert [episode.returns["proposer_0"] for episode in episodes] == [0.0, 0.75, 0.0, -0.5]
    found = credit(episodes, ["proposer", "solver"], CreditConfig(), Baselines())
    advantages = [found.seats[i, "proposer_0"].advantages[0] for i in range(4)]
    assert advantages == pytest.approx([4 / 3 * (r - 0.0625) for r in (0.0, 0.75, 0.0, -0.5)])
    assert not any(seat.startswith("solver") for i, seat in found.seats if i == 3)  # no solver was ever asked
    assert found.counters["silent"] == 4


@pytest.mark.parametrize("column", ["tokens", "mask", "logprobs", "versions", "temperatures"])
def test_columns_of_uneven_length_are_refused_with_episode_and_seat(column):
    """O-15: whichever column is short, before any batch is built."""
    role = Role(name="a", sampling=Sampling(max_tokens=8))
    agent = LLMAgent("live", role, ScriptedEngine(CHAT.encode, lambda ids, seed: "[row]", end=CHAT.end), CHAT)
    episode = asyncio.run(play(Crew(), {"crew": agent}, seed=1))
    episode = replace(episode, id="e7")
    getattr(episode.contexts["crew_1"].view, column).pop()
    with pytest.raises(ValueError, match=rf"episode e7, crew_1, view 0: lengths differ: .*'{column}': \d+"):
        rows(episode, "crew_1", "crew", SeatCredit((1.0, 1.0)), version=0)
