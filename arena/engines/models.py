"""Model folders: found by name, described without loading, loaded into memory of their own. Never over the network."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from arena import folder
from arena.agent import fitted
from arena.chat import Chat
from arena.engines.quiet import quiet
from arena.engines.shelf import EMBEDDED as EMBEDDED
from arena.engines.shelf import TINY, in_hub_cache, nearest
from arena.engines.shelf import ModelError as ModelError
from arena.engines.shelf import cache as cache
from arena.engines.tiny import byte_tokenizer, make_tiny
from arena.engines.transformer import ARCHITECTURES
from roles import Role

RECIPE = 1  # of what is built into the cache: a folder of another recipe is built again

Say = Callable[[str], None]


@dataclass(frozen=True)
class Facts:
    """What can be told of a model without loading it. `context` is the longest sequence in tokens.

    `template` says that it has a chat template, `system_prompt` that the template takes and shows a system message.
    """

    path: Path
    architecture: str
    parameters: int
    context: int
    vocabulary: int
    tied: bool
    template: bool
    system_prompt: bool


def find(name: str, progress: Say | None = None) -> Path:
    """The folder of a model: an embedded name, `tiny`, a folder, a GGUF file, or a Hugging Face id in the local cache.

    Raises ModelError for an unknown one, and for one that `describe` would refuse.
    """
    if name in EMBEDDED:
        return pull(name, progress)
    if name == TINY:
        return built(TINY, make_tiny, progress)
    path = Path(name).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        describe(path)
        return built(f"{path.stem}-{folder.sha256(path)[:12]}", lambda target: dequantise(path, target), progress)
    if not path.is_dir():
        path = in_hub_cache(name)
    describe(path)
    return path


def pull(name: str = "smollm2-135m", progress: Say | None = None, *, verify: bool = False) -> Path:
    """The folder of an embedded model, built from its package at the first call; `verify` hashes every byte again."""
    if name not in EMBEDDED:
        raise ModelError(f"no embedded model {name!r}: {nearest(name, list(EMBEDDED))}")
    return built(name, lambda target: dequantise(packaged(name), target), progress, verify=verify)


def built(name: str, build: Callable[[Path], None], progress: Say | None = None, *, verify: bool = False) -> Path:
    """`name` in the cache, if it is whole; otherwise `build(folder)` makes it first."""
    say = progress or (lambda _: None)
    target = cache() / name
    if target.exists():
        reason = folder.damage(target, hashes=verify)
        if not reason and folder.manifest(target).get("recipe") != RECIPE:
            reason = "it was made by another version"
        if not reason:
            return target
        say(f"{target}: {reason}; building it again")
    else:
        say(f"building {name} in {target}")
    with folder.fresh(target, {"recipe": RECIPE}) as part:
        build(part)
    return target


def packaged(name: str) -> Path:
    """The GGUF file of an embedded model in its package, which is never imported: it would want more packages."""
    source = EMBEDDED[name]
    try:
        files = importlib.metadata.distribution(source.distribution).files or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError(
            f"model {name!r} comes in the package {source.distribution}, which is missing: {source.remedy}"
        ) from error
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise ModelError(f"the package {source.distribution} holds no GGUF file: {source.remedy} --force-reinstall")
    return found[0]


def dequantise(gguf: Path, target: Path) -> None:
    """Write the model in a GGUF file as a folder of float32 safetensors and tokenizer."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    with quiet(), contextlib.redirect_stderr(io.StringIO()):  # the reader of GGUF draws a bar that nothing turns off
        where: dict[str, Any] = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        packed = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
        # A model that was read from GGUF refuses to be saved, so its weights move to one that never was quantised.
        fields = {k: v for k, v in packed.config.to_dict().items() if k not in ("quantization_config", "_name_or_path")}
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields), dtype=torch.float32)
        model.load_state_dict(packed.state_dict())
        model.save_pretrained(target)
        AutoTokenizer.from_pretrained(**where).save_pretrained(target)


def describe(path: Path) -> Facts:
    """What a model is, in a second and without its weights; raises ModelError if it can't be used.

    The file is named with its architecture and the supported ones, so that nothing is half-started.
    """
    if path.is_file():
        return describe_gguf(path)
    config = read_config(path)
    architecture = str(config.get("model_type", "unknown"))
    refuse_unsupported(path, architecture)
    if "quantization_config" in config:
        raise ModelError(f"{path} is quantised: training and exact scores need plain float weights")
    shapes = read_shapes(path)
    check_shapes(path, config, shapes)
    tokenizer = read_tokenizer(path)
    return Facts(
        path=path,
        architecture=architecture,
        parameters=sum(math.prod(shape) for shape in shapes.values()),
        context=int(config.get("max_position_embeddings", 2048)),
        vocabulary=int(config.get("vocab_size", 0)),
        tied=bool(config.get("tie_word_embeddings", False)),
        template=bool(tokenizer.chat_template),
        system_prompt=shows_system(tokenizer),
    )


