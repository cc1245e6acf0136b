"""Audit: what was done, by whom, as a list that says what happened without saying its content."""
