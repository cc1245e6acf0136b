"""Compacting a namespace's log up to a horizon."""
