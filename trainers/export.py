"""One agent of a run as a folder that plain transformers loads; it is written only if it proves to be that agent."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from safetensors.torch import save_file
from torch import Tensor

from arena import config, folder
from arena.agent import opening
from arena.cast import POLICY, ROLE_FILE
from arena.chat import DATED, Chat
from arena.engines import models
from roles import Format, Memory, Role
from roles import load as load_role
from trainers import checkpoint, report
from trainers.card import EXAMPLE, Card, example, readme
from trainers.config import TrainConfig
from trainers.learner import adapted
from trainers.train import load_weights

KIND = "scrimmage agent"
TOLERANCE = 1e-4  # of a logit, against the live agent


class ExportError(ValueError):
    """The folder would not be the agent, or may not be written; nothing was written."""


@dataclass(frozen=True)
class Exported:
    """Where it lies, and the largest difference of a logit: to the live agent on all probes, to the base on one."""

    path: Path
    max_logit_difference: float
    from_base: float


def export(
    model: Any,
    tokenizer: Any,
    role: Role,
    out: Path,
    *,
    base: Path,
    card: Card,
    probes: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Write the agent (`model`, with its LoRA adapter if it has one, playing `role`) as a folder of its own.

    Before the folder gets its name it is read again by plain transformers: on all `probes` (texts that the seat hears)
    the logits must be those of the live agent and must not be those of `base`, and prompts must be the ids of training.
    Raises ExportError otherwise, and for an `out` that isn't empty, unless it is an earlier export and `force` is set.
    """
    refuse_foreign(out, force)
    chat = Chat(tokenizer)
    heard = list(dict.fromkeys(probes or [shown.heard for shown in role.examples] or ["Begin.", "Go on."]))
    prompts = [chat.open([*opening(role), {"role": "user", "content": text}], role.format) for text in heard]
    alive = logits(model, prompts)
    facts = {"kind": KIND, "base": {file.name: folder.sha256(file) for file in sorted(base.glob("*.safetensors"))}}
    with folder.fresh(out, facts) as part:
        write(part, model, tokenizer, chat, role, card)
        check_prompts(part, chat, role, heard)
        difference = largest(logits(models.load(part)[0], prompts), alive)
        if not difference <= TOLERANCE:
            raise ExportError(
                f"the exported logits differ from the live agent's by {difference:.2g} (at most {TOLERANCE:g}): "
                "was an adapter left out?"
            )
        from_base = largest(logits(models.load(base)[0], prompts[:1]), alive[:1])
        if from_base == 0:
            raise ExportError(
                f"the agent answers exactly like its base {card.base}: nothing was trained, or not merged"
            )
    return Exported(out, difference, from_base)


