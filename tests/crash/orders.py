"""Orders for the child that gets killed: what it does, and when it dies."""

from __future__ import annotations

from dataclasses import dataclass

SIZE = 60
"""How long the values are that it writes."""


@dataclass(frozen=True)
class Order:
    """What one child is to do."""

    path: str
    output: str
    first: list[int]
    """For each thread or task, the number of its first transaction."""
    mode: str = "threads"
    most: int = 1_000
    """How many transactions each of them makes at most."""
    failpoint: str = ""
    nth: int = 1
    """It dies when it passes this failpoint for the n-th time …"""
    delay: float | None = None
    """… or after so many seconds."""
    patience: float = 300.0
    """How long to wait for a child that should die by itself."""
    durability: str = "full"
    wal_pages: int = 30
    rebuilds: bool = False
