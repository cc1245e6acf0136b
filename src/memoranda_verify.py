"""Checks what a Memoranda log claims about itself, without the store and without Memoranda.

    memoranda-verify checkpoint FILE --key-file KEYS      FILE is a signed note
    memoranda-verify inclusion FILE --key-file KEYS       … a recollect.inclusion-proof, in JSON
    memoranda-verify consistency FILE --key-file KEYS     … a recollect.consistency-proof, in JSON
    memoranda-verify log FILE [--checkpoint NOTE] [--key-file KEYS]       … an exported log

This one file can be copied and read by whoever does not trust the engine: it imports the standard
library and, for Ed25519, the package cryptography. It repeats on purpose what the engine has too,
so that a mistake there is not made here. What is to be checked is named on the command line and
never guessed from the file: a proof of something else must not pass for the one that was asked for.

A key is a line `name+hash+base64` as signed notes have it, and may be followed by the commits it is
for, `from=100 until=199`. Keys must come from somewhere else than the proof.

Without a key, a log is found to be whole and unchanged in itself, and that is all: somebody who can
write it can write another one, or a shorter one. With a checkpoint that you have kept, it is found
to begin with the events that were signed; without one, but with keys, with what the last checkpoint
in the file itself was signed for.

It ends with 0 if the claim holds, 3 if it does not or is not in the form it should be in, 2 if the
command or a key is wrong, 4 if a file cannot be read, 1 if the check cannot be made here, 5 if a
log holds, and erasures left something of events of chain version 1 that nothing proves.
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
from hashlib import sha256, shake_128
from pathlib import Path
from struct import Struct
from typing import IO, Any

HOLDS, CANNOT_CHECK, USAGE, REFUSED, UNREADABLE, UNPROVEN = range(6)
MOST_BYTES, MOST_EVENTS = 1_000_000, 2**63 - 1
_KEY = re.compile(
    r"([^+\s\x00-\x1f\ud800-\udfff]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)"
    r"(?: from=(0|[1-9][0-9]{0,18}))?(?: until=(0|[1-9][0-9]{0,18}))?"
)
_SIGNATURE = re.compile(r"— ([^+\s\x00-\x1f]+) ([A-Za-z0-9+/=]+)")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """The claim does not hold, or is not in the form it should be in."""


class WrongKey(Exception):
    """What was given is not a public key."""


class NoEd25519(Exception):
    """Signatures cannot be checked here. Install it with: pip install cryptography."""


@dataclass(frozen=True)
class Key:
    """A public key that is trusted, and the commits whose checkpoints it may sign."""

    name: str
    id: bytes
    key: bytes
    first: int
    last: int


Keys = Sequence[Key]
Signatures = Sequence[tuple[str, bytes, bytes]]


@dataclass(frozen=True)
class Checkpoint:
    """What a log was at some size, and who said so."""

    origin: str
    size: int
    root: str
    signed_by: list[str]


def parse_key(line: str) -> Key:
    """Return the key that a line says."""
    found = _KEY.fullmatch(line)
    if found is None:
        raise WrongKey(f"{line!r} is not like 'name+1a2b3c4d+AQ…'")
    name, hashed, encoded, first, last = found.groups()
    data = _base64(encoded, WrongKey)
    if data[:1] != b"\1" or len(data) != 33:
        raise WrongKey(f"{line!r} is not an Ed25519 key")
    if _is_weak(data[1:]):
        raise WrongKey(f"{line!r} is a point of small order, which proves nothing")
    identity = sha256(name.encode() + b"\n" + data).digest()[:4]
    if identity.hex() != hashed:
        raise WrongKey(f"{line!r} does not have the hash it says: copy it again")
    return Key(name, identity, data[1:], int(first or 0), int(last or MOST_EVENTS))


def _is_weak(key: bytes) -> bool:
    """Tell whether signatures of anything fit a key: its order divides 8."""
    prime = 2**255 - 19
    order_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    second = (int.from_bytes(key, "little") & (2**255 - 1)) % prime
    return second in (0, 1, prime - 1, order_8, prime - order_8)


def parse_keys(data: bytes) -> list[Key]:
    """Return the keys of a file, one a line; empty lines and those behind a `#` do not count."""
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
        raise Refused(f"none of the keys that signed it is for a log of {size} events")
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
    """Return what an inclusion proof proves, or raise `Refused`."""
    proof = _proof(data, "inclusion", "commit_ts", "event_hash", "path", "checkpoint")
    checkpoint = check_checkpoint(_encoded(proof["checkpoint"]), keys, origin=origin)
    _check_held(held, checkpoint, keys, origin)
    commit_ts, found = proof["commit_ts"], proof["event_hash"]
    if type(commit_ts) is not int or not isinstance(found, str) or not _HASH.fullmatch(found):
        raise Refused("the event's commit or hash is not in its form")
    if not 1 <= commit_ts <= checkpoint.size:
        raise Refused(f"the checkpoint is of {checkpoint.size} events, and not of {commit_ts}")
    if event_hash is not None and found != event_hash:
        raise Refused(f"the proof is of the event {found}, not of {event_hash}")
    leaf = sha256(b"\0" + bytes.fromhex(found)).digest()
    _, root = _climb(leaf, _path(proof), commit_ts - 1, checkpoint.size - 1)
    if root.hex() != checkpoint.root:
        raise Refused("the path does not lead from the event to the checkpoint's root")
    return {"commit_ts": commit_ts, "event_hash": found, "checkpoint": asdict(checkpoint)}


def check_consistency(
    data: bytes, keys: Keys, *, origin: str | None = None, held: bytes | None = None
) -> dict[str, object]:
    """Return what a consistency proof proves, or raise `Refused`. Held is the older checkpoint."""
    proof = _proof(data, "consistency", "old_checkpoint", "new_checkpoint", "path")
    old = check_checkpoint(_encoded(proof["old_checkpoint"]), keys, origin=origin)
    new = check_checkpoint(_encoded(proof["new_checkpoint"]), keys, origin=old.origin)
    _check_held(held, old, keys, origin)
    path = _path(proof)
    if old.size in (0, new.size):
        grown = not path and (old.size == 0 or old.root == new.root)
    else:
        grown = old.size < new.size and _roots(path, old, new) == (old.root, new.root)
    if not grown:
        raise Refused(f"the log of {new.size} events does not begin with the {old.size} of before")
    return {"old": asdict(old), "new": asdict(new)}


def _roots(path: Sequence[bytes], old: Checkpoint, new: Checkpoint) -> tuple[str, str]:
    whole = not old.size & (old.size - 1)  # then the older root is where the path begins
    start, *rest = [bytes.fromhex(old.root), *path] if whole else path or [b""]
    index, last = old.size - 1, new.size - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    older, newer = _climb(start, rest, index, last)
    return older.hex(), newer.hex()


def _climb(start: bytes, path: Sequence[bytes], index: int, last: int) -> tuple[bytes, bytes]:
    """Return the roots that a path leads to: RFC 9162, sections 2.1.3.2 and 2.1.4.2.

    The first is only above what the older tree has too; for an inclusion it means nothing.
    """
    older = newer = start
    for each in path:
        if last == 0:
            raise Refused("the path is too long")
        if index & 1 or index == last:
            older, newer = _node(each, older), _node(each, newer)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            newer = _node(newer, each)
        index, last = index >> 1, last >> 1
    if last:
        raise Refused("the path is too short")
    return older, newer


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _note(message: bytes) -> str:
    text = message.decode(errors="replace")
    if text.encode() != message or re.search(r"[\x00-\x09\x0b-\x1f]", text):
        raise Refused("the note is not UTF-8, or has control characters")
    if len(message) > MOST_BYTES or "\n\n" not in text or not text.endswith("\n"):
        raise Refused("it is not a signed note: a text, a blank line, signatures")
    return text


def _signatures(lines: str) -> Signatures:
    found = []
    for line in lines[:-1].split("\n"):
        parts = _SIGNATURE.fullmatch(line)
        data = _base64(parts[2], Refused) if parts else b""
        if parts is None or len(data) <= 4:
            raise Refused(f"{line!r} is not a signature line")
        found.append((parts[1], data[:4], data[4:]))
    if len(found) > 100 or len({each[:2] for each in found}) < len(found):
        raise Refused("the note has two signatures of one key, or more than a hundred")
    return found


def _signed_by(text: str, signatures: Signatures, keys: Keys) -> list[Key]:
    trusted = {(key.name, key.id): key for key in keys}
    if not keys or len(trusted) < len(keys):
        raise WrongKey("give one or more keys that you trust, each once")
    signed = []
    for name, identity, signature in signatures:
        key = trusted.get((name, identity))
        if key is not None and not _verifies(key.key, text.encode(), signature):
            raise Refused(f"the signature of {name!r} is not of this text")
        signed += [] if key is None else [key]
    if not signed:
        raise Refused("no key you trust signed the note")
    return signed


def _verifies(key: bytes, message: bytes, signature: bytes) -> bool:
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


def _check_held(held: bytes | None, given: Checkpoint, keys: Keys, origin: str | None) -> None:
    """Refuse a proof about another checkpoint than the one that the caller has kept."""
    if held is None:
        return
    ours = check_checkpoint(held, keys, origin=origin)
    if (ours.origin, ours.size, ours.root) != (given.origin, given.size, given.root):
        raise Refused(f"the proof is not about the checkpoint you hold, of {ours.size} events")


def _proof(data: bytes, kind: str, *fields: str) -> dict[str, object]:
    try:
        proof = json.loads(data.decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise Refused("the proof is not JSON") from error
    if not isinstance(proof, dict) or proof.get("type") != f"memoranda.{kind}-proof":
        raise Refused(f"it is not a proof of {kind}")
    if type(proof.get("version")) is not int or proof["version"] != 1:
        raise Refused("the proof has a version that is not known here: use a newer verifier")
    if proof.keys() != {"type", "version", *fields}:
        raise Refused(f"the proof does not have exactly the fields {', '.join(fields)}")
    return proof


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands twice")
    return found


def _encoded(note: object) -> bytes:
    """Return a proof's note as bytes; what is not text, or not UTF-8, is refused as no note."""
    return str(note).encode("utf-8", "surrogatepass")


