"""What the log proves of requests that agents' clients have signed, and what it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

import memoranda
import memoranda_verify
from memoranda import NotProven, Store
from memoranda.audit import keys
from memoranda.audit.signers import Signer
from memoranda.log.commit import request_signature
from memoranda.log.commit.request_signature import SignedRequest
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import ENGINE_SCOPE, AnyOperation, RetireKey, TrustKey, Write
from tests.cores import core_of
from tests.signed_requests import StoredSignature, client_of
from tests.unit.audit.forging import (
    Change,
    at,
    envelope_of,
    rechain,
    with_envelope,
    with_operations,
)

ANN, MALLORY = Signer("ann", b"a" * 32), Signer("mallory", b"m" * 32)
ENGINE = (ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id)
BAD, THIRD = 5, b"\3"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose first two commits are nobody's, and the others requests that ann signed."""
    path = tmp_path_factory.mktemp("made") / "store.db"
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        for number in range(2):
            store.write(agent_id="bob", key="k", value={"n": number})
        ann = client_of(store, "ann", ANN)
        for number in range(6):
            with ann.begin_transaction(txn_id=f"t{number}") as transaction:
                transaction.write(key="k", value={"n": number})
                transaction.write(key="l", value={"n": number}, agent_id="bob")
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "copy.db"))


def verified(path: Path) -> tuple[int, int]:
    with memoranda.open(path, create=False, embedder=None) as store:
        report = store.verify()
        return report.signed, report.request_signed


def event_at(store: Store, commit_ts: int) -> SealedEvent:
    with core_of(store).engine.reading() as reader:
        row = reader.row("event_get", commit_ts=commit_ts)
    assert row is not None
    return SealedEvent(*row)


def stored(event: SealedEvent) -> bytes:
    signature = envelope_of(event).signature
    assert signature is not None
    return signature


def flipped(place: int) -> Change:
    """Return what flips one bit of a stored signature."""

    def flip(event: SealedEvent) -> SealedEvent:
        signature = bytearray(stored(event))
        signature[place] ^= 1
        return with_envelope(signature=bytes(signature))(event)

    return at(BAD, flip)


def repeated(events: list[SealedEvent]) -> list[SealedEvent]:
    return [*events, replace(events[BAD - 1], committed_at=events[-1].committed_at + 1)]


def under_another(event: SealedEvent) -> SealedEvent:
    """Sign the request again, with a key that the log does not know."""
    old, envelope = StoredSignature(event), envelope_of(event)
    message = request_signature.message("", envelope.txn_id, envelope.actor, old.digest)
    new = SignedRequest(
        MALLORY.public.key, old.salt, old.digest, MALLORY.message_signer()(message), envelope
    )
    return with_envelope(signature=new.stored(b""))(event)


def retired(operations: list[AnyOperation]) -> list[AnyOperation]:
    return [*operations, RetireKey(*ENGINE, "ann", ANN.public.key)]


def given_to_bob(operations: list[AnyOperation]) -> list[AnyOperation]:
    trusting = TrustKey(*ENGINE, "ann", ANN.public.key, "bob")
    return [trusting if isinstance(item, TrustKey) else item for item in operations]


CHANGES: dict[str, tuple[Change, int, str]] = {
    "another txn_id": (at(BAD, with_envelope(txn_id="x")), BAD, "'x', whose commit is none"),
    "another request's txn_id": (
        at(BAD, with_envelope(txn_id="t0")), BAD, "'t0', whose commit is 3",
    ),
    "another actor": (at(BAD, with_envelope(actor="bob")), BAD, "with a key of another agent"),
    "said once more": (repeated, 9, "'t2', whose commit is 5"),
    "another key": (flipped(1), BAD, "does not know"),
    "another digest": (flipped(49), BAD, "does not match its content"),
    "another signature": (flipped(81), BAD, "does not match its content"),
    "an older form": (flipped(0), BAD, "not in a known form"),
    "one byte less": (
        at(BAD, lambda event: with_envelope(signature=stored(event)[:-1])(event)),
        BAD,
        "not in a known form",
    ),
    "somebody's key": (at(BAD, under_another), BAD, "does not know"),
    "retired before": (at(2, with_operations(retired)), 3, "retired at commit 2"),
    "retired in passing": (at(4, with_operations(retired)), 5, "retired at commit 4"),
    "of another agent": (at(3, with_operations(given_to_bob)), 3, "with a key of another agent"),
    "never trusted": (at(3, with_operations(lambda item: item[1:])), 3, "does not know"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "commit_ts", "problem"), CHANGES.values(), ids=CHANGES)
def test_a_forgery_is_named(path: Path, change: Change, commit_ts: int, problem: str) -> None:
    assert verified(path) == (6, 6)
    rechain(path, change)
    with pytest.raises(NotProven, match=f"commit {commit_ts} .*{problem}") as caught:
        verified(path)
    assert caught.value.commit_ts == commit_ts


def rename(path: Path, txn_id: str, new: str) -> None:
    """Change the table of txn_ids as a forger would who knows that it is looked up."""
    database = apsw.Connection(str(path))
    database.execute("UPDATE txn SET txn_id = ? WHERE txn_id = ?", (new, txn_id))
    database.close()


def test_a_txn_id_is_covered_whatever_the_table_says(path: Path) -> None:
    rechain(path, at(BAD, with_envelope(txn_id="x")))
    rename(path, "t2", "x")
    with pytest.raises(NotProven, match=r"commit 5 .*does not match its content"):
        verified(path)


