"""The recorded waves by `transformers.generate`: static batches of up to 64, padded on the left, as its users do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from contender import answer
from machine import versions
from replay import Request, alike, replay
from transformers import AutoModelForCausalLM

BATCH = 64


def main(asked: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(asked["threads"])
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32).eval()

    def generate(wave: Sequence[Request]) -> int:
        return sum(complete(model, batch) for batch in alike(wave, BATCH))

    found = replay(asked["works"], generate, forget=lambda: None, repeats=asked["repeats"])
    return {"works": found, "versions": versions("torch", "transformers")}


def complete(model: Any, batch: Sequence[Request]) -> int:
    """Sample one batch; the number of ids up to each one's stop."""
    width = max(len(request["prompt"]) for request in batch)
    ids, mask = torch.zeros(len(batch), width, dtype=torch.int64), torch.zeros(len(batch), width, dtype=torch.int64)
    for row, request in enumerate(batch):
        ids[row, width - len(request["prompt"]) :] = torch.tensor(request["prompt"])
        mask[row, width - len(request["prompt"]) :] = 1
    stop = batch[0]["stop"]
    out = model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        max_new_tokens=batch[0]["max_tokens"],
        eos_token_id=stop,
        pad_token_id=stop[0],
    )
    new = out[:, width:]
    ended = torch.isin(new, torch.tensor(stop)).cumsum(1)
    return int(((ended == 0) | ((ended == 1) & torch.isin(new, torch.tensor(stop)))).sum())


if __name__ == "__main__":
    answer(main)
