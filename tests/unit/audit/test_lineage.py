"""An agent's signature is of one log: it cannot be moved to another, and holds in a fork."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import InvalidInput, NotProven, Store
from memoranda.audit import keys
from memoranda.audit.signers import Signer
from memoranda.model.event import SealedEvent
from memoranda.testing import FixedClock, FixedIds
from tests.unit.audit.forging import rechain

WEAK = [
    *(bytes([first]) + bytes(30) + bytes([last]) for first in (0, 1) for last in (0, 0x80)),
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
    *(bytes([first]) + b"\xff" * 30 + bytes([last]) for first in (0xEC, 0xED, 0xEE)
      for last in (0x7F, 0xFF)),
]  # fmt: skip
"""Every spelling of a point whose order divides eight."""


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return memoranda.create_signer(tmp_path / "ann.key", name="ann")


def filled(path: Path, signer: Signer, ids: str) -> None:
    with memoranda.open(path, clock=FixedClock(), ids=FixedIds(ids)) as store:
        store.trust_key(signer, agent_id="ann")
        ann = store.bind(agent_id="ann", signer=signer)
        for number in range(4):
            ann.write(key="k", value={"n": number})


def events(path: Path) -> list[SealedEvent]:
    database = apsw.Connection(str(path))
    rows = [*database.execute("SELECT * FROM event ORDER BY commit_ts")]
    database.close()
    return [SealedEvent(*row) for row in rows]


def test_a_signature_cannot_be_moved_to_another_log(tmp_path: Path, signer: Signer) -> None:
    filled(tmp_path / "one.db", signer, "same")
    filled(tmp_path / "two.db", signer, "other")
    moved = events(tmp_path / "one.db")
    rechain(tmp_path / "two.db", lambda ours: [*ours[:2], *moved[2:]])
    with memoranda.open(tmp_path / "two.db") as store, pytest.raises(NotProven, match="commit 3"):
        store.verify()


def test_it_cannot_be_moved_behind_other_events_of_the_same_log(
    tmp_path: Path, signer: Signer
) -> None:
    path = tmp_path / "one.db"
    filled(path, signer, "same")
    with memoranda.open(path) as store:
        assert store.verify().signed == 4

    def unsigned_before(ours: list[SealedEvent]) -> list[SealedEvent]:
        first = ours[0]
        changed = first.committed_at - 1
        return [SealedEvent(1, changed, first.hash, first.salts, first.envelope, first.operations),
                *ours[1:]]  # fmt: skip

    rechain(path, unsigned_before)
    with memoranda.open(path) as store, pytest.raises(NotProven, match="commit 2"):
        store.verify()


def test_signatures_hold_in_a_fork_of_a_fork(tmp_path: Path, signer: Signer) -> None:
    filled(tmp_path / "one.db", signer, "same")
    with memoranda.open(tmp_path / "one.db") as store:
        store.fork(tmp_path / "two.db", at=4)
    with memoranda.open(tmp_path / "two.db") as store:
        store.bind(agent_id="ann", signer=signer).write(key="k", value={"fork": 1})
        assert store.verify().signed == 4
        store.fork(tmp_path / "three.db", at=5)
        store.fork(tmp_path / "short.db", at=3)
    for name, signed in (("three.db", 4), ("short.db", 2)):
        with memoranda.open(tmp_path / name) as store:
            assert store.verify(deep=True).signed == signed
            store.bind(agent_id="ann", signer=signer).write(key="k", value={"own": 1})
            assert store.verify().signed == signed + 1


@pytest.mark.parametrize("key", WEAK, ids=lambda key: key.hex()[:8] + key.hex()[-2:])
def test_keys_of_small_order_are_refused(key: bytes) -> None:
    import memoranda_verify

    assert keys.is_weak(key)
    assert not keys.verify(key, b"anything", bytes([1]) + bytes(63))
    text = keys.PublicKey("weak", key).text
    with pytest.raises(InvalidInput, match="small order"):
        keys.parse(text)
    with pytest.raises(memoranda_verify.WrongKey, match="small order"):
        memoranda_verify.parse_key(text)


def test_a_log_does_not_trust_a_key_of_small_order(signer: Signer) -> None:
    with memoranda.open(":memory:") as store:
        with pytest.raises(InvalidInput, match="small order"):
            store.trust_key(keys.PublicKey("weak", WEAK[0]), agent_id="ann")
        store.trust_key(signer, agent_id="ann")
        assert not keys.is_weak(signer.public.key)


@pytest.mark.parametrize("value", [0, 1.5, True, "text", b"bytes", object()])
def test_keys_are_a_list(value: object) -> None:
    with memoranda.open(":memory:") as store, pytest.raises(InvalidInput, match="keys: "):
        wrong(store, value)


def wrong(store: Store, value: object) -> None:
    store.verify(keys=value)  # type: ignore[arg-type]
