"""The policies of a run as agents: whoever was trained in it sits down anywhere."""

from __future__ import annotations

from pathlib import Path

from arena import config as configs
from arena.agent import LLMAgent
from arena.cast import POLICY
from arena.config import ConfigError, nearest
from trainers import checkpoint, evaluate
from trainers.config import TrainConfig


def check(run: Path, step: int | None, role: str) -> int:
    """The step that is meant, the newest if None; raises ConfigError for a role or step that the run hasn't.

    No model is loaded.
    """
    seats = configs.load(TrainConfig, run / "config.yaml").seats
    trained = [name for name, seat in seats.items() if seat.agent == POLICY]
    if role not in trained:
        near = nearest(role, trained)
        raise ConfigError(
            f"no policy was trained as {role!r}" if role else "a run has several roles",
            str(run),
            near and repr(near),
            f"say one of {', '.join(f'{run}@{name}' for name in trained)}",
        )
    saved = checkpoint.steps(run / "checkpoints")
    found = evaluate.steps(run / "checkpoints")[-1] if step is None else step
    if found and found not in saved:
        raise ConfigError(f"step {found} was not kept", str(run), remedy=f"there are {', '.join(map(str, saved))}")
    return found


def agent(run: Path, step: int, role: str, name: str) -> LLMAgent:
    """The policy of a step in the seats of `role`, speaking as in training, under this name."""
    found = evaluate.Policies(run, [step]).agent(role, step)
    return LLMAgent(name, found.role, found.engine, found.chat, found.policy)
