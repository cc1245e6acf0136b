"""Signers: private keys, each in a file that only its owner can read, never in a store.

    PRIVATE+KEY+name+hash+base64( 0x01 ‖ seed )

That one line is the private form that tools for signed notes share. It was chosen over PEM because
it has the signer's name in it, without which a key cannot sign notes, and the hash of the public
key, so that a damaged file is found when it is read. Neither is encrypted here: the file's mode is
what guards it, and whoever needs more keeps the folder on an encrypted disk.

To rotate, create another signer and say where it takes over: `keys.rotated`. The old file can go
then; its public key is needed for as long as anybody verifies what it signed.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

import msgspec

from memoranda.audit import ed25519, keys
from memoranda.audit.keys import ED25519, PublicKey
from memoranda.audit.notes import Signature
from memoranda.errors import InvalidInput, NotFound, MemorandaError
from memoranda.model.ids import IdSource
from memoranda.model.paths import check_names, check_path
from memoranda.storage.locks import new_lock
from memoranda.storage.newfiles import appearing, told_as_ours

SUFFIX = ".key"
_MARK = "PRIVATE+KEY+"
_MODE = stat.S_IRUSR | stat.S_IWUSR
_MOST_BYTES = 4096
_HAS_MODES = hasattr(os, "geteuid")
_UNGUARDED = "this system has no file modes: make sure yourself that nobody else can read the file"


class Signer:
    """Who signs: a name and a private key. It shows neither the key nor a way to copy it."""

    __slots__ = ("_seed", "caution", "lock", "path", "public", "signed")

    def __init__(self, name: str, seed: bytes, *, caution: str | None = None) -> None:
        if len(seed) != ed25519.SEED_SIZE:
            raise InvalidInput("seed", f"has {len(seed)} bytes, and a private key has 32")
        self._seed = seed
        self.public = PublicKey(name, ed25519.public_key(seed))
        self.caution = caution
        """What could not be checked about the file, to be told to whoever uses it."""
        self.path: Path | None = None
        """Where the private key is; beside it stands what was signed last."""
        self.lock = new_lock()
        self.signed: dict[str, str] = {}
        """What was signed last of each log, if there is no file to keep it beside."""

    def sign(self, text: str) -> Signature:
        """Return the signature of a note's text."""
        signature = ed25519.sign(self._seed, text.encode())
        return Signature(self.public.name, self.public.id, signature)

    def signing(self) -> Callable[[bytes], bytes]:
        """Return what signs an agent's transactions, of which there may be many."""
        return ed25519.signing(self._seed)

    def __repr__(self) -> str:
        return f"<Signer {self.public.name}+{self.public.id.hex()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signer is not copied or sent elsewhere: load it from its file there")


class Listed(msgspec.Struct, frozen=True):
    """A file of a folder of signers: its public key, or why it cannot be used."""

    path: Path
    public: PublicKey | None
    problem: str | None


def create(path: str | os.PathLike[str], name: str, *, ids: IdSource) -> Signer:
    """Make a new private key in a new file; what is there already stays as it is."""
    target = check_path("path", path)
    seed = ids.entropy(ed25519.SEED_SIZE)
    return _keep(target, Signer(keys.check_new_name(name), seed), seed)


def create_in(folder: str | os.PathLike[str], name: str, *, ids: IdSource) -> Signer:
    """Make a new private key in a folder; its file is called by its name and its key's hash.

    So a signer and the one that takes its place can have the same name, as notes allow.
    """
    place = check_path("folder", folder)
    seed = ids.entropy(ed25519.SEED_SIZE)
    signer = Signer(keys.check_new_name(name), seed)
    file = f"{quote(name, safe='')}+{signer.public.id.hex()}{SUFFIX}"
    check_names("name", place / file)
    return _keep(place / file, signer, seed)


def _keep(target: Path, signer: Signer, seed: bytes) -> Signer:
    if target.suffix != SUFFIX:
        raise InvalidInput("path", f"{target} does not end with {SUFFIX}")
    with appearing("path", target) as draft, told_as_ours(target):
        signer.caution = _write(draft, target, _private_line(signer.public, seed))
    signer.path = target.resolve()
    return signer


def load(path: str | os.PathLike[str]) -> Signer:
    """Return the signer in a file, if nobody but its owner, who is us, can read it."""
    target = check_path("path", path)
    with _opened(target) as descriptor:
        caution = _check_guarded(target, descriptor)
        data = os.read(descriptor, _MOST_BYTES)
    signer = _signer(data, caution)
    if signer is None:  # what it says is not shown: it may be a private key all the same
        raise InvalidInput("path", f"{target} does not hold a signer: restore it, or create one")
    signer.path = target.resolve()
    return signer


def listed(folder: str | os.PathLike[str]) -> list[Listed]:
    """Return every signer's file in a folder, by name; those that cannot be used say why."""
    place = check_path("folder", folder)
    if not place.is_dir():
        raise NotFound(f"there is no folder {place}")
    return [_listed(path) for path in sorted(place.glob(f"*{SUFFIX}"))]


def _listed(path: Path) -> Listed:
    try:
        return Listed(path, load(path).public, None)
    except (InvalidInput, NotFound) as error:
        return Listed(path, None, str(error))


def _private_line(public: PublicKey, seed: bytes) -> str:
    encoded = b64encode(ED25519 + seed).decode()
    return f"{_MARK}{public.name}+{public.id.hex()}+{encoded}\n"


def _signer(data: bytes, caution: str | None) -> Signer | None:
    """Return the signer that a file's bytes are, or None. No error could quote a key from here."""
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
            os.fchmod(descriptor, _MODE)  # whatever the umask took
        caution = _check_guarded(target, descriptor)
        file.write(line)
    return caution


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Lend an open file: what is checked of it is true of the bytes that are read."""
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


def _check_guarded(path: Path, descriptor: int) -> str | None:
    """Refuse a file that others can read or could have written; return what cannot be checked."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput("path", f"{path} is not a file")
    if not _HAS_MODES:
        return _UNGUARDED
    if found.st_uid != os.geteuid():
        raise _unguarded(path, f"belongs to user {found.st_uid}", f"chown {os.geteuid()}")
    if stat.S_IMODE(found.st_mode) & ~_MODE:
        mode = stat.S_IMODE(found.st_mode)
        raise _unguarded(path, f"has the mode {mode:04o}", f"chmod {_MODE:04o}")
    return None


def _unguarded(path: Path, what: str, remedy: str) -> MemorandaError:
    return InvalidInput(
        "path",
        f"{path} {what}, so others may know this private key: create a new signer, or, if you are "
        f"sure that nobody has read it, {remedy} {path} (where that has no effect, the file system "
        "keeps no modes: choose another place)",
    )
