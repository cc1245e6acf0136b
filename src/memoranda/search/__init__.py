"""Recall: full-text search, vector search and entity matching over one index."""
