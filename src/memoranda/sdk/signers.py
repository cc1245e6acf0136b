"""Signers as a store takes them: by hand, by file, or the one it was opened with."""

from __future__ import annotations

import os

import msgspec

from memoranda.audit import keys as public_keys
from memoranda.audit import signers
from memoranda.audit.automatic import Checkpointer
from memoranda.audit.keys import PublicKey
from memoranda.audit.signers import Signer
from memoranda.audit.signing import LogSigner
from memoranda.audit.trust import TrustRequest
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.ids import SystemIds
from memoranda.model.limits import plain_text, shown
from memoranda.sdk.core import Core


def create_signer(path: str | os.PathLike[str], *, name: str) -> Signer:
    """Make a new private key in a new file that only you can read; its name ends with `.key`.

    `name` is how the signer is called in what it signs, such as `example.com/agents`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput("path", f"{shown(path)} is not a path")
    return signers.create(path, name, ids=SystemIds())


def load_signer(path: str | os.PathLike[str]) -> Signer:
    """Return the signer in a file, if nobody but you can read it."""
    return as_signer(path)


def as_signer(given: Signer | str | os.PathLike[str]) -> Signer:
    """Return a signer that is given as such, or as its file."""
    if isinstance(given, Signer):
        return given
    if isinstance(given, (str, os.PathLike)):
        return signers.load(given)
    raise InvalidInput("signer", f"{shown(given)} is neither a signer nor a path")


def chosen_signer(core: Core, given: Signer | str | os.PathLike[str] | None) -> Signer:
    """Return who is to sign."""
    if given is not None:
        return as_signer(given)
    if core.checkpointer is None:
        raise InvalidInput(
            "signer",
            "is missing: give one, or open the store with one. `memoranda signer create` makes one",
        )
    return core.checkpointer.log_signer.signer


def public_key(field: str, given: PublicKey | Signer | str) -> PublicKey:
    """Return a key that is given as such, as its line, or as its signer; for any commit."""
    if isinstance(given, Signer):
        return given.public
    found = given if isinstance(given, PublicKey) else public_keys.parse(plain_text(field, given))
    return PublicKey(found.name, found.key)


def with_signer(
    core: Core, given: Signer | str | os.PathLike[str] | None, every: int, seconds: float
) -> Core:
    """Return an open store that signs its log by itself, if there is a signer to do so."""
    if given is None:
        return core
    try:
        signs = log_signer(core, as_signer(given), "local")
        checkpointer = Checkpointer(core.engine, signs, core.clock, every=every, seconds=seconds)
        checkpointer.start()
    except MemorandaError:
        core.close()
        raise
    return msgspec.structs.replace(core, checkpointer=checkpointer)


def log_signer(core: Core, signer: Signer, actor: str) -> LogSigner:
    """Return what signs for a store."""

    def commit(staged: TrustRequest) -> int:
        return core.committer.commit(core.request(actor, staged, None))

    return LogSigner(core.engine, core.log_id, signer, commit)
