"""Blobs: long content that is stored beside the log, one blob per operation.

The operation has the content's hash and size, so the chain covers it without containing it. The
packed form is not covered: the unpacked content is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memoranda.errors import ChainBroken, Corruption
from memoranda.model.codec import unpack
from memoranda.model.operations import AnyOperation, KeepTranscript, Remember, Revise
from memoranda.storage.port import Reader, Writer


def append(
    writer: Writer, commit_ts: int, operations: Sequence[AnyOperation], blobs: Mapping[bytes, bytes]
) -> None:
    """Store the packed content of an event's operations."""
    for position, operation in enumerate(operations):
        if operation.blob is not None:
            keep(writer, commit_ts, position, blobs[operation.blob])


def load(reader: Reader, commit_ts: int, position: int, *, size: int, digest: bytes) -> bytes:
    """Return the content of one operation, or raise `Corruption` if its size or hash is wrong."""
    row = reader.row("blob_get", commit_ts=commit_ts, position=position)
    if row is None:
        raise Corruption(f"the content of commit {commit_ts} is missing: restore a backup")
    if not isinstance(row[0], bytes):
        raise Corruption(f"the content of commit {commit_ts} is not bytes: restore a backup")
    return unpack(row[0], size=size, digest=digest)


def load_of(reader: Reader, commit_ts: int, position: int, operation: AnyOperation) -> bytes:
    """Return an operation's long content, or raise `Corruption` if its size or hash is wrong."""
    assert operation.blob is not None, "its content is not in a blob"
    return load(reader, commit_ts, position, size=_size(operation), digest=operation.blob)


def keep(writer: Writer, commit_ts: int, position: int, packed: bytes) -> None:
    """Store the packed content of one operation."""
    writer.run("blob_add", commit_ts=commit_ts, position=position, content=packed)


def has_size(operation: AnyOperation, content: bytes) -> bool:
    """Return whether content has the size that the operation states."""
    return len(content) == _size(operation)


def check(reader: Reader, commit_ts: int, position: int, operation: AnyOperation) -> None:
    """Raise `ChainBroken` if an operation's content is missing or was changed."""
    try:
        load_of(reader, commit_ts, position, operation)
    except Corruption as error:
        raise ChainBroken(commit_ts, str(error)) from error


def copy(reader: Reader, writer: Writer, commit_ts: int) -> None:
    """Copy the packed content of an event to another database, under the same number."""
    for position, content in reader.rows("blobs_of_commit", commit_ts=commit_ts):
        keep(writer, commit_ts, position, content)


def _size(operation: AnyOperation) -> int:
    if isinstance(operation, KeepTranscript):
        return operation.size
    assert isinstance(operation, Remember | Revise)
    assert operation.content is not None
    return operation.content.size
