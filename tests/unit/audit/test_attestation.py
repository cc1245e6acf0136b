"""A log that was changed and chained anew: its agents' signatures do not fit any more."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import memoranda
from memoranda import MemorandaError, NotProven, Store
from memoranda.audit import keys
from memoranda.audit.agent_signatures import AgentSignatureVerifier
from memoranda.audit.signers import Signer
from memoranda.log import chain
from memoranda.log.commit import transaction_signature
from memoranda.log.commit.transaction_signature import SigningContext, TransactionSigner
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    RetireKey,
    TrustKey,
    Write,
)
from memoranda.storage.port import Reader
from tests.chains import erased
from tests.cores import core_of
from tests.unit.audit.forging import (
    Change,
    at,
    envelope_of,
    rechain,
    with_envelope,
    with_operations,
)

ANN, MALLORY = Signer("ann", b"a" * 32), Signer("mallory", b"m" * 32)
BAD = 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose first two commits are nobody's, and the others ann's."""
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(2):
            store.write(agent_id="bob", key="k", value={"n": number})
        ann = store.bind(agent_id="ann", signer=ANN)
        for number in range(6):
            with ann.begin_transaction() as transaction:
                transaction.write(key="k", value={"n": number})
                transaction.write(key="l", value={"n": number}, agent_id="bob")
    return path


def verified(path: Path) -> int:
    with memoranda.open(path, create=False) as store:
        return store.verify().signed


def other_value(operations: list[AnyOperation]) -> list[AnyOperation]:
    first, *rest = operations
    assert isinstance(first, Write)
    return [replace(first, encoded=b'{"n":99}'), *rest]


def swapped(events: list[SealedEvent]) -> list[SealedEvent]:
    times = [event.committed_at for event in events]
    events[BAD - 1], events[BAD] = events[BAD], events[BAD - 1]
    return [replace(event, committed_at=time) for event, time in zip(events, times, strict=True)]


def repeated(events: list[SealedEvent]) -> list[SealedEvent]:
    last = replace(events[BAD - 1], committed_at=events[-1].committed_at + 1)
    return [*events, last]


def later(event: SealedEvent) -> SealedEvent:
    return replace(event, committed_at=event.committed_at + 1)


def resigned(event: SealedEvent) -> SealedEvent:
    """Sign with a key that the log does not know, all as it should be."""
    envelope = replace(envelope_of(event), signature=None)
    place = (event.commit_ts, event.committed_at)
    operations = codec.decode_operations(event.operations)
    by = TransactionSigner(MALLORY.public.key, MALLORY.message_signer(), claim=envelope)
    forged = transaction_signature.sign_envelope(
        envelope, place, event.salts, operations, by, SigningContext("", b"")
    )
    return replace(event, envelope=codec.encode_envelope(forged))


def retired(operations: list[AnyOperation]) -> list[AnyOperation]:
    retirement = RetireKey(*engines(), "ann", ANN.public.key)
    return [*operations, retirement]


def engines() -> tuple[str, str]:
    return ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id


def given_to_bob(operations: list[AnyOperation]) -> list[AnyOperation]:
    return [*operations, TrustKey(*engines(), "ann", ANN.public.key, "bob")]


CHANGES: dict[str, tuple[Change, int, str]] = {
    "another value": (at(BAD, with_operations(other_value)), BAD, "does not match its content"),
    "one operation less": (at(BAD, with_operations(lambda ops: ops[:1])), BAD, "does not match"),
    "one operation twice": (
        at(BAD, with_operations(lambda ops: ops[:1] * 2)),
        BAD,
        "does not match",
    ),
    "the other order": (at(BAD, with_operations(lambda ops: ops[::-1])), BAD, "does not match"),
    "another time": (at(BAD, later), BAD, "does not match"),
    "another txn_id": (at(BAD, with_envelope(txn_id="x")), BAD, "does not match"),
    "another request": (at(BAD, with_envelope(request_hash=b"x" * 32)), BAD, "does not match"),
    "another actor": (at(BAD, with_envelope(actor="bob")), BAD, "with a key of another agent"),
    "swapped": (swapped, BAD, "does not match"),
    "said once more": (repeated, 9, "does not match"),
    "an empty signature": (at(BAD, with_envelope(signature=b"")), BAD, "not in a known form"),
    "a claim, and no signature": (
        at(BAD, with_envelope(signature=b"\2" + ANN.public.key)), BAD, "not in a known form",
    ),
    "a form we do not know": (
        at(BAD, with_envelope(signature=b"\4" + ANN.public.key + b"s" * 64)), BAD, "a known form",
    ),
    "an older form": (
        at(BAD, with_envelope(signature=b"\1" + ANN.public.key + b"s" * 64)), BAD, "form older",
    ),
    "zeros": (
        at(BAD, with_envelope(signature=b"\2" + ANN.public.key + b"\0" * 64)),
        BAD,
        "does not match",
    ),
    "somebody's key": (at(BAD, resigned), BAD, "that the log does not know"),
    "retired before": (at(2, with_operations(retired)), 3, "retired at commit 2"),
    "retired in passing": (at(4, with_operations(retired)), 4, "does not match"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "commit_ts", "problem"), CHANGES.values(), ids=CHANGES)
