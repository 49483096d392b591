"""How fast this machine multiplies, and which share of it a run reaches."""

from __future__ import annotations

import time

import torch

from arena.engines.product import product

SHAPE = (512, 1536, 1536)  # rows, inner, columns: the middle of what a small model's layers multiply


def gemm_rate(device: torch.device, repeats: int = 12) -> float:
    """Floating-point operations a second of a float32 matrix product, the best of `repeats`."""
    rows, inner, columns = SHAPE
    a, b = torch.ones(rows, inner, device=device), torch.ones(columns, inner, device=device)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        float(product(a, b)[0, 0])  # waits for a GPU
        best = min(best, time.perf_counter() - started)
    return 2.0 * rows * inner * columns / best