def test_a_request_is_not_repeated_whatever_the_table_says(path: Path) -> None:
    rechain(path, repeated)
    for _ in range(2):  # it names the one commit, or the other
        with pytest.raises(NotProven, match=r"commit [59] .*t2'"):
            verified(path)
        database = apsw.Connection(str(path))
        database.execute("UPDATE txn SET commit_ts = 9 WHERE txn_id = 't2'")
        database.close()


def test_what_was_decided_and_when_is_not_covered(path: Path) -> None:
    """A checkpoint that is kept elsewhere finds these; the signature of a request cannot."""

    def other_value(operations: list[AnyOperation]) -> list[AnyOperation]:
        first, *rest = operations
        assert isinstance(first, Write)
        return [replace(first, encoded=b'{"n":99}'), *rest]

    rechain(path, at(BAD, with_operations(other_value)))
    rechain(path, at(8, lambda event: replace(event, committed_at=event.committed_at + 1)))
    assert verified(path) == (6, 6)


def test_what_is_signed_is_spelt_out_here_once_more(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        event, log_id = event_at(store, BAD), store.stats().log_id
    signature = StoredSignature(event)
    assert (signature.form, signature.key) == (b"\3", ANN.public.key)
    assert (signature.txn_id, signature.actor) == ("t2", "ann")
    assert keys.verify(ANN.public.key, signature.message(log_id), signature.signature)


REQUEST = {
    "call": "write", "agent_id": "ann", "namespace": "default", "key": "k",
    "value": {"a": "secret", "b": 1}, "txn_id": "w",
}  # fmt: skip


def test_a_request_can_be_shown_until_something_of_it_is_erased(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        ann = client_of(store, "ann", ANN)
        commit_ts = ann.write(key="k", value={"a": "secret", "b": 1}, txn_id="w").commit_ts
        before = StoredSignature(event_at(store, commit_ts))
        assert before.is_of("ann", REQUEST)
        assert not before.is_of("ann", {**REQUEST, "value": {"a": "secret", "b": 2}})
        assert not before.is_of("bob", REQUEST)
        store.forget(key="k", agent_id="ann")
        event = event_at(store, commit_ts)
        after = StoredSignature(event)
        assert stored(event) == THIRD + before.key + before.masked_salt + before.digest + (
            before.signature
        )
        assert after.salt != before.salt
        assert before.salt not in event.salts + event.envelope + event.operations
        assert not after.is_of("ann", REQUEST)
        report = store.verify(deep=True)
        assert (report.signed, report.request_signed) == (7, 7)


def test_the_salt_goes_with_any_part_of_the_request(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        whole = StoredSignature(event_at(store, BAD)).salt
        store.forget(key="l", agent_id="bob")
        event = event_at(store, BAD)
        assert StoredSignature(event).salt != whole
        assert any(isinstance(item, Write) for item in codec.decode_operations(event.operations))
        assert store.verify().request_signed == 6


def test_the_salt_of_an_erasure_is_not_kept(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        ann = client_of(store, "ann", ANN)
        ann.forget(key="k", txn_id="f")
        signature = StoredSignature(event_at(store, store.stats().commits))
        request = {"call": "forget", "agent_id": "ann", "namespace": "default", "key": "k"}
        assert not signature.is_of("ann", {**request, "txn_id": "f"})
        assert store.verify().request_signed == 7


def test_salts_differ_from_request_to_request(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        signatures = [StoredSignature(event_at(store, number)) for number in range(3, 9)]
    assert len({signature.salt for signature in signatures}) == 6
    assert len({signature.masked_salt for signature in signatures}) == 6


def test_signatures_outlast_a_compaction(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        store.compact(before=store.stats().commits, confirm=True)
        report = store.verify(deep=True)
        assert (report.signed, report.request_signed) == (6, 6)


def test_signatures_hold_in_a_fork_of_a_fork_beside_those_of_commits(
    path: Path, tmp_path: Path
) -> None:
    with memoranda.open(path, embedder=None) as store:
        store.bind(agent_id="ann", signer=ANN).write(key="k", value={"beside": "the store"})
        store.fork(tmp_path / "two.db", at=9)
    with memoranda.open(tmp_path / "two.db", embedder=None) as store:
        client_of(store, "ann", ANN).write(key="k", value={"fork": 1})
        store.fork(tmp_path / "three.db", at=10)
        store.fork(tmp_path / "short.db", at=4)
    for name, signed, requests in (("three.db", 8, 7), ("short.db", 2, 2)):
        with memoranda.open(tmp_path / name, embedder=None) as store:
            report = store.verify(deep=True)
            assert (report.signed, report.request_signed) == (signed, requests)
            client_of(store, "ann", ANN).write(key="k", value={"own": 1})
            assert store.verify().request_signed == requests + 1


def test_an_event_cannot_be_moved_to_another_log(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with memoranda.open(other, embedder=None) as store:
        store.trust_key(ANN.public, agent_id="ann")
    with memoranda.open(path, embedder=None) as store:
        signed = event_at(store, BAD)
    rechain(other, lambda ours: [*ours, replace(signed, committed_at=ours[-1].committed_at + 1)])
    with memoranda.open(other, embedder=None) as store:
        store.rebuild()
        with pytest.raises(NotProven, match=r"commit 2 .*does not match its content"):
            store.verify()


def test_an_exported_log_is_accepted_and_imported(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with memoranda.open(path, embedder=None) as store:
        store.forget(key="k", agent_id="ann")
        store.export_log(log)
    assert memoranda_verify.main(["log", str(log)]) == memoranda_verify.HOLDS
    memoranda.import_log(log, tmp_path / "imported.db")
    assert verified(tmp_path / "imported.db") == (6, 6)


def test_a_forgotten_agent_has_no_signatures(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        store.forget(whole_agent="ann")
        assert store.verify(deep=True).signed == 0
