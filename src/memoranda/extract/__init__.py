"""Extraction: find memories and facts in the messages of a conversation."""
