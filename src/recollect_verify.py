"""Checks what a Recollect log claims about itself, without the log and without Recollect.

    recollect-verify checkpoint FILE --key-file KEYS      FILE is a signed note
    recollect-verify inclusion FILE --key-file KEYS       … a recollect.inclusion-proof, in JSON
    recollect-verify consistency FILE --key-file KEYS     … a recollect.consistency-proof, in JSON

This one file can be copied and read by whoever does not trust the engine: it imports the standard
library and, for Ed25519, the package cryptography. It repeats on purpose what the engine has too,
so that a mistake there is not made here. What is to be checked is named on the command line and
never guessed from the file: a proof of something else must not pass for the one that was asked for.

A key is a line `name+hash+base64` as signed notes have it, and may be followed by the commits it is
for, `from=100 until=199`. Keys must come from somewhere else than the proof.

It ends with 0 if the claim holds, 3 if it does not or is not in the form it should be in, 2 if the
command or a key is wrong, 4 if a file cannot be read, 1 if the check cannot be made here.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

HOLDS, CANNOT_CHECK, USAGE, REFUSED, UNREADABLE = range(5)
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
    identity = sha256(name.encode() + b"\n" + data).digest()[:4]
    if identity.hex() != hashed:
        raise WrongKey(f"{line!r} does not have the hash it says: copy it again")
    return Key(name, identity, data[1:], int(first or 0), int(last or MOST_EVENTS))


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
    if not isinstance(proof, dict) or proof.get("type") != f"recollect.{kind}-proof":
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the command line names, say what was found, and return the exit code."""
    asked = vars(_parser().parse_args(arguments))
    claim, file, texts, files = (asked.pop(name) for name in ("claim", "file", "key", "key_file"))
    try:
        keys = [parse_key(line) for line in texts]
        for path in files:
            keys += parse_keys(_read(path))
        if asked.get("held"):
            asked["held"] = _read(asked["held"])
        found = _CHECKS[claim](_read(file), keys, **asked)
    except (Refused, WrongKey, NoEd25519, OSError) as error:
        sys.stderr.write(f"recollect-verify: {error}\n")
        return _CODES.get(type(error), UNREADABLE)
    sys.stdout.write(json.dumps({"holds": claim, **found}, indent=2) + "\n")
    return HOLDS


_CHECKS: dict[str, Callable[..., dict[str, object]]] = {
    "checkpoint": lambda *given, **asked: asdict(check_checkpoint(*given, **asked)),
    "inclusion": check_inclusion,
    "consistency": check_consistency,
}
_CODES = {Refused: REFUSED, WrongKey: USAGE, NoEd25519: CANNOT_CHECK}


def _read(path: str) -> bytes:
    """Return the bytes of a file, or of the standard input, up to more than is allowed."""
    if path == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("recollect-verify", description=(__doc__ or "").split("\n")[0])
    claims = parser.add_subparsers(dest="claim", required=True)
    for claim in _CHECKS:
        asked = claims.add_parser(claim)
        asked.add_argument("file", help="what to check; - reads the standard input")
        asked.add_argument("--key", action="append", default=[], help="a public key you trust")
        asked.add_argument("--key-file", action="append", default=[], help="a file of them")
        asked.add_argument("--origin", help="the log that it must be about")
        if claim != "checkpoint":
            asked.add_argument("--held", help="the (older) checkpoint that you have kept")
        if claim == "inclusion":
            asked.add_argument("--event-hash", help="the event that it must be about")
    return parser


if __name__ == "__main__":
    sys.exit(main())
