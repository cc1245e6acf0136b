"""Verifies checkpoints, proofs and exported logs of Memoranda, without a store or Memoranda itself.

    memoranda-verify checkpoint FILE --key-file KEYS      FILE is a signed note
    memoranda-verify inclusion FILE --key-file KEYS       … a recollect.inclusion-proof, in JSON
    memoranda-verify consistency FILE --key-file KEYS     … a recollect.consistency-proof, in JSON
    memoranda-verify certificate FILE [--key-file KEYS]   … a recollect.erasure-proof, in JSON
    memoranda-verify log FILE [--checkpoint NOTE] [--key-file KEYS]       … an exported log

This file is made to be copied and read by an auditor who does not trust the engine. It imports the
standard library and, for Ed25519, the package cryptography. It is an independent implementation: it
shares no code with the engine, so that a bug there is not repeated here. The command line names the
kind of claim; it is never guessed from the file, so a proof of one kind cannot pass for another.

A key is a line `name+hash+base64` of C2SP signed notes, optionally followed by the commits it is
valid for, `from=100 until=199`. Keys must come from a trusted source, not from the proof's sender.

Without a key, a log is only checked for internal consistency: the author of a file can write a
different log, or a shorter one. With a checkpoint that you hold, the log is proven to begin with
the signed events. With keys and no checkpoint, the last checkpoint in the file is verified instead.
The same holds for a certificate of erasure: without a key, only its parts are compared.

Exit codes: 0 the claim holds; 1 the check cannot run here (cryptography is missing); 2 the command
or a key is wrong; 3 the claim does not hold or is malformed; 4 a file cannot be read; 5 the log
holds, but erasures left residues in events of chain version 1, which nothing proves; or a
certificate holds, but the agent it names was erased in turn, so that nothing proves the name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256, shake_128
from pathlib import Path
from struct import Struct
from typing import IO, Any

HOLDS, CANNOT_CHECK, USAGE, REFUSED, UNREADABLE, UNPROVEN = range(6)
MAX_BYTES, MAX_EVENTS = 1_000_000, 2**63 - 1
"""Bytes of a proof or a note, and events of a log: larger ones are refused."""
MAX_CERTIFICATE_BYTES = 1_000_000_000
"""A certificate has a line for each erased operation."""
_KEY = re.compile(
    r"([^+\s\x00-\x1f\ud800-\udfff]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)"
    r"(?: from=(0|[1-9][0-9]{0,18}))?(?: until=(0|[1-9][0-9]{0,18}))?"
)
_SIGNATURE = re.compile(r"— ([^+\s\x00-\x1f]+) ([A-Za-z0-9+/=]+)")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = "recollect"
"""The project's first name, which stays part of signed text, proofs and exported logs."""
_LOG = f"{_NAME}.log"


class Refused(Exception):
    """The claim does not hold, or is malformed."""


class WrongKey(Exception):
    """An argument is not a valid public key."""


class NoEd25519(Exception):
    """Signatures cannot be checked here. Install it with: pip install cryptography."""


@dataclass(frozen=True)
class Key:
    """A trusted public key, and the first and last commit whose checkpoint it may sign."""

    name: str
    id: bytes
    key: bytes
    first: int
    last: int


Keys = Sequence[Key]
Signatures = Sequence[tuple[str, bytes, bytes]]


@dataclass(frozen=True)
class Checkpoint:
    """A log's size and Merkle root, and the keys that signed them."""

    origin: str
    size: int
    root: str
    signed_by: list[str]


def parse_key(line: str) -> Key:
    """Parse a line of a key file."""
    match = _KEY.fullmatch(line)
    if match is None:
        raise WrongKey(f"{line!r} is not like 'name+1a2b3c4d+AQ…'")
    name, hashed, encoded, first, last = match.groups()
    data = _base64(encoded, WrongKey)
    if data[:1] != b"\1" or len(data) != 33:
        raise WrongKey(f"{line!r} is not an Ed25519 key")
    if _is_weak(data[1:]):
        raise WrongKey(f"{line!r} is a point of small order, which proves nothing")
    identity = sha256(name.encode() + b"\n" + data).digest()[:4]
    if identity.hex() != hashed:
        raise WrongKey(f"{line!r} does not have the hash it says: copy it again")
    return Key(name, identity, data[1:], int(first or 0), int(last or MAX_EVENTS))


def _is_weak(key: bytes) -> bool:
    """Return whether a key is a point of small order (a divisor of 8): it verifies any message."""
    prime = 2**255 - 19
    order_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    second = (int.from_bytes(key, "little") & (2**255 - 1)) % prime
    return second in (0, 1, prime - 1, order_8, prime - order_8)


def parse_keys(data: bytes) -> list[Key]:
    """Parse a key file: one key a line, skipping empty lines and lines that begin with `#`."""
    lines = data.decode(errors="surrogateescape").splitlines()
    return [parse_key(line) for line in lines if line and line[0] != "#"]


def check_checkpoint(message: bytes, keys: Keys, *, origin: str | None = None) -> Checkpoint:
    """Return the checkpoint of a note that a trusted key signed, or raise `Refused`."""
    text, _, signatures = _note(message).rpartition("\n\n")
    signed = _signed_by(f"{text}\n", _signatures(signatures), keys)
    lines = text.split("\n")
    if len(lines) < 3 or not all(lines) or not _SIZE.fullmatch(lines[1]):
        raise Refused("the note is not a checkpoint: an origin, a size and a root")
    size, root = int(lines[1]), _base64(lines[2], Refused)
    if len(root) != 32 or (size == 0 and root != sha256().digest()):
        raise Refused("the checkpoint's size or root cannot be one")
    allowed = [key for key in signed if key.first <= size <= key.last]
    if not allowed:
        raise Refused(f"none of the keys that signed it is valid for a log of {size} events")
    if origin is not None and lines[0] != origin:
        raise Refused(f"the checkpoint is of the log {lines[0]!r}, not of {origin!r}")
    return Checkpoint(lines[0], size, root.hex(), [f"{key.name}+{key.id.hex()}" for key in allowed])


def check_inclusion(
    data: bytes,
    keys: Keys,
    *,
    origin: str | None = None,
    held: bytes | None = None,
    event_hash: str | None = None,
) -> dict[str, object]:
    """Verify an inclusion proof and return its claim, or raise `Refused`.

    `held` is the note of the checkpoint that the proof must be about.
    """
    proof = _proof(data, "inclusion", "commit_ts", "event_hash", "path", "checkpoint")
    return _check_inclusion(proof, keys, origin, held, event_hash)


def _check_inclusion(
    proof: dict[str, object],
    keys: Keys,
    origin: str | None,
    held: bytes | None,
    event_hash: str | None,
) -> dict[str, object]:
    checkpoint = check_checkpoint(_note_bytes(proof["checkpoint"]), keys, origin=origin)
    _check_same_checkpoint(held, checkpoint, keys, origin)
    commit_ts, event = proof["commit_ts"], proof["event_hash"]
    if type(commit_ts) is not int or not isinstance(event, str) or not _HASH.fullmatch(event):
        raise Refused("the event's commit or hash is malformed")
    if not 1 <= commit_ts <= checkpoint.size:
        raise Refused(f"the checkpoint is of {checkpoint.size} events, and not of {commit_ts}")
    if event_hash is not None and event != event_hash:
        raise Refused(f"the proof is of the event {event}, not of {event_hash}")
    leaf = sha256(b"\0" + bytes.fromhex(event)).digest()
    _, root = _fold_path(leaf, _path(proof), commit_ts - 1, checkpoint.size - 1)
    if root.hex() != checkpoint.root:
        raise Refused("the path does not connect the event to the checkpoint's root")
    return {"commit_ts": commit_ts, "event_hash": event, "checkpoint": asdict(checkpoint)}


