"""Erasing content from the log.

`forget` finds the operations, `redact_operations` computes what remains of each, `rewrite_events`
changes the stored events, `certificate` records it, and `purge` removes the bytes from the files.
"""
