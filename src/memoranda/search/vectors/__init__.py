"""Vectors: embedders, storage, cache and nearest-neighbour search."""