def check_consistency(
    data: bytes, keys: Keys, *, origin: str | None = None, held: bytes | None = None
) -> dict[str, object]:
    """Verify a consistency proof and return its claim, or raise `Refused`.

    `held` is the note of the older checkpoint that the proof must be about.
    """
    proof = _proof(data, "consistency", "old_checkpoint", "new_checkpoint", "path")
    old = check_checkpoint(_note_bytes(proof["old_checkpoint"]), keys, origin=origin)
    new = check_checkpoint(_note_bytes(proof["new_checkpoint"]), keys, origin=old.origin)
    _check_same_checkpoint(held, old, keys, origin)
    path = _path(proof)
    if old.size in (0, new.size):
        grown = not path and (old.size == 0 or old.root == new.root)
    else:
        grown = old.size < new.size and _roots(path, old, new) == (old.root, new.root)
    if not grown:
        raise Refused(f"the log of {new.size} events does not begin with the older {old.size}")
    return {"old": asdict(old), "new": asdict(new)}


def _roots(path: Sequence[bytes], old: Checkpoint, new: Checkpoint) -> tuple[str, str]:
    is_complete = not old.size & (old.size - 1)  # then the path starts from the older root
    start, *remaining = [bytes.fromhex(old.root), *path] if is_complete else path or [b""]
    index, last = old.size - 1, new.size - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    older, newer = _fold_path(start, remaining, index, last)
    return older.hex(), newer.hex()


def _fold_path(start: bytes, path: Sequence[bytes], index: int, last: int) -> tuple[bytes, bytes]:
    """Return the older and the newer root of a path: RFC 9162, sections 2.1.3.2 and 2.1.4.2.

    `index` and `last` are the RFC's `fn` and `sn`. An inclusion proof uses the newer root only.
    """
    older = newer = start
    for sibling in path:
        if last == 0:
            raise Refused("the path is too long")
        if index & 1 or index == last:
            older, newer = _node_hash(sibling, older), _node_hash(sibling, newer)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            newer = _node_hash(newer, sibling)
        index, last = index >> 1, last >> 1
    if last:
        raise Refused("the path is too short")
    return older, newer


def _node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _note(message: bytes) -> str:
    text = message.decode(errors="replace")
    if text.encode() != message or re.search(r"[\x00-\x09\x0b-\x1f]", text):
        raise Refused("the note is not UTF-8, or has control characters")
    if len(message) > MAX_BYTES or "\n\n" not in text or not text.endswith("\n"):
        raise Refused("it is not a signed note: a text, a blank line, signatures")
    return text


def _signatures(lines: str) -> Signatures:
    signatures = []
    for line in lines[:-1].split("\n"):
        parts = _SIGNATURE.fullmatch(line)
        data = _base64(parts[2], Refused) if parts else b""
        if parts is None or len(data) <= 4:
            raise Refused(f"{line!r} is not a signature line")
        signatures.append((parts[1], data[:4], data[4:]))
    if len(signatures) > 100 or len({signature[:2] for signature in signatures}) < len(signatures):
        raise Refused("the note has two signatures of one key, or more than a hundred")
    return signatures


def _signed_by(text: str, signatures: Signatures, keys: Keys) -> list[Key]:
    trusted = {(key.name, key.id): key for key in keys}
    if not keys or len(trusted) < len(keys):
        raise WrongKey("give one or more keys that you trust, each once")
    signed = []
    for name, identity, signature in signatures:
        key = trusted.get((name, identity))
        if key is not None and not _is_valid(key.key, text.encode(), signature):
            raise Refused(f"the signature of {name!r} does not match the text")
        signed += [] if key is None else [key]
    if not signed:
        raise Refused("the note is not signed by a key you trust")
    return signed


