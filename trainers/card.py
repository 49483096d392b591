"""What an exported agent says of itself: the card for people, the example for programs."""

from __future__ import annotations

import pprint
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any

from arena.agent import opening
from arena.chat import Chat
from roles import Format, Memory, Reply, Role
from roles.role import Several

EXAMPLE = "example.py"


@dataclass(frozen=True)
class Card:
    """Where an agent comes from and what was measured of it.

    `base` is the name of the model it was trained from, `seat` the role of the game that it took. `ratings` are rows of
    agent, mu, sigma, matches; `evaluation` numbers by name.
    """

    base: str
    licence: str = "other"
    game: str = ""
    seat: str = ""
    step: int = 0
    ratings: Sequence[Mapping[str, Any]] = ()
    evaluation: Mapping[str, float] = field(default_factory=dict)


def readme(role: Role, card: Card) -> str:
    """The card, in Markdown with the front matter of model hubs."""
    where = f" at {card.game}" if card.game else ""
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: text-generation",
        f"base_model: {card.base}",
        f"license: {card.licence.lower()}",
        "tags: [scrimmage, self-play]",
        "---",
        "",
        f"# {role.name}{where}",
        "",
        f"An agent that was trained from `{card.base}` by self-play{where}"
        + (f" as `{card.seat}`" if card.seat else "")
        + f" for {card.step} steps. Licence of the base model: {card.licence}.",
        "",
        "## Use",
        "",
        f"`python {EXAMPLE} {shell(heard(role))}` needs torch and transformers only.",
        "",
        *usage(role),
        "",
        "## Prompt",
        "",
        *fenced("\n\n".join(f"{message['role']}: {message['content']}" for message in opening(role)) or "(none)"),
        "",
        "Texts from strangers should not hold the model's control tokens: in training such letters stayed letters, but "
        "plain transformers reads them as control tokens.",
    ]
    if card.ratings:
        lines += ["", "## Ratings", "", "| agent | mu | sigma | matches |", "|---|---|---|---|"]
        lines += [f"| {r['agent']} | {r['mu']:.2f} | {r['sigma']:.2f} | {r['matches']} |" for r in card.ratings]
    if card.evaluation:
        lines += ["", "## Evaluation", "", "| measure | value |", "|---|---|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in sorted(card.evaluation.items())]
    return "\n".join(lines) + "\n"


def usage(role: Role) -> list[str]:
    """How to prompt and read this agent, in sentences."""
    if role.format is Format.raw:
        how = "The prompt is plain text, not a chat: the text below, then at once what the agent hears."
    elif role.system:
        how = (
            "The chat template puts the prompt below before every chat that has no system message of its own, so "
            "`tokenizer.apply_chat_template` takes just what the agent hears, as user messages."
        )
    elif role.examples:
        how = "Begin every chat with the messages below, then what the agent hears as user messages."
    else:
        how = "What the agent hears goes in as user messages."
    memory = "Each turn is a fresh prompt." if role.memory is Memory.turn else "Turns follow each other in one chat."
    drawn = (
        "Replies were drawn among the legal moves by their exact probabilities; the example does the same."
        if role.reply is Reply.legal
        else f"The move is group 1 of the last match of `{role.action}`."
    )
    return [how, memory, drawn, f"Sampling as in training: temperature {role.sampling.temperature:g}, nothing else."]


def heard(role: Role) -> str:
    """Something that this agent may hear."""
    return role.examples[-1].heard if role.examples else "Hello."


def shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fenced(text: str) -> list[str]:
    """A block of text that stays as it is."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, text, fence]


def example(role: Role, chat: Chat) -> str:
    """The program `example.py` for this role."""
    raw, legal = role.format is Format.raw, role.reply is Reply.legal
    told = opening(role)
    begin: Any = "".join(message["content"] for message in told) if raw else [] if role.system else told
    constants = {"OPENING": begin, "STOPS": sorted(chat.stops(role)), "ENDS": sorted(chat.ends), "MOVE": role.action}
    if legal:
        constants |= {"SAY": role.say, "END": chat.end, "TEMPERATURE": role.sampling.temperature}
    return HEAD.safe_substitute(
        constants="\n".join(f"{name} = {pprint.pformat(value, width=100)}" for name, value in constants.items()),
        said="history[-1:]  # every turn is a fresh prompt" if role.memory is Memory.turn else "history",
        prompt=RAW if raw else CHAT,
        reply=LEGAL if legal else FREE,
        clear="len(set(found)) == 1" if role.several is Several.invalid else "found",
        arguments="[sys.argv[1]], sys.argv[2:]" if legal else "sys.argv[1:]",
        more=" 'a legal move' 'another'" if legal else "" if role.memory is Memory.turn else " ['reply' 'heard' ...]",
    )


HEAD = Template(
    """\"\"\"Play this agent with torch and transformers alone: python example.py 'what it hears'$more\"\"\"

import re
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# OPENING comes before what is heard; STOPS end a reply, ENDS are those of them that are no part of its text.
$constants

HERE = Path(__file__).parent
tokenizer = AutoTokenizer.from_pretrained(HERE)
model = AutoModelForCausalLM.from_pretrained(HERE)


def prompt(history):
    \"\"\"The ids for [heard, reply, heard, ...].\"\"\"
    said = $said
$prompt

$reply

def move(reply):
    \"\"\"The move in a reply, "" if there is none.\"\"\"
    said = re.finditer(MOVE, re.sub(r"(?s)<think>.*?(</think>|\\Z)", "", reply))
    found = [match.group(1).strip() for match in said]
    return found[-1] if $clear else ""


if __name__ == "__main__":
    text = reply($arguments)
    print(repr(text), "->", repr(move(text)))
"""
)

CHAT = """    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    ids = tokenizer.apply_chat_template(OPENING + messages, add_generation_prompt=True, return_dict=True)
    return ids["input_ids"]
"""

RAW = """    ids = tokenizer(OPENING + said[0])["input_ids"]
    for text in said[1:]:
        ids += tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids
"""

FREE = """def reply(history):
    \"\"\"What the agent says, drawn as in training.\"\"\"
    ids = torch.tensor([prompt(history)])
    new = model.generate(ids, attention_mask=torch.ones_like(ids))[0, ids.shape[1] :].tolist()
    if new and new[-1] in ENDS:
        new.pop()
    return tokenizer.decode(new, clean_up_tokenization_spaces=False)
"""

LEGAL = """def reply(history, legal):
    \"\"\"What the agent says: one of the legal moves, drawn by the exact probabilities of their words.\"\"\"
    ids, scores = prompt(history), []
    for text in legal:
        option = tokenizer(SAY.replace("{move}", text), add_special_tokens=False)["input_ids"]
        option += [] if option and option[-1] in STOPS else [END]
        with torch.no_grad():
            logp = model(torch.tensor([ids + option])).logits[0].log_softmax(-1)
        scores.append(sum(logp[len(ids) + i - 1, token] for i, token in enumerate(option)))
    if not TEMPERATURE:
        return SAY.replace("{move}", legal[torch.stack(scores).argmax()])
    odds = (torch.stack(scores) / TEMPERATURE).softmax(0)
    return SAY.replace("{move}", legal[torch.multinomial(odds, 1)])
"""
