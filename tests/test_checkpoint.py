"""Checkpoints are whole or absent, and what comes out is what went in."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from arena import folder
from trainers import checkpoint

WEIGHTS = {"weights": {"w": torch.arange(1000.0)}}


def bits(tensors):
    return {name: (tensor.dtype, tensor.numpy().tobytes()) for name, tensor in tensors.items()}


def child(code: str, *arguments: str, **options) -> subprocess.Popen:
    """A second Python that has this tree on its path."""
    root = str(Path(checkpoint.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=env, text=True, **options)


def test_what_comes_out_is_what_went_in(tmp_path):
    tensors = {
        "weights": {"a": torch.tensor([1.0, -0.0, float("nan")]), "b": torch.tensor([[1e-40]], dtype=torch.float64)},
        "more": {"half": torch.tensor([0.1], dtype=torch.bfloat16).view(torch.uint16), "bytes": torch.arange(9).byte()},
    }
    state = {"mean": 0.1 + 0.2, "big": 2**200, "list": [1, None, True, "é"], "none": {}}
    path = checkpoint.save(tmp_path, 60, tensors, state)
    assert path == tmp_path / "step_000060"
    back = checkpoint.load(path)
    assert (back.step, back.state) == (60, state)
    assert {k: bits(v) for k, v in back.tensors.items()} == {k: bits(v) for k, v in tensors.items()}


def test_equal_contents_give_equal_files(tmp_path):
    first = checkpoint.save(tmp_path / "a", 1, WEIGHTS, {"x": 1, "y": 2})
    second = checkpoint.save(tmp_path / "b", 1, WEIGHTS, {"y": 2, "x": 1})
    for name in ("weights.safetensors", "state.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_tensors_that_share_memory_are_saved_one_by_one(tmp_path):
    tied = torch.arange(6.0)
    group = {"embed": tied, "head": tied, "slice": tied[2:4], "turned": tied.view(2, 3).T}
    back = checkpoint.load(checkpoint.save(tmp_path, 1, {"weights": group}, {})).tensors["weights"]
    assert all(torch.equal(back[name], group[name]) for name in group)


def test_a_loaded_tensor_does_not_lean_on_the_file(tmp_path):
    path = checkpoint.save(tmp_path, 1, WEIGHTS, {})
    tensor = checkpoint.load(path).tensors["weights"]["w"]
    file = path / "weights.safetensors"
    with file.open("r+b") as stream:  # in place: a mapped tensor would change with it
        stream.write(b"\xff" * file.stat().st_size)
    assert torch.equal(tensor, torch.arange(1000.0))


def train(model, optimizer, steps, generator):
    for _ in range(steps):
        loss = model(torch.randn(4, 3, generator=generator)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def world():
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    groups = [{"params": model[0].parameters(), "lr": 0.1}, {"params": model[2].parameters(), "lr": 0.01}]
    return model, torch.optim.AdamW(groups, betas=(0.5, 0.99)), generator


def resumed(path, *, moments=True):
    back = checkpoint.load(path)
    model, optimizer, generator = world()
    model.load_state_dict(back.tensors["weights"])
    if moments:
        checkpoint.unpack_optimizer(optimizer, back.tensors["moments"], back.state["groups"])
    checkpoint.set_rng_state(back.state["rng"], back.tensors["rng"], noise=generator)
    return model, optimizer, generator


@pytest.fixture
def halfway(tmp_path):
    """The path of a checkpoint after three steps, and the weights after six in one go."""
    model, optimizer, generator = world()
    train(model, optimizer, 3, generator)
    optimizer.param_groups[0]["lr"] = 0.05  # as a schedule would
    moments, groups = checkpoint.pack_optimizer(optimizer)
    rng, generators = checkpoint.rng_state(noise=generator)
    tensors = {"weights": model.state_dict(), "moments": moments, "rng": generators}
    path = checkpoint.save(tmp_path, 3, tensors, {"groups": groups, "rng": rng})
    train(model, optimizer, 3, generator)
    return path, model.state_dict()


def test_an_optimizer_steps_on_to_the_same_bytes(halfway):
    """O-31: three steps, resume and three more are six steps, to the byte."""
    path, whole = halfway
    model, optimizer, generator = resumed(path)
    train(model, optimizer, 3, generator)
    assert bits(model.state_dict()) == bits(whole)


def test_without_the_moments_the_bytes_differ(halfway):
    """The planted fault: the identity above does notice a fresh optimizer."""
    path, whole = halfway
    model, optimizer, generator = resumed(path, moments=False)
    train(model, optimizer, 3, generator)
    assert bits(model.state_dict()) != bits(whole)


def test_moments_come_back_in_their_own_dtype():
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW([weight])
    moment = torch.tensor([0.1, 0.2, 0.3])  # float32, though the parameter is bfloat16
    checkpoint.unpack_optimizer(optimizer, {"0.exp_avg": moment}, checkpoint.pack_optimizer(optimizer)[1])
    assert torch.equal(optimizer.state[weight]["exp_avg"], moment)


def test_moments_of_another_model_are_refused():
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(3))])
    groups = checkpoint.pack_optimizer(optimizer)[1]
    with pytest.raises(ValueError, match=r"0\.exp_avg has shape \(4,\), its parameter \(3,\)"):
        checkpoint.unpack_optimizer(optimizer, {"0.exp_avg": torch.ones(4)}, groups)
    with pytest.raises(ValueError, match="moments of parameter 1, the optimizer only 1"):
        checkpoint.unpack_optimizer(optimizer, {"1.exp_avg": torch.ones(3)}, groups)


def test_every_generator_goes_on_where_it_was(tmp_path):
    """O-31: python's, numpy's and torch's own generators, and those of the process."""
    own = {"deal": random.Random(3), "task": np.random.default_rng(3), "old": np.random.Generator(np.random.MT19937(3))}
    torchs = torch.Generator().manual_seed(3)
    own["deal"].gauss(0, 1)  # leaves a second number waiting

    def draw():
        return [
            own["deal"].gauss(0, 1),
            own["task"].normal(),
            own["old"].normal(),
            torch.rand(1, generator=torchs).item(),
            random.random(),
            np.random.random(),
            torch.rand(1).item(),
        ]

    state, tensors = checkpoint.rng_state(**own, torchs=torchs)
    back = checkpoint.load(checkpoint.save(tmp_path, 1, {"rng": tensors}, {"rng": state}))
    first = draw()
    checkpoint.set_rng_state(back.state["rng"], back.tensors["rng"], **own, torchs=torchs)
    assert draw() == first


