"""The full-text index: partitions, documents, and keeping it up to date."""
