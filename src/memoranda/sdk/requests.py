"""Requests about keys: what a caller asks of state, checked, whether alone or in a transaction."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_text
from memoranda.model.refs import Ground
from memoranda.model.scope import Scope
from memoranda.sdk.core import check_version
from memoranda.sdk.references import check_because
from memoranda.state.requests import DeleteKey, WriteKey


def write_key(
    limits: Limits,
    scope: Scope,
    key: str,
    value: Document,
    expect_version: int | None,
    because: Iterable[Ground],
) -> WriteKey:
    """Return the request to give a key a value."""
    return WriteKey(
        scope,
        check_text("key", key, most_bytes=limits.key_bytes),
        document.encode("value", value, limits),
        check_version("expect_version", expect_version, least=0),
        () if because == () else check_because(because, scope, limits),
    )


def delete_key(limits: Limits, scope: Scope, key: str, expect_version: int | None) -> DeleteKey:
    """Return the request to take a key's value away."""
    return DeleteKey(
        scope,
        check_text("key", key, most_bytes=limits.key_bytes),
        check_version("expect_version", expect_version, least=0),
    )
