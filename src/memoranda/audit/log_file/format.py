"""The lines of an exported log: what each says, and the one way to spell it.

docs/reference/log-format.md is the contract. A line that says the same in another spelling (spaces,
another order, base64 with stray bits) is refused: what is accepted is exported again to the byte.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from memoranda.errors import Corruption, UnsupportedFormat

FORMAT = "recollect.log"
VERSIONS = (1, 2)
"""A log has the version that its last event has in the chain; an older reader refuses a newer."""

Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Place = Annotated[int, msgspec.Meta(ge=-1, le=2**31)]
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class Header(msgspec.Struct, frozen=True, tag_field="type", tag=FORMAT, forbid_unknown_fields=True):
    """The first line: which log it is, and where it ended when it was exported."""

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
    """An event: the exact bytes that its hash covers, and by whom what of it was erased."""

    commit_ts: Number
    committed_at: Number
    hash: Hash
    salts: bytes
    envelope: bytes
    operations: tuple[bytes, ...]
    erased: tuple[tuple[Place, Number, Hash], ...] = ()
    """Position, the commit that erased what was there, and the hash of what stands there now."""


class BlobLine(
    msgspec.Struct, frozen=True, tag_field="type", tag="blob", forbid_unknown_fields=True
):
    """Long content of an operation, as it was given: packing it is a store's own matter."""

    commit_ts: Number
    position: Place
    content: bytes


class CheckpointLine(
    msgspec.Struct, frozen=True, tag_field="type", tag="checkpoint", forbid_unknown_fields=True
):
    """A signed note that the store has, behind the last event it is about."""

    size: Number
    note: str


class End(msgspec.Struct, frozen=True, tag_field="type", tag="end", forbid_unknown_fields=True):
    """The last line: how many there are before it, and the SHA-256 of their bytes."""

    lines: Number
    sha256: Hash


Line = Header | EventLine | BlobLine | CheckpointLine | End

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class _Probe(msgspec.Struct):
    """What every version's first line has."""

    type: str
    version: int


_probe = msgspec.json.Decoder(_Probe)


def encode(line: Line) -> bytes:
    """Return a line's bytes, with its end."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> Line:
    """Return what a line says, or raise `Corruption` with the reason."""
    try:
        found: Line = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption(f"it cannot be read: {error}") from error
    if encode(found) != line:
        raise Corruption("it is not spelled as an export spells it")
    return found


def decode_header(line: bytes) -> Header:
    """Return what the first line says; a newer version is told from what is no log at all."""
    try:
        probe = _probe.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption("it is not the first line of an exported log") from error
    if probe.type == FORMAT and probe.version > VERSIONS[-1]:
        raise UnsupportedFormat(
            f"the exported log has version {probe.version}, and this Memoranda reads "
            f"{VERSIONS[-1]}: upgrade Memoranda to import it"
        )
    found = decode(line)
    if not isinstance(found, Header) or found.version not in VERSIONS:
        raise Corruption("it is not the first line of an exported log")
    return found
