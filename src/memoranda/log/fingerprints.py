"""Fingerprints: what a request asks to be done, without anything of its content.

A request is compared with an earlier one of its txn_id by a salted hash, and that salt goes as soon
as something of the earlier transaction is erased. What is left then is the fingerprint, a hash over
the kinds of what was asked for, in order, and over the ids of what that is about. It confirms no
guess: it covers no text, no name and no id that follows from one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from memoranda.model.erasure import Forget
from memoranda.model.ids import is_derived

SIZE = 16
_DOMAIN = b"recollect request fingerprint\0"
_FACT = "assertion_id"
"""The field whose ids may follow from what an assertion says."""


def of(staged: Sequence[msgspec.Struct]) -> bytes:
    """Return the fingerprint of what one transaction asks for."""
    shapes = [_shape(request) for request in staged]
    return sha256(_DOMAIN + msgspec.msgpack.encode(shapes)).digest()[:SIZE]


def _shape(request: msgspec.Struct) -> list[object]:
    """Return the kind of a request, and the ids and kinds that it names."""
    tag = request.__struct_config__.tag
    if isinstance(request, Forget):
        return [tag, *_target(request)]
    return [tag, *_identity(request)]


def _target(request: Forget) -> Iterator[object]:
    target = request.target
    yield target.kind
    yield target.identity
    yield target.children
    yield target.derived


def _identity(request: msgspec.Struct) -> Iterator[str | None]:
    fields: Sequence[str] = getattr(type(request), "identity", ())
    for field in fields:
        value = getattr(request, field)
        yield None if field == _FACT and is_derived(value) else value
