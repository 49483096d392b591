"""Limits for jobs that are meant to run into them."""

from arena.sandbox import Limits

SHORT = Limits(wall=0.6, cpu=1.0, mem=256 * 2**20)