def _path(proof: dict[str, object]) -> list[bytes]:
    path = proof["path"] if isinstance(proof["path"], list) else [None]
    if not all(isinstance(each, str) and _HASH.fullmatch(each) for each in path):
        raise Refused("the proof's path is not a list of hashes")
    return [bytes.fromhex(str(each)) for each in path]


def _base64(text: str, wrong: type[Refused | WrongKey]) -> bytes:
    """Return what a text encodes, if it is the only text that does."""
    with suppress(ValueError):
        data = b64decode(text, validate=True)
        if b64encode(data).decode() == text:
            return data
    raise wrong(f"{text!r} is not base64")


# Exported logs. docs/reference/log-format.md says what their lines are, and what is hashed; the
# operations in them are msgpack arrays that begin with their number.

_MOST_LINE = 2**31 - 1
_SALT = 16
_ERASED, _ERASE, _REDACTED = 0, 21, 43
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
}
"""The fields of each kind of operation that share a commitment, by their places."""
_LISTED = (1, 6)
"""The operation, and its field, whose items have a commitment each, unless there are none."""
_NAMING = {(12, 1), (13, 1), (21, 1), (23, 1), (25, 1)}
"""The slots that name an agent: a pseudonym may stand there."""
_COUNTED = {5, 6, 7}
"""The operations that a compaction leaves numbers of."""
_CONTENT = {4: (8, 1, 2), 5: (8, 1, 2), 10: (None, 4, 5)}
"""Where an operation with long content has a list about it, if it has one; its hash; its size."""
_FIELDS = {
    "recollect.log": ["version", "log_id", "commits", "head_hash"],
    "event": ["commit_ts", "committed_at", "hash", "salts", "envelope", "operations"],
    "blob": ["commit_ts", "position", "content"],
    "checkpoint": ["size", "note"],
    "end": ["lines", "sha256"],
}
_TWO_NUMBERS = Struct(">qq").pack
_LAST_TIME = 253_402_300_799_999_999
"""The end of the year 9999, in microseconds."""
Line = dict[str, Any]
Rows = dict[int, tuple[int, bytes]]
"""Where in an event something was erased: by which commit last, and the hash of what is left."""


