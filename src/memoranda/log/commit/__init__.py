"""Committing: staged transactions, group commit, batches, idempotency and signatures."""
