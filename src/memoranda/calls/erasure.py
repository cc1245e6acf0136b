"""Calls that read the certificates of erasures, and that purge erased bytes from the files."""

from __future__ import annotations

from msgspec.structs import replace

from memoranda.audit import erasure_proofs
from memoranda.audit.erasure_proofs import ErasureProof
from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.errors import NotFound
from memoranda.log.erasure import certificate as erasure_certificate
from memoranda.log.erasure import purge as erasure_purge
from memoranda.log.erasure.certificate import Certificate as CertificateRecord
from memoranda.log.erasure.certificate import Certificates
from memoranda.log.pages import Pages
from memoranda.memory.requests import check_id
from memoranda.storage.files import leftovers
from memoranda.storage.port import Progress


class Certificate(Call[CertificateRecord], frozen=True):
    """Read the certificate of an erasure."""

    needs_primary = True
    reach = "store"

    erasure_id: str


class Erasures(Call[CertificateRecord], frozen=True):
    """List the certificates of all erasures, oldest first."""

    needs_primary = True
    reach = "store"
    shape = "pages"


class ProveErasure(Call[ErasureProof], frozen=True):
    """Prove an erasure to others: its certificate, with the attesting part of the log."""

    needs_primary = True
    reach = "store"
    lane = "search"

    erasure_id: str


class Purge(Call[bool], frozen=True):
    """Remove erased bytes from the files, and say whether all of them are gone."""

    verb = "admin"
    reach = "store"
    lane = "long"


def certificate(core: Core, _: Grant, call: Certificate) -> CertificateRecord:
    """Return the certificate, or raise `NotFound`."""
    erasure_id = check_id("erasure_id", call.erasure_id)
    with core.engine.snapshot() as reader:
        record = erasure_certificate.find(reader, erasure_id)
    if record is None:
        raise NotFound(
            f"there is no erasure {erasure_id!r}: see `erasures`, or `memoranda certificate`"
        )
    return replace(record, copies=unfinished_copies(core))


def prove_erasure(core: Core, grant: Grant, call: ProveErasure) -> ErasureProof:
    """Return the proof, or raise `NotFound`."""
    record = certificate(core, grant, Certificate(call.erasure_id))
    return erasure_proofs.prove_erasure(core.engine, core.log_id, record)


def erasures(core: Core, _: Grant, __: Erasures) -> Pages[CertificateRecord]:
    """Return the certificates."""
    return Certificates(core.engine)


def purge(core: Core, _: Grant, __: Purge, progress: Progress | None = None) -> bool:
    """Return whether all erased bytes are gone; a reader with an open snapshot prevents it."""
    return erasure_purge.purge(core.engine, progress)


def unfinished_copies(core: Core) -> tuple[str, ...]:
    """Return the paths of unfinished copies of the store."""
    path = core.engine.path
    if path is None:
        return ()
    return tuple(copy.path for copy in leftovers(path, core.log_id))


HANDLERS: Handlers = {
    Certificate: certificate,
    Erasures: erasures,
    ProveErasure: prove_erasure,
    Purge: purge,
}
