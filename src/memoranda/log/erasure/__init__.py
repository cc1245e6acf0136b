"""Erasing content from the log: finding it, redacting it, certifying it."""
