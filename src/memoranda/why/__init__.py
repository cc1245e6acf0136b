"""Explanations: the evidence for a value, a memory or a fact, and whether it is still believed."""