def check_log(
    file: IO[bytes], keys: Keys, *, origin: str | None = None, checkpoint: bytes | None = None
) -> dict[str, object]:
    """Return what an exported log is, or raise `Refused`, which names the line."""
    held = None if checkpoint is None else check_checkpoint(checkpoint, keys, origin=origin)
    log = _Log(keys, origin, held)
    number, digest = 0, sha256()
    while not log.ended:
        line, number = file.readline(_MOST_LINE), number + 1
        try:
            if not line.endswith(b"\n"):
                raise Refused("the file is cut: it is not whole, or not there")
            log.take(_line(line), number, digest.hexdigest())
        except Refused as error:
            raise Refused(f"line {number}: {error}") from error
        digest.update(line)
    if file.read(1):
        raise Refused(f"line {number + 1}: something follows the last line")
    return log.told()


def _line(line: bytes) -> Line:
    """Return the fields of a line that is spelled as an export spells it."""
    try:
        found = json.loads(line.decode())
        again = json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"
        same = again.encode() == line and isinstance(found, dict)
    except (ValueError, RecursionError) as error:
        raise Refused("it is not JSON") from error
    kind = found.get("type") if same else None
    if not isinstance(kind, str) or [*found] not in _shapes(kind):
        raise Refused("it is not a line of an exported log, spelled as an export spells it")
    return dict(found)


def _shapes(kind: str) -> list[list[str]]:
    fields = ["type", *_FIELDS.get(kind, ())]
    return [fields, [*fields, "erased"]] if kind == "event" else [fields]


class _Claim:
    """What was erased in the name of an event that is still to come."""

    def __init__(self) -> None:
        self.count, self.hashed = 0, sha256()
        self.pseudonyms: set[str] = set()


