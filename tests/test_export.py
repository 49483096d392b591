"""An exported folder is the agent, for plain transformers alone, or it is not written."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from arena import config as configs
from arena.agent import opening
from arena.chat import Chat
from arena.engines import models
from arena.engines.tiny import make_tiny
from roles import Example, Format, Memory, Reply, Role, Sampling, load
from trainers import checkpoint, export
from trainers.card import EXAMPLE, Card
from trainers.config import GameConfig, SeatConfig, TrainConfig
from trainers.config import LoraConfig as Lora
from trainers.learner import adapted

CARD = Card(
    base="tiny",
    licence="Apache-2.0",
    game="kuhn_poker",
    seat="first",
    step=60,
    ratings=[{"agent": "final", "mu": 27.5, "sigma": 1.25, "matches": 40}],
    evaluation={"kuhn.nash_conv.end": 0.25},
)
KUHN = load("kuhn")
FULL = Role(name="talker", system="Be 'brief'.\n\\n {{ x }} {% y %} é 😀\n", sampling=Sampling(0.7, 9))
RAW = load("sums_solver")
LEGAL = replace(KUHN, reply=Reply.legal)
SHOWN = Role(name="shown", examples=[Example("a?", "[b]")], memory=Memory.full)
BARE = Role(name="bare")
ROLES = {"turn": KUHN, "full": FULL, "raw": RAW, "legal": LEGAL, "shown": SHOWN, "bare": BARE}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("base") / "tiny"
    make_tiny(path)
    return path


def nudged(model, scale=0.02, seed=1):
    """The model, trained by a little noise."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += scale * torch.randn(parameter.shape, generator=generator)
    return model


@pytest.fixture
def agent(base):
    model, tokenizer = models.load(base)
    return nudged(model), tokenizer


@pytest.fixture(scope="module")
def exported(base, tmp_path_factory):
    """One export of each role."""
    model, tokenizer = models.load(base)
    nudged(model)
    where = tmp_path_factory.mktemp("out")
    return {
        name: export.export(model, tokenizer, role, where / name, base=base, card=CARD).path
        for name, role in ROLES.items()
    }


def snippet(path: Path) -> dict:
    """The names that the folder's own program defines."""
    names = {"__file__": str(path / "example.py"), "__name__": "example"}
    exec(compile((path / EXAMPLE).read_text(), "example.py", "exec"), names)
    return names


@pytest.mark.parametrize("name", ROLES)
def test_its_own_program_prompts_with_the_ids_of_training(exported, base, name):
    role, chat = ROLES[name], Chat(models.read_tokenizer(base))
    program = snippet(exported[name])
    heard = {"role": "user", "content": "12 + 34"}
    first = chat.open([*opening(role), heard], role.format)
    assert program["prompt"](["12 + 34"]) == first
    reply = chat.options(role, ["46"])[0]
    history = ["12 + 34", chat.text(reply), "12 + 34"]
    if role.memory is Memory.turn:
        assert program["prompt"](history) == first
    else:
        follow = chat.follow([heard], chat.closed(reply), role.format)
        assert program["prompt"](history) == [*first, *reply, *follow]


@pytest.mark.parametrize("name", ROLES)
def test_back_in_the_arena_the_role_is_not_told_twice(exported, base, name):
    """The folder carries the role in its template and in role.yaml; a seat that takes it reads what training read."""
    role, heard = load(str(exported[name] / "role.yaml")), [{"role": "user", "content": "12 + 34"}]
    trained, again = (Chat(models.read_tokenizer(path)) for path in (base, exported[name]))
    assert again.open([*opening(role), *heard], role.format) == trained.open([*opening(role), *heard], role.format)
    assert again.follow(heard, True, role.format) == trained.follow(heard, True, role.format)
    assert (again.ends, again.stops(role)) == (trained.ends, trained.stops(role))


@pytest.mark.parametrize("name", ROLES)
def test_its_own_program_imports_nothing_of_ours(exported, name):
    tree = ast.parse((exported[name] / EXAMPLE).read_text())
    found = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert found == {"re", "sys", "pathlib", "torch", "transformers"}


@pytest.mark.parametrize("name", ROLES)
def test_its_own_program_reads_moves_as_the_role_does(exported, name):
    program = snippet(exported[name])
    for text in ("[bet]", "46\n", "", "<think>[fold]</think> [call]", "[a] [b]", " [bet]"):
        assert program["move"](text) == ROLES[name].move(text)


