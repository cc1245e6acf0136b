"""Mentions: where a name that is to be forgotten would still stand, in words that others said.

Forgetting takes a name out of the places that are meant for names. Where it stands in a value, in a
memory or in a transcript that stays, it is somebody's content, and only shown to who asks first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from memoranda.log import blobs
from memoranda.model import codec
from memoranda.model.erasure import Place
from memoranda.model.operations import AnyOperation, Delete, Write
from memoranda.storage.port import Reader


class Mentions:
    """Gathers the addresses of what mentions any of some names, as whole words in any case."""

    def __init__(self, reader: Reader, names: Iterable[str], viewer: str | None) -> None:
        self._reader = reader
        self._viewer = viewer
        words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
        self.addresses: set[str] = set()
        self._hidden: set[str] = set()

    @property
    def hidden(self) -> int:
        """How many private memories of others mention a name."""
        return len(self._hidden)

    def take(self, place: Place, operation: AnyOperation) -> None:
        """Look at what stays at a place."""
        if self._pattern is None or not self._is_mentioned(place, operation):
            return
        if operation.private and self._viewer not in (None, operation.agent_id):
            self._hidden.add(operation.key)
        elif isinstance(operation, (Write, Delete)):
            parts = (operation.namespace, operation.agent_id, operation.key)
            self.addresses.add("key:" + "|".join(parts))
        elif operation.key:
            self.addresses.add(operation.key)

    def take_text(self, address: str, text: str) -> None:
        """Look at a text that is no operation's."""
        if self._pattern is not None and self._pattern.search(text):
            self.addresses.add(address)

    def _is_mentioned(self, place: Place, operation: AnyOperation) -> bool:
        assert self._pattern is not None, "there is a name to look for"
        texts = _texts(msgspec.msgpack.decode(codec.encode(operation)))
        if any(map(self._pattern.search, texts)):
            return True
        if operation.blob is None:
            return False
        content = blobs.load_of(self._reader, *place, operation)
        return self._pattern.search(content.decode()) is not None


def _texts(value: object) -> Iterator[str]:
    """Yield every text that stands in an encoded operation."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):  # a value, as JSON, or a hash
        yield value.decode(errors="replace")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
