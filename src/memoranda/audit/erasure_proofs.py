"""Proofs of erasures: a certificate with what an outsider needs to check it.

A proof opens one operation of the erasing event, the `Erase`, and has the other leaves of the event
as hashes: nothing else that the event holds is shown. Its JSON form is what `memoranda-verify
certificate` reads. The version fixes the fields: a new field needs a new version.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from memoranda.audit.proofs import Prover, to_json_text
from memoranda.errors import NotFound, NotProven
from memoranda.log import chain, pages
from memoranda.log.erasure.certificate import Certificate
from memoranda.log.field_commitments import SALT_SIZE, Salts, is_version_2
from memoranda.model import codec
from memoranda.model.clock import to_micros, to_rfc3339
from memoranda.model.event import SealedEvent
from memoranda.model.operations import AnyOperation, Erase, Erased, Redacted, effective_operation
from memoranda.storage.port import Engine, Reader

_VERSION = 1
"""The version of the form: a new field needs a new version."""
_TYPE = "recollect.erasure-proof"
"""Proofs keep the project's first name: changing it would make verifiers refuse them."""


class ProvenCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a certificate that the log attests."""

    erasure_id: str
    target: str
    commit_ts: int
    committed_at: datetime
    by: str
    reason: str | None
    operations: int
    events: int
    digest: str
    pseudonym: str | None


class ErasedPosition(msgspec.Struct, frozen=True):
    """An erased operation, or at -1 an erased envelope, and the hash of what is left of it."""

    commit_ts: int
    position: int
    digest: str


class ErasureProof(msgspec.Struct, frozen=True, kw_only=True):
    """Proves a certificate of erasure: hashes and bytes are in hexadecimal digits."""

    type: str = _TYPE
    version: int = _VERSION
    certificate: ProvenCertificate
    erased: tuple[ErasedPosition, ...]
    """Every erased position, in order: the certificate's digest covers them."""
    previous_hash: str
    """The hash of the event before the erasing one."""
    leaves: tuple[str, ...]
    """The leaves of the erasing event: its envelope's, then its operations'."""
    position: int
    """The position of the `Erase` among the operations."""
    operation: str
    """The `Erase`, as it is stored."""
    salts: str
    """The salts that open its leaf; empty if parts of it were erased in turn."""
    path: tuple[str, ...] = ()
    checkpoint: str | None = None
    """The signed checkpoint that the path leads to; None: none covers the erasure yet."""

    def json(self) -> str:
        """Return the proof as it is handed on."""
        fields = msgspec.structs.asdict(self)
        certificate = msgspec.structs.asdict(self.certificate)
        time = to_rfc3339(to_micros("committed_at", self.certificate.committed_at))
        fields["certificate"] = {**certificate, "committed_at": time}
        return to_json_text(**fields)


def prove_erasure(engine: Engine, log_id: str, certificate: Certificate) -> ErasureProof:
    """Return the proof of a certificate; the checkpoint is the last one, if it covers it."""
    commit_ts, committed_at = certificate.commit_ts, certificate.committed_at
    assert commit_ts is not None, "the erasure is in the log"
    assert committed_at is not None, "the erasure is in the log"
    with engine.snapshot() as reader:
        row = reader.row("event_get", commit_ts=commit_ts)
        assert row is not None, "its certificate was read from it"
        before = reader.row("event_hash", commit_ts=commit_ts - 1)
        erased = tuple(_erased_by(reader, commit_ts))
    event = SealedEvent(*row)
    previous_hash = chain.genesis(log_id).hash if before is None else before[0]
    position, operation, salts = _open_erase(event)
    path, checkpoint = _inclusion(Prover(engine, log_id), commit_ts)
    return ErasureProof(
        certificate=ProvenCertificate(
            erasure_id=certificate.erasure_id,
            target=certificate.target,
            commit_ts=commit_ts,
            committed_at=committed_at,
            by=certificate.by,
            reason=certificate.reason,
            operations=certificate.operations,
            events=certificate.events,
            digest=certificate.digest,
            pseudonym=certificate.pseudonym,
        ),
        erased=erased,
        previous_hash=previous_hash.hex(),
        leaves=tuple(leaf.hex() for leaf in chain.leaves_in(event)),
        position=position,
        operation=operation.hex(),
        salts=salts.hex(),
        path=path,
        checkpoint=checkpoint,
    )


def _erased_by(reader: Reader, erasure: int) -> Iterator[ErasedPosition]:
    after, after_position = 0, 0
    while rows := reader.rows(
        "erased_by",
        erasure=erasure,
        after=after,
        after_position=after_position,
        limit=pages.PAGE_ROWS,
    ):
        for after, after_position, digest in rows:
            yield ErasedPosition(after, after_position, digest.hex())


def _open_erase(event: SealedEvent) -> tuple[int, bytes, bytes]:
    """Return the position and the bytes of the `Erase`, and the salts that open its leaf."""
    operations = codec.decode_operations(event.operations)
    for position, operation in enumerate(operations):
        if isinstance(effective_operation(operation), Erase):
            part = codec.split(event.operations)[position]
            return position, part, _salts(event, operations, position)
    raise NotProven(f"commit {event.commit_ts} has no operation that says what it erased")


def _salts(event: SealedEvent, operations: tuple[AnyOperation, ...], position: int) -> bytes:
    operation = operations[position]
    if isinstance(operation, Redacted):
        return b""
    if isinstance(operation, Erased):
        raise NotProven(
            f"commit {event.commit_ts} was erased in turn, and its chain version proves nothing "
            "of what is left: the exported log still attests it"
        )
    if not is_version_2(event.salts):
        first = (position + 2) * SALT_SIZE
        return event.salts[first : first + SALT_SIZE]
    salts = Salts(event.salts, operations)
    scope = salts.scopes[operation.namespace, operation.agent_id]
    return scope + salts.operations[position]


def _inclusion(prover: Prover, commit_ts: int) -> tuple[tuple[str, ...], str | None]:
    try:
        proof = prover.inclusion(commit_ts, None)
    except NotFound:  # no checkpoint covers it yet
        return (), None
    return tuple(digest.hex() for digest in proof.path), proof.checkpoint
