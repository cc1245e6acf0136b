"""Signers: private key files, and the ledger of each signer's last checkpoint.

    PRIVATE+KEY+name+hash+base64( 0x01 ‖ seed )

This line is the private key format of tools for signed notes. We use it instead of PEM because it
contains the signer's name, which a note needs, and the hash of the public key, which reveals a
damaged file. The key is not encrypted; the file's mode protects it. Keep the folder on an encrypted
disk if that is not enough.

To rotate, create another signer and choose the commit at which it takes over (`keys.rotate`). The
old key file can then be deleted; its public key is needed as long as its signatures are verified.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

import msgspec

from memoranda.audit import checkpoints, keys
from memoranda.audit.keys import ED25519, PublicKey
from memoranda.audit.signed_note import Signature
from memoranda.errors import InvalidInput, MemorandaError, NotFound, NotProven
from memoranda.model.ids import IdSource
from memoranda.model.limits import check_path, check_path_length
from memoranda.storage.files import atomic_file, lock_file, make_private, translate_os_errors
from memoranda.storage.thread_locks import new_lock

SUFFIX = ".key"
_MARK = "PRIVATE+KEY+"
_MODE = stat.S_IRUSR | stat.S_IWUSR
_MAX_KEY_FILE_BYTES = 4096
"""Bytes of a key file: a larger file is none, and is not read."""
_HAS_MODES = hasattr(os, "geteuid")
_NO_FILE_MODES = (
    "this system has no file modes: make sure yourself that nobody else can read the file"
)


class Signer:
    """A name and a private key. The key is not shown in `repr`, and cannot be pickled."""

    __slots__ = ("_seed", "caution", "last_notes", "lock", "path", "public")

    def __init__(self, name: str, seed: bytes, *, caution: str | None = None) -> None:
        if len(seed) != keys.SEED_SIZE:
            raise InvalidInput("seed", f"has {len(seed)} bytes, and a private key has 32")
        self._seed = seed
        self.public = PublicKey(name, keys.public_key(seed))
        self.caution = caution
        """A warning about protection that could not be checked, to show to the user."""
        self.path: Path | None = None
        """The key file; the ledger is a file beside it. None for a signer in memory."""
        self.lock = new_lock()
        self.last_notes: dict[str, str] = {}
        """Origin → last signed note, for a signer in memory."""

    def sign(self, text: str) -> Signature:
        """Return the signature of a note's text."""
        signature = keys.sign(self._seed, text.encode())
        return Signature(self.public.name, self.public.id, signature)

    def message_signer(self) -> Callable[[bytes], bytes]:
        """Return a function that signs an agent's transactions."""
        return keys.message_signer(self._seed)

    def __repr__(self) -> str:
        return f"<Signer {self.public.name}+{self.public.id.hex()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signer is not copied or sent elsewhere: load it from its file there")


class SignerFile(msgspec.Struct, frozen=True):
    """A key file in a folder: its public key, or the reason why it cannot be used."""

    path: Path
    public: PublicKey | None
    problem: str | None


def create(path: str | os.PathLike[str], name: str, *, ids: IdSource) -> Signer:
    """Create a private key in a new file; an existing file is never overwritten."""
    target = check_path("path", path)
    seed = ids.entropy(keys.SEED_SIZE)
    return _save(target, Signer(keys.check_new_name(name), seed), seed)


def create_in(folder: str | os.PathLike[str], name: str, *, ids: IdSource) -> Signer:
    """Create a private key in a folder; the file name holds the signer's name and the key's hash.

    So a signer and its successor can have the same name, as signed notes allow.
    """
    place = check_path("folder", folder)
    seed = ids.entropy(keys.SEED_SIZE)
    signer = Signer(keys.check_new_name(name), seed)
    file = f"{quote(name, safe='')}+{signer.public.id.hex()}{SUFFIX}"
    check_path_length("name", place / file)
    return _save(place / file, signer, seed)


def _save(target: Path, signer: Signer, seed: bytes) -> Signer:
    if target.suffix != SUFFIX:
        raise InvalidInput("path", f"{target} does not end with {SUFFIX}")
    with atomic_file("path", target) as draft, translate_os_errors(target):
        signer.caution = _write(draft, target, _private_line(signer.public, seed))
    signer.path = target.resolve()
    return signer


def load(path: str | os.PathLike[str]) -> Signer:
    """Load a signer; refuse a file that another user owns or can read."""
    target = check_path("path", path)
    with _open_file(target) as descriptor:
        caution = _check_permissions(target, descriptor)
        data = os.read(descriptor, _MAX_KEY_FILE_BYTES)
    signer = _signer(data, caution)
    if signer is None:  # the message must not quote the content: it may be a private key
        raise InvalidInput("path", f"{target} does not hold a signer: restore it, or create one")
    signer.path = target.resolve()
    return signer


def list_files(folder: str | os.PathLike[str]) -> list[SignerFile]:
    """Return the key files of a folder, ordered by name, including unusable ones."""
    place = check_path("folder", folder)
    if not place.is_dir():
        raise NotFound(f"there is no folder {place}")
    return [_read_file(path) for path in sorted(place.glob(f"*{SUFFIX}"))]