def _is_valid(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise NoEd25519(NoEd25519.__doc__) from error
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _check_same_checkpoint(
    held: bytes | None, checkpoint: Checkpoint, keys: Keys, origin: str | None
) -> None:
    """Refuse a proof about another checkpoint than the one that the caller holds."""
    if held is None:
        return
    own = check_checkpoint(held, keys, origin=origin)
    if (own.origin, own.size, own.root) != (checkpoint.origin, checkpoint.size, checkpoint.root):
        raise Refused(f"the proof is not about the checkpoint you hold, of {own.size} events")


def _proof(data: bytes, kind: str, *fields: str) -> dict[str, object]:
    try:
        proof = json.loads(data.decode(), object_pairs_hook=_unique_fields)
    except (ValueError, RecursionError) as error:
        raise Refused("the proof is not JSON") from error
    if not isinstance(proof, dict) or proof.get("type") != f"{_NAME}.{kind}-proof":
        raise Refused(f"it is not a proof of {kind}")
    if type(proof.get("version")) is not int or proof["version"] != 1:
        raise Refused("the proof has an unknown version: use a newer verifier")
    if proof.keys() != {"type", "version", *fields}:
        raise Refused(f"the proof does not have exactly the fields {', '.join(fields)}")
    return proof


def _unique_fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field occurs twice")
    return fields


def _note_bytes(note: object) -> bytes:
    """Return a proof's note as bytes; `_note` refuses other types and text that is not UTF-8."""
    return str(note).encode("utf-8", "surrogatepass")


def _path(proof: dict[str, object]) -> list[bytes]:
    path = proof["path"] if isinstance(proof["path"], list) else [None]
    if not all(isinstance(digest, str) and _HASH.fullmatch(digest) for digest in path):
        raise Refused("the proof's path is not a list of hashes")
    return [bytes.fromhex(str(digest)) for digest in path]


def _base64(text: str, wrong: type[Refused | WrongKey]) -> bytes:
    """Decode canonical base64."""
    with suppress(ValueError):
        data = b64decode(text, validate=True)
        if b64encode(data).decode() == text:
            return data
    raise wrong(f"{text!r} is not base64")


# Exported logs. docs/reference/log-format.md specifies the lines and the hashes. Operations are
# msgpack arrays that begin with a tag, the number of the kind of operation.
#
#   event hash v1 = SHA-256( 0x03 ‖ commit ‖ time ‖ previous hash ‖ count ‖ leaves )
#   event hash v2 = SHA-256( 0x0B ‖ commit ‖ time ‖ previous hash ‖ count ‖ leaves )
#
# In version 1 a leaf is one hash of a whole operation. In version 2 a leaf is a list of salted
# commitments, one for each slot (a group of fields), so that erasing one slot leaves the others
# verifiable.

_MAX_LINE_BYTES = 2**31 - 1
"""Bytes of a line: more than an event or its content can have."""
_SALT_SIZE = 16
"""Bytes of a salt."""
_TAG_ERASED, _TAG_ERASE, _TAG_REDACTED = 0, 21, 43
"""The tags of operations that record or replace an erasure."""
_PSEUDONYM = re.compile(r"forgotten-[0-9a-f]{16}")
_INBOX = "_invalidations"
_SLOTS: dict[int, list[list[int]]] = {
    1: [[3, 4, 5, 6]],
    2: [[3, 4]],
    3: [[3, 4, 5, 6, 7]],
    4: [[3, 7], [4, 5, 10], [6], [8], [9]],
    5: [[3, 4, 5, 6, 7, 10, 11], [8], [9]],
    6: [[3, 4, 6], [5]],
    7: [[3, 4, 5, 6]],
    8: [[3, 4, 5, 6, 7]],
    9: [[3, 4, 5, 6, 7]],
    10: [[3], [4, 5, 6, 7, 8, 9]],
    11: [[3, 4, 5, 6]],
    12: [[3, 4, 5, 6, 8], [7]],
    13: [[3, 4, 6, 8, 9], [5], [7]],
    14: [[3]],
    15: [[3, 7, 8, 9], [4], [5], [6]],
    16: [[3, 7], [4], [5], [6]],
    17: [[3], [4]],
    18: [[3, 4]],
    19: [[3, 4]],
    20: [[3, 4]],
    21: [[3, 4, 7, 8, 9, 10], [5], [6]],
    22: [[3, 4, 5]],
    23: [[3, 4], [5]],
    24: [[3, 4], [5]],
    25: [[3, 5, 6], [4]],
    28: [[3, 7, 8], [4], [5], [6]],
    29: [[3, 7, 8, 9], [4], [5], [6]],
    30: [[3, 7, 8], [4], [5], [6]],
    31: [[3], [4]],
    32: [[3, 4, 5, 6, 7, 8, 9, 11], [10]],
}
"""Tag → the slots of the operation; each slot is the list of field indexes in one commitment."""
_LIST_SLOT = (1, 6)
"""The tag and the field whose list has one commitment an item, unless the list is empty."""
_AGENT_SLOTS = {(12, 1), (13, 1), (21, 1), (23, 1), (25, 1)}
"""The (tag, slot) pairs that hold an agent's name, which erasure replaces by a pseudonym."""
_NUMBERED_KINDS = {5, 6, 7}
"""The tags whose residue may hold numbers after a compaction."""
_BLOB_FIELDS = {4: (8, 1, 2), 5: (8, 1, 2), 10: (None, 4, 5)}
"""Tag → the place of a reference to a blob: the field with a nested list, if any, and the indexes
of the blob's hash and size."""
_LINE_FIELDS = {
    _LOG: ["version", "log_id", "commits", "head_hash"],
    "event": ["commit_ts", "committed_at", "hash", "salts", "envelope", "operations"],
    "blob": ["commit_ts", "position", "content"],
    "checkpoint": ["size", "note"],
    "end": ["lines", "sha256"],
}
_TWO_NUMBERS = Struct(">qq").pack
_MAX_TIME = 253_402_300_799_999_999
"""The end of the year 9999, in microseconds."""
Line = dict[str, Any]
Rows = dict[int, tuple[int, bytes]]
"""Erased position in an event → the last erasing commit, and the hash of the tombstone."""


def check_log(
    file: IO[bytes], keys: Keys, *, origin: str | None = None, checkpoint: bytes | None = None
) -> dict[str, object]:
    """Verify an exported log and return its summary, or raise `Refused` with the line number."""
    own_checkpoint = (
        None if checkpoint is None else check_checkpoint(checkpoint, keys, origin=origin)
    )
    log = _Log(keys, origin, own_checkpoint)
    number, digest = 0, sha256()
    while not log.is_complete:
        line, number = file.readline(_MAX_LINE_BYTES), number + 1
        try:
            if not line.endswith(b"\n"):
                raise Refused("the file is truncated, or empty")
            log.take(_line(line), number, digest.hexdigest())
        except Refused as error:
            raise Refused(f"line {number}: {error}") from error
        digest.update(line)
    if file.read(1):
        raise Refused(f"line {number + 1}: the file continues after its last line")
    return log.summary()


def _line(line: bytes) -> Line:
    """Return the fields of a line in the canonical encoding of an export."""
    try:
        fields = json.loads(line.decode())
        canonical = json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
        same = canonical.encode() == line and isinstance(fields, dict)
    except (ValueError, RecursionError) as error:
        raise Refused("it is not JSON") from error
    kind = fields.get("type") if same else None
    if not isinstance(kind, str) or [*fields] not in _field_lists(kind):
        raise Refused("it is not a line of an exported log in the canonical encoding")
    return dict(fields)


def _field_lists(line_type: str) -> list[list[str]]:
    fields = ["type", *_LINE_FIELDS.get(line_type, ())]
    return [fields, [*fields, "erased"]] if line_type == "event" else [fields]


class _ErasureClaim:
    """The erasures that an event still to come must attest: their count and running hash."""

    def __init__(self) -> None:
        self.count, self.hashed = 0, sha256()
        self.pseudonyms: set[str] = set()


class _Log:
    """The state of an exported log, verified up to the last line read."""

    def __init__(self, keys: Keys, origin: str | None, checkpoint: Checkpoint | None) -> None:
        self.is_complete = False
        self._keys, self._origin, self._checkpoint = keys, origin, checkpoint
        self._header: Line = {}
        self._commits, self._time, self._hash, self._version = 0, 0, b"", 1
        self._peaks: list[bytes] = []
        self._expected_blobs: deque[tuple[int, object, object]] = deque()
        self._claims: dict[int, _ErasureClaim] = {}
        self._erased_positions: set[tuple[int, object]] = set()
        """The (position, erasing commit) pairs of the last event."""
        self._erased_count = self._note_count = self._unproven_count = 0
        self._last_note = ""
        self._matched_checkpoint: Checkpoint | None = None

    def take(self, line: Line, number: int, digest: str) -> None:
        """Verify the next line; `digest` is the SHA-256 of the lines before it."""
        if (line["type"] == _LOG) != (number == 1):
            raise Refused("a log has one header, and begins with it")
        if line["type"] == "blob":
            self._take_blob(line)
            return
        if self._expected_blobs:
            raise Refused(f"the content of an operation of commit {self._commits} is missing")
        if line["type"] == "event":
            self._take_event(line)
        elif line["type"] == "checkpoint":
            self._take_note(line)
        elif line["type"] == "end":
            self._take_end(line, number, digest)
        else:
            self._take_header(line)

    def summary(self) -> dict[str, object]:
        """Return the report: the log, its counts, and the checkpoint it was compared with."""
        report = {name: self._header[name] for name in ("log_id", "commits", "head_hash")}
        checkpoint = None if self._matched_checkpoint is None else asdict(self._matched_checkpoint)
        report |= {
            "erased": self._erased_count,
            "unproven": self._unproven_count,
            "checkpoints": self._note_count,
        }
        return {**report, "checkpoint": checkpoint}

    def _take_header(self, line: Line) -> None:
        if type(line["version"]) is not int or line["version"] not in (1, 2):
            raise Refused("the log has an unknown version: use a newer verifier")
        if not isinstance(line["log_id"], str) or not line["log_id"]:
            raise Refused("the log's id is not a text")
        _number(line["commits"])
        _hash(line["head_hash"])
        self._header, self._hash = line, sha256(b"\4" + line["log_id"].encode()).digest()
        self._compare_checkpoint(self._checkpoint)

    def _take_event(self, line: Line) -> None:
        commit_ts, time = _number(line["commit_ts"]), _number(line["committed_at"])
        salts, envelope = _bytes(line["salts"]), _bytes(line["envelope"])
        parts = [_bytes(encoded) for encoded in _list(line["operations"])]
        if commit_ts != self._commits + 1:
            raise Refused(f"commit {self._commits + 1} is expected here, not {commit_ts}")
        if not self._time < time <= _MAX_TIME:
            raise Refused("its time is not after that of the event before it, or is out of range")
        rows = self._read_erasure_rows(commit_ts, line)
        version = 2 if len(salts) % _SALT_SIZE == 1 and salts[0] == 2 else 1
        if version < self._version:
            raise Refused("it has an older chain version than the events before it")
        if version == 1:
            covered = self._leaves_v1(envelope, parts, salts, rows)
        else:
            covered = self._leaves_v2(envelope, parts, salts, rows)
        if rows:
            raise Refused("a row names an erased position that is not erased")
        domain, count, leaves = covered
        hashed = (domain, _TWO_NUMBERS(commit_ts, time), self._hash, count, *leaves)
        self._commits, self._time, self._version = commit_ts, time, version
        self._hash = sha256(b"".join(hashed)).digest()
        if self._hash != _hash(line["hash"]):
            raise Refused(f"the content of commit {commit_ts} does not have its hash")
        self._check_operations(parts)
        self._append_leaf()
        self._last_note = ""
        self._compare_checkpoint(self._checkpoint)

    def _leaves_v1(
        self, envelope: bytes, parts: Sequence[bytes], salts: bytes, rows: Rows
    ) -> tuple[bytes, bytes, list[bytes]]:
        """Return the hash's domain byte, count and leaves for an event of chain version 1."""
        if len(salts) != _SALT_SIZE * (len(parts) + 2):
            raise Refused("its salts do not match its operations")
        leaves = [_envelope_leaf(envelope, salts, rows)]
        leaves += [_operation_leaf(index, part, salts, rows) for index, part in enumerate(parts)]
        residues = [_array(part)[5:6] for part in parts if _tag(part) == _TAG_ERASED]
        self._unproven_count += sum(residue not in ([], [None]) for residue in residues)
        return b"\3", len(leaves).to_bytes(8, "big"), leaves

    def _leaves_v2(
        self, envelope: bytes, parts: Sequence[bytes], salts: bytes, rows: Rows
    ) -> tuple[bytes, bytes, list[bytes]]:
        """Return the hash's domain byte, count and leaves for an event of chain version 2."""
        operations = [_array(part) for part in parts]
        event_salts = _Salts(salts, operations)
        leaves = [sha256(b"\1" + event_salts.envelope + envelope).digest()]
        if _tag(envelope) == _TAG_ERASED:
            leaf, actor, erasure = _fields(envelope, 1, 2, 3)
            _check_row(-1, envelope, erasure, rows)
            if any(event_salts.envelope):
                raise Refused("the salt of an erased part is still there")
            leaves = [_commitment(leaf)]
            _check_retry(_array(envelope)[4:])
            if actor != "":
                self._claim_pseudonym(-1, erasure, actor)
        for index, (part, operation) in enumerate(zip(parts, operations, strict=True)):
            salt = event_salts.operations[index]
            if operation[0] != _TAG_REDACTED:
                leaves.append(_intact_leaf(part, operation, salt, event_salts.scope(operation)))
                continue
            redacted = _Redacted(operation)
            _check_row(index, part, redacted.erasure, rows)
            leaves.append(redacted.leaf())
            for erasure, name in redacted.pseudonyms:
                self._claim_pseudonym(index, erasure, name)
        return b"\x0b", len(parts).to_bytes(8, "big"), leaves

    def _claim_pseudonym(self, position: int, erasure: object, name: object) -> None:
        """Record that an erasing commit must name a pseudonym."""
        if not isinstance(name, str) or not _PSEUDONYM.fullmatch(name):
            raise Refused("an erased name is replaced by something that is not a pseudonym")
        if (position, erasure) not in self._erased_positions:
            raise Refused("a pseudonym is at a position where its commit erased nothing")
        self._claims[_number(erasure)].pseudonyms.add(name)

    def _read_erasure_rows(self, commit_ts: int, line: Line) -> Rows:
        """Return the last erasure row of each position, and add all rows to their claims."""
        rows: Rows = {}
        positions = []
        for row in _list(line.get("erased", [])):
            at, by, digest = row if len(_list(row)) == 3 else [None] * 3
            position, erasure = _number(at, minimum=-1), _number(by, minimum=commit_ts + 1)
            positions.append((position, erasure))
            rows[position] = (erasure, _hash(digest))
            claim = self._claims.setdefault(erasure, _ErasureClaim())
            claim.count += 1
            claim.hashed.update(_TWO_NUMBERS(commit_ts, position) + rows[position][1])
        if positions != sorted({*positions}) or ("erased" in line and not positions):
            raise Refused("the rows of its erased operations are out of order")
        self._erased_count += len(rows)
        self._erased_positions = {*positions}
        return rows

    def _check_operations(self, parts: Sequence[bytes]) -> None:
        """Check the erasures that an event attests, and queue the blobs that must follow it."""
        totals, names = [], set[str]()
        for position, part in enumerate(parts):
            tag = _tag(part)
            erasing = (
                _read_erase(_array(part))
                if tag in (_TAG_ERASE, _TAG_ERASED, _TAG_REDACTED)
                else None
            )
            if erasing is not None:
                totals.append(erasing[:2])
                names.update(value for value in erasing[2:] if isinstance(value, str))
            elif tag in _BLOB_FIELDS:
                inner, *places = _BLOB_FIELDS[tag]
                fields = _unpack(part) if inner is None else _fields(part, inner)[0]
                digest, size = _at(fields or [None] * 3, *places)
                if digest is not None:
                    self._expected_blobs.append((position, digest, size))
        claim = self._claims.pop(self._commits, None)
        if totals or claim:
            claim = claim or _ErasureClaim()
            if totals != [[claim.count, claim.hashed.digest()]]:
                raise Refused(f"the erasures of commit {self._commits} are not those it attests")
            if not claim.pseudonyms <= names:
                raise Refused(f"commit {self._commits} does not name the pseudonyms it introduced")

    def _take_blob(self, line: Line) -> None:
        content = _bytes(line["content"])
        position, digest, size = (
            self._expected_blobs.popleft() if self._expected_blobs else (None, None, None)
        )
        if (_number(line["commit_ts"]), _number(line["position"])) != (self._commits, position):
            raise Refused("no operation before it has its content at this position")
        if digest != sha256(content).digest() or size != len(content):
            raise Refused(f"the content in commit {self._commits} does not have its hash")

    def _take_note(self, line: Line) -> None:
        note = line["note"] if isinstance(line["note"], str) else ""
        text, _, signatures = _note(note.encode()).rpartition("\n\n")
        lines = [*text.split("\n"), "", ""]
        claimed = (_number(line["size"]), lines[1], _base64(lines[2], Refused))
        current = (self._commits, str(self._commits), self._root())
        if claimed != current or lines[0] != f"{_NAME}/{self._header['log_id']}":
            raise Refused("the checkpoint is of another log, or in the wrong place")
        if note.encode() <= self._last_note.encode():
            raise Refused("the checkpoints are out of order")
        self._last_note = note
        self._note_count += 1
        trusted = {(key.name, key.id) for key in self._keys}
        if trusted & {(name, identity) for name, identity, _ in _signatures(signatures)}:
            checkpoint = check_checkpoint(note.encode(), self._keys, origin=self._origin)
            self._matched_checkpoint = (
                checkpoint if self._checkpoint is None else self._matched_checkpoint
            )

    def _take_end(self, line: Line, number: int, digest: str) -> None:
        if (_number(line["lines"]), line["sha256"]) != (number - 1, digest):
            raise Refused("its count or hash does not match the lines before it")
        if self._claims:
            raise Refused("something was erased, and no event attests it")
        head = (self._header["commits"], self._header["head_hash"], self._header["version"])
        if head != (self._commits, self._hash.hex(), self._version):
            raise Refused("the log's end does not match its header")
        if self._checkpoint is not None and self._matched_checkpoint is None:
            size, commits = self._checkpoint.size, self._commits
            raise Refused(f"the checkpoint covers {size} events, and the log has only {commits}")
        if self._keys and self._matched_checkpoint is None:
            raise Refused("no checkpoint in the log is signed by a key you trust")
        self.is_complete = True

    def _append_leaf(self) -> None:
        """Append the event's hash to the Merkle tree: RFC 6962, section 2.1."""
        node, index = sha256(b"\0" + self._hash).digest(), self._commits - 1
        while index & 1:
            node, index = _node_hash(self._peaks.pop(), node), index >> 1
        self._peaks.append(node)

    def _root(self) -> bytes:
        *lower, root = self._peaks or [sha256().digest()]
        for peak in reversed(lower):
            root = _node_hash(peak, root)
        return root

    def _compare_checkpoint(self, checkpoint: Checkpoint | None) -> None:
        """Compare the log with a checkpoint once it has the checkpoint's size."""
        if checkpoint is None or checkpoint.size != self._commits:
            return
        name = self._origin or f"{_NAME}/{self._header['log_id']}"
        if checkpoint.origin != name:
            raise Refused(f"the checkpoint is of the log {checkpoint.origin!r}, not of {name!r}")
        if checkpoint.root != self._root().hex():
            raise Refused(f"the first {checkpoint.size} events are not those of the checkpoint")
        self._matched_checkpoint = checkpoint


def _envelope_leaf(envelope: bytes, salts: bytes, rows: Rows) -> bytes:
    if _tag(envelope) == _TAG_ERASED:
        return _erased_leaf(-1, envelope, _fields(envelope, 1, 3), salts, rows)
    return sha256(b"\1" + salts[_SALT_SIZE : 2 * _SALT_SIZE] + envelope).digest()


def _operation_leaf(index: int, part: bytes, salts: bytes, rows: Rows) -> bytes:
    """Return the leaf of an operation in an event of chain version 1."""
    if _tag(part) == _TAG_ERASED:
        return _erased_leaf(index, part, _fields(part, 3, 4), salts, rows)
    _check_kind(_array(part))
    at = _SALT_SIZE * (index + 2)
    return sha256(b"\0" + salts[at : at + _SALT_SIZE] + part).digest()


def _erased_leaf(
    position: int, tombstone: bytes, claim: Sequence[object], salts: bytes, rows: Rows
) -> bytes:
    """Return the leaf that a tombstone keeps, if a row attests it and its salts are gone."""
    leaf, erasure = claim
    _check_row(position, tombstone, erasure, rows)
    for first in (0, _SALT_SIZE * (position + 2)):  # an erasure always removes the request's salt
        if any(salts[first : first + _SALT_SIZE]):
            raise Refused("the salt of an erased part is still there")
    return _commitment(leaf)


def _check_row(position: int, tombstone: bytes, erasure: object, rows: Rows) -> None:
    if rows.pop(position, None) != (erasure, sha256(tombstone).digest()):
        raise Refused("an erased part has no row, or its tombstone was changed")


def _check_retry(hashes: list[Any]) -> None:
    """Refuse a retry fingerprint of an erased envelope unless it has a valid length."""
    if len(hashes) > 1 or any(type(digest) is not bytes or len(digest) % 16 for digest in hashes):
        raise Refused("an erased envelope is malformed")
    if any(len(digest) > 32 for digest in hashes):
        raise Refused("an erased envelope is malformed")


def _commitment(value: object) -> bytes:
    if not isinstance(value, bytes) or len(value) != 32:
        raise Refused("an erased part has no commitment")
    return value


def _check_kind(operation: list[Any]) -> None:
    """Refuse an operation of an unknown kind, or with more fields than its kind has."""
    places = _SLOTS.get(operation[0])
    if places is None or len(operation) > 3 + sum(map(len, places)) or len(operation) < 4:
        raise Refused("an operation is of an unknown kind, or has the wrong number of fields")


# Certificates of erasure. A proof opens the `Erase` of the erasing event and has the other leaves
# of the event as they are hashed; the digest in the `Erase` covers what the erasure left.

_PROVEN_FIELDS = ("erasure_id", "target", "by", "reason", "digest", "pseudonym")
"""The fields of a certificate that the `Erase` holds."""
_COMPUTED_FIELDS = ("commit_ts", "committed_at", "operations", "events")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_certificate(
    data: bytes, keys: Keys, *, origin: str | None = None, held: bytes | None = None
) -> dict[str, object]:
    """Verify a certificate of erasure and return what it certifies, or raise `Refused`.

    `held` is the note of the checkpoint that must cover the erasure.
    """
    proof = _proof(
        data, "erasure", "certificate", "erased", "previous_hash", "leaves", "position",
        "operation", "salts", "path", "checkpoint",
    )  # fmt: skip
    certificate = _members(proof["certificate"], *_PROVEN_FIELDS, *_COMPUTED_FIELDS)
    rows = [_members(row, "commit_ts", "position", "digest") for row in _list(proof["erased"])]
    erase, unproven = _open_erase(proof)
    _check_digest(certificate, rows, erase)
    for name in _PROVEN_FIELDS:
        if certificate[name] != erase[name]:
            raise Refused(f"the certificate's {name} is not that of the erasing event")
    event = _erasing_event_hash(certificate, proof)
    checkpoint = None
    if keys or held is not None:
        if proof["checkpoint"] is None:
            raise Refused("no checkpoint covers the erasure yet: ask for the certificate again")
        claim = {**proof, "commit_ts": certificate["commit_ts"], "event_hash": event}
        checkpoint = _check_inclusion(claim, keys, origin, held, None)["checkpoint"]
    return {**certificate, "event_hash": event, "unproven": unproven, "checkpoint": checkpoint}


def _members(value: object, *names: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != {*names}:
        raise Refused(f"an object with exactly the fields {', '.join(names)} is expected")
    return value


def _open_erase(proof: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    """Return the fields of the `Erase` that opens its leaf, and the names that nothing proves."""
    part, salts = _hexadecimal(proof["operation"]), _hexadecimal(proof["salts"])
    operation = _array(part)
    if operation[0] == _TAG_REDACTED:
        redacted = _Redacted(operation)
        leaf, fields, unproven = redacted.leaf(), redacted.erase_fields(), ["by"]
        unproven = unproven if redacted.pseudonyms else []
    elif operation[0] == _TAG_ERASE:
        leaf = _leaf_with_salts(part, operation, salts)
        fields, unproven = [*operation[3:], *[None] * 8][:8], []
    else:
        raise Refused("the operation is not an erasure")
    leaves, position = _list(proof["leaves"]), _number(proof["position"])
    if position + 1 >= len(leaves) or leaves[position + 1] != leaf.hex():
        raise Refused("the erasure does not open its leaf in the erasing event")
    names = ("erasure_id", "target", "by", "reason", "count", "digest", "pseudonym")
    erase = dict(zip(names, fields, strict=False))
    digest = erase["digest"]
    if not isinstance(digest, bytes):
        raise Refused("the erasure has no digest")
    return {**erase, "digest": digest.hex()}, unproven


def _leaf_with_salts(part: bytes, operation: list[Any], salts: bytes) -> bytes:
    """Return the leaf of an operation, by its own salt and, in chain version 2, its scope's."""
    namespace, agent = _scope(operation)
    if len(salts) == _SALT_SIZE:
        _check_kind(operation)
        return sha256(b"\0" + salts + part).digest()
    if len(salts) != 3 * _SALT_SIZE:
        raise Refused("the salts do not match the operation")
    first, second, own = (salts[at : at + _SALT_SIZE] for at in (0, _SALT_SIZE, 2 * _SALT_SIZE))
    scope = _name_hash(b"\x06", first, namespace) + _name_hash(b"\x07", second, agent)
    return _intact_leaf(part, operation, own, scope)


def _check_digest(certificate: Line, rows: Sequence[Line], erase: dict[str, object]) -> None:
    """Check that the rows are those that the `Erase` attests, and that they are counted right."""
    places = [(_number(row["commit_ts"]), _number(row["position"], minimum=-1)) for row in rows]
    erasure = _number(certificate["commit_ts"])
    if places != sorted({*places}) or any(at >= erasure for at, _ in places):
        raise Refused("the erased positions are out of order, or not before the erasure")
    hashed = sha256()
    for place, row in zip(places, rows, strict=True):
        hashed.update(_TWO_NUMBERS(*place) + _hash(row["digest"]))
    if (len(rows), hashed.hexdigest()) != (erase["count"], erase["digest"]):
        raise Refused("the erased positions are not those that the erasing event attests")
    counts = (sum(position >= 0 for _, position in places), len({at for at, _ in places}))
    if (certificate["operations"], certificate["events"]) != counts:
        raise Refused("the certificate counts other operations or events than were erased")


def _erasing_event_hash(certificate: Line, proof: dict[str, object]) -> str:
    """Return the hash of the erasing event, from its leaves; the salts tell the chain version."""
    leaves = [_hexadecimal(leaf) for leaf in _list(proof["leaves"])]
    is_first = len(_hexadecimal(proof["salts"])) == _SALT_SIZE
    for leaf in leaves[:1] if not is_first else leaves:
        _commitment(leaf)
    numbers = _TWO_NUMBERS(_number(certificate["commit_ts"]), _micros(certificate["committed_at"]))
    domain, count = (b"\3", len(leaves)) if is_first else (b"\x0b", len(leaves) - 1)
    previous = _hash(proof["previous_hash"])
    covered = (domain, numbers, previous, count.to_bytes(8, "big"), *leaves)
    return sha256(b"".join(covered)).hexdigest()


def _micros(text: object) -> int:
    """Return the microseconds of an RFC 3339 text in UTC."""
    try:
        time = datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise Refused(f"{text!r} is not a time in UTC with microseconds") from error
    return (time - _EPOCH) // timedelta(microseconds=1)


def _hexadecimal(text: object) -> bytes:
    with suppress(ValueError):
        data = bytes.fromhex(str(text))
        if data.hex() == text:
            return data
    raise Refused(f"{text!r} is not hexadecimal")


class _Salts:
    """The salts of an event of chain version 2: envelope, then two a scope, then operations."""

    def __init__(self, salts: bytes, operations: Sequence[list[Any]]) -> None:
        intact = [piece for piece in operations if piece[0] != _TAG_REDACTED]
        scopes = [*dict.fromkeys(_scope(piece) for piece in intact)]
        piece = [salts[first : first + _SALT_SIZE] for first in range(1, len(salts), _SALT_SIZE)]
        if len(piece) != 1 + 2 * len(scopes) + max(1, len(operations)):
            raise Refused("its salts do not match its operations")
        self.envelope, *remaining = piece
        self._scopes = {scope: remaining[2 * at : 2 * at + 2] for at, scope in enumerate(scopes)}
        self.operations = remaining[2 * len(scopes) :]
        for salt, operation in zip(self.operations, operations, strict=False):
            if any(salt) == (operation[0] == _TAG_REDACTED):
                raise Refused("the salt of an erased part is still there, or another is missing")
        if not operations:
            self._check_request()

    def _check_request(self) -> None:
        request = self.operations[0]
        if any(request) and sha256(b"\x0c" + request).digest()[:_SALT_SIZE] != self.envelope:
            raise Refused("the salt of its request was changed")

    def scope(self, operation: list[Any]) -> bytes:
        """Return the commitments to an operation's namespace and agent."""
        names = _scope(operation)
        first, second = self._scopes[names]
        return _name_hash(b"\x06", first, names[0]) + _name_hash(b"\x07", second, names[1])


def _scope(operation: list[Any]) -> tuple[str, str]:
    namespace, agent = _at(operation, 1, 2)
    if not isinstance(namespace, str) or not isinstance(agent, str):
        raise Refused("an operation has no namespace or agent")
    return namespace, agent


def _name_hash(role: bytes, salt: bytes, name: str) -> bytes:
    return sha256(role + salt + name.encode()).digest()


def _intact_leaf(part: bytes, operation: list[Any], salt: bytes, scope: bytes) -> bytes:
    """Return the leaf of an operation without erasures: one commitment for each slot."""
    _check_kind(operation)
    kind, items = operation[0], _Unpacker(part).items()
    tag, field = _LIST_SLOT
    has_list = kind == tag and len(operation) > field and operation[field] != []
    places = [[3, 4, 5], [field]] if has_list else _SLOTS[kind]
    leaf = [bytes([len(places)]), scope]
    for index, slot_salt in enumerate(_derive_salts(salt, len(places))):
        place = bytes([kind, index])
        if has_list and index:
            values = _Unpacker(items[field]).items()
            hashed = [
                _item_hash(*pair)
                for pair in zip(_derive_salts(slot_salt, len(values)), values, strict=True)
            ]
            leaf.append(sha256(b"\x0a" + place + b"".join(hashed)).digest())
        else:
            value = b"".join(items[at] for at in places[index] if at < len(items))
            leaf.append(sha256(b"\x08" + slot_salt + place + value).digest())
    return b"".join(leaf)


def _derive_salts(salt: bytes, count: int) -> list[bytes]:
    if count == 1:
        return [salt]
    stream = shake_128(salt).digest(_SALT_SIZE * count)
    return [stream[first : first + _SALT_SIZE] for first in range(0, len(stream), _SALT_SIZE)]


def _item_hash(salt: bytes, value: bytes) -> bytes:
    return sha256(b"\x09" + salt + value).digest()


class _Redacted:
    """A redacted operation of chain version 2: each remaining slot opens its commitment."""

    def __init__(self, fields: list[Any]) -> None:
        if len(fields) != 9:
            raise Refused("a redacted operation is malformed")
        self._names = _scope(fields)
        self.erasure, salt, names, self._kind, slots, numbers = fields[3:]
        self._slots = _list(slots)
        if len(_list(names)) != 2 or not isinstance(salt, bytes) or len(self._slots) > 255:
            raise Refused("a redacted operation is malformed")
        self._scope = names
        self.pseudonyms: list[tuple[object, object]] = []
        self._check_kind(_list(numbers))

    def _check_kind(self, numbers: list[Any]) -> None:
        opened_slots = any(not isinstance(slot, bytes) for slot in self._slots)
        if type(self._kind) is not int or opened_slots != (self._kind in _SLOTS):
            raise Refused("a redacted operation is of an unknown kind")
        if opened_slots and len(self._slots) not in self._slot_counts():
            raise Refused("a redacted operation does not have the slots of its kind")
        may_have_numbers = self._kind in _NUMBERED_KINDS and len(numbers) == 4
        if numbers and not (
            may_have_numbers and all(type(number) in (int, type(None)) for number in numbers)
        ):
            raise Refused("a redacted operation has numbers, which its kind cannot have")

    def _slot_counts(self) -> set[int]:
        return {len(_SLOTS[self._kind]), 2 if self._kind == _LIST_SLOT[0] else 0}

    def erase_fields(self) -> list[Any]:
        """Return the fields of a redacted `Erase`; its agent is a pseudonym, or still opens."""
        if self._kind != _TAG_ERASE:
            raise Refused("the operation is not an erasure")
        main, by, reason = (
            [value for _, value in _Unpacker(_opened_value(slot)).sequence()]
            for slot in self._slots
        )
        name = by[0] if by else _list_of(self._slots[1], 4)[3]
        return [*_at(main, 0, 1), name, *(reason or [None]), *[*main[2:], None][:3]]

    def leaf(self) -> bytes:
        """Return the operation's leaf, recomputed from its openings and commitments."""
        namespace, agent = self._names
        first, second = self._scope
        leaf = [
            bytes([len(self._slots)]),
            self._name_commitment(b"\x06", first, namespace, namespace.removesuffix(f"/{_INBOX}")),
            self._name_commitment(b"\x07", second, agent, agent),
        ]
        return b"".join(
            [*leaf, *(self._slot_commitment(*entry) for entry in enumerate(self._slots))]
        )

    def _name_commitment(self, role: bytes, slot: object, name: str, pseudonym: str) -> bytes:
        if isinstance(slot, bytes):
            return _name_hash(role, _check_salt(slot), name)
        tag, commitment, erasure = _list_of(slot, 3)
        if tag != 5:
            raise Refused("a redacted operation is malformed")
        self.pseudonyms.append((erasure, pseudonym))
        return _commitment(commitment)

    def _slot_commitment(self, index: int, slot: object) -> bytes:
        if isinstance(slot, bytes):
            return _commitment(slot)
        tag, place = _list(slot)[:1], bytes([self._kind, index])
        if tag == [1]:
            return sha256(b"\x08" + _opening(slot, place)).digest()
        if tag == [2] and (self._kind, index) in _AGENT_SLOTS:
            _, commitment, erasure, name = _list_of(slot, 4)
            self.pseudonyms.append((erasure, name))
            return _commitment(commitment)
        if tag == [3] and (self._kind, index) == (_LIST_SLOT[0], 1):
            items = map(_item_commitment, _list(_list_of(slot, 2)[1]))
            return sha256(b"\x0a" + place + b"".join(items)).digest()
        raise Refused("a redacted operation is malformed")


def _opened_value(slot: object) -> bytes:
    """Return the bytes of an open slot; none of an erased one."""
    return slot[2] if isinstance(slot, list) and slot[0] == 1 else b""


def _opening(slot: object, place: bytes = b"") -> bytes:
    _, salt, value = _list_of(slot, 3)
    if not isinstance(value, bytes):
        raise Refused("a redacted operation is malformed")
    return _check_salt(salt) + place + value


def _check_salt(salt: object) -> bytes:
    if not isinstance(salt, bytes) or len(salt) != _SALT_SIZE or not any(salt):
        raise Refused("a slot of a redacted operation has no salt")
    return salt


def _item_commitment(item: object) -> bytes:
    """Return the commitment to a reference; an erased one may keep its kind and version."""
    if _list(item)[:1] == [1]:
        return sha256(b"\x09" + _opening(item)).digest()
    tag, commitment, kind, version = _list_of(item, 4)
    if tag != 4 or kind not in (1, 3) or type(version) not in (int, type(None)):
        raise Refused("a redacted reference is malformed")
    return _commitment(commitment)


def _list_of(value: object, length: int) -> list[Any]:
    if len(_list(value)) != length:
        raise Refused("a redacted operation is malformed")
    return _list(value)


def _read_erase(operation: list[Any]) -> list[Any] | None:
    """Return the count, digest and pseudonyms of an `Erase` operation; None for another operation.

    The `Erase` itself may be redacted or erased, if the agent that asked for it was forgotten.
    """
    if operation[0] == _TAG_REDACTED:
        slots = _list(operation[7]) if operation[6] == _TAG_ERASE else [b""]
        if isinstance(slots[0], bytes):
            return None
        fields = [value for _, value in _Unpacker(slots[0][2]).sequence()]
        count, digest, *names = _at(fields, 2, 3, 4)
        return [count, digest, *names, *_list(fields[5] if len(fields) > 5 else [])]
    if operation[0] == _TAG_ERASED:
        operation = operation[5] if len(operation) > 5 and operation[5] else [None]
    if _list(operation)[:1] != [_TAG_ERASE]:
        return None
    count, digest = _at(operation, 7, 8)
    return [count, digest, *operation[9:10], *_list((operation[10:11] or [[]])[0])]


def _number(value: object, *, minimum: int = 0) -> int:
    if type(value) is not int or not minimum <= value <= MAX_EVENTS:
        raise Refused("a value is not a number, or out of range")
    return value


def _hash(value: object) -> bytes:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise Refused("a hash is not 64 lowercase hexadecimal digits")
    return bytes.fromhex(value)


def _bytes(value: object) -> bytes:
    return _base64(value if isinstance(value, str) else "?", Refused)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise Refused("a list is expected")
    return value


def _tag(part: bytes) -> int | None:
    """Return the tag of an operation; None for an envelope, which begins with a text."""
    if len(part) < 2 or part[0] & 0xF0 != 0x90:
        raise Refused("an operation or an envelope is malformed")
    return part[1] if part[1] < 0x80 else None


def _fields(part: bytes, *places: int) -> list[Any]:
    return _at(_unpack(part), *places)


def _at(fields: object, *places: int) -> list[Any]:
    if not isinstance(fields, list) or len(fields) <= max(places):
        raise Refused("an operation or an envelope lacks fields")
    return [fields[place] for place in places]


def _array(data: bytes) -> list[Any]:
    value = _unpack(data)
    if not isinstance(value, list) or not value:
        raise Refused("an operation or an envelope is malformed")
    return value


def _unpack(data: bytes) -> object:
    packed = _Unpacker(data)
    value = packed.value()
    if packed.at != len(data):
        raise Refused("an operation is followed by other bytes")
    return value


_NUMBER_FORMS = {
    0xCC: (">B", 0x80), 0xCD: (">H", 2**8), 0xCE: (">I", 2**16), 0xCF: (">Q", 2**32),
    0xD0: (">b", -0x21), 0xD1: (">h", -(2**7) - 1), 0xD2: (">i", -(2**15) - 1),
    0xD3: (">q", -(2**31) - 1),
}  # fmt: skip
"""First byte → the struct format, and the value nearest to zero that needs this format."""
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_SHORT_FORMS: tuple[tuple[type, int, int], ...] = (
    (dict, 0x80, 0x0F),
    (list, 0x90, 0x0F),
    (str, 0xA0, 0x1F),
)
_LONG_FORMS: dict[int, tuple[type, int, int]] = {
    first + place: (kind, size, minimum)
    for kind, first, sizes in (
        (bytes, 0xC4, ((1, 0), (2, 2**8), (4, 2**16))),
        (str, 0xD9, ((1, 2**5), (2, 2**8), (4, 2**16))),
        (list, 0xDC, ((2, 2**4), (4, 2**16))),
        (dict, 0xDE, ((2, 2**4), (4, 2**16))),
    )
    for place, (size, minimum) in enumerate(sizes)
}
"""First byte → the type, the bytes of its length, and the smallest length that needs them."""


class _Unpacker:
    """Reads msgpack in its shortest form, the only form of stored operations and envelopes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def value(self, depth: int = 32) -> Any:
        """Read the next value."""
        head = self._take(1)[0]
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 0x100
        if head in _CONSTANTS:
            return _CONSTANTS[head]
        if head == 0xCB:
            return _DOUBLE.unpack(self._take(8))[0]
        if head in _NUMBER_FORMS:
            return self._number(*_NUMBER_FORMS[head])
        kind, length = self._length(head)
        if kind in (bytes, str):
            data = self._take(length)
            return data if kind is bytes else _text(data)
        if not depth:
            raise Refused("an operation is nested too deeply")
        if kind is list:
            return [self.value(depth - 1) for _ in range(length)]
        return self._map(length, depth)

    def items(self) -> list[bytes]:
        """Return the encoded items of the list that begins here."""
        _, length = self._length(self._take(1)[0])
        encoded_items = []
        for _ in range(length):
            first = self.at
            self.value()
            encoded_items.append(self._data[first : self.at])
        return encoded_items

    def sequence(self) -> Iterator[tuple[int, Any]]:
        """Yield the offset and the value of each item up to the end."""
        while self.at < len(self._data):
            yield self.at, self.value()

    def _number(self, form: str, minimum: int) -> int:
        struct = Struct(form)
        (value,) = struct.unpack(self._take(struct.size))
        is_shortest = value >= minimum if minimum >= 0 else value <= minimum
        if not is_shortest or value > MAX_EVENTS:
            raise Refused("a number is not in its shortest form, or has more than 64 bits")
        return int(value)

    def _map(self, length: int, depth: int) -> dict[Any, Any]:
        fields = {}
        for _ in range(length):
            name = self.value(0)
            fields[name] = self.value(depth - 1)
        if len(fields) < length:
            raise Refused("a field occurs twice in an operation")
        return fields

    def _length(self, head: int) -> tuple[type, int]:
        for kind, first, maximum in _SHORT_FORMS:
            if first <= head <= first + maximum:
                return kind, head - first
        if head not in _LONG_FORMS:
            raise Refused("an operation is malformed")
        kind, size, minimum = _LONG_FORMS[head]
        length = int.from_bytes(self._take(size), "big")
        if length < minimum:
            raise Refused("a length is not in its shortest form")
        return kind, length

    def _take(self, length: int) -> bytes:
        data = self._data[self.at : self.at + length]
        if len(data) < length:
            raise Refused("an operation ends too early")
        self.at += length
        return data


_DOUBLE = Struct(">d")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused("a text is not UTF-8") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check that the command line names, print a report, and return the exit code."""
    options = vars(_parser().parse_args(arguments))
    claim, file, texts, files = (options.pop(name) for name in ("claim", "file", "key", "key_file"))
    try:
        keys = [parse_key(line) for line in texts]
        for path in files:
            keys += parse_keys(_read(path))
        for option in ("held", "checkpoint"):
            if options.get(option):
                options[option] = _read(options[option])
        with _open_input(file) as stream:
            limit = MAX_CERTIFICATE_BYTES if claim == "certificate" else MAX_BYTES
            data = stream if claim == "log" else stream.read(limit + 1)
            report = _CHECKS[claim](data, keys, **options)
    except (Refused, WrongKey, NoEd25519, OSError) as error:
        sys.stderr.write(f"memoranda-verify: {error}\n")
        return _EXIT_CODES.get(type(error), UNREADABLE)
    sys.stdout.write(json.dumps({"holds": claim, **report}, indent=2) + "\n")
    return UNPROVEN if report.get("unproven") else HOLDS


_CHECKS: dict[str, Callable[..., dict[str, object]]] = {
    "checkpoint": lambda *arguments, **options: asdict(check_checkpoint(*arguments, **options)),
    "inclusion": check_inclusion,
    "consistency": check_consistency,
    "certificate": check_certificate,
    "log": check_log,
}
_EXIT_CODES = {Refused: REFUSED, WrongKey: USAGE, NoEd25519: CANNOT_CHECK}


def _read(path: str) -> bytes:
    """Read a file or the standard input, up to one byte more than the limit."""
    with _open_input(path) as file:
        return file.read(MAX_BYTES + 1)


@contextmanager
def _open_input(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as file:
        yield file


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("memoranda-verify", description=(__doc__ or "").split("\n")[0])
    claims = parser.add_subparsers(dest="claim", required=True)
    for claim in _CHECKS:
        subparser = claims.add_parser(claim)
        subparser.add_argument("file", help="the file to check; - reads the standard input")
        subparser.add_argument("--key", action="append", default=[], help="a public key you trust")
        subparser.add_argument(
            "--key-file",
            action="append",
            default=[],
            help="a file of public keys you trust, one a line",
        )
        subparser.add_argument(
            "--origin", help="the required origin: the log's name in its checkpoints"
        )
        if claim == "log":
            subparser.add_argument(
                "--checkpoint", help="a checkpoint you hold; the log must begin with its events"
            )
        elif claim != "checkpoint":
            subparser.add_argument(
                "--held", help="the (older) checkpoint you hold; the proof must be about it"
            )
        if claim == "inclusion":
            subparser.add_argument("--event-hash", help="the required event hash")
    return parser


if __name__ == "__main__":
    sys.exit(main())
