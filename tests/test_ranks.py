"""Several ranks are one trainer: the same gradient, the same weights, one end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from networks import network
from runs import differing, kuhn, left
from sampled import decision, row

from arena.chat import Chat
from arena.config import ConfigError
from arena.engines import models
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from arena.folder import alive
from trainers import checkpoint, ranks, train
from trainers.batch import make_batch
from trainers.config import CreditConfig, LossConfig, OptimConfig, RolloutConfig
from trainers.credit import baseline
from trainers.learner import Learner
from trainers.ranks import ALONE, RankLost, Ranks, _meet, started
from trainers.rollout import Rollout


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path_factory.getbasetemp() / "models"))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(ranks, "PATIENCE", timedelta(seconds=20))


def on_each(size, work, make=lambda: None):
    """What `work(ranks, make())` gives on every rank: real gloo groups, one thread each.

    Everything is made before the threads begin: transformers makes models by torch's default dtype, which is global.
    """
    meeting, made = Path(f"meeting_{time.monotonic_ns()}").resolve(), [make() for _ in range(size)]

    def one(rank):
        return work(Ranks(rank, size, _meet(meeting, rank, size, {})), made[rank])

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


# -- the noun ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_shares_one_after_another_are_the_whole_and_nearly_equal(size):
    for count in range(12):
        parts = [Ranks(rank, size).share(range(count)) for rank in range(size)]
        assert [item for part in parts for item in part] == list(range(count))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_all_ranks_hear_all_in_the_order_of_ranks_and_add_up_to_the_same():
    def work(ranks, _):
        said = ranks.gather({"rank": ranks.rank, "long": "é" * 1000 * ranks.rank, "nan": float("nan")})
        tensor = torch.tensor([0.1, 0.2, 0.3]) * (ranks.rank + 1)
        ranks.add_up([tensor])
        return [(one["rank"], len(one["long"])) for one in said], tensor.tolist()

    found = on_each(3, work)
    assert found[0] == found[1] == found[2]
    assert found[0][0] == [(0, 0), (1, 1000), (2, 2000)]
    assert found[0][1] == pytest.approx([0.6, 1.2, 1.8])


def test_one_rank_touches_nothing():
    given, tensor = object(), torch.ones(2)
    assert ALONE.gather(given)[0] is given
    ALONE.add_up([tensor])
    assert tensor.tolist() == [1, 1]


# -- identity 3: ranks can't change the gradient -----------------------------------------------------------------------


def uneven(model):
    """Rows of 3 to 40 tokens, some with decisions, of two roles."""
    rng, rows = np.random.default_rng(1), []
    for i, length in enumerate((3, 40, 5, 17, 4, 4, 29)):
        tokens = [1, 2, *rng.integers(3, 20, length - 2).tolist()]
        made = decision(model, tokens, 2, [(3,), (4, 5)], advantages=np.array([1.0, -0.5], np.float32))
        trained = range(2, length, 1 + i % 3)
        advantage = np.zeros(length)
        advantage[list(trained)] = rng.normal(size=len(trained))
        role = ("first", "second")[i % 2]
        decisions = (made,) if i % 3 == 0 else ()
        rows.append(row(model, tokens, trained, advantage=advantage, role=role, episode=f"e{i}", decisions=decisions))
    return rows


def gradient(batch, micro_tokens, ranks, model):
    """(gradient [all weights], loss, mean statistics, tokens) as this rank sees them."""
    optim, loss = OptimConfig(micro_tokens=micro_tokens, clip_norm=0.0), LossConfig(entropy=0.01)
    own = Learner(model, optim, loss, 10, ranks)
    total, stats, tokens, _ = own.gradient(batch)
    return torch.cat([p.grad.flatten() for p in own.parameters.values()]), total, stats.means(), tokens


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("normalisation", ["token", "role"])
def test_the_gradient_over_ranks_is_that_of_one_process(size, normalisation):
    """Identity 3, on real gloo ranks, with rows of uneven lengths."""
    batch = make_batch(uneven(network()), normalisation)
    expected, loss, means, tokens = gradient(batch, 30, ALONE, network())
    found = on_each(size, lambda ranks, model: gradient(batch, 30, ranks, model), network)
    for part in found:
        assert torch.equal(part[0], found[0][0])
        assert float((part[0] - expected).norm() / expected.norm()) < 1e-6
        assert part[1] == pytest.approx(loss, rel=1e-6)
        assert part[2] == pytest.approx(means, rel=1e-6)
        assert part[3] == tokens


def test_a_rank_without_a_pack_still_gets_the_whole():
    batch = make_batch(uneven(network()))
    expected = gradient(batch, 10_000, ALONE, network())[0]
    for found in on_each(2, lambda ranks, model: gradient(batch, 10_000, ranks, model), network):
        assert float((found[0] - expected).norm() / expected.norm()) < 1e-6


def test_weights_of_each_rank_alone_would_be_seen():
    """The planted fault: ranks that normalise by their own rows and average, as data parallelism often does."""
    rows = uneven(network())
    expected = gradient(make_batch(rows), 30, ALONE, network())[0]
    parts = [gradient(make_batch(Ranks(rank, 2).share(rows)), 30, ALONE, network())[0] for rank in (0, 1)]
    assert float((sum(parts) / 2 - expected).norm() / expected.norm()) > 1e-2


def test_gathered_episodes_are_those_of_one_process():
    """Every rank hears the same games in the same order; words and log-probabilities come through JSON whole."""
    config = kuhn(rollout=RolloutConfig(deals=3, samples=1))

    def rollout():
        model, tokenizer = models.load(models.find("tiny"))
        return Rollout(config, TorchEngine(Transformer(model)), Chat(tokenizer))

    alone = rollout().play(2)
    one, other = on_each(2, lambda ranks, own: own.play(2, ranks), rollout)
    assert [repr(episode) for episode in one] == [repr(episode) for episode in other]
    assert [(e.id, e.turns, e.returns) for e in one] == [(e.id, e.turns, e.returns) for e in alone]
    for ours, theirs in zip(one, alone, strict=True):
        for seat, context in ours.contexts.items():
            assert context.view.tokens == theirs.contexts[seat].view.tokens


def test_ranks_that_have_drifted_apart_stop_the_run():
    engine = SimpleNamespace(checksum=lambda: "aa")
    ranks = SimpleNamespace(size=2, gather=lambda own: [own, [own[0], "bb"]])
    with pytest.raises(train.TrainingStopped, match="rank 1 has weights bb of step 4, rank 0 aa of step 4"):
        train.Training._agree(SimpleNamespace(ranks=ranks, engine=engine, step=4))


def test_more_ranks_than_games_are_refused():
    with pytest.raises(ConfigError, match="ranks is 9: give a number of at least 1 and at most 8"):
        kuhn(ranks=9)


# -- whole runs in processes -------------------------------------------------------------------------------------------


def follows() -> bool:
    """Whether this process is not the first rank."""
    return sys.argv[0] == "-c"


def mortal(trajectories, config, baselines):
    """The estimator `baseline`, but that while there is a file `doom` the second rank dies in the step it tells."""
    doom = Path("doom")
    if follows() and doom.exists():
        left = int(doom.read_text()) - 1
        doom.write_text(str(left))
        if not left:
            doom.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    return baseline(trajectories, config, baselines)


def shared(**changes):
    estimator = CreditConfig(estimator=f"{__name__}:mortal")
    return replace(kuhn(save_every=1, credit=estimator, optim=OptimConfig(lr=1e-3, micro_tokens=60)), **changes)


@pytest.mark.slow
def test_two_ranks_are_one_run_and_go_on_after_every_death(tmp_path):
    """O-53, identities 3 and 9: within rounding of one process; interrupted, killed and gone on with, the same bytes as
    if never stopped; the cause is named, and nothing hangs."""
    alone = train.run(shared(), tmp_path / "alone")
    whole = train.run(shared(ranks=2), tmp_path / "whole")
    last = "step_000006"
    one, two = (checkpoint.load(run / "checkpoints" / last).tensors["weights"] for run in (alone, whole))
    start = checkpoint.load(alone / "checkpoints" / "step_000005").tensors["weights"]
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 2e-5
    assert max(float((one[name] - start[name]).abs().max()) for name in one) > 5e-4

    def interrupt(done, figures=None):
        if done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    run = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt, match="saved at step 2"):
        train.run(shared(ranks=2), run, interrupt)
    Path("doom").write_text("3")
    began = time.monotonic()
    with pytest.raises(RankLost, match=r"rank 1 was ended by SIGKILL \(was memory short\?\)"):
        train.run(shared(ranks=2), run)
    assert time.monotonic() - began < 30
    assert checkpoint.steps(run / "checkpoints") == [3, 4]
    train.run(shared(ranks=2), run)
    assert differing(left(whole), left(run)) == []


def test_a_rank_that_never_comes_is_named():
    """O-53: at once, and not after a time limit."""
    lost = "rank 1 ended with exit code 1: no such thing; the same command goes on"
    with pytest.raises(RankLost, match=lost), started(2, "raise SystemExit('no such thing')"):
        pass


FAILS = """
import sys
from trainers.ranks import joined
with joined(*sys.argv[1:]) as ranks:
    ranks.gather("here")
    raise ValueError("odd number of seats")
