"""Proofs about the log: checkpoints, keys and signatures, audit events and exported log files."""