class _Log:
    """An exported log, as far as it was read and found sound."""

    def __init__(self, keys: Keys, origin: str | None, held: Checkpoint | None) -> None:
        self.ended = False
        self._keys, self._origin, self._held = keys, origin, held
        self._header: Line = {}
        self._commits, self._time, self._hash, self._version = 0, 0, b"", 1
        self._peaks: list[bytes] = []
        self._due: deque[tuple[int, object, object]] = deque()
        self._claims: dict[int, _Claim] = {}
        self._places: set[tuple[int, object]] = set()
        """Where in the last event something was erased, and by which commits."""
        self._erased = self._notes = self._unproven = 0
        self._last_note = ""
        self._vouched: Checkpoint | None = None

    def take(self, line: Line, number: int, digest: str) -> None:
        """Go on by a line; the digest is that of the lines before it."""
        if (line["type"] == "recollect.log") != (number == 1):
            raise Refused("a log has one header, and begins with it")
        if line["type"] == "blob":
            self._take_blob(line)
            return
        if self._due:
            raise Refused(f"the content of an operation of commit {self._commits} is missing")
        if line["type"] == "event":
            self._take_event(line)
        elif line["type"] == "checkpoint":
            self._take_note(line)
        elif line["type"] == "end":
            self._take_end(line, number, digest)
        else:
            self._take_header(line)

    def told(self) -> dict[str, object]:
        """Return what the log is, and which checkpoint it was compared with."""
        told = {name: self._header[name] for name in ("log_id", "commits", "head_hash")}
        vouched = None if self._vouched is None else asdict(self._vouched)
        told |= {"erased": self._erased, "unproven": self._unproven, "checkpoints": self._notes}
        return {**told, "checkpoint": vouched}

    def _take_header(self, line: Line) -> None:
        if type(line["version"]) is not int or line["version"] not in (1, 2):
            raise Refused("the log has a version that is not known here: use a newer verifier")
        if not isinstance(line["log_id"], str) or not line["log_id"]:
            raise Refused("the log's id is not a text")
        _number(line["commits"])
        _hash(line["head_hash"])
        self._header, self._hash = line, sha256(b"\4" + line["log_id"].encode()).digest()
        self._compare(self._held)

    def _take_event(self, line: Line) -> None:
        commit_ts, time = _number(line["commit_ts"]), _number(line["committed_at"])
        salts, envelope = _bytes(line["salts"]), _bytes(line["envelope"])
        parts = [_bytes(each) for each in _list(line["operations"])]
        if commit_ts != self._commits + 1:
            raise Refused(f"commit {self._commits + 1} should stand here, and {commit_ts} does")
        if not self._time < time <= _LAST_TIME:
            raise Refused("its time is not after the time of the event before it, or too late")
        rows = self._rows(commit_ts, line)
        version = 2 if len(salts) % _SALT == 1 and salts[0] == 2 else 1
        if version < self._version:
            raise Refused("it has an older form than the events before it")
        if version == 1:
            covered = self._first_form(envelope, parts, salts, rows)
        else:
            covered = self._second_form(envelope, parts, salts, rows)
        if rows:
            raise Refused("something is said to be erased, and is not")
        domain, count, leaves = covered
        hashed = (domain, _TWO_NUMBERS(commit_ts, time), self._hash, count, *leaves)
        self._commits, self._time, self._version = commit_ts, time, version
        self._hash = sha256(b"".join(hashed)).digest()
        if self._hash != _hash(line["hash"]):
            raise Refused(f"the content of commit {commit_ts} does not have its hash")
        self._look_into(parts)
        self._grow()
        self._last_note = ""
        self._compare(self._held)

    def _first_form(
        self, envelope: bytes, parts: Sequence[bytes], salts: bytes, rows: Rows
    ) -> tuple[bytes, bytes, list[bytes]]:
        """Return what the hash covers of an event of chain version 1."""
        if len(salts) != _SALT * (len(parts) + 2):
            raise Refused("its salts do not fit its operations")
        leaves = [_envelope_leaf(envelope, salts, rows)]
        leaves += [_operation_leaf(index, part, salts, rows) for index, part in enumerate(parts)]
        left = [_array(part)[5:6] for part in parts if _tag(part) == _ERASED]
        self._unproven += sum(each not in ([], [None]) for each in left)
        return b"\3", len(leaves).to_bytes(8, "big"), leaves

    def _second_form(
        self, envelope: bytes, parts: Sequence[bytes], salts: bytes, rows: Rows
    ) -> tuple[bytes, bytes, list[bytes]]:
        """Return what the hash covers of an event of chain version 2."""
        operations = [_array(part) for part in parts]
        found = _Salts(salts, operations)
        leaves = [sha256(b"\1" + found.envelope + envelope).digest()]
        if _tag(envelope) == _ERASED:
            leaf, actor, erasure = _fields(envelope, 1, 2, 3)
            _check_row(-1, envelope, erasure, rows)
            if any(found.envelope):
                raise Refused("the salt of something erased is still there")
            leaves = [_commitment(leaf)]
            _check_retry(_array(envelope)[4:])
            if actor != "":
                self._claim(-1, erasure, actor)
        for index, (part, operation) in enumerate(zip(parts, operations, strict=True)):
            own = found.operations[index]
            if operation[0] != _REDACTED:
                leaves.append(_whole_leaf(part, operation, own, found.scope(operation)))
                continue
            left = _Redacted(operation)
            _check_row(index, part, left.erasure, rows)
            leaves.append(left.leaf())
            for erasure, name in left.pseudonyms:
                self._claim(index, erasure, name)
        return b"\x0b", len(parts).to_bytes(8, "big"), leaves

    def _claim(self, position: int, erasure: object, name: object) -> None:
        """Note the commit that has to name a pseudonym."""
        if not isinstance(name, str) or not _PSEUDONYM.fullmatch(name):
            raise Refused("what stands for a name that was erased is no pseudonym")
        if (position, erasure) not in self._places:
            raise Refused("a pseudonym stands where the commit that names it erased nothing")
        self._claims[_number(erasure)].pseudonyms.add(name)

    def _rows(self, commit_ts: int, line: Line) -> Rows:
        """Return what was erased last at each position, and note it for the event that did it."""
        found: Rows = {}
        places = []
        for row in _list(line.get("erased", [])):
            at, by, digest = row if len(_list(row)) == 3 else [None] * 3
            position, erasure = _number(at, least=-1), _number(by, least=commit_ts + 1)
            places.append((position, erasure))
            found[position] = (erasure, _hash(digest))
            claim = self._claims.setdefault(erasure, _Claim())
            claim.count += 1
            claim.hashed.update(_TWO_NUMBERS(commit_ts, position) + found[position][1])
        if places != sorted({*places}) or ("erased" in line and not places):
            raise Refused("what is said of its erased operations is out of order")
        self._erased += len(found)
        self._places = {*places}
        return found

    def _look_into(self, parts: Sequence[bytes]) -> None:
        """See what of an event is vouched for by it, or comes behind it: erasures and content."""
        said, named = [], set[str]()
        for position, part in enumerate(parts):
            tag = _tag(part)
            erasing = _erasing(_array(part)) if tag in (_ERASE, _ERASED, _REDACTED) else None
            if erasing is not None:
                said.append(erasing[:2])
                named.update(each for each in erasing[2:] if isinstance(each, str))
            elif tag in _CONTENT:
                inner, *places = _CONTENT[tag]
                fields = _unpacked(part) if inner is None else _fields(part, inner)[0]
                digest, size = _at(fields or [None] * 3, *places)
                if digest is not None:
                    self._due.append((position, digest, size))
        claim = self._claims.pop(self._commits, None)
        if said or claim:
            claim = claim or _Claim()
            if said != [[claim.count, claim.hashed.digest()]]:
                raise Refused(f"what commit {self._commits} erased is not what it says")
            if not claim.pseudonyms <= named:
                raise Refused(f"commit {self._commits} does not name the pseudonyms it has left")

    def _take_blob(self, line: Line) -> None:
        content = _bytes(line["content"])
        position, digest, size = self._due.popleft() if self._due else (None, None, None)
        if (_number(line["commit_ts"]), _number(line["position"])) != (self._commits, position):
            raise Refused("no operation before it has its content here")
        if digest != sha256(content).digest() or size != len(content):
            raise Refused(f"the content in commit {self._commits} does not have its hash")

    def _take_note(self, line: Line) -> None:
        note = line["note"] if isinstance(line["note"], str) else ""
        text, _, signatures = _note(note.encode()).rpartition("\n\n")
        lines = [*text.split("\n"), "", ""]
        said = (_number(line["size"]), lines[1], _base64(lines[2], Refused))
        here = (self._commits, str(self._commits), self._root())
        if said != here or lines[0] != f"recollect/{self._header['log_id']}":
            raise Refused("the checkpoint is of another log, or stands at another place")
        if note.encode() <= self._last_note.encode():
            raise Refused("the checkpoints are out of order")
        self._last_note = note
        self._notes += 1
        trusted = {(key.name, key.id) for key in self._keys}
        if trusted & {(name, identity) for name, identity, _ in _signatures(signatures)}:
            found = check_checkpoint(note.encode(), self._keys, origin=self._origin)
            self._vouched = found if self._held is None else self._vouched

    def _take_end(self, line: Line, number: int, digest: str) -> None:
        if (_number(line["lines"]), line["sha256"]) != (number - 1, digest):
            raise Refused("the lines before it are not the ones it was written for")
        if self._claims:
            raise Refused("something was erased in the name of an event that is not there")
        head = (self._header["commits"], self._header["head_hash"], self._header["version"])
        if head != (self._commits, self._hash.hex(), self._version):
            raise Refused("the log does not end where its first line says")
        if self._held is not None and self._vouched is None:
            size, commits = self._held.size, self._commits
            raise Refused(f"the checkpoint is of {size} events, and the log has only {commits}")
        if self._keys and self._vouched is None:
            raise Refused("no checkpoint in the log is signed by a key you trust")
        self.ended = True

    def _grow(self) -> None:
        """Add the event's hash to the tree: RFC 6962, section 2.1."""
        node, index = sha256(b"\0" + self._hash).digest(), self._commits - 1
        while index & 1:
            node, index = _node(self._peaks.pop(), node), index >> 1
        self._peaks.append(node)

    def _root(self) -> bytes:
        *lower, root = self._peaks or [sha256().digest()]
        for peak in reversed(lower):
            root = _node(peak, root)
        return root

    def _compare(self, held: Checkpoint | None) -> None:
        """Refuse a log that is another one than was signed, as soon as it is as long."""
        if held is None or held.size != self._commits:
            return
        name = self._origin or f"recollect/{self._header['log_id']}"
        if held.origin != name:
            raise Refused(f"the checkpoint is of the log {held.origin!r}, not of {name!r}")
        if held.root != self._root().hex():
            raise Refused(f"the first {held.size} events are not those of the checkpoint")
        self._vouched = held


