"""Who knows all of an operation but one dropped slot cannot confirm a guess of that slot.

The attacker tries every sixteen bytes of the rows as the slot's salt, and as the salt that the
slots' salts come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256, shake_128
from pathlib import Path

import apsw
import msgspec
import pytest

import memoranda
from memoranda.log.field_commitments import derive_salts
from memoranda.model import codec
from memoranda.model.operations.slots import LAYOUTS

_MOST_SLOTS = 5


def rows(path: Path) -> bytes:
    database = apsw.Connection(str(path))
    result = database.execute("SELECT salts, envelope, operations FROM event")
    joined = b"".join(b"".join(row) for row in result)
    database.close()
    return joined


def salts(data: bytes) -> Iterator[bytes]:
    for at in range(len(data) - 15):
        own = data[at : at + 16]
        yield own
        for count in range(2, _MOST_SLOTS + 1):
            instance = shake_128(own).digest(16 * count)
            yield from (instance[first : first + 16] for first in range(0, len(instance), 16))


def confirms(data: bytes, kind: int, index: int, value: bytes) -> bool:
    place = bytes([kind, index]) + value
    return any(sha256(b"\x08" + salt + place).digest() in data for salt in salts(data))


def test_forgotten_content_and_what_a_compaction_dropped(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={})
        memory = ann.remember("the answer is yes", title="before")
        other = ann.remember("kept")
        ann.update_memory(other.id, title="after", content="new")
        ann.forget(memory_id=memory.id)
        ann.compact(before=5, confirm=True)
        store.verify(deep=True)
    data, pack = rows(path), msgspec.msgpack.encode
    for index, value in (
        (2, pack("before")),
        (3, pack(["the answer is yes", None, 0])),
        (3, pack(["kept", None, 0])),
    ):
        assert not confirms(data, 4, index, value)


@pytest.mark.parametrize("is_stored", [True, False])
def test_the_attacker_finds_what_is_there(tmp_path: Path, *, is_stored: bool) -> None:
    """The same attack succeeds where the salt that others come from was left."""
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={})
        memory = ann.remember("the answer is yes")
        before = codec.split(row(path, 2)[1])[0]
        salt = row(path, 2)[0][-16:]
        ann.forget(memory_id=memory.id)
    value = msgspec.msgpack.encode(["the answer is yes", None, 0])
    assert value in before
    data = rows(path) + (salt if is_stored else b"")
    assert confirms(data, 4, 3, value) is is_stored
    assert len(derive_salts(salt, _MOST_SLOTS)) == _MOST_SLOTS


def row(path: Path, commit_ts: int) -> tuple[bytes, bytes]:
    database = apsw.Connection(str(path))
    query = "SELECT salts, operations FROM event WHERE commit_ts = ?"
    ((own, operations),) = database.execute(query, (commit_ts,))
    database.close()
    return own, operations


def test_no_other_kind_has_more_slots() -> None:

    assert max(map(len, LAYOUTS.values())) == _MOST_SLOTS
