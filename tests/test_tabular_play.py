"""The line from episodes to a gradient, on Kuhn poker with a table in place of a model: NashConv must fall."""

import asyncio

import pytest
import torch
from tokens import chatml

from arena import solve
from arena.agent import LLMAgent
from arena.chat import Chat
from arena.context import Context
from arena.engines.scripted import ScriptedEngine
from arena.make import make
from arena.play import Job, play_many
from roles import Reply, Role
from trainers.baselines import Baselines
from trainers.batch import make_batch
from trainers.config import CreditConfig, LossConfig
from trainers.credit import credit
from trainers.loss import decision_terms, padded
from trainers.rows import all_rows

CHAT = Chat(chatml())
ZERO = torch.zeros((), dtype=torch.float64)


class Table:
    """A logit for every reply after every prompt, and an agent that replies by it, among the legal moves."""

    def __init__(self):
        self.logits = {}
        engine = ScriptedEngine(CHAT.encode, [], weigh=self.weigh)
        self.agent = LLMAgent("table", Role(name="player", reply=Reply.legal), engine, CHAT)

    def weigh(self, prompt, reply):
        logit = self.logits.setdefault((tuple(prompt), tuple(reply)), ZERO)
        return [0.0] * (len(reply) - 1) + [logit.item() - 9.0]  # little mass on any legal move: it must not matter

    def step(self, batch, config, rate):
        """One step of plain gradient descent on the batch's loss."""
        prompts = [
            tuple(batch.tokens[batch.starts[b] :][: d.at].tolist())
            for d, b in zip(batch.decisions, batch.decision_row, strict=True)
        ]
        keys = [[(p, option) for option in d.options] for p, d in zip(prompts, batch.decisions, strict=True)]
        leaves = {key: self.logits[key].clone().requires_grad_() for several in keys for key in several}
        table, valid = padded([torch.stack([leaves[key] for key in several]) for several in keys])
        weight = torch.tensor(batch.decision_weight, dtype=torch.float64)
        loss, stats = decision_terms(table, valid, batch.decisions, weight, config)
        for key, gradient in zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True):
            self.logits[key] = self.logits[key] - rate * gradient
        return stats.means()

    def nash_conv(self, tree):
        return solve.nash_conv(
            tree, {info: asyncio.run(self.agent.odds(self.recalled(info))) for info in tree.information}
        )

    def recalled(self, info):
        context = Context()
        for heard, move in zip(info.heard, info.moves, strict=False):
            context.hear(heard)
            self.agent.recall(context, move)
        context.hear(info.heard[-1])
        context.legal = info.legal
        return context


def trained(config, sign=1.0, steps=30):
    """NashConv before and after `steps` of self-play, 16 deals of 8 games each."""
    table, tree, memory, loss = (
        Table(),
        solve.tree(make("kuhn_poker")),
        Baselines(),
        LossConfig(normalisation="episode"),
    )
    before = table.nash_conv(tree)
    for step in range(steps):
        jobs = [
            Job(
                make("kuhn_poker"),
                {"first": table.agent, "second": table.agent},
                seed=step * 16 + i // 8,
                stream=(0, i),
            )
            for i in range(128)
        ]
        episodes = asyncio.run(play_many(jobs, 128))
        found = credit(episodes, ["first", "second"], config, memory)
        stats = table.step(make_batch(all_rows(episodes, found, version=0)[0], loss.normalisation), loss, sign)
        assert stats["decision/moved_max"] == pytest.approx(0.0, abs=1e-5)  # the policy that played is the one trained
    return before, table.nash_conv(tree)


@pytest.mark.slow
@pytest.mark.parametrize("config", [CreditConfig("neurd", alpha=0.2), CreditConfig("peers")], ids=lambda c: c.estimator)
def test_nash_conv_falls_under_training(config):
    """Identity 7: from uniform play, whose NashConv is 11/12."""
    before, after = trained(config)
    assert before == pytest.approx(11 / 12)
    assert after < 0.45


@pytest.mark.slow
def test_nash_conv_rises_where_the_sign_of_the_gradient_is_wrong():
    """Identity 7's planted fault."""
    before, after = trained(CreditConfig("neurd", alpha=0.0), sign=-1.0, steps=10)
    assert after > before