def refuse_unsupported(path: Path, architecture: str) -> None:
    if architecture not in ARCHITECTURES:
        raise ModelError(f"{path} has architecture {architecture!r}; supported are {', '.join(ARCHITECTURES)}")


def read_config(path: Path) -> dict[str, Any]:
    """`config.json` of a model folder."""
    file = path / "config.json"
    if not file.is_file():
        inside = sorted(path.glob("*/config.json"))
        hint = f"did you mean {inside[0].parent}?" if inside else "is it a model folder?"
        raise ModelError(f"{path} has no config.json: {hint}")
    try:
        config = json.loads(file.read_text())
    except ValueError as error:
        raise ModelError(f"{file} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{file} holds no mapping")
    return config


def read_tokenizer(path: Path) -> Any:
    """The tokenizer of a model folder."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} has no tokenizer that loads: {str(error).splitlines()[0]}") from error


def speaks(path: Path, roles: Iterable[Role]) -> None:
    """See that a model can speak in these roles, from its tokenizer alone; raises ChatError if it can't."""
    chat = Chat(read_tokenizer(path))
    for role in roles:
        fitted(role, chat)


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor in the safetensors files of a folder, read from their headers."""
    files = sorted(path.glob("*.safetensors"))
    if not files:
        others = ", ".join(sorted(file.name for file in path.glob("*.bin"))) or "no weights"
        raise ModelError(f"{path} has {others}, but only safetensors are read: save it again as safetensors")
    return {name: tuple(entry["shape"]) for file in files for name, entry in header(file).items()}


def check_shapes(path: Path, config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that aren't those of the config: transformers would draw at random what is missing."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        with quiet(), torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    except (StrictDataclassError, ValueError, TypeError, RuntimeError, ArithmeticError, KeyError) as error:
        raise ModelError(f"{path / 'config.json'} describes no model: {' '.join(str(error).split())}") from error
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    for name, tensor in model.state_dict().items():
        wanted = tuple(tensor.shape)
        found = shapes.get(name, shapes.get(name.removeprefix("model.")))  # some are saved without their head's prefix
        if found is None and name not in tied:
            raise ModelError(f"{path} has no {name}, of shape {wanted} by config.json: is a file of it missing?")
        if found not in (None, wanted):
            raise ModelError(f"{name} of {path} has shape {found}, by config.json {wanted}: they are of unlike models")


def header(file: Path) -> dict[str, Any]:
    """The entries of a safetensors file by tensor name; raises ModelError if the file is cut."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        text = stream.read(min(length, 100_000_000))
    try:
        entries: dict[str, Any] = json.loads(text)
        entries.pop("__metadata__", None)
        end = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{file} is not a safetensors file: {error}") from error
    size = file.stat().st_size
    if size != 8 + length + end:
        raise ModelError(f"{file} is cut: it has {size} of {8 + length + end} bytes")
    return entries


def shows_system(tokenizer: Any) -> bool:
    """Whether the chat template of a tokenizer takes a system message and shows it."""
    from jinja2 import TemplateError

    mark = "be-brief"
    messages = [{"role": "system", "content": mark}, {"role": "user", "content": "hello"}]
    try:
        return bool(tokenizer.chat_template) and mark in tokenizer.apply_chat_template(messages, tokenize=False)
    except TemplateError:
        return False


def describe_gguf(path: Path) -> Facts:
    """What a GGUF file says of itself."""
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
        fields = reader.fields
        architecture = str(fields["general.architecture"].contents())
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise ModelError(f"{path} is not a GGUF file that can be read: {error}") from error
    refuse_unsupported(path, architecture)
    shown = fields.get("tokenizer.chat_template")
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = str(shown.contents()) if shown else None
    length, tokens = fields.get(f"{architecture}.context_length"), fields.get("tokenizer.ggml.tokens")
    return Facts(
        path=path,
        architecture=architecture,
        parameters=sum(int(tensor.n_elements) for tensor in reader.tensors),
        context=int(length.contents()) if length else 2048,
        vocabulary=len(tokens.data) if tokens else 0,
        tied=all(tensor.name != "output.weight" for tensor in reader.tensors),
        template=bool(tokenizer.chat_template),
        system_prompt=shows_system(tokenizer),
    )


def load(path: Path, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """The model in eval mode and its tokenizer; the weights are copies, so the file may change or go afterwards.

    No dropout, no code from the folder, and the random numbers of the process stay where they were.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    describe(path)
    where = str(path)
    closed = {"local_files_only": True, "trust_remote_code": False}
    with quiet():
        config = AutoConfig.from_pretrained(where, **closed)
        config.attention_dropout = 0.0
        model = AutoModelForCausalLM.from_pretrained(
            where, config=config, dtype=dtype, attn_implementation="sdpa", use_safetensors=True, **closed
        )
        tokenizer = read_tokenizer(path)
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data = tensor.data.clone()  # a tied head is the same Parameter, so it stays tied
    return model.eval(), tokenizer
