"""Frozen values without I/O: what Memoranda speaks of."""