def _read_file(path: Path) -> SignerFile:
    try:
        return SignerFile(path, load(path).public, None)
    except (InvalidInput, NotFound) as error:
        return SignerFile(path, None, str(error))


def _private_line(public: PublicKey, seed: bytes) -> str:
    encoded = b64encode(ED25519 + seed).decode()
    return f"{_MARK}{public.name}+{public.id.hex()}+{encoded}\n"


def _signer(data: bytes, caution: str | None) -> Signer | None:
    """Parse a key file, or return None: an error message could quote the private key."""
    try:
        mark, end = data.decode().split(_MARK)
        name, hashed, encoded = end.removesuffix("\n").split("+", 2)
        signer = Signer(name, keys.algorithm_key("path", encoded), caution=caution)
    except (ValueError, InvalidInput):
        return None
    fits = not mark and end.endswith("\n") and signer.public.id.hex() == hashed
    return signer if fits else None


def _write(draft: Path, target: Path, line: str) -> str | None:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        if _HAS_MODES:
            os.fchmod(descriptor, _MODE)  # whatever the umask is
        caution = _check_permissions(target, descriptor)
        file.write(line)
    return caution


@contextmanager
def _open_file(path: Path) -> Iterator[int]:
    """Open a file once, so that the permission check and the read use the same file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise NotFound(f"there is no signer {path}: create it first") from error
    except OSError as error:
        raise InvalidInput("path", f"{path} cannot be read: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_permissions(path: Path, descriptor: int) -> str | None:
    """Refuse a file that other users can read or write; return a warning if modes do not exist."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput("path", f"{path} is not a file")
    if not _HAS_MODES:
        return _NO_FILE_MODES
    if status.st_uid != os.geteuid():
        raise _permission_error(path, f"belongs to user {status.st_uid}", f"chown {os.geteuid()}")
    if stat.S_IMODE(status.st_mode) & ~_MODE:
        mode = stat.S_IMODE(status.st_mode)
        raise _permission_error(path, f"has the mode {mode:04o}", f"chmod {_MODE:04o}")
    return None


def _permission_error(path: Path, problem: str, remedy: str) -> MemorandaError:
    return InvalidInput(
        "path",
        f"{path} {problem}, so others may know this private key: create a new signer, or, if you "
        f"are sure that nobody has read it, {remedy} {path} (if that has no effect, the file "
        "system has no file modes: choose another place)",
    )


# The ledger: the last note that a signer has signed for each log. It is a file beside the private
# key, outside every store.
#
# A store can be rolled back with everything in it. The signer must not be: two inconsistent
# checkpoints of one log are proof of misbehaviour (a split view). So the note is written to the
# ledger before it is released, and nothing is signed that does not extend the last note.

_LEDGER_SUFFIX = ".signed"
_MAX_LEDGER_BYTES = 1_000_000
"""Bytes of a ledger, which holds one note: a larger file is none, and is not read."""


class Ledger:
    """A signer's last note for one log. Hold `lock` from `last` through `remember`."""

    def __init__(self, signer: Signer, origin: str) -> None:
        self._signer = signer
        self._origin = origin
        self._path = None if signer.path is None else _ledger_path(signer.path, origin)

    def lock(self) -> AbstractContextManager[object]:
        """Exclude all other threads and processes that sign with the same key file."""
        if self._path is None:
            return self._signer.lock
        return lock_file(self._path.with_suffix(".lock"))

    def last(self) -> tuple[str, checkpoints.Checkpoint] | None:
        """Return the last signed note and its checkpoint, or None."""
        note = self._signer.last_notes.get(self._origin) if self._path is None else self._read()
        if note is None:
            return None
        try:
            return note, checkpoints.verify(note, [self._signer.public], origin=self._origin)
        except (InvalidInput, NotProven) as error:
            raise NotProven(
                f"{self._path} does not hold a note signed by {self._signer.public.text}, so it "
                "is unknown whether this log extends the signed history: restore the file from a "
                f"backup, or retire the signer and create another ({error})"
            ) from error

    def remember(self, note: str) -> None:
        """Store a note as the last one, durably. Call it before the note is released."""
        if self._path is None:
            self._signer.last_notes[self._origin] = note
            return
        with atomic_file("signer", self._path, put=_replace) as draft:
            make_private(draft)
            draft.write_text(note, "utf-8", newline="")

    def _read(self) -> str | None:
        assert self._path is not None, "a signer in memory has no ledger file"
        with translate_os_errors(self._path):
            if not self._path.exists():
                return None
            return self._path.read_bytes()[:_MAX_LEDGER_BYTES].decode(errors="replace")


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _ledger_path(key: Path, origin: str) -> Path:
    """Return the ledger's path; it holds the origin's hash, as an origin may hold any character."""
    name = sha256(origin.encode()).hexdigest()[:16]
    return key.with_name(f"{key.name.removesuffix(SUFFIX)}.{name}{_LEDGER_SUFFIX}")
