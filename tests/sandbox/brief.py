"""Limits for jobs that are meant to run into them, and for those that aren't, however busy the machine is."""

from collections.abc import Collection
from dataclasses import replace

from arena.sandbox import Limits

SHORT = Limits(wall=0.6, cpu=1.0, mem=256 * 2**20)
FAIR = replace(SHORT, wall=10.0)


def limits(right: Collection[str]) -> Limits:
    """Short ones where a time-out is among the statuses that are right."""
    return SHORT if "timeout" in right else FAIR
