"""Pseudonyms: where they stand in what is left of operations, and who has to name them.

A pseudonym opens no commitment. So it must have been drawn, which shows in its form, and the commit
that put it there must say it in its `Erase` operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoranda.errors import Corruption
from memoranda.model.erasure import PSEUDONYM_PREFIX
from memoranda.model.event import TOKEN_SIZE, ErasedEnvelope
from memoranda.model.memory import inbox_of
from memoranda.model.operations import AnyOperation, Erase, Redacted
from memoranda.model.redacted import Hidden, Renamed

_FORM = re.compile(re.escape(PSEUDONYM_PREFIX) + r"[0-9a-f]{16}")
_RETRY_SIZES = (0, TOKEN_SIZE, 2 * TOKEN_SIZE)
"""Nothing, a token, or a token and a fingerprint: hashes, which carry no content."""

Claim = tuple[int, str]
"""A commit, and the pseudonym that it has to name."""


def claims(left: AnyOperation | ErasedEnvelope) -> Iterator[Claim]:
    """Yield each pseudonym that stands in the place of something erased, with its commit."""
    if isinstance(left, ErasedEnvelope):
        if len(left.retry) not in _RETRY_SIZES:
            raise Corruption("what is left of an envelope for retries is not in its form")
        if left.actor:
            yield left.erasure, _drawn(left.actor)
    elif isinstance(left, Redacted):
        first, second = left.scope_slots
        if isinstance(first, Hidden):
            yield first.erasure, _of_namespace(left.namespace)
        if isinstance(second, Hidden):
            yield second.erasure, _drawn(left.agent_id)
        for slot in left.slots:
            if isinstance(slot, Renamed):
                yield slot.erasure, _drawn(slot.name)


def named(said: Erase) -> frozenset[str]:
    """Return the pseudonyms that an erasing commit names."""
    own = () if said.pseudonym is None else (said.pseudonym,)
    return frozenset((*own, *said.pseudonyms))


def _of_namespace(namespace: str) -> str:
    """Return the pseudonym that a namespace is, or the one beside it for notices."""
    first = namespace.split("/")[0]
    if namespace not in (first, inbox_of(first)):
        raise Corruption(f"{namespace!r} stands for a namespace that was forgotten, and is none")
    return _drawn(first)


def _drawn(name: str) -> str:
    if not _FORM.fullmatch(name):
        raise Corruption(f"{name!r} stands for a name that was forgotten, and is no pseudonym")
    return name