def _envelope_leaf(envelope: bytes, salts: bytes, rows: Rows) -> bytes:
    if _tag(envelope) == _ERASED:
        return _erased_leaf(-1, envelope, _fields(envelope, 1, 3), salts, rows)
    return sha256(b"\1" + salts[_SALT : 2 * _SALT] + envelope).digest()


def _operation_leaf(index: int, part: bytes, salts: bytes, rows: Rows) -> bytes:
    """Return what stands for an operation in the hash of an event of chain version 1."""
    if _tag(part) == _ERASED:
        return _erased_leaf(index, part, _fields(part, 3, 4), salts, rows)
    _check_kind(_array(part))
    at = _SALT * (index + 2)
    return sha256(b"\0" + salts[at : at + _SALT] + part).digest()


def _erased_leaf(
    position: int, left: bytes, said: Sequence[object], salts: bytes, rows: Rows
) -> bytes:
    """Return the hash of what was erased, if a row says so and nothing else of it is left."""
    leaf, erasure = said
    _check_row(position, left, erasure, rows)
    for first in (0, _SALT * (position + 2)):  # the request's salt goes with any of them
        if any(salts[first : first + _SALT]):
            raise Refused("the salt of something erased is still there")
    return _commitment(leaf)


def _check_row(position: int, left: bytes, erasure: object, rows: Rows) -> None:
    if rows.pop(position, None) != (erasure, sha256(left).digest()):
        raise Refused("something was erased and nothing says why, or what stands there was changed")


def _check_retry(found: list[Any]) -> None:
    """Refuse what is left of an envelope for retries, unless it is as long as such hashes are."""
    if len(found) > 1 or any(type(each) is not bytes or len(each) % 16 for each in found):
        raise Refused("what is left of an envelope is not in its form")
    if any(len(each) > 32 for each in found):
        raise Refused("what is left of an envelope is not in its form")


