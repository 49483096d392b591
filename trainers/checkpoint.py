"""Checkpoints: whole or absent, without pickle, exact to the byte."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from arena import folder as folders

Tensors = Mapping[str, Tensor]
Generators = random.Random | np.random.Generator | torch.Generator
STATE = "state.json"


@dataclass(frozen=True)
class Checkpoint:
    """What `save` was given: named groups of tensors (weights, moments, generators), and JSON."""

    step: int
    tensors: dict[str, dict[str, Tensor]]
    state: dict[str, Any]


def save(
    folder: Path,
    step: int,
    tensors: Mapping[str, Tensors],
    state: Mapping[str, Any],
    *,
    keep: int = 2,
    pinned: Collection[int] = (),
) -> Path:
    """Write `folder/step_000060`: a safetensors file a group, `state.json`, a manifest; it appears only when complete.

    Of the steps up to this one only the last `keep` stay, and those in `pinned`. Raises TypeError for a `state` that
    would not come back from JSON as it is, and `arena.folder.DiskFull`, which leaves the earlier ones as they were.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}: at least the checkpoint just written has to stay")
    refuse_lossy(state)
    target = folder / f"step_{step:06d}"
    with folders.fresh(target, {"step": step}) as part:
        for group, members in tensors.items():
            save_file(separate(members), part / f"{group}.safetensors")
        (part / STATE).write_text(json.dumps(dict(state), indent=1, sort_keys=True) + "\n")
    for gone in folder.glob(".step_*.gone"):  # of a run that was killed while it deleted
        shutil.rmtree(gone)
    older = [found for found in steps(folder) if found <= step]
    for found in older[:-keep]:
        if found not in pinned:
            remove(folder / f"step_{found:06d}")
    return target


