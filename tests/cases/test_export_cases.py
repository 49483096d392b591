"""Known ways in which an export, a checkpoint or a model file went wrong elsewhere."""

from __future__ import annotations

import asyncio
import json
import struct
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from networks import network
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from arena import tournament
from arena.agent import opening
from arena.cast import Cast
from arena.chat import Chat
from arena.cli import main
from arena.engines import models
from arena.engines.tiny import CHATML, byte_tokenizer, make_tiny
from arena.engines.torch import TorchEngine
from arena.engines.transformer import ARCHITECTURES, Transformer
from arena.make import GameConfig, make
from arena.play import play
from arena.store import Store
from arena.tournament import EntrantConfig, TournamentConfig
from roles import Memory, load
from trainers import checkpoint, export
from trainers.card import Card
from trainers.config import LoraConfig, RolloutConfig, SeatConfig, TrainConfig
from trainers.learner import adapted
from trainers.outside import outside
from trainers.rollout import Rollout

CARD = Card(base="tiny")
ROLE = replace(load("kuhn"), memory=Memory.full)
IDS = torch.tensor([[104, 101, 108, 108, 111, 32, 119]])


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("base") / "tiny"
    make_tiny(path)
    return path


def logits(model) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(IDS).logits[0]


def with_adapter(base: Path, scale: float = 0.3):
    """The tiny model with a LoRA adapter that has learned something (or nothing, with scale 0), and its tokenizer."""
    model, tokenizer = models.load(base)
    model = adapted(model, LoraConfig(rank=4, alpha=8), seed=5)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return model, tokenizer


# -- O-05 --------------------------------------------------------------------------------------------------------------


def says_five(reply: str):
    """A model that takes square 5 almost surely, whatever it hears, its tokenizer, and how a config has it speak.

    Attention and feed-forward add nothing, so the next byte depends on the last one alone: the end of a prompt, [5].
    """
    model = network(dtype=torch.float32, vocab_size=259, max_position_embeddings=2048)
    words = [*b"\n[5]"]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "o_proj" in name or "down_proj" in name:
                weight.zero_()
        seen = model.model.norm(model.get_input_embeddings().weight[words[:-1]])
        head = model.get_output_embeddings().weight.mul_(0.01)
        head[words[1:]] = 20 * torch.linalg.pinv(seen).T  # 20 nats for the byte that follows
    return model, byte_tokenizer(), SeatConfig("tic_tac_toe", changes={"examples": [], "reply": reply})


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["free", "legal"])
def test_an_occupied_square_is_treated_alike_in_training_tournament_and_exported_play(base, tmp_path, reply):
    """O-05: one policy that wants the occupied square, on all three paths; the record says which rule it met."""
    model, tokenizer, seat = says_five(reply)
    role, game = load(seat.role, **seat.changes), GameConfig("tic_tac_toe")
    once = TrainConfig("ttt", game=game, seats={"x": seat, "o": seat}, rollout=RolloutConfig(deals=1, samples=1))
    (trained,) = Rollout(once, TorchEngine(Transformer(model)), Chat(tokenizer)).play(0)

    out = export.export(model, tokenizer, role, tmp_path / "out", base=base, card=CARD).path
    entrants = [EntrantConfig(name, agent=str(out)) for name in ("one", "other")]
    with Store(tmp_path / "store.db") as store:
        asyncio.run(
            tournament.run(TournamentConfig("ttt", rounds=1, game=game, entrants=entrants), Cast().agent, store)
        )
        matches = [store.match(match.id)[1] for match in store.log()]

    async def exported():
        async with outside(out, "exported", seed=0) as agent:
            return await play(make("tic_tac_toe"), {"x": agent, "o": agent}, seed=0)

    episodes = [trained, *(episode for episodes in matches for episode in episodes), asyncio.run(exported())]
    assert len(episodes) == 4  # two rotations of the seats
    for episode in episodes:
        turns = [(turn.seat, turn.move, turn.legal, turn.reason) for turn in episode.turns]
        assert turns[0] == ("x_0", "5", True, "")
        if reply == "legal":
            assert (episode.ending, episode.illegal) == ("over", False)
            assert {turn.stop for turn in episode.turns} == {"legal"}  # drawn among the legal moves
        else:
            refused = trained.turns[1].reason
            assert turns[1:] == [("o_0", "5", False, refused)] * 2
            assert refused == "say [1] or [2] or [3] or [4] or [6] or [7] or [8] or [9]"
            assert (episode.ending, episode.reason) == ("forfeit", trained.reason)
            assert trained.reason == f"o_0: {refused}"
            assert episode.returns == {"x_0": 1.0, "o_0": -1.0}