def _commitment(found: object) -> bytes:
    if not isinstance(found, bytes) or len(found) != 32:
        raise Refused("what was erased has left no hash")
    return found


def _check_kind(operation: list[Any]) -> None:
    """Refuse what is no operation: of an unknown kind, or with more fields than its kind has."""
    places = _SLOTS.get(operation[0])
    if places is None or len(operation) > 3 + sum(map(len, places)) or len(operation) < 4:
        raise Refused("an operation is of a kind that is not known, or does not have its fields")


class _Salts:
    """The salts of an event of chain version 2, where each stands."""

    def __init__(self, salts: bytes, operations: Sequence[list[Any]]) -> None:
        whole = [each for each in operations if each[0] != _REDACTED]
        scopes = [*dict.fromkeys(_scope(each) for each in whole)]
        each = [salts[first : first + _SALT] for first in range(1, len(salts), _SALT)]
        if len(each) != 1 + 2 * len(scopes) + max(1, len(operations)):
            raise Refused("its salts do not fit its operations")
        self.envelope, *rest = each
        self._scopes = {scope: rest[2 * at : 2 * at + 2] for at, scope in enumerate(scopes)}
        self.operations = rest[2 * len(scopes) :]
        for salt, operation in zip(self.operations, operations, strict=False):
            if any(salt) == (operation[0] == _REDACTED):
                raise Refused("the salt of something erased is still there, or another is gone")
        if not operations:
            self._check_request()

    def _check_request(self) -> None:
        request = self.operations[0]
        if any(request) and sha256(b"\x0c" + request).digest()[:_SALT] != self.envelope:
            raise Refused("the salt of its request was changed")

    def scope(self, operation: list[Any]) -> bytes:
        """Return the commitments to an operation's namespace and agent."""
        names = _scope(operation)
        first, second = self._scopes[names]
        return _name(b"\x06", first, names[0]) + _name(b"\x07", second, names[1])


def _scope(operation: list[Any]) -> tuple[str, str]:
    namespace, agent = _at(operation, 1, 2)
    if not isinstance(namespace, str) or not isinstance(agent, str):
        raise Refused("an operation does not say whose it is")
    return namespace, agent


def _name(role: bytes, salt: bytes, name: str) -> bytes:
    return sha256(role + salt + name.encode()).digest()


def _whole_leaf(part: bytes, operation: list[Any], salt: bytes, scope: bytes) -> bytes:
    """Return what stands for an operation of which nothing was erased: a hash for each slot."""
    _check_kind(operation)
    kind, items = operation[0], _Packed(part).items()
    tag, field = _LISTED
    listed = kind == tag and len(operation) > field and operation[field] != []
    places = [[3, 4, 5], [field]] if listed else _SLOTS[kind]
    leaf = [bytes([len(places)]), scope]
    for index, own in enumerate(_derived(salt, len(places))):
        place = bytes([kind, index])
        if listed and index:
            each = _Packed(items[field]).items()
            hashed = [_item(*pair) for pair in zip(_derived(own, len(each)), each, strict=True)]
            leaf.append(sha256(b"\x0a" + place + b"".join(hashed)).digest())
        else:
            value = b"".join(items[at] for at in places[index] if at < len(items))
            leaf.append(sha256(b"\x08" + own + place + value).digest())
    return b"".join(leaf)


def _derived(salt: bytes, count: int) -> list[bytes]:
    if count == 1:
        return [salt]
    made = shake_128(salt).digest(_SALT * count)
    return [made[first : first + _SALT] for first in range(0, len(made), _SALT)]


def _item(salt: bytes, value: bytes) -> bytes:
    return sha256(b"\x09" + salt + value).digest()


class _Redacted:
    """What is left of an operation in an event of chain version 2: it must open what stays."""

    def __init__(self, fields: list[Any]) -> None:
        if len(fields) != 9:
            raise Refused("what is left of an operation is not in its form")
        self._names = _scope(fields)
        self.erasure, salt, names, self._kind, slots, numbers = fields[3:]
        self._slots = _list(slots)
        if len(_list(names)) != 2 or not isinstance(salt, bytes) or len(self._slots) > 255:
            raise Refused("what is left of an operation is not in its form")
        self._scope = names
        self.pseudonyms: list[tuple[object, object]] = []
        self._check_kind(_list(numbers))

    def _check_kind(self, numbers: list[Any]) -> None:
        kept = any(not isinstance(slot, bytes) for slot in self._slots)
        if type(self._kind) is not int or kept != (self._kind in _SLOTS):
            raise Refused("what is left of an operation is of a kind that is not known")
        if kept and len(self._slots) not in self._counts():
            raise Refused("what is left of an operation does not have the slots of its kind")
        counted = self._kind in _COUNTED and len(numbers) == 4
        if numbers and not (counted and all(type(each) in (int, type(None)) for each in numbers)):
            raise Refused("numbers are left of an operation that can leave none")

    def _counts(self) -> set[int]:
        return {len(_SLOTS[self._kind]), 2 if self._kind == _LISTED[0] else 0}

    def leaf(self) -> bytes:
        """Return what stands for the operation in the event's hash."""
        namespace, agent = self._names
        first, second = self._scope
        leaf = [
            bytes([len(self._slots)]),
            self._of_name(b"\x06", first, namespace, namespace.removesuffix(f"/{_INBOX}")),
            self._of_name(b"\x07", second, agent, agent),
        ]
        return b"".join([*leaf, *(self._of_slot(*each) for each in enumerate(self._slots))])

    def _of_name(self, role: bytes, slot: object, name: str, pseudonym: str) -> bytes:
        if isinstance(slot, bytes):
            return _name(role, _kept_salt(slot), name)
        tag, commitment, erasure = _shape(slot, 3)
        if tag != 5:
            raise Refused("what is left of an operation is not in its form")
        self.pseudonyms.append((erasure, pseudonym))
        return _commitment(commitment)

    def _of_slot(self, index: int, slot: object) -> bytes:
        if isinstance(slot, bytes):
            return _commitment(slot)
        tag, place = _list(slot)[:1], bytes([self._kind, index])
        if tag == [1]:
            return sha256(b"\x08" + _kept(slot, place)).digest()
        if tag == [2] and (self._kind, index) in _NAMING:
            _, commitment, erasure, name = _shape(slot, 4)
            self.pseudonyms.append((erasure, name))
            return _commitment(commitment)
        if tag == [3] and (self._kind, index) == (_LISTED[0], 1):
            items = map(_of_item, _list(_shape(slot, 2)[1]))
            return sha256(b"\x0a" + place + b"".join(items)).digest()
        raise Refused("what is left of an operation is not in its form")


