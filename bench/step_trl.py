"""TRL's side of bench/update.py: `GRPOTrainer` on the same prompts, group size and lengths, without KL, in float32."""

from __future__ import annotations

import time
from tempfile import TemporaryDirectory
from typing import Any

import prompts
import torch
from contender import answer
from datasets import Dataset
from machine import peak_gb, versions
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Clock(TrainerCallback):
    """Notes the time when training begins and after every step."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_begin(self, *given: Any, **more: Any) -> None:
        self.times.append(time.perf_counter())

    def on_step_end(self, *given: Any, **more: Any) -> None:
        self.times.append(time.perf_counter())


class Even:
    """Rewards a reply with the number of its even token ids, and remembers what was asked and how much was said."""

    __name__ = "even"

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer
        self.asked: list[set[tuple[int, ...]]] = []
        self.said: list[int] = []

    def __call__(self, prompts: list[str], completion_ids: list[list[int]], **more: Any) -> list[float]:
        self.asked.append({tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in prompts})
        self.said.append(sum(len(ids) for ids in completion_ids))
        return [float(sum(1 for token in ids if token % 2 == 0)) for ids in completion_ids]


def lora(rank: int) -> Any:
    """The adapter that ours has by default, or None for full fine-tuning."""
    if not rank:
        return None
    from peft import LoraConfig

    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    return LoraConfig(r=rank, lora_alpha=32, lora_dropout=0.0, target_modules=targets)


def main(asked: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(asked["threads"])
    tokenizer = AutoTokenizer.from_pretrained(asked["folder"])
    model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32)
    clock, even = Clock(), Even(tokenizer)
    with TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            max_steps=asked["repeats"] + 1,  # the first one warms up
            per_device_train_batch_size=asked["prompts"] * asked["samples"] // asked["passes"],
            gradient_accumulation_steps=asked["passes"],
            num_generations=asked["samples"],
            max_completion_length=asked["reply_tokens"],
            generation_kwargs={"min_new_tokens": asked["reply_tokens"]},
            gradient_checkpointing=asked["checkpointing"],
            temperature=1.0,
            beta=0.0,
            learning_rate=1e-6,
            bf16=False,
            use_cpu=True,
            seed=0,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=even,
            args=config,
            train_dataset=Dataset.from_dict(
                {"prompt": prompts.texts(tokenizer, asked["prompts"], asked["prompt_tokens"])}
            ),
            processing_class=tokenizer,
            callbacks=[clock],
            peft_config=lora(asked["rank"]),
        )
        trainer.train()
    seen = [list(ids) for ids in even.asked[-1]]
    lasted = [after - before for before, after in zip(clock.times, clock.times[1:], strict=False)]
    steps = [{"seconds": seconds, "reply_tokens": said} for seconds, said in zip(lasted, even.said, strict=True)]
    return {
        "steps": steps[1:],
        "step_peak_gb": peak_gb(),
        "prompts": prompts.mark(seen),
        "versions": versions("torch", "transformers", "trl", "peft", "accelerate"),
    }


if __name__ == "__main__":
    answer(main)