def latest(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest whole checkpoint (None if there is none), and why each newer one was passed over, newest first."""
    problems: list[str] = []
    for step in sorted({*steps(folder), *steps(folder, half=True)}, reverse=True):
        path = folder / f"step_{step:06d}"
        reason = folders.damage(path) if path.is_dir() else "it was still being written when the run ended"
        if not reason:
            return path, problems
        problems.append(f"{path.name}: {reason}")
    return None, problems


def load(path: Path) -> Checkpoint:
    """Read one checkpoint into memory of its own; raises ValueError with the reason if it is not whole."""
    reason = folders.damage(path, hashes=False)
    if reason:
        raise ValueError(f"checkpoint {path} can't be used: {reason}")
    tensors = {
        file.stem: {name: tensor.clone() for name, tensor in load_file(file).items()}
        for file in sorted(path.glob("*.safetensors"))
    }
    return Checkpoint(folders.manifest(path)["step"], tensors, json.loads((path / STATE).read_text()))


def steps(folder: Path, *, half: bool = False) -> list[int]:
    """The steps that have a folder, rising; with `half` those whose writing was not finished."""
    pattern = r"\.step_(\d+)\.part-.*" if half else r"step_(\d+)"
    found = (re.fullmatch(pattern, path.name) for path in folder.glob("*"))
    return sorted({int(match[1]) for match in found if match})


def remove(path: Path) -> None:
    """Delete a checkpoint; it loses its name first, so that half of one is never found under it."""
    gone = path.with_name(f".{path.name}.gone")
    path.rename(gone)
    shutil.rmtree(gone)


def separate(tensors: Tensors) -> dict[str, Tensor]:
    """The same tensors on the CPU, contiguous and none sharing memory with another, as safetensors wants them."""
    seen: set[int] = set()
    result = {}
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        storage = own.untyped_storage()
        if storage.data_ptr() in seen or storage.nbytes() != own.nbytes:
            own = own.clone()
        seen.add(storage.data_ptr())
        result[name] = own
    return result


def refuse_lossy(value: Any, where: str = "state") -> None:
    """Raise TypeError for what JSON changes: keys that aren't text, and foreign types (tuples may become lists)."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}, which JSON turns into text: use {str(key)!r}")
            refuse_lossy(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            refuse_lossy(inner, f"{where}[{index}]")
    elif value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(f"{where} is a {type(value).__name__}, not JSON: tensors go into `tensors`")


def pack_optimizer(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Its moments as tensors "<parameter index>.<name>", and its groups without the parameters as JSON."""
    moments = {
        f"{index}.{name}": value
        for index, parameter in enumerate(parameters(optimizer))
        for name, value in optimizer.state.get(parameter, {}).items()
    }
    groups = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
    refuse_lossy(groups, "optimizer")
    return moments, groups


def unpack_optimizer(optimizer: torch.optim.Optimizer, moments: Tensors, groups: Sequence[Mapping[str, Any]]) -> None:
    """Put back what `pack_optimizer` took out, without a cast; the parameters must be the same in number and shape."""
    owners = parameters(optimizer)
    if len(groups) != len(optimizer.param_groups):
        raise ValueError(
            f"the checkpoint has {len(groups)} parameter groups, the optimizer {len(optimizer.param_groups)}"
        )
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in moments.items():
        number, name = key.split(".", 1)
        index = int(number)
        if index >= len(owners):
            raise ValueError(f"the checkpoint has moments of parameter {index}, the optimizer only {len(owners)}")
        shape = owners[index].shape
        if value.dim() and value.shape != shape:
            raise ValueError(
                f"{key} has shape {tuple(value.shape)}, its parameter {tuple(shape)}: is it another model?"
            )
        # The step counter of AdamW lives on the CPU wherever its parameter is.
        state.setdefault(index, {})[name] = value.clone().to(owners[index].device if value.dim() else "cpu")
    optimizer.state.clear()
    for index, values in state.items():
        optimizer.state[owners[index]] = values
    for group, saved in zip(optimizer.param_groups, groups, strict=True):
        group.update({k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()})


def parameters(optimizer: torch.optim.Optimizer) -> list[torch.nn.Parameter]:
    """All parameters of an optimizer, in the order of its groups."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def rng_state(**own: Generators) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The random states of python, numpy and torch in this process and of `own` generators: JSON, uint8 tensors."""
    state: dict[str, Any] = {"python": random.getstate(), "numpy": to_json(np.random.get_state(legacy=False))}
    tensors = {"torch": torch.random.get_rng_state()}
    for name, generator in own.items():
        if isinstance(generator, torch.Generator):
            tensors[f"own.{name}"] = generator.get_state()
        elif isinstance(generator, random.Random):
            state[f"own.{name}"] = generator.getstate()
        else:
            state[f"own.{name}"] = to_json(generator.bit_generator.state)
    return state, tensors


def set_rng_state(state: Mapping[str, Any], tensors: Tensors, **own: Generators) -> None:
    """Put back what `rng_state` took out; a generator that was not saved is a KeyError."""
    random.setstate(to_tuples(state["python"]))
    np.random.set_state(from_json(state["numpy"]))
    torch.random.set_rng_state(tensors["torch"])
    for name, generator in own.items():
        if isinstance(generator, torch.Generator):
            generator.set_state(tensors[f"own.{name}"])
        elif isinstance(generator, random.Random):
            generator.setstate(to_tuples(state[f"own.{name}"]))
        else:
            generator.bit_generator.state = from_json(state[f"own.{name}"])


def to_json(value: Any) -> Any:
    """A numpy generator's state with its arrays as {"dtype", "values"}."""
    if isinstance(value, dict):
        return {key: to_json(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "values": value.tolist()}
    return value.item() if isinstance(value, np.generic) else value


def from_json(value: Any) -> Any:
    """The inverse of `to_json`."""
    if isinstance(value, Mapping):
        if value.keys() == {"dtype", "values"}:
            return np.array(value["values"], dtype=value["dtype"])
        return {key: from_json(inner) for key, inner in value.items()}
    return value


def to_tuples(value: Any) -> Any:
    """Nested lists as tuples, which python's generator insists on."""
    return tuple(to_tuples(inner) for inner in value) if isinstance(value, list | tuple) else value