def test_its_own_program_plays_in_a_process_without_us(exported):
    """The folder alone: another directory, no path of ours, and the command that the card shows."""
    path = exported["turn"]
    command = [sys.executable, "-P", "example.py", KUHN.examples[0].heard]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    run = subprocess.run(command, cwd=path, env=env, capture_output=True, text=True, check=True)
    assert " -> " in run.stdout


def test_plain_sampling_has_the_distribution_of_training(exported):
    """`generate` as the folder sets it draws the first token from softmax(logits / T) over the whole vocabulary."""
    program = snippet(exported["full"])
    ids = torch.tensor([program["prompt"](["hello"])[-8:]])
    with torch.no_grad():
        exact = (program["model"](ids).logits[0, -1] / FULL.sampling.temperature).softmax(-1)
    torch.manual_seed(0)
    many = ids.repeat(4000, 1)
    drawn = program["model"].generate(many, attention_mask=torch.ones_like(many), max_new_tokens=1)[:, -1]
    counts = torch.bincount(drawn, minlength=len(exact)).double()
    expected = exact.double() * 4000
    chi_squared = ((counts - expected) ** 2 / expected).sum().item()
    assert chi_squared < 258 + 5 * (2 * 258) ** 0.5
    flat = ((counts - 4000 / 259) ** 2 / (4000 / 259)).sum().item()
    assert flat > 258 + 5 * (2 * 258) ** 0.5, "the test could not tell temperature 0.7 from a flat one"


def test_legal_replies_are_drawn_by_their_exact_probabilities(exported, base):
    program = snippet(exported["legal"])
    model, tokenizer = program["model"], Chat(models.read_tokenizer(base))
    prompt = program["prompt"](["Card: K."])
    scores = []
    for option in tokenizer.options(LEGAL, ["fold", "call"]):
        with torch.no_grad():
            logp = model(torch.tensor([[*prompt, *option]])).logits[0].log_softmax(-1)
        scores.append(sum(logp[len(prompt) - 1 + i, t].item() for i, t in enumerate(option)))
    fold = 1 / (1 + torch.tensor(scores[1] - scores[0]).exp().item())
    torch.manual_seed(0)
    drawn = [program["reply"](["Card: K."], ["fold", "call"]) for _ in range(200)]
    assert set(drawn) <= {"[fold]", "[call]"}
    assert abs(drawn.count("[fold]") / 200 - fold) < 4 * (fold * (1 - fold) / 200) ** 0.5


def test_replies_end_where_they_ended_in_training(exported):
    """A stop text of the role ends `generate` too, and stays in the reply; the end of turn does not."""
    program = snippet(exported["turn"])
    bracket, end = ord("]"), 258

    def always(token):
        def forward(module, inputs, outputs):
            outputs.logits = torch.full_like(outputs.logits, -1e9)
            outputs.logits[..., token] = 0.0
            return outputs

        return program["model"].register_forward_hook(forward)

    for token, text in ((bracket, "]"), (end, ""), (ord("x"), "xxxxx")):
        hook = always(token)
        assert program["reply"](["Card: K."]) == text
        hook.remove()


def test_the_card_tells_where_it_comes_from_and_what_was_measured(exported):
    text = (exported["turn"] / "README.md").read_text()
    assert text.startswith("---\n")
    front = OmegaConf.create(text.split("---\n")[1])
    assert (front.base_model, front.license, front.library_name) == ("tiny", "apache-2.0", "transformers")
    for part in ("kuhn_poker", "`first`", "60 steps", "| final | 27.50 | 1.25 | 40 |", "| kuhn.nash_conv.end | 0.25 |"):
        assert part in text
    assert KUHN.system in text
    assert all(shown.heard in text for shown in KUHN.examples)


def test_nothing_in_it_tells_of_this_machine(exported, base):
    for path in exported.values():
        for file in path.iterdir():
            if file.suffix != ".safetensors":
                assert str(base.parent) not in file.read_text()
                assert str(path) not in file.read_text()


def test_equal_agents_give_equal_files(agent, base, tmp_path):
    for name in ("a", "b"):
        export.export(*agent, KUHN, tmp_path / name, base=base, card=CARD)
    for file in (tmp_path / "a").iterdir():
        if file.name != "manifest.json":  # it holds the time of each file
            assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_the_live_agent_stays_as_it_was(agent, base, tmp_path):
    model, tokenizer = agent
    model.train()
    before, template = {k: v.clone() for k, v in model.state_dict().items()}, tokenizer.chat_template
    export.export(model, tokenizer, KUHN, tmp_path / "out", base=base, card=CARD)
    assert model.training
    assert tokenizer.chat_template == template
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert model.config.tie_word_embeddings


# -- where it may be written -------------------------------------------------------------------------------------------