def test_a_forgery_is_named(path: Path, change: Change, commit_ts: int, problem: str) -> None:
    assert verified(path) == 6
    rechain(path, change)
    with pytest.raises(NotProven, match=f"commit {commit_ts} .*{problem}") as caught:
        verified(path)
    assert caught.value.commit_ts == commit_ts


def test_chaining_anew_alone_is_no_forgery(path: Path) -> None:
    rechain(path, lambda events: events)
    assert verified(path) == 6


def test_a_key_counts_from_its_trust_to_its_retirement(path: Path) -> None:
    with memoranda.open(path) as store:
        store.retire_key(ANN.public)
        store.write(agent_id="bob", key="k", value={})
    moved = _with_signed_event_at_the_end(path)
    with pytest.raises(NotProven, match="retired at commit 9") as caught:
        verified(path)
    assert caught.value.commit_ts == moved


def _with_signed_event_at_the_end(path: Path) -> int:
    """Let ann's key sign once more, behind its retirement, as a thief of it would."""

    with memoranda.open(path) as store:
        log_id = store.stats().log_id

    def thief(events: list[SealedEvent]) -> list[SealedEvent]:
        last = events[-1]
        envelope = replace(envelope_of(last), actor="ann", signature=None)
        operations = codec.decode_operations(last.operations)
        by = TransactionSigner(ANN.public.key, ANN.message_signer(), claim=envelope)
        place = (last.commit_ts, last.committed_at)
        within = SigningContext(log_id, events[-2].hash)
        forged = transaction_signature.sign_envelope(
            envelope, place, last.salts, operations, by, within
        )
        return [*events[:-1], replace(last, envelope=codec.encode_envelope(forged))]

    rechain(path, thief)
    return 10


def test_without_its_trust_a_key_is_unknown(path: Path) -> None:
    rechain(path, at(3, with_operations(lambda item: item[1:])))
    with pytest.raises(NotProven, match=r"commit 3 .*does not know"):
        verified(path)


def test_a_key_of_another_agent(path: Path) -> None:
    rechain(path, at(3, with_operations(lambda item: given_to_bob(item[1:]))))
    with pytest.raises(NotProven, match=r"commit 3 .*with a key of another agent"):
        verified(path)


def test_a_signature_that_is_taken_away_is_missed_by_what_was_signed_behind_it(path: Path) -> None:
    rechain(path, at(BAD, with_envelope(signature=None)))
    with pytest.raises(NotProven, match=f"commit {BAD + 1} .*does not match its content"):
        verified(path)
    with memoranda.open(path) as store:
        attest_levels = [
            audit_event.attest_level for audit_event in store.audit_events(agent_id="ann")
        ]
        assert attest_levels.count("unsigned") == 2


def test_a_signature_holds_when_content_is_erased(path: Path) -> None:
    with memoranda.open(path) as store:
        signed_without_writes(store)


def signed_without_writes(store: Store) -> None:
    signature_verifier = AgentSignatureVerifier(store.stats().log_id)
    with core_of(store).engine.reading() as reader:
        for row in reader.rows("event_page", after=0, through=8, limit=8):
            take_without_writes(signature_verifier, reader, SealedEvent(*row))
    assert signature_verifier.signed_count == 6


def take_without_writes(
    signature_verifier: AgentSignatureVerifier, reader: Reader, event: SealedEvent
) -> None:
    operations = codec.decode_operations(event.operations)
    writes = [at for at, item in enumerate(operations) if isinstance(item, Write)]
    without = erased(event, dict.fromkeys(writes))
    remainder = codec.decode_operations(without.operations)
    signature_verifier.check_event(
        reader, without, codec.decode_envelope(event.envelope), remainder
    )


def test_without_the_package_a_signed_log_is_not_passed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(key: bytes, message: bytes, signature: bytes) -> bool:
        raise MemorandaError("signatures need the package cryptography")

    monkeypatch.setattr(keys, "verify", missing)
    with pytest.raises(MemorandaError, match="cryptography"):
        verified(path)


def test_what_is_signed_is_spelt_out_here_once_more(path: Path) -> None:
    from hashlib import sha256

    import msgspec

    with memoranda.open(path) as store, core_of(store).engine.reading() as reader:
        before = reader.row("event_get", commit_ts=BAD - 1)
        row = reader.row("event_get", commit_ts=BAD)
        log_id = store.stats().log_id.encode()
    assert before is not None
    assert row is not None
    commit_ts, committed_at, _, _, envelope, _ = row
    txn_id, actor, request_hash, signature = msgspec.msgpack.decode(envelope)
    bare = msgspec.msgpack.encode([txn_id, actor, request_hash, None])
    covered = len(log_id).to_bytes(8, "big") + log_id + before[2]
    for number in (commit_ts, committed_at, len(bare)):
        covered += number.to_bytes(8, "big")
    covered += bare + b"".join(chain.operation_leaves(SealedEvent(*row)))
    assert signature[:33] == b"\2" + ANN.public.key
    message = b"\5" + sha256(covered).digest()
    assert keys.verify(ANN.public.key, message, signature[33:])
