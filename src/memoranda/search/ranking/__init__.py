"""Ranking: BM25, entity matches, filters, fusion and deduplication."""
