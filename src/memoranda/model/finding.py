"""Findings: what one check of a store's health came to."""

from __future__ import annotations

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """What was checked, how it is, and what to do about it if something should be done."""

    check: str
    status: Literal["ok", "warning", "problem"]
    message: str
    remedy: str | None = None
    error: str | None = None
    """The name of the error that using the store would raise."""


def fine(check: str, message: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(check, "ok", message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that deserves a look."""
    return Finding(check, "warning", message, remedy)


def problem(check: str, message: str, remedy: str | None, error: str | None = None) -> Finding:
    """Return a finding that something does not work."""
    return Finding(check, "problem", message, remedy, error)
