"""What an audit event says of an operation."""

from __future__ import annotations

from memoranda.audit.events import _audit_event
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.operations import Refuse

EVENT = SealedEvent(7, 1, b"", b"", b"", b"")


def test_a_signature_vouches_for_who_gave_it_alone() -> None:
    envelope = Envelope("t", "ann", b"", b"\1" + bytes(32) + b"s" * 64)
    reports = [
        _audit_event(EVENT, 0, Refuse("_audit", "_engine", "link.cycle_refused", by), b"", envelope)
        for by in ("ann", "bob")
    ]
    assert [item.attest_level for item in reports] == ["self-signed", "unsigned"]
    assert [item.signature for item in reports] == [(b"s" * 64).hex(), None]
    assert reports[0].id == "7.0"
