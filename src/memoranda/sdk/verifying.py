"""Verifying a store: its chain, and whatever was signed of it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.audit import keys as public_keys
from memoranda.audit import tree
from memoranda.audit.attestation import Attestations
from memoranda.audit.keys import PublicKey
from memoranda.audit.stored import SignedCheckpoint
from memoranda.audit.witness import Witness
from memoranda.errors import ChainBroken, InvalidInput
from memoranda.log.comparison import verify_deep
from memoranda.log.verification import Verification, verify
from memoranda.log.views import Rebuild, rebuild
from memoranda.model.limits import plain_text, shown
from memoranda.sdk.core import Core
from memoranda.sdk.registry import all_views
from memoranda.search import checking
from memoranda.storage.port import Progress

TrustedKeys = Iterable[PublicKey | str] | None


def verify_store(
    core: Core,
    checkpoint: str | SignedCheckpoint | None,
    keys: TrustedKeys,
    progress: Progress | None,
    deep: bool,  # noqa: FBT001
) -> Verification:
    """Walk the chain, and hold it to checkpoints that are kept or brought, and to all signatures.

    Keys that are given are the only ones that count; otherwise it is those that the log trusts. A
    deep look compares the views too.
    """
    note = checkpoint.note if isinstance(checkpoint, SignedCheckpoint) else checkpoint
    witness = Witness(
        core.engine,
        core.log_id,
        checkpoint=None if note is None else plain_text("checkpoint", note),
        keys=None if keys is None else [_key(each) for each in _listed(keys)],
    )
    attested = Attestations(core.log_id)
    follow = None if witness.idle else witness.follow
    asked = (core.engine, core.log_id, core.clock)
    try:
        if deep:
            found = verify_deep(*asked, all_views(), progress, follow, attested.take)
            checking.check_index(core.engine, progress)
        else:
            found = verify(*asked, progress, follow, attested.take)
    except ChainBroken as error:
        raise witness.explained(error) from error
    compared = witness.finish()
    return msgspec.structs.replace(
        found,
        checkpoints=compared,
        last_checkpoint=witness.last_good,
        signed=attested.signed,
        warnings=(*found.warnings, *_erased_behind(core, witness.brought)),
    )


def _erased_behind(core: Core, size: int | None) -> tuple[str, ...]:
    """Tell what was erased of the commits that a checkpoint from outside covers, by later ones.

    What is left opens the commitments that the checkpoint covers; what is gone, hashes cannot show.
    """
    if size is None:
        return ()
    with core.engine.reading() as reader:
        (count,) = reader.row("erased_behind", size=size) or (0,)
    if not count:
        return ()
    return (
        f"of the {size} commits of your checkpoint, {count} places were erased behind it: that "
        "somebody asked for it is vouched for by later commits alone; `memoranda certificate` "
        "lists them",
    )


def rebuild_store(core: Core, progress: Progress | None) -> Rebuild:
    """Build every view again from the log, and the tree over it; say which had been different."""
    found = rebuild(core.engine, core.log_id, core.views, progress)
    if tree.refill(core.engine, progress):
        return found
    return msgspec.structs.replace(found, differing=(*found.differing, "tree"))


def _listed(keys: object) -> Iterable[PublicKey | str]:
    if isinstance(keys, (str, bytes, PublicKey)) or not isinstance(keys, Iterable):
        raise InvalidInput("keys", f"{shown(keys)} is not a list of public keys: give a list")
    return keys


def _key(given: PublicKey | str) -> PublicKey:
    if isinstance(given, PublicKey):
        return given
    return public_keys.parse(plain_text("keys", given))
