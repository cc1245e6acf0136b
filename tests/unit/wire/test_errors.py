"""Errors arrive as what they were, on every way back."""

from __future__ import annotations

import pytest

from memoranda import InvalidInput, MemorandaError, TransactionConflict, VersionMismatch
from memoranda.errors import ERROR_TABLE
from memoranda.model.scope import Scope
from memoranda.state.requests import KeyRead
from memoranda.wire.errors import ERROR_KEY, decode_error, encode_error


@pytest.mark.parametrize("kind", ERROR_TABLE, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_class_its_message_and_its_attributes(
    kind: type[MemorandaError],
) -> None:
    error = kind.__new__(kind, "what happened \ud800")
    error.__dict__.update(position=3)
    arrived = decode_error(encode_error(error))
    assert type(arrived) is kind
    assert str(arrived) == "what happened \\ud800"
    assert (arrived.retryable, arrived.position) == (error.retryable, 3)


def test_what_an_error_adds() -> None:
    arrived = decode_error(encode_error(InvalidInput("key", "is empty")))
    assert isinstance(arrived, InvalidInput)
    assert (arrived.field, str(arrived)) == ("key", "key: is empty")
    conflict = TransactionConflict("a read has changed")
    conflict.__dict__["reads"] = (KeyRead(Scope("n", "a"), "k"),)
    returned = decode_error(encode_error(conflict))
    assert isinstance(returned, TransactionConflict)
    assert returned.reads == conflict.reads
    assert returned.retryable


def test_an_error_of_a_newer_version_is_a_plain_one() -> None:
    data = encode_error(VersionMismatch.__new__(VersionMismatch, "x"))
    arrived = decode_error(data.replace(b"VersionMismatch", b"VersionMishmash"))
    assert type(arrived) is MemorandaError


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x01\xff", b"\x22\x01{", b"\x22\x02[]"])
def test_what_is_no_error_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^error: .*not understood"):
        decode_error(data)


def test_the_key_is_of_binary_metadata() -> None:
    assert ERROR_KEY.endswith("-bin")