def test_a_folder_of_somebody_else_is_never_written_over(agent, base, tmp_path):
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter").write_text("1")
    for force in (False, True):
        with pytest.raises(export.ExportError, match="no export of ours"):
            export.export(*agent, KUHN, out, base=base, card=CARD, force=force)
    assert [file.name for file in out.iterdir()] == ["chapter"]


def test_an_earlier_export_is_replaced_by_force_only(agent, base, tmp_path):
    out = tmp_path / "out"
    out.mkdir()  # an empty folder will do
    export.export(*agent, KUHN, out, base=base, card=CARD)
    with pytest.raises(export.ExportError, match="--force"):
        export.export(*agent, RAW, out, base=base, card=CARD)
    assert load(str(out / "role.yaml")) == KUHN
    export.export(*agent, RAW, out, base=base, card=CARD, force=True)
    assert load(str(out / "role.yaml")) == RAW
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


# -- out of a run's folder ---------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three roles, one of them not learning, with checkpoints at 5 and 10; returns its folder and models."""
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path / "cache"))
    settings = TrainConfig(
        name="small",
        model="tiny",
        game=GameConfig("proposer_solver"),
        seats={"proposer": SeatConfig("kuhn"), "solver": SeatConfig("sums_solver"), "idle": SeatConfig(agent="random")},
        lora=Lora(rank=4),
    )
    folder = tmp_path / "run"
    folder.mkdir()
    configs.save(settings, folder / "config.yaml")
    measured = {str(step): {"accuracy": step / 100} for step in (0, 5, 10)}
    numbers = {"sums": {"accuracy": {"end": 0.77}}, "ratings": [], "seconds": 9, "evaluation": measured}
    (folder / "report.json").write_text(json.dumps(numbers))
    alive = {}
    for step in (5, 10):
        model = nudged(adapted(models.load(models.find("tiny"))[0], settings.lora, settings.seed), 0.1, step)
        weights = {name: p for name, p in model.named_parameters() if p.requires_grad}
        checkpoint.save(folder / "checkpoints", step, {"weights": weights}, {}, keep=5)
        alive[step] = model
    return folder, alive


def logits(model):
    with torch.no_grad():
        return model(torch.tensor([[1, 2, 3]])).logits


def test_a_run_exports_the_agent_of_a_step(run, tmp_path):
    folder, alive = run
    for step, expected in ((None, 10), (5, 5)):
        out = tmp_path / f"out_{step}"
        done = export.export_run(folder, "solver", out, step)
        assert done.path == out
        assert torch.allclose(logits(models.load(out)[0]), logits(alive[expected]), atol=1e-5)
        assert load(str(out / "role.yaml")) == RAW
        card = (out / "README.md").read_text()
        assert "| sums.accuracy.end | 0.77 |" in card
        assert f"| accuracy | {expected / 100} |" in card  # of the exported step, and of no other
        assert card.count("| accuracy |") == 1


@pytest.mark.parametrize(
    ("role", "step", "told"),
    [
        ("solvr", None, "no role 'solvr': did you mean 'solver'"),
        ("idle", None, "no role 'idle'"),
        (None, None, "trained proposer, solver: say which with --role"),
        ("solver", 7, "no step 7: there are 5, 10"),
    ],
)
def test_what_a_run_does_not_have_is_told(run, tmp_path, role, step, told):
    with pytest.raises(export.ExportError, match=told):
        export.export_run(run[0], role, tmp_path / "out", step)
    assert not (tmp_path / "out").exists()


def test_weights_of_another_shape_of_run_are_refused(run, tmp_path):
    folder, _ = run
    checkpoint.save(folder / "checkpoints", 11, {"weights": {"odd": torch.ones(1)}}, {}, keep=5)
    with pytest.raises(ValueError, match="saved of another model or LoRA"):
        export.export_run(folder, "solver", tmp_path / "out")


def test_a_format_that_the_template_forbids_is_told_at_once(base, tmp_path):
    model, tokenizer = models.load(base)
    tokenizer.chat_template = None
    done = export.export(nudged(model), tokenizer, RAW, tmp_path / "raw", base=base, card=CARD)
    assert RAW.format is Format.raw
    assert done.max_logit_difference <= 1e-4
    with pytest.raises(ValueError, match="no chat template"):
        export.export(model, tokenizer, KUHN, tmp_path / "chat", base=base, card=CARD)


def test_the_adapter_is_named_default(base):
    """The engine reads it by this name."""
    model = adapted(models.load(base)[0], Lora(rank=2, targets=["q_proj"]), seed=0)
    assert any(".lora_A.default." in name for name, _ in model.named_parameters())
