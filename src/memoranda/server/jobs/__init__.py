"""Scheduled work of a server: what is done, when, and what came of it."""
