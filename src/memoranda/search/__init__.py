"""Finding again what was written: words, vectors, and what both lead to."""
