"""The hashes, spelled out once more by hand: the stored format must never drift."""

from __future__ import annotations

from hashlib import sha256, shake_128
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import memoranda
from memoranda import ChainBroken, KeyRef, MemoryRef
from memoranda.log import chain
from memoranda.log.erasure.redact_operations import Replacement, redact
from memoranda.log.field_commitments import SaltSource, redacted_leaf, salts_without_request
from memoranda.model import codec
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.memory import Content, Details, Expiry
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
    Remember,
    Retract,
    Write,
)
from memoranda.model.operations.graph import Name
from memoranda.testing import FixedClock, FixedIds


def number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def test_an_events_hash_is_what_the_format_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, clock=FixedClock(), ids=FixedIds()) as store:
        log_id = store.stats().log_id
        store.write(agent_id="a", key="k", value={"x": 1}, txn_id="t-1")
    database = apsw.Connection(str(path))
    (row,) = database.execute("SELECT * FROM event")
    database.close()
    commit_ts, committed_at, event_hash, salts, envelope, operations = row
    epoch, write = msgspec.msgpack.decode(operations, type=list[msgspec.Raw])
    assert (salts[:1], len(salts)) == (b"\2", 1 + 16 * 7)
    sealed, *scopes, third, fourth = (salts[at : at + 16] for at in range(1, len(salts), 16))
    request = msgspec.msgpack.encode(
        [[1, {"namespace": "default", "agent_id": "a"}, "k", b'{"x":1}', None, []]]
    )
    request_hash = sha256(b"\2" + third + fourth + request).digest()
    assert bytes(write) == msgspec.msgpack.encode([1, "default", "a", "k", 1, b'{"x":1}', []])
    fingerprint = sha256(b"recollect request fingerprint\0" + msgspec.msgpack.encode([[1]]))
    queries = request_hash + fingerprint.digest()[:16]
    assert envelope == msgspec.msgpack.encode(["t-1", "local", queries, None])
    engine = msgspec.msgpack.encode("_log") + msgspec.msgpack.encode("_engine")
    own = msgspec.msgpack.encode("default") + msgspec.msgpack.encode("a")
    leaves = [
        sha256(b"\1" + sealed + envelope).digest(),
        b"\1",
        sha256(b"\6" + scopes[0] + b"_log").digest(),
        sha256(b"\7" + scopes[1] + b"_engine").digest(),
        sha256(b"\x08" + third + b"\3\0" + bytes(epoch)[2 + len(engine) :]).digest(),
        b"\1",
        sha256(b"\6" + scopes[2] + b"default").digest(),
        sha256(b"\7" + scopes[3] + b"a").digest(),
        sha256(b"\x08" + fourth + b"\1\0" + bytes(write)[2 + len(own) :]).digest(),
    ]
    genesis = sha256(b"\4" + log_id.encode()).digest()
    covered = number(commit_ts) + number(committed_at) + genesis + number(2) + b"".join(leaves)
    assert event_hash == sha256(b"\x0b" + covered).digest()


def test_fields_that_can_be_erased_apart_have_commitments_of_their_own() -> None:
    ref = KeyRef("k", 1, "a", "n")
    write = Write("n", "a", "key", 2, b"{}", (ref, MemoryRef("m", 1)))
    text = Assert("n", "a", "id", Name("Ann", "ann"), Name("at", "at", "relation"),
                  Name("HQ", "hq"), None, 0.5)  # fmt: skip
    salts = SaltSource(FixedIds()).draw([write, text])
    _, first, second, third, fourth = (salts[at : at + 16] for at in range(1, len(salts), 16))
    scope = sha256(b"\6" + first + b"n").digest() + sha256(b"\7" + second + b"a").digest()
    pack = msgspec.msgpack.encode
    slots, items = shake_128(third).digest(32), b""
    salted = shake_128(slots[16:]).digest(32)
    for at, item in ((0, [1, "k", 1, "a", "n"]), (16, [2, "m", 1])):
        items += sha256(b"\x09" + salted[at : at + 16] + pack(item)).digest()
    value = pack("key") + pack(2) + pack(b"{}")
    leaf = b"\2" + scope + sha256(b"\x08" + slots[:16] + b"\1\0" + value).digest()
    leaf += sha256(b"\x0a" + b"\1\1" + items).digest()
    names = [pack(["Ann", "ann", "entity"]), pack(["at", "at", "relation"])]
    parts = [pack("id") + pack(None) + pack(0.5) + pack(None), *names, pack(["HQ", "hq", "entity"])]
    slots = shake_128(fourth).digest(64)
    other = b"\4" + scope
    for at, part in enumerate(parts):
        salt = slots[16 * at : 16 * at + 16]
        other += sha256(b"\x08" + salt + bytes([15, at]) + part).digest()
    assert chain.leaves_of(salts, [write, text]) == [leaf, other]


