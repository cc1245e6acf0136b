"""What an audit event says of an operation."""

from __future__ import annotations

from memoranda.audit.events import _audit_event
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.operations import Refuse

EVENT = SealedEvent(7, 1, b"", b"", b"", b"")


def test_a_signature_vouches_for_who_gave_it_alone() -> None:
    envelope = Envelope("t", "ann", b"", b"\1" + bytes(32) + b"s" * 64)
    told = [
        _audit_event(EVENT, 0, Refuse("_audit", "_engine", "link.cycle_refused", by), b"", envelope)
        for by in ("ann", "bob")
    ]
    assert [each.attest_level for each in told] == ["self-signed", "unsigned"]
    assert [each.signature for each in told] == [(b"s" * 64).hex(), None]
    assert told[0].id == "7.0"
