"""How a contract test opens the store it is about."""

from __future__ import annotations

from typing import Any, Protocol

from memoranda import Store


class Opener(Protocol):
    """Opens the store under test; the same one again when called twice, if it is on disk."""

    def __call__(self, **options: Any) -> Store: ...