def refuse_foreign(out: Path, force: bool) -> None:
    """Raise ExportError if `out` holds what must not be written over."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        ours = folder.manifest(out).get("kind") == KIND
    except ValueError:
        ours = False
    if not ours:
        raise ExportError(f"{out} exists and is no export of ours: give another --out")
    if not force:
        raise ExportError(f"{out} holds an earlier export: give another --out, or --force to replace it")


# -- writing -------------------------------------------------------------------------------------------------------


def write(part: Path, model: Any, tokenizer: Any, chat: Chat, role: Role, card: Card) -> None:
    """All files of an export."""
    whole = merged(model)
    # A tied head is written out too: other loaders may not tie, and would start without one.
    save_file(checkpoint.separate(whole.state_dict()), part / "model.safetensors", metadata={"format": "pt"})
    head, embedding = whole.get_output_embeddings().weight, whole.get_input_embeddings().weight
    settings = copy.deepcopy(whole.config)
    settings.tie_word_embeddings = head.data_ptr() == embedding.data_ptr()
    settings.architectures = [type(whole).__name__]
    settings.name_or_path = card.base
    settings.save_pretrained(part)
    generation(chat, role, tokenizer).save_pretrained(part)
    speaking = copy.deepcopy(tokenizer)
    speaking.chat_template = carried(tokenizer, role)
    speaking.save_pretrained(part)
    OmegaConf.save(OmegaConf.structured(role), part / ROLE_FILE)
    (part / EXAMPLE).write_text(example(role, chat))
    (part / "README.md").write_text(readme(role, card))


def merged(model: Any) -> Any:
    """The plain model with its adapter in its weights; the one that was given stays as it is."""
    return copy.deepcopy(model).merge_and_unload() if hasattr(model, "merge_and_unload") else model


def generation(chat: Chat, role: Role, tokenizer: Any) -> Any:
    """Settings by which `generate` samples as in training: by temperature alone, up to the ids that end a reply."""
    from transformers import GenerationConfig

    sampling = role.sampling
    drawn = {"do_sample": True, "temperature": sampling.temperature, "top_k": 0, "top_p": 1.0}
    return GenerationConfig(
        **(drawn if sampling.temperature else {"do_sample": False}),
        max_new_tokens=sampling.max_tokens,
        eos_token_id=sorted(chat.stops(role)),
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
    )


def carried(tokenizer: Any, role: Role) -> str | None:
    """The model's chat template, which now puts the role's system text and examples before a chat without a system
    message. Raw roles leave the template alone, and so do those without a system text: nothing would tell that it is
    already there."""
    if not tokenizer.chat_template or role.format is Format.raw or not role.system:
        return tokenizer.chat_template and str(tokenizer.get_chat_template())
    template = str(tokenizer.get_chat_template())
    if "strftime_now" in template:
        template = DATED + template  # training knew no clock either
    told = ", ".join(f"{{'role': {quoted(m['role'])}, 'content': {quoted(m['content'])}}}" for m in opening(role))
    # The empty expression keeps the block's end from swallowing the template's first line break.
    return (
        "{% if not messages or messages[0]['role'] != 'system' %}"
        f"{{% set messages = [{told}] + messages %}}{{% endif %}}{{{{ '' }}}}{template}"
    )


def quoted(text: str) -> str:
    """A string literal of Jinja."""
    return "'" + text.encode("unicode_escape").decode("ascii").replace("'", "\\'") + "'"


# -- the self-check ------------------------------------------------------------------------------------------------


def logits(model: Any, prompts: Sequence[Sequence[int]]) -> list[Tensor]:
    """The logits after every token of every prompt, [T, V] each, by the model's own forward pass.

    A copy of it computes in float64: in float32 merging an adapter moves logits by up to 1e-4 through rounding alone,
    which would hide a difference of the weights.
    """
    exact = copy.deepcopy(model).to("cpu", torch.float64).eval()
    with torch.no_grad():
        return [exact(torch.tensor([list(ids)])).logits[0] for ids in prompts]


def largest(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """The largest absolute difference; NaN if anything is not finite."""
    return float(torch.stack([(a - b).abs().max() for a, b in zip(ours, theirs, strict=True)]).max())


def check_prompts(part: Path, chat: Chat, role: Role, heard: Sequence[str]) -> None:
    """Raise ExportError unless the folder alone gives the ids of training, for one turn and for two."""
    tokenizer = models.read_tokenizer(part)
    if load_role(str(part / ROLE_FILE)) != role:
        raise ExportError(f"{ROLE_FILE} does not read back as the role {role.name!r}")
    if Chat(tokenizer).stops(role) != chat.stops(role):
        raise ExportError(
            f"the exported tokenizer ends replies by {sorted(Chat(tokenizer).stops(role))}, not as trained"
        )
    first, second = heard[0], heard[-1]
    expected = chat.open([*opening(role), {"role": "user", "content": first}], role.format)
    compare(tokenizer, plain_ids(tokenizer, role, [first]), expected)
    if role.memory is Memory.full:  # otherwise every turn is a first one
        (reply,) = chat.options(role, [role.move(role.examples[0].reply) if role.examples else "move"])
        expected += [*reply, *chat.follow([{"role": "user", "content": second}], chat.closed(reply), role.format)]
        compare(tokenizer, plain_ids(tokenizer, role, [first, chat.text(reply), second]), expected)


def plain_ids(tokenizer: Any, role: Role, history: Sequence[str]) -> list[int]:
    """The prompt that plain transformers makes of [heard, reply, heard, ...], as the example in the folder does."""
    if role.format is Format.raw:
        start = "".join(message["content"] for message in opening(role)) + history[0]
        later = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in history[1:])
        return [*tokenizer(start)["input_ids"], *(i for ids in later for i in ids)]
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(history)]
    shown = [] if role.system else opening(role)
    found: list[int] = tokenizer.apply_chat_template([*shown, *messages], add_generation_prompt=True, return_dict=True)[
        "input_ids"
    ]
    return found


def compare(tokenizer: Any, found: Sequence[int], expected: Sequence[int]) -> None:
    """Raise ExportError at the first id that differs, with the words around it."""
    if list(found) == list(expected):
        return
    pairs = zip(found, expected, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
    ours, theirs = (tokenizer.decode(list(ids)[max(at - 3, 0) : at + 3]) for ids in (found, expected))
    raise ExportError(
        f"plain transformers would prompt with {ours!r} where training had {theirs!r} (token {at}): does the chat "
        "template rewrite earlier turns, or a text of the role hold a control token?"
    )


# -- from a run's folder -------------------------------------------------------------------------------------------


def export_run(
    run: Path, role: str | None, out: Path, step: int | None = None, *, force: bool = False, probes: Sequence[str] = ()
) -> Exported:
    """Export the policy of a run as it stood at `step` (the last one if None), playing the game's role `role`.

    The run's folder gives the resolved config, the checkpoint (group `weights`: trained parameters by name) and, if it
    is there, report.json with the numbers of the card.
    """
    settings = config.load(TrainConfig, run / "config.yaml")
    seat = pick_seat(settings, role)
    spoken = load_role(settings.seats[seat].role, **settings.seats[seat].changes) if seat else load_role("player")
    refuse_foreign(out, force)
    saved = checkpoint.load(pick_step(run / "checkpoints", step))
    base = models.find(settings.model)
    model, tokenizer = models.load(base)
    model = adapted(model, settings.lora, settings.seed)
    load_weights({name: p for name, p in model.named_parameters() if p.requires_grad}, saved)
    numbers = report.read(run / report.NAME)
    measured = {k: v for k, v in numbers.items() if k not in ("ratings", "evaluation")}
    measured |= numbers.get("evaluation", {}).get(str(saved.step), {})  # of this step alone
    card = Card(
        base=settings.model,
        licence=models.EMBEDDED[settings.model].licence if settings.model in models.EMBEDDED else "other",
        game=settings.game.name,
        seat=seat,
        step=saved.step,
        ratings=numbers.get("ratings", []),
        evaluation=flat(measured),
    )
    return export(model, tokenizer, spoken, out, base=base, card=card, probes=probes, force=force)


def pick_seat(settings: TrainConfig, role: str | None) -> str:
    """The role of the game whose seats the agent took, if it was the policy that learned there."""
    learning = [name for name, seat in settings.seats.items() if seat.agent == POLICY]
    if role is None:
        if len({repr(settings.seats[name]) for name in learning}) > 1:
            raise ExportError(f"the run trained {', '.join(learning)}: say which with --role")
        return learning[0] if learning else ""
    if role not in learning:
        near = difflib.get_close_matches(role, learning, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(learning)}"
        raise ExportError(f"the run trained no role {role!r}: {hint}")
    return role


def pick_step(checkpoints: Path, step: int | None) -> Path:
    """The folder of a step, or the newest whole one."""
    if step is None:
        path, problems = checkpoint.latest(checkpoints)
        if path is None:
            raise ExportError(f"{checkpoints} has no whole checkpoint: {'; '.join(problems) or 'train first'}")
        return path
    there = checkpoint.steps(checkpoints)
    if step not in there:
        raise ExportError(f"{checkpoints} has no step {step}: there are {', '.join(map(str, there)) or 'none'}")
    return checkpoints / f"step_{step:06d}"


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a nested mapping by dotted name."""
    found: dict[str, float] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= flat(inner, f"{prefix}{key}.")
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            found[f"{prefix}{key}"] = float(inner)
    return found