# -- O-30 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["missing", "half"])
def test_resume_skips_a_checkpoint_that_is_not_whole(tmp_path, how):
    """O-30: 10 is whole, 20 lacks a file or has half of one; 10 is taken, 20 named with the reason."""
    for step in (10, 20):
        checkpoint.save(tmp_path, step, {"weights": {"w": torch.full((500,), float(step))}}, {"cursor": step})
    file = tmp_path / "step_000020" / "weights.safetensors"
    whole = file.read_bytes()
    file.unlink()
    if how == "half":
        file.write_bytes(whole[: len(whole) // 2])
    path, problems = checkpoint.latest(tmp_path)
    back = checkpoint.load(path)
    assert (back.step, back.state["cursor"], back.tensors["weights"]["w"][0].item()) == (10, 10, 10.0)
    reason = "is missing" if how == "missing" else f"has {len(whole) // 2} of {len(whole)} bytes"
    assert problems == [f"step_000020: weights.safetensors {reason}"]


# -- O-47 --------------------------------------------------------------------------------------------------------------


def test_a_merged_export_answers_as_with_the_adapter(base, tmp_path):
    """O-47: the adapter changes the greedy answer; plain transformers gives the changed one."""
    model, tokenizer = with_adapter(base)
    live, plain = logits(model), logits(models.load(base)[0])
    assert (live.argmax(-1) != plain.argmax(-1)).any()
    done = export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    again = logits(AutoModelForCausalLM.from_pretrained(tmp_path / "out"))
    assert torch.allclose(again, live, atol=1e-4)
    assert (again.argmax(-1) == live.argmax(-1)).all()
    assert done.max_logit_difference <= 1e-4
    assert done.from_base > 0.01
    assert torch.equal(logits(model), live), "the live agent was merged too"


def test_an_export_that_left_its_adapter_aside_is_not_written(base, tmp_path, monkeypatch):
    """O-47, the planted fault: the base is written in place of the agent."""
    monkeypatch.setattr(export, "merged", lambda model: model.unload())
    with pytest.raises(export.ExportError, match="was an adapter left out"):
        export.export(*with_adapter(base), ROLE, tmp_path / "out", base=base, card=CARD)
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_equals_its_base_is_not_written(base, tmp_path):
    """O-47: an adapter of zeros."""
    with pytest.raises(export.ExportError, match="exactly like its base tiny"):
        export.export(*with_adapter(base, 0.0), ROLE, tmp_path / "out", base=base, card=CARD)
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_is_not_finite_is_not_written(base, tmp_path):
    model, tokenizer = models.load(base)
    with torch.no_grad():
        model.model.norm.weight[0] = float("nan")
    with pytest.raises(export.ExportError, match="differ"):
        export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    assert list(tmp_path.iterdir()) == []


# -- O-48 --------------------------------------------------------------------------------------------------------------


def by_hand(file: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file, read without any library that knows the format."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    entries = json.loads(content[8 : 8 + length])
    assert entries.pop("__metadata__") == {"format": "pt"}
    found = {}
    for name, entry in entries.items():
        assert entry["dtype"] == "F32"
        start, stop = (8 + length + offset for offset in entry["data_offsets"])
        found[name] = np.frombuffer(content[start:stop], "<f4").reshape(entry["shape"])
    return found


def test_a_tied_head_is_in_the_file_and_stays_tied(base, tmp_path):
    """O-48: transformers and a reader of the bare file find the same head; the config keeps the tie."""
    model, tokenizer = with_adapter(base)
    export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    tensors = by_hand(tmp_path / "out" / "model.safetensors")
    assert np.array_equal(tensors["lm_head.weight"], tensors["model.embed_tokens.weight"])
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tie_word_embeddings"] is True
    assert again.lm_head.weight.data_ptr() == again.model.embed_tokens.weight.data_ptr()
    with torch.no_grad():
        hidden = again.model(IDS).last_hidden_state[0].numpy()
    assert np.allclose(hidden @ tensors["lm_head.weight"].T, logits(model).numpy(), atol=1e-4)


def test_an_untied_head_that_was_trained_is_saved_on_its_own(base, tmp_path):
    """O-48: a base with a tied head whose head was cut loose and trained."""
    model, tokenizer = models.load(base)
    head = model.lm_head.weight.detach().clone()
    head[7] += 1
    model.lm_head.weight = torch.nn.Parameter(head)
    live = logits(model)
    export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    tensors = by_hand(tmp_path / "out" / "model.safetensors")
    assert not np.array_equal(tensors["lm_head.weight"][7], tensors["model.embed_tokens.weight"][7])
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tie_word_embeddings"] is False
    assert torch.allclose(logits(AutoModelForCausalLM.from_pretrained(tmp_path / "out")), live, atol=1e-5)


# -- O-49 --------------------------------------------------------------------------------------------------------------

CUSTOM = (
    "{%- if messages[0]['role'] == 'system' -%}<|im_start|>rules: {{ messages[0]['content'] }}<|im_end|>{%- endif -%}\n"
    "{%- for m in messages if m['role'] != 'system' %}\n<|im_start|>{{ m['role'] }}> {{ m['content'] }}<|im_end|>"
    "{% endfor %}\n{% if add_generation_prompt %}<|im_start|>assistant> {% endif %}"
)


@pytest.mark.parametrize("template", [CHATML, CUSTOM])
def test_the_folder_alone_renders_the_ids_of_training(base, tmp_path, template):
    """O-49: two turns, with a template of the user's own and a role prompt, from the folder alone."""
    model, tokenizer = with_adapter(base)
    tokenizer.chat_template = template
    chat = Chat(tokenizer)
    u1, u2 = ({"role": "user", "content": text} for text in ("Card: J. Moves: none.", "Card: K. Moves: bet."))
    (reply,) = chat.options(ROLE, ["bet"])
    trained = [*chat.open([*opening(ROLE), u1]), *reply, *chat.follow([u2], chat.closed(reply))]

    export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    alone = AutoTokenizer.from_pretrained(tmp_path / "out")
    said = [u1, {"role": "assistant", "content": "[bet]"}, u2]
    rendered = alone.apply_chat_template(said, add_generation_prompt=True, return_dict=True)["input_ids"]
    assert rendered == trained
    other = [{"role": "system", "content": "Other rules."}, u1]
    assert ROLE.system not in alone.apply_chat_template(other, tokenize=False)


def test_all_that_replies_need_is_in_the_folder(base, tmp_path):
    """O-49: template, special tokens, ids that end a reply, sampling as trained, the role, and a card that has it."""
    export.export(*with_adapter(base), ROLE, tmp_path / "out", base=base, card=CARD)
    alone = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (alone.bos_token, alone.eos_token, alone.pad_token) == ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
    settings = GenerationConfig.from_pretrained(tmp_path / "out")
    assert settings.eos_token_id == [ord("]"), alone.eos_token_id]
    assert (settings.do_sample, settings.temperature, settings.top_k, settings.top_p) == (True, 1.0, 0, 1.0)
    assert settings.max_new_tokens == ROLE.sampling.max_tokens
    assert load(str(tmp_path / "out" / "role.yaml")) == ROLE
    assert ROLE.system in (tmp_path / "out" / "README.md").read_text()


def test_an_export_that_lost_its_template_is_not_written(base, tmp_path, monkeypatch):
    """O-49, the planted fault: the model's own template goes along without the role's prompt."""
    monkeypatch.setattr(export, "carried", lambda tokenizer, role: tokenizer.chat_template)
    with pytest.raises(export.ExportError, match="plain transformers would prompt with"):
        export.export(*with_adapter(base), ROLE, tmp_path / "out", base=base, card=CARD)
    assert list(tmp_path.iterdir()) == []


def test_a_template_that_rewrites_the_past_is_not_passed_off_as_the_one_of_training(base, tmp_path):
    """O-49: a reply of the past gets words that it did not have when it was sampled."""
    model, tokenizer = with_adapter(base)
    tokenizer.chat_template = CHATML.replace(
        "message['content']", "('said: ' if message['role'] == 'assistant' else '') + message['content']"
    )
    with pytest.raises(export.ExportError, match="rewrite earlier turns"):
        export.export(model, tokenizer, ROLE, tmp_path / "out", base=base, card=CARD)
    export.export(model, tokenizer, load("kuhn"), tmp_path / "turn", base=base, card=CARD)  # has no past


# -- O-50 --------------------------------------------------------------------------------------------------------------


def gguf(path: Path, architecture: str) -> Path:
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(64)
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_of_an_unknown_architecture_is_told_at_once(tmp_path, monkeypatch):
    """O-50: file, architecture and the supported list in one line, within seconds, nothing begun in the cache."""
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path / "cache"))
    file = gguf(tmp_path / "odd.gguf", "hyena9000")
    began = time.perf_counter()
    with pytest.raises(models.ModelError) as caught:
        models.find(str(file))
    assert time.perf_counter() - began < 3
    told = str(caught.value)
    assert all(word in told for word in (str(file), "hyena9000", *ARCHITECTURES))
    assert "\n" not in told
    assert not (tmp_path / "cache").exists()


def test_a_damaged_gguf_file_is_told_at_once(tmp_path):
    """O-50: no file of that kind at all, and one that ends in its header."""
    file = tmp_path / "odd.gguf"
    file.write_bytes(b"GGML" + bytes(100))
    with pytest.raises(models.ModelError, match="not a GGUF file"):
        models.find(str(file))
    file.write_bytes(gguf(tmp_path / "good.gguf", "llama").read_bytes()[:60])
    with pytest.raises(models.ModelError, match="not a GGUF file"):
        models.find(str(file))


def test_the_command_ends_with_an_error_before_anything_starts(tmp_path, capsys):
    """O-50: `scrimmage train` with such a model: one line, exit code not 0, no run begun."""
    file = gguf(tmp_path / "odd.gguf", "hyena9000")
    config = tmp_path / "x.yaml"
    seats = "seats: {first: {role: kuhn}, second: {role: kuhn}}"
    config.write_text(f"name: x\nmodel: {file}\ngame: {{name: kuhn_poker}}\n{seats}\n")
    assert main(["train", str(config), "--folder", str(tmp_path / "run")]) != 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "hyena9000" in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert not list((tmp_path / "run").glob("*"))
