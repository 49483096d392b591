"""The only place where messages become ids."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from arena.lexicon import Lexicon
from roles import Format, Role

Message = Mapping[str, str]
MARKUP = re.compile(r"\s*[<\[{].*[>\]}]\s*", re.DOTALL)
REMEMBERED, MEMORY = 2048, 4096  # the longest text that is remembered, and how many
# What a template is told when it asks for the date: prompts don't depend on the clock.
DAY = {"%d": "01", "%e": "1", "%m": "01", "%b": "Jan", "%B": "January", "%y": "25", "%Y": "2025", "%A": "Wednesday"}
DATED = "".join(f"|replace('{sign}', '{word}')" for sign, word in DAY.items())
DATED = "{% macro strftime_now(format) %}{{ format" + DATED + " }}{% endmacro %}"


class ChatError(ValueError):
    """A tokenizer or template that can't carry what a role asks of it; one line with the remedy."""


class Chat:
    """A tokenizer and its chat template, used forward only: what was sampled is never encoded again.

    Control tokens come from the template alone. Every message content, ours too, is foreign text: in it the letters of
    a control token stay letters. To that end the tokenizer is copied and each control token of the copy gets a secret
    name; template text is written with the secret names, contents as they are, and one pass encodes both. So harmless
    text gets exactly the ids that the tokenizer itself gives the rendered conversation.
    """

    def __init__(self, tokenizer: Any):
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ChatError(f"{type(tokenizer).__name__} is not a fast tokenizer: load one that has a tokenizer.json")
        self.tokenizer = tokenizer
        self._backend = backend
        # Nobody who writes foreign text can guess the names; no id depends on them.
        self._nonce = secrets.token_hex(8)
        control = {
            i: t for i, t in backend.get_added_tokens_decoder().items() if t.special or MARKUP.fullmatch(t.content)
        }
        control.pop(tokenizer.unk_token_id, None)  # what an unknown letter becomes controls nothing
        self.control: frozenset[int] = frozenset(control)
        self._secret = {token.content: f"\ue000{self._nonce}{i}\ue001" for i, token in control.items()}
        self._named = re.compile(
            "|".join(re.escape(name) for name in sorted(self._secret, key=len, reverse=True)) or r"(?!)"
        )
        self._vault = type(backend).from_str(json.dumps(_renamed(json.loads(backend.to_str()), self._secret)))
        anchors = [self._secret[token.content] for token in control.values() if not token.rstrip]
        self._anchor = anchors[0] if anchors else ""
        self._shapes: dict[tuple[str, ...], list[str]] = {}
        self._memory: dict[tuple[str, bool], tuple[int, ...]] = {}
        for i, token in control.items():
            if self._ids(self._secret[token.content]) != [i] or i in self._ids(token.content):
                raise ChatError(
                    f"control token {token.content!r} can't be told from text in this tokenizer: use another"
                )
        self.bos = self._own_bos()
        self.end = self._end_of_turn()
        self.ends: frozenset[int] = frozenset({self.end, tokenizer.eos_token_id} - {None})

    # -- messages to ids -------------------------------------------------------------------------------------------

    def open(self, messages: Sequence[Message], format: Format = Format.chat) -> list[int]:
        """The first prompt: all messages, then the head of the reply. Raw: their contents in one run of plain text."""
        if format is Format.raw:
            return self.bos + self._ids("".join(message["content"] for message in messages), start=True)
        return self._ids(self._filled(messages), start=True)

    def follow(self, messages: Sequence[Message], closed: bool, format: Format = Format.chat) -> list[int]:
        """The ids between a reply and the next one.

        They begin with the template's end of turn, unless the reply is `closed`: has sampled it itself.
        """
        if format is Format.raw:
            return self._ids("".join(message["content"] for message in messages))
        ids = self._ids(self._filled(messages, after_reply=True))
        return ids[ids.index(self.end) + 1 :] if closed and self.end in ids else ids

    def encode(self, text: str) -> list[int]:
        """The ids of plain text that continues something; control tokens in it stay letters."""
        return self._ids(text)

    def text(self, ids: Sequence[int]) -> str:
        """The words of a reply, without the end of turn. Any other control token shows, so it can't hide in a move."""
        ids = list(ids)
        if ids and ids[-1] in self.ends:
            ids.pop()
        return str(self._backend.decode(ids, skip_special_tokens=False))

    # -- how replies end -------------------------------------------------------------------------------------------

    def closed(self, ids: Sequence[int]) -> bool:
        """Whether a reply ends with the template's own end of turn."""
        return bool(ids) and ids[-1] == self.end

    def stops(self, role: Role) -> frozenset[int]:
        """The ids that end a reply: the model's own ends and the role's stop texts, each of which must be one token."""
        found = set(self.ends)
        for text in role.sampling.stop:
            ids = self._ids(text)
            if len(ids) != 1:
                raise ChatError(
                    f"role {role.name!r}: stop {text!r} is {len(ids)} tokens of this model: choose a text of one"
                )
            found.add(ids[0])
        return frozenset(found)

    def options(self, role: Role, moves: Sequence[str]) -> list[tuple[int, ...]]:
        """The canonical reply of each move, as ids, with the token that ends it."""
        stops = self.stops(role)
        return [self._ended(role, move, stops) for move in moves]

    def replies(self, role: Role, move: str) -> list[tuple[int, ...]]:
        """Every reply, as ids, whose words are `role.words(move)`, however it is cut into tokens and whatever ends it.

        Their probabilities add up to that of the move, where the role's `action` accepts these words and no others.
        """
        stops, longest = self.stops(role), role.sampling.max_tokens
        found: list[tuple[int, ...]] = []
        for ids in self.spellings(role.words(move), longest):
            if not stops.isdisjoint(ids[:-1]):
                continue
            if ids[-1] in stops or len(ids) == longest:
                found.append(ids)
            if ids[-1] not in stops and len(ids) < longest:
                found += [(*ids, end) for end in sorted(self.ends)]
        return found

    def spellings(self, text: str, longest: int = 64) -> list[tuple[int, ...]]:
        """All sequences of at most `longest` tokens that spell exactly `text`; no control token is among them.

        Raises ValueError if there are too many to list.
        """
        found = [
            ids
            for start in (b"", b" ")  # some decoders drop a space before the first word
            for ids in self._lexicon.cuts(start + text.encode(), longest)
        ]
        return [ids for ids in found if self._backend.decode(list(ids), skip_special_tokens=False) == text]

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon(self._backend, self.control)

    def _ended(self, role: Role, move: str, stops: frozenset[int]) -> tuple[int, ...]:
        ids = self._ids(role.words(move))
        if not ids or ids[-1] not in stops:
            if self.end is None:
                raise ChatError(
                    f"role {role.name!r}: nothing ends the reply {role.words(move)!r}: give the role a stop text"
                )
            ids.append(self.end)
        if not stops.isdisjoint(ids[:-1]):
            raise ChatError(f"role {role.name!r}: a stop text lies inside {role.words(move)!r}: change `say` or `stop`")
        return tuple(ids)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _ids(self, text: str, start: bool = False) -> list[int]:
        """Ids of text that holds secret names; not at the `start`, tokenizers must not put a space before it.

        Self-play says the same short texts over and over: those are encoded once.
        """
        if len(text) > REMEMBERED:
            return self._encoded(text, start)
        found = self._memory.get((text, start))
        if found is None:
            if len(self._memory) >= MEMORY:
                self._memory.clear()
            found = self._memory[text, start] = tuple(self._encoded(text, start))
        return list(found)

    def _encoded(self, text: str, start: bool) -> list[int]:
        if start or not self._anchor:
            return list(self._vault.encode(text, add_special_tokens=False).ids)
        return list(self._vault.encode(self._anchor + text, add_special_tokens=False).ids[1:])

    def _filled(self, messages: Sequence[Message], after_reply: bool = False) -> str:
        """The rendered conversation, or what stands after a reply in it; control tokens under their secret names."""
        speakers = tuple(message["role"] for message in messages)
        parts = self._shape(("user", "assistant", *speakers) if after_reply else speakers)
        filled = [part if i % 2 == 0 else None for i, part in enumerate(parts)]
        first = 2 if after_reply else 0
        for i in range(1, len(parts), 2):
            index = int(parts[i]) - first
            filled[i] = messages[index]["content"] if index >= 0 else ""
        if after_reply:
            reply = max(i for i in range(1, len(parts), 2) if parts[i] == "1")
            filled = filled[reply + 1 :]
        return "".join(text or "" for text in filled)

    def _shape(self, speakers: tuple[str, ...]) -> list[str]:
        """The template around contents: text, index of a message, text, ..., text. It depends on the speakers alone."""
        if speakers not in self._shapes:
            rendered = self._render(speakers)
            parts = re.split(self._nonce + r"i(\d+)i", rendered)
            missing = set(map(str, range(len(speakers)))) - set(parts[1::2])
            if missing:
                first = min(map(int, missing))
                raise self._refused(speakers, f"drops message {first} ({speakers[first]})")
            parts[::2] = [self._named.sub(lambda match: self._secret[match[0]], text) for text in parts[::2]]
            self._shapes[speakers] = parts
        return self._shapes[speakers]

    def _render(self, speakers: Sequence[str], prompt: bool = True) -> str:
        from jinja2 import TemplateError

        if not self.tokenizer.chat_template:
            raise ChatError("the model has no chat template: set the role's `format: raw`")
        messages = [{"role": speaker, "content": f"{self._nonce}i{i}i"} for i, speaker in enumerate(speakers)]
        template = self.tokenizer.get_chat_template()
        if "strftime_now" in template:
            template = DATED + template
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    messages, chat_template=template, tokenize=False, add_generation_prompt=prompt
                )
            )
        except TemplateError as error:
            raise self._refused(speakers, f"says {str(error)!r}") from error

    def _refused(self, speakers: Sequence[str], what: str) -> ChatError:
        remedy = "set the role's `format: raw`"
        if "system" in speakers:
            remedy = "if it takes no system prompt, put that text into the first user message, or " + remedy
        return ChatError(f"the model's chat template {what} for {', '.join(speakers)}: {remedy}")

    def _own_bos(self) -> list[int]:
        """What the tokenizer itself puts before text."""
        plain, full = (self.tokenizer.encode("a", add_special_tokens=own) for own in (False, True))
        for i in range(len(full) - len(plain) + 1):
            if full[i : i + len(plain)] == plain:
                return list(full[:i])
        return []

    def _end_of_turn(self) -> int | None:
        """The first control token that the template puts after a reply; without one, the model's end of text."""
        if self.tokenizer.chat_template:
            after = self._render(("user", "assistant"), prompt=False).rpartition(self._nonce + "i1i")[2]
            found = self._named.search(after)
            if found:
                return self._ids(self._secret[found[0]])[0]
        eos: int | None = self.tokenizer.eos_token_id
        return eos


def _renamed(tokenizer: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A tokenizer.json whose added tokens in `names` are known by other names only; every id stays what it is."""
    for token in tokenizer["added_tokens"]:
        if token["content"] in names:
            token.update(content=names[token["content"]], normalized=False, single_word=False)
    vocab = tokenizer["model"]["vocab"]
    if isinstance(vocab, dict):
        tokenizer["model"]["vocab"] = {names.get(word, word): i for word, i in vocab.items()}
    else:
        tokenizer["model"]["vocab"] = [[names.get(word, word), score] for word, score in vocab]
    return {**tokenizer, "post_processor": None, "truncation": None, "padding": None}