_NAMES = (Name("Ann", "ann"), Name("lives \u00e4t", "lives \u00e4t", "relation"))
_ACME = Name("Acme", "acme")
_OPERATIONS: list[AnyOperation] = [
    Remember("n", "a", "id", "claim", "long", "t", True, Content("c" * 300),
             Details(), Expiry(None)),
    Remember("n", "a", "i" * 40, "event", "short", None, False, Content(None, bytes(32), 9),
             Details(tags=("a", "b"), confidence=0.5), Expiry(20, extends=True)),
    Assert("n", "a", "id", *_NAMES, _ACME, None, 1.0),
    Assert("n", "a", "id", *_NAMES, Name("7", "7", "integer"), -5, 0.5, MemoryRef("m", 2)),
    AssertPrivately("n", "a", "id", *_NAMES, _ACME, 10**15, 0.5, MemoryRef("m", 2)),
    End("n", "a", "id", *_NAMES, None, None),
    End("n", "a", "id", *_NAMES, _ACME, 7),
    EndFrom("n", "a", "id", *_NAMES, _ACME, 7, source=MemoryRef("m", 2)),
    EndPrivately("n", "a", "id", *_NAMES, None, 7),
    Retract("n", "a", "id", 2, "wrong", False),
    Write("n", "a", "k", 1, b"{}"),
    Write("n", "a", "k", 1, b"{}", (MemoryRef("m", 1), MemoryRef("m", 2))),
]  # fmt: skip
"""Operations of one slot, of several, and with a list in one."""


@pytest.mark.parametrize("operation", _OPERATIONS)
def test_a_new_event_has_the_leaves_that_its_stored_bytes_have(operation: AnyOperation) -> None:
    start, envelope = chain.genesis("log"), Envelope("t", "a", b"hash")
    elsewhere = Write("other", "b", "k", 1, b"{}")
    for operations in ([operation], [operation, operation], [operation, elsewhere, operation]):
        salts = SaltSource(FixedIds()).draw(operations)
        event = chain.seal(start, 1, salts, envelope, operations)
        assert chain.check(start, event).hash == event.hash
        assert chain.leaves_of(salts, operations) == chain.operation_leaves(event)


@pytest.mark.parametrize("operation", _OPERATIONS)
def test_an_operation_that_is_dropped_keeps_its_commitments(operation: AnyOperation) -> None:
    salts = SaltSource(FixedIds()).draw([operation])
    own = (salts[17:49], salts[49:65])
    dropped = redact(operation, own, Replacement("n", "a"), 2, b"salt" * 4)
    (leaf,) = chain.leaves_of(salts, [operation])
    assert redacted_leaf(dropped) == leaf
    assert dropped.residue is None
    assert (dropped.kind, dropped.erasure, dropped.salt) == (0, 2, b"salt" * 4)
    assert dropped.scope_slots == (salts[17:33], salts[33:49])
    assert all(isinstance(slot, bytes) for slot in dropped.slots)


def test_the_salt_of_a_request_without_operations_is_covered() -> None:
    salts = SaltSource(FixedIds()).draw([])
    assert salts[1:17] == sha256(b"\x0c" + salts[17:]).digest()[:16]
    event = chain.seal(chain.genesis("log"), 1, salts, Envelope("t", "a", b"hash"), [])
    chain.check(chain.genesis("log"), event)
    without = msgspec.structs.replace(event, salts=salts_without_request(salts))
    chain.check(chain.genesis("log"), without)
    changed = msgspec.structs.replace(event, salts=salts[:-1] + bytes([salts[-1] ^ 1]))
    with pytest.raises(ChainBroken, match="salt was changed"):
        chain.check(chain.genesis("log"), changed)


def test_an_end_without_a_source_has_the_bytes_it_always_had(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, clock=FixedClock(), ids=FixedIds()) as store:
        text: dict[str, Any] = {"subject": "Ann", "relation": "at", "agent_id": "a"}
        memory = store.remember("she left", agent_id="a")
        store.assert_fact(**text, object="Acme")
        store.end_fact(**text, at="1970-01-01T00:00:01Z", txn_id="t-2")
        store.end_fact(**text, at="1970-01-01T00:00:01Z", txn_id="t-3", source=memory.id)
    database = apsw.Connection(str(path))
    rows = list(database.execute("SELECT salts, envelope, operations FROM event"))[2:]
    database.close()
    ((plain,), (sourced,)) = (msgspec.msgpack.decode(row[2]) for row in rows)
    names = [["Ann", "ann", "entity"], ["at", "at", "relation"], None, 1_000_000]
    assert plain == [16, "default", "a", plain[3], *names]
    assert sourced == [28, "default", "a", sourced[3], *names, [2, memory.id, 1]]
    salts, envelope, _ = rows[0]
    queries = [[32, {"namespace": "default", "agent_id": "a"}, plain[3], *names]]
    request_hash = sha256(b"\2" + salts[-16:] + msgspec.msgpack.encode(queries)).digest()
    fingerprint = sha256(b"recollect request fingerprint\0" + msgspec.msgpack.encode([[32]]))
    reference = request_hash + fingerprint.digest()[:16]
    assert envelope == msgspec.msgpack.encode(["t-2", "local", reference, None])


def test_an_erased_operation_keeps_its_place_in_the_chain() -> None:
    start = chain.genesis("log")
    envelope = Envelope("t", "a", b"hash")
    writes = [Write("n", "a", key, 1, b"{}") for key in ("secret", "kept")]
    salts = SaltSource(FixedIds()).draw(writes)
    event = chain.seal(start, 1, salts, envelope, writes)
    _, part = codec.split(event.operations)
    remainder = redact(writes[0], (salts[17:49], salts[49:65]), Replacement("n", "a"), 2, bytes(16))
    erased = codec.encode(remainder)
    without = SealedEvent(
        commit_ts=1,
        committed_at=1,
        hash=event.hash,
        salts=salts[:49] + bytes(16) + salts[65:],
        envelope=event.envelope,
        operations=codec.join([erased, part]),
    )
    assert chain.check(start, without) == chain.check(start, event)
    assert b"secret" not in without.operations
