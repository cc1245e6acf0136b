"""Verifying the log: the hash chain, erasures, and views against a rebuild."""