def _kept(slot: object, place: bytes = b"") -> bytes:
    _, salt, value = _shape(slot, 3)
    if not isinstance(value, bytes):
        raise Refused("what is left of an operation is not in its form")
    return _kept_salt(salt) + place + value


def _kept_salt(salt: object) -> bytes:
    if not isinstance(salt, bytes) or len(salt) != _SALT or not any(salt):
        raise Refused("what is left of an operation has no salt")
    return salt


def _of_item(item: object) -> bytes:
    """Return the commitment to a reference, of which its kind and a version may be left."""
    if _list(item)[:1] == [1]:
        return sha256(b"\x09" + _kept(item)).digest()
    tag, commitment, kind, version = _shape(item, 4)
    if tag != 4 or kind not in (1, 3) or type(version) not in (int, type(None)):
        raise Refused("what is left of a reference is not in its form")
    return _commitment(commitment)


def _shape(found: object, length: int) -> list[Any]:
    if len(_list(found)) != length:
        raise Refused("what is left of an operation is not in its form")
    return _list(found)


def _erasing(operation: list[Any]) -> list[Any] | None:
    """Return the count, the digest and the pseudonyms that an erasing operation says.

    It may have been rewritten itself: who erased was forgotten.
    """
    if operation[0] == _REDACTED:
        slots = _list(operation[7]) if operation[6] == _ERASE else [b""]
        if isinstance(slots[0], bytes):
            return None
        said = [each for _, each in _Packed(slots[0][2]).sequence()]
        count, digest, *names = _at(said, 2, 3, 4)
        return [count, digest, *names, *_list(said[5] if len(said) > 5 else [])]
    if operation[0] == _ERASED:
        operation = operation[5] if len(operation) > 5 and operation[5] else [None]
    if _list(operation)[:1] != [_ERASE]:
        return None
    count, digest = _at(operation, 7, 8)
    return [count, digest, *operation[9:10], *_list((operation[10:11] or [[]])[0])]


def _number(found: object, *, least: int = 0) -> int:
    if type(found) is not int or not least <= found <= MOST_EVENTS:
        raise Refused("a number is none, or cannot be what stands there")
    return found


def _hash(found: object) -> bytes:
    if not isinstance(found, str) or not _HASH.fullmatch(found):
        raise Refused("a hash is not 64 digits from 0 to f")
    return bytes.fromhex(found)


def _bytes(found: object) -> bytes:
    return _base64(found if isinstance(found, str) else "?", Refused)


