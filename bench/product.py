"""Matrix products of a 135M model's layers: `arena.engines.product` beside torch's own linear, by number of rows.

python bench/product.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from arena.engines.product import packed, product

SHAPES = {(576, 576): 2, (192, 576): 2, (1536, 576): 2, (576, 1536): 1}  # (outputs, inputs): how many a layer has
LAYERS = 30


def milliseconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The best of some runs."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return 1e3 * best


def main() -> None:
    print(f"{'rows':>5} {'F.linear':>10} {'product':>10} {'packed':>10}   ms, {torch.get_num_threads()} threads")
    with torch.inference_mode():
        for rows in (1, 8, 32, 128, 448):
            total = [0.0, 0.0, 0.0]
            for (outputs, inputs), count in SHAPES.items():
                weights = [torch.randn(outputs, inputs) for _ in range(LAYERS)]
                layouts = [packed(weight) for weight in weights]
                x = torch.randn(rows, inputs)
                works: list[Callable[[], object]] = [
                    lambda x=x, weights=weights: [F.linear(x, weight) for weight in weights],
                    lambda x=x, weights=weights: [product(x, weight) for weight in weights],
                    lambda x=x, layouts=layouts: [product(x, layout) for layout in layouts if layout is not None],
                ]
                total = [sum + count * milliseconds(work) for sum, work in zip(total, works, strict=True)]
            print(f"{rows:5d} " + " ".join(f"{time:10.1f}" for time in total))


if __name__ == "__main__":
    main()
