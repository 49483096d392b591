"""How policies learn: episodes in, weights out; games are never looked at."""