def _list(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise Refused("something is not a list that should be one")
    return found


def _tag(part: bytes) -> int | None:
    """Return the number that an operation begins with; an envelope begins with a text."""
    if len(part) < 2 or part[0] & 0xF0 != 0x90:
        raise Refused("an operation or an envelope is not in its form")
    return part[1] if part[1] < 0x80 else None


def _fields(part: bytes, *places: int) -> list[Any]:
    return _at(_unpacked(part), *places)


def _at(fields: object, *places: int) -> list[Any]:
    if not isinstance(fields, list) or len(fields) <= max(places):
        raise Refused("an operation or an envelope does not have its fields")
    return [fields[place] for place in places]


def _array(data: bytes) -> list[Any]:
    found = _unpacked(data)
    if not isinstance(found, list) or not found:
        raise Refused("an operation or an envelope is not in its form")
    return found


def _unpacked(data: bytes) -> object:
    packed = _Packed(data)
    found = packed.value()
    if packed.at != len(data):
        raise Refused("something follows an operation, where nothing can")
    return found


_NUMBERS = {
    0xCC: (">B", 0x80), 0xCD: (">H", 2**8), 0xCE: (">I", 2**16), 0xCF: (">Q", 2**32),
    0xD0: (">b", -0x21), 0xD1: (">h", -(2**7) - 1), 0xD2: (">i", -(2**15) - 1),
    0xD3: (">q", -(2**31) - 1),
}  # fmt: skip
"""How a number is read, and the nearest to zero that needs so many bytes."""
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_SHORT: tuple[tuple[type, int, int], ...] = (
    (dict, 0x80, 0x0F),
    (list, 0x90, 0x0F),
    (str, 0xA0, 0x1F),
)
_LONG: dict[int, tuple[type, int, int]] = {
    first + place: (kind, size, least)
    for kind, first, sizes in (
        (bytes, 0xC4, ((1, 0), (2, 2**8), (4, 2**16))),
        (str, 0xD9, ((1, 2**5), (2, 2**8), (4, 2**16))),
        (list, 0xDC, ((2, 2**4), (4, 2**16))),
        (dict, 0xDE, ((2, 2**4), (4, 2**16))),
    )
    for place, (size, least) in enumerate(sizes)
}
"""What follows a byte: of which type, with a length in so many bytes, and which needs them."""


class _Packed:
    """Reads msgpack, in its one shortest form: what operations and envelopes are written in."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def value(self, depth: int = 32) -> Any:
        """Return what begins here."""
        head = self._take(1)[0]
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 0x100
        if head in _CONSTANTS:
            return _CONSTANTS[head]
        if head == 0xCB:
            return _DOUBLE.unpack(self._take(8))[0]
        if head in _NUMBERS:
            return self._number(*_NUMBERS[head])
        kind, length = self._length(head)
        if kind in (bytes, str):
            found = self._take(length)
            return found if kind is bytes else _text(found)
        if not depth:
            raise Refused("an operation is too deep")
        if kind is list:
            return [self.value(depth - 1) for _ in range(length)]
        return self._map(length, depth)

    def items(self) -> list[bytes]:
        """Return the bytes of each item of the list that begins here."""
        _, length = self._length(self._take(1)[0])
        found = []
        for _ in range(length):
            first = self.at
            self.value()
            found.append(self._data[first : self.at])
        return found

    def sequence(self) -> Iterator[tuple[int, Any]]:
        """Yield what stands here, one behind the other."""
        while self.at < len(self._data):
            yield self.at, self.value()

    def _number(self, form: str, least: int) -> int:
        struct = Struct(form)
        (found,) = struct.unpack(self._take(struct.size))
        needed = found >= least if least >= 0 else found <= least
        if not needed or found > MOST_EVENTS:
            raise Refused("a number is not in its shortest form, or has more than 64 bits")
        return int(found)

    def _map(self, length: int, depth: int) -> dict[Any, Any]:
        found = {}
        for _ in range(length):
            name = self.value(0)
            found[name] = self.value(depth - 1)
        if len(found) < length:
            raise Refused("a field stands twice in an operation")
        return found

    def _length(self, head: int) -> tuple[type, int]:
        for kind, first, most in _SHORT:
            if first <= head <= first + most:
                return kind, head - first
        if head not in _LONG:
            raise Refused("an operation is not in its form")
        kind, size, least = _LONG[head]
        length = int.from_bytes(self._take(size), "big")
        if length < least:
            raise Refused("a length is not in its shortest form")
        return kind, length

    def _take(self, length: int) -> bytes:
        found = self._data[self.at : self.at + length]
        if len(found) < length:
            raise Refused("an operation ends too early")
        self.at += length
        return found


_DOUBLE = Struct(">d")


def _text(found: bytes) -> str:
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        raise Refused("a text is not UTF-8") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the command line names, say what was found, and return the exit code."""
    asked = vars(_parser().parse_args(arguments))
    claim, file, texts, files = (asked.pop(name) for name in ("claim", "file", "key", "key_file"))
    try:
        keys = [parse_key(line) for line in texts]
        for path in files:
            keys += parse_keys(_read(path))
        for kept in ("held", "checkpoint"):
            if asked.get(kept):
                asked[kept] = _read(asked[kept])
        with _opened(file) as opened:
            data = opened if claim == "log" else opened.read(MOST_BYTES + 1)
            found = _CHECKS[claim](data, keys, **asked)
    except (Refused, WrongKey, NoEd25519, OSError) as error:
        sys.stderr.write(f"memoranda-verify: {error}\n")
        return _CODES.get(type(error), UNREADABLE)
    sys.stdout.write(json.dumps({"holds": claim, **found}, indent=2) + "\n")
    return UNPROVEN if found.get("unproven") else HOLDS


_CHECKS: dict[str, Callable[..., dict[str, object]]] = {
    "checkpoint": lambda *given, **asked: asdict(check_checkpoint(*given, **asked)),
    "inclusion": check_inclusion,
    "consistency": check_consistency,
    "log": check_log,
}
_CODES = {Refused: REFUSED, WrongKey: USAGE, NoEd25519: CANNOT_CHECK}


def _read(path: str) -> bytes:
    """Return the bytes of a file, or of the standard input, up to more than is allowed."""
    with _opened(path) as file:
        return file.read(MOST_BYTES + 1)


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as file:
        yield file


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("memoranda-verify", description=(__doc__ or "").split("\n")[0])
    claims = parser.add_subparsers(dest="claim", required=True)
    for claim in _CHECKS:
        asked = claims.add_parser(claim)
        asked.add_argument("file", help="what to check; - reads the standard input")
        asked.add_argument("--key", action="append", default=[], help="a public key you trust")
        asked.add_argument("--key-file", action="append", default=[], help="a file of them")
        asked.add_argument("--origin", help="the log that it must be about")
        if claim == "log":
            asked.add_argument("--checkpoint", help="a checkpoint that you have kept")
        elif claim != "checkpoint":
            asked.add_argument("--held", help="the (older) checkpoint that you have kept")
        if claim == "inclusion":
            asked.add_argument("--event-hash", help="the event that it must be about")
    return parser


if __name__ == "__main__":
    sys.exit(main())