def damage_missing(path):
    (path / "weights.safetensors").unlink()


def damage_cut(path):
    file = path / "weights.safetensors"
    os.truncate(file, file.stat().st_size // 2)


def damage_flipped(path):
    file = path / "weights.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def damage_manifest(path):
    (path / "manifest.json").write_text("{")


DAMAGES = [
    (damage_missing, "weights.safetensors is missing"),
    (damage_cut, r"weights.safetensors has \d+ of \d+ bytes"),
    (damage_flipped, "weights.safetensors does not match its sha256"),
    (damage_manifest, "no readable manifest.json"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_by_name(tmp_path, damage, reason):
    """O-30: 10 is whole, 20 is not: resume from 10 and say why."""
    ten = checkpoint.save(tmp_path, 10, WEIGHTS, {})
    damage(checkpoint.save(tmp_path, 20, WEIGHTS, {}))
    path, problems = checkpoint.latest(tmp_path)
    assert path == ten
    assert len(problems) == 1
    assert problems[0].startswith("step_000020: ")
    with pytest.raises(ValueError, match=reason):
        checkpoint.load(tmp_path / "step_000020")


def test_without_the_check_the_damaged_one_would_be_taken(tmp_path, monkeypatch):
    """O-30, the planted fault: the highest number wins and loading it fails."""
    checkpoint.save(tmp_path, 10, WEIGHTS, {})
    damage_cut(checkpoint.save(tmp_path, 20, WEIGHTS, {}))
    monkeypatch.setattr(folder, "damage", lambda *_, **__: "")
    path, problems = checkpoint.latest(tmp_path)
    assert (path.name, problems) == ("step_000020", [])
    with pytest.raises(Exception, match=r"(?i)header|incomplete|eof|buffer"):
        checkpoint.load(path)


def test_without_a_checkpoint_there_is_no_latest(tmp_path):
    assert checkpoint.latest(tmp_path / "none") == (None, [])


def test_only_the_last_and_the_pinned_stay(tmp_path):
    for step in (10, 20, 30, 40):
        checkpoint.save(tmp_path, step, WEIGHTS, {}, keep=2, pinned={10})
    assert checkpoint.steps(tmp_path) == [10, 30, 40]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_000010", "step_000030", "step_000040"]


def test_a_resumed_run_writes_over_the_damaged_one(tmp_path):
    checkpoint.save(tmp_path, 10, WEIGHTS, {})
    damage_cut(checkpoint.save(tmp_path, 20, WEIGHTS, {}))
    again = checkpoint.save(tmp_path, 20, WEIGHTS, {"again": True})
    assert checkpoint.latest(tmp_path) == (again, [])
    assert checkpoint.load(again).state == {"again": True}


SLOW = """
import sys, time, torch
from pathlib import Path
from trainers import checkpoint
write = checkpoint.save_file
def slow(tensors, path):
    write(tensors, path)
    print(path.name, flush=True)
    time.sleep(60)
checkpoint.save_file = slow
checkpoint.save(Path(sys.argv[1]), 20, {"weights": {"w": torch.ones(1000)}, "moments": {"m": torch.ones(1)}}, {})
"""


def test_a_run_killed_while_writing_resumes_from_the_one_before(tmp_path):
    """O-30: SIGKILL between two files; 10 is taken, 20 is named, and the next save clears the rest."""
    ten = checkpoint.save(tmp_path, 10, WEIGHTS, {})
    process = child(SLOW, str(tmp_path), stdout=subprocess.PIPE)
    assert process.stdout.readline() == "weights.safetensors\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert checkpoint.latest(tmp_path) == (ten, ["step_000020: it was still being written when the run ended"])
    twenty = checkpoint.save(tmp_path, 20, WEIGHTS, {})
    assert checkpoint.latest(tmp_path) == (twenty, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_000010", "step_000020"]


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_whole_one(tmp_path):
    """O-30: many kills at different times of a loop that saves without pause; the latest always loads."""
    loop = SLOW.split("write =")[0] + (
        "for step in range(1, 10000):\n"
        "    tensors = {'weights': {'w': torch.full((1000,), float(step))}}\n"
        "    checkpoint.save(Path(sys.argv[1]), step, tensors, {'step': step})\n"
        "    print(step, flush=True)\n"
    )
    for attempt in range(3):
        place = tmp_path / str(attempt)
        process = child(loop, str(place), stdout=subprocess.PIPE)
        done = int(process.stdout.readline())
        time.sleep(0.004 * attempt + 0.001)
        process.send_signal(signal.SIGKILL)
        done = max([done, *(int(line) for line in process.communicate()[0].split())])
        path, _ = checkpoint.latest(place)
        back = checkpoint.load(path)
        assert back.step >= done
        assert back.tensors["weights"]["w"][0].item() == back.state["step"] == back.step


FULL = """
import resource, sys, torch
from pathlib import Path
from arena import folder
from trainers import checkpoint
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    checkpoint.save(Path(sys.argv[1]), 20, {"weights": {"w": torch.ones(100_000)}}, {})
except folder.DiskFull as error:
    print(error)
"""


def test_a_full_disk_is_told_and_leaves_the_one_before(tmp_path):
    """A real limit on what a process may write, reached in the middle of the weights."""
    ten = checkpoint.save(tmp_path, 10, WEIGHTS, {})
    told = child(FULL, str(tmp_path), stdout=subprocess.PIPE).communicate()[0]
    assert "no space to write" in told
    assert "step_000020" in told
    assert [path.name for path in tmp_path.iterdir()] == ["step_000010"]
    assert checkpoint.latest(tmp_path) == (ten, [])


def test_a_full_disk_is_known_by_its_number_and_by_its_text():
    assert folder.is_full(OSError(errno.ENOSPC, "x"))
    assert folder.is_full(RuntimeError("I/O error: No space left on device (os error 28)"))
    assert not folder.is_full(OSError(errno.ENOENT, "x"))


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save_file", stop)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(tmp_path, 1, WEIGHTS, {})
    assert list(tmp_path.iterdir()) == []


def test_another_writer_that_lives_keeps_its_half_folder(tmp_path):
    mine = tmp_path / f".step_000001.part-{os.getpid()}-x"
    mine.mkdir()
    folder.sweep(tmp_path / "step_000001")
    assert mine.exists()


def test_a_kill_between_two_names_gives_the_old_one_its_name_back(tmp_path):
    checkpoint.save(tmp_path, 1, WEIGHTS, {"old": True})
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / "step_000001").rename(tmp_path / f".step_000001.part-{dead.pid}-x-old")
    folder.sweep(tmp_path / "step_000001")
    assert checkpoint.load(checkpoint.latest(tmp_path)[0]).state == {"old": True}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"baseline": {1: 2.0}}, "state.baseline has the key 1"),
        ({"list": [0, {1, 2}]}, r"state.list\[1\] is a set"),
        ({"x": np.float32(1)}, "state.x is a float32"),
    ],
)
def test_a_state_that_json_would_change_is_refused(tmp_path, state, told):
    with pytest.raises(TypeError, match=told):
        checkpoint.save(tmp_path, 1, {}, state)
    assert list(tmp_path.iterdir()) == []


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="keep is 0"):
        checkpoint.save(tmp_path, 1, {}, {}, keep=0)


def test_nothing_of_it_is_a_pickle(halfway):
    path, _ = halfway
    for file in path.iterdir():
        assert file.suffix in (".safetensors", ".json")
    json.loads((path / "state.json").read_text())
