"""Frozen values without I/O: what Recollect speaks of."""