"""


@pytest.mark.slow
def test_a_rank_that_raises_ends_the_others_with_its_words():
    """O-53"""
    lost = "rank 1 ended with exit code 1: ValueError: odd number of seats"
    with started(2, FAILS) as all_ranks:
        assert all_ranks.gather("too") == ["too", "here"]
        with pytest.raises(RankLost, match=lost):
            all_ranks.gather("alone")


LEAD = """
import sys
from trainers.ranks import started
with started(2, sys.argv[1]) as ranks:
    sys.stdin.read()
"""
IDLE = """
import os, sys, time
from pathlib import Path
from trainers.ranks import joined
with joined(*sys.argv[1:]) as ranks:
    Path("pid.part").write_text(str(os.getpid()))
    Path("pid.part").rename("pid")
    time.sleep(600)
"""


@pytest.mark.slow
def test_no_rank_outlives_the_first():
    """O-53: rank 0 is killed while another one computes; that one ends too."""
    path = os.pathsep.join(sys.path)
    lead = subprocess.Popen(
        [sys.executable, "-c", LEAD, IDLE], stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )
    until = time.monotonic() + 60
    while not Path("pid").exists() and time.monotonic() < until:
        time.sleep(0.05)
    other = int(Path("pid").read_text())
    assert alive(other)
    lead.kill()
    lead.wait()
    until = time.monotonic() + 10
    while alive(other) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(other)
