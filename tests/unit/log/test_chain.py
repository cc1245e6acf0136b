"""The hashes, spelled out once more by hand: the stored format must never drift."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import msgspec

import recollect
from recollect.log import chain
from recollect.model import codec
from recollect.model.event import Envelope, SealedEvent
from recollect.model.operations import Erased, Write
from recollect.testing import FixedClock, FixedIds


def number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def test_an_events_hash_is_what_the_format_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with recollect.open(path, clock=FixedClock(), ids=FixedIds()) as store:
        log_id = store.stats().log_id
        store.write(agent_id="a", key="k", value={"x": 1}, txn_id="t-1")
    database = apsw.Connection(str(path))
    (row,) = database.execute("SELECT * FROM event")
    database.close()
    commit_ts, committed_at, event_hash, salts, envelope, operations = row
    epoch, write = msgspec.msgpack.decode(operations, type=list[msgspec.Raw])
    request = msgspec.msgpack.encode(
        [[1, {"namespace": "default", "agent_id": "a"}, "k", b'{"x":1}', None, []]]
    )
    request_hash = sha256(b"\2" + salts[:16] + request).digest()
    assert bytes(write) == msgspec.msgpack.encode([1, "default", "a", "k", 1, b'{"x":1}', []])
    fingerprint = sha256(b"recollect request fingerprint\0" + msgspec.msgpack.encode([[1]]))
    asked = request_hash + fingerprint.digest()[:16]
    assert envelope == msgspec.msgpack.encode(["t-1", "local", asked, None])
    leaves = [
        sha256(b"\1" + salts[16:32] + envelope).digest(),
        sha256(b"\0" + salts[32:48] + bytes(epoch)).digest(),
        sha256(b"\0" + salts[48:64] + bytes(write)).digest(),
    ]
    genesis = sha256(b"\4" + log_id.encode()).digest()
    covered = number(commit_ts) + number(committed_at) + genesis + number(3) + b"".join(leaves)
    assert event_hash == sha256(b"\3" + covered).digest()


def test_an_end_without_a_source_has_the_bytes_it_always_had(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with recollect.open(path, clock=FixedClock(), ids=FixedIds()) as store:
        said: dict[str, Any] = {"subject": "Ann", "relation": "at", "agent_id": "a"}
        memory = store.remember("she left", agent_id="a")
        store.end_fact(**said, at="1970-01-01T00:00:01Z", txn_id="t-2")
        store.end_fact(**said, at="1970-01-01T00:00:01Z", txn_id="t-3", source=memory.id)
    database = apsw.Connection(str(path))
    rows = list(database.execute("SELECT salts, envelope, operations FROM event"))[1:]
    database.close()
    ((plain,), (sourced,)) = (msgspec.msgpack.decode(row[2]) for row in rows)
    names = [["Ann", "ann", "entity"], ["at", "at", "relation"], None, 1_000_000]
    assert plain == [16, "default", "a", plain[3], *names]
    assert sourced == [28, "default", "a", sourced[3], *names, [2, memory.id, 1]]
    salts, envelope, _ = rows[0]
    asked = [[32, {"namespace": "default", "agent_id": "a"}, plain[3], *names]]
    request_hash = sha256(b"\2" + salts[:16] + msgspec.msgpack.encode(asked)).digest()
    fingerprint = sha256(b"recollect request fingerprint\0" + msgspec.msgpack.encode([[32]]))
    known = request_hash + fingerprint.digest()[:16]
    assert envelope == msgspec.msgpack.encode(["t-2", "local", known, None])


def test_an_erased_operation_keeps_its_place_in_the_chain() -> None:
    start = chain.genesis("log")
    salts = FixedIds().entropy(chain.SALT_SIZE * chain.salt_count(2))
    envelope = Envelope("t", "a", b"hash")
    writes = [Write("n", "a", key, 1, b"{}") for key in ("secret", "kept")]
    event = chain.seal(start, 1, salts, envelope, writes)
    secret, kept = codec.split(event.operations)
    leaf = sha256(b"\0" + salts[32:48] + secret).digest()
    erased = codec.encode(Erased("n", "a", leaf))
    without = SealedEvent(
        commit_ts=1,
        committed_at=1,
        hash=event.hash,
        salts=salts[:32] + bytes(16) + salts[48:],
        envelope=event.envelope,
        operations=codec.join([erased, kept]),
    )
    assert chain.check(start, without) == chain.check(start, event)
    assert b"secret" not in without.operations
