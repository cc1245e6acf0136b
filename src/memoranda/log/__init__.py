"""The truth: transactions become events in an append-only, hash-chained log."""
