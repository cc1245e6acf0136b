"""The lines of an exported log, in their one canonical encoding.

docs/reference/log-format.md is the contract. Another encoding of the same values (spaces, another
field order, base64 with stray bits) is refused, so an imported log exports to the same bytes again.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from memoranda.errors import Corruption, UnsupportedFormat

# Exported logs keep the project's first name: changing it would make them all unreadable.
FORMAT = "recollect.log"
VERSIONS = (1, 2)
"""The chain version of the log's last event. A reader refuses versions newer than it knows."""

Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Place = Annotated[int, msgspec.Meta(ge=-1, le=2**31)]
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class Header(msgspec.Struct, frozen=True, tag_field="type", tag=FORMAT, forbid_unknown_fields=True):
    """The first line: the log's id, and its head when it was exported."""

    version: int
    log_id: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
    commits: Number
    head_hash: Hash


class EventLine(
    msgspec.Struct,
    frozen=True,
    tag_field="type",
    tag="event",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """An event: the exact bytes that its hash covers, and its erased positions."""

    commit_ts: Number
    committed_at: Number
    hash: Hash
    salts: bytes
    envelope: bytes
    operations: tuple[bytes, ...]
    erased: tuple[tuple[Place, Number, Hash], ...] = ()
    """Rows of (position, erasing commit, SHA-256 of the tombstone at the position)."""


class BlobLine(
    msgspec.Struct, frozen=True, tag_field="type", tag="blob", forbid_unknown_fields=True
):
    """Long content of an operation, uncompressed: a store may compress it in its own way."""

    commit_ts: Number
    position: Place
    content: bytes


class CheckpointLine(
    msgspec.Struct, frozen=True, tag_field="type", tag="checkpoint", forbid_unknown_fields=True
):
    """A stored checkpoint, directly after the last event it covers."""

    size: Number
    note: str


class End(msgspec.Struct, frozen=True, tag_field="type", tag="end", forbid_unknown_fields=True):
    """The last line: the number of lines before it, and the SHA-256 of their bytes."""

    lines: Number
    sha256: Hash


Line = Header | EventLine | BlobLine | CheckpointLine | End

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class _Probe(msgspec.Struct):
    """The fields that the first line has in every version."""

    type: str
    version: int


_probe = msgspec.json.Decoder(_Probe)


def encode(line: Line) -> bytes:
    """Encode a line, with its newline."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> Line:
    """Decode a line, or raise `Corruption` with the reason."""
    try:
        decoded: Line = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption(f"it cannot be read: {error}") from error
    if encode(decoded) != line:
        raise Corruption("it is not in the canonical encoding of an export")
    return decoded


def decode_header(line: bytes) -> Header:
    """Decode the first line; a newer version raises `UnsupportedFormat`, not `Corruption`."""
    try:
        probe = _probe.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption("it is not the first line of an exported log") from error
    if probe.type == FORMAT and probe.version > VERSIONS[-1]:
        raise UnsupportedFormat(
            f"the exported log has version {probe.version}, and this Memoranda reads "
            f"{VERSIONS[-1]}: upgrade Memoranda to import it"
        )
    header = decode(line)
    if not isinstance(header, Header) or header.version not in VERSIONS:
        raise Corruption("it is not the first line of an exported log")
    return header
