"""What a signer has signed last, of each log, beside its private key and in no store.

A store can be rolled back with everything that is in it. Who signs for it must not: two checkpoints
of one log that do not fit together would prove to everybody that its keeper lies, or was robbed. So
the last note is written here before it is given to anybody, and nothing is signed that does not go
on from it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

from memoranda.audit import checkpoints
from memoranda.audit.signers import SUFFIX, Signer
from memoranda.errors import InvalidInput, NotProven
from memoranda.storage.filelocks import locked
from memoranda.storage.newfiles import appearing, make_private, told_as_ours

_ENDING = ".signed"
_MOST_BYTES = 1_000_000


class Ledger:
    """A signer's last note of one log. Lock it from reading to writing."""

    def __init__(self, signer: Signer, origin: str) -> None:
        self._signer = signer
        self._origin = origin
        self._path = None if signer.path is None else _place(signer.path, origin)

    def lock(self) -> AbstractContextManager[object]:
        """Keep every other process and thread that signs with the same file waiting."""
        if self._path is None:
            return self._signer.lock
        return locked(self._path.with_suffix(".lock"))

    def last(self) -> tuple[str, checkpoints.Checkpoint] | None:
        """Return the last note that was signed, and what it says."""
        note = self._signer.signed.get(self._origin) if self._path is None else self._read()
        if note is None:
            return None
        try:
            return note, checkpoints.verify(note, [self._signer.public], origin=self._origin)
        except (InvalidInput, NotProven) as error:
            raise NotProven(
                f"{self._path} does not hold what {self._signer.public.text} signed last, so it "
                "cannot be told whether this log goes on from it: restore the file from a backup, "
                f"or give the signer up and create another ({error})"
            ) from error

    def remember(self, note: str) -> None:
        """Keep a note as the last one, durably, before anybody has it."""
        if self._path is None:
            self._signer.signed[self._origin] = note
            return
        with appearing("signer", self._path, put=_replace) as draft:
            make_private(draft)
            draft.write_text(note, "utf-8", newline="")

    def _read(self) -> str | None:
        assert self._path is not None, "asked of a signer with a file"
        with told_as_ours(self._path):
            if not self._path.exists():
                return None
            return self._path.read_bytes()[:_MOST_BYTES].decode(errors="replace")


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _place(key: Path, origin: str) -> Path:
    """Return where the note is kept; a log's name may hold anything, so its hash stands there."""
    name = sha256(origin.encode()).hexdigest()[:16]
    return key.with_name(f"{key.name.removesuffix(SUFFIX)}.{name}{_ENDING}")
