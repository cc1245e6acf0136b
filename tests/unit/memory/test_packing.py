"""Content beside the log: packed small, and unpacked without trusting what is stored."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import cast

import apsw
import pytest
from backports import zstd

from memoranda import ChainBroken, Corruption, Store
from memoranda.model.codec import digest_of, pack, unpack
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.testing import memory_store
from tests.cores import core_of

TEXT = ("words " * 2000).encode()
MIB = 1024 * 1024


def test_what_is_packed_comes_back() -> None:
    packed = pack(TEXT)
    assert len(packed) < len(TEXT) // 50
    assert unpack(packed, size=len(TEXT), digest=digest_of(TEXT)) == TEXT


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"no zstd at all",
        pack(TEXT)[:-1],
        pack(TEXT) + b"x",
        pack(TEXT) + pack(b"more"),
        pack(TEXT + b"!"),
        pack(TEXT[:-1]),
        pack(TEXT.upper()),
    ],
    ids=["nothing", "noise", "cut", "longer", "two", "one more", "one less", "other"],
)
def test_what_is_not_what_the_log_says_is_refused(stored: bytes) -> None:
    with pytest.raises(Corruption):
        unpack(stored, size=len(TEXT), digest=digest_of(TEXT))


def test_a_bomb_is_refused_without_unpacking_it() -> None:
    bomb = zstd.compress(bytes(512 * MIB), level=3)
    assert len(bomb) < MIB
    tracemalloc.start()
    try:
        with pytest.raises(Corruption, match="does not unpack to the 10 bytes"):
            unpack(bomb, size=10, digest=digest_of(b"0123456789"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MIB


def test_a_bomb_that_hides_its_size_is_refused_too() -> None:
    compressor = zstd.ZstdCompressor(level=3)
    parts = [compressor.compress(bytes(MIB)) for _ in range(64)]
    bomb = b"".join([*parts, compressor.flush()])
    assert zstd.get_frame_info(bomb).decompressed_size is None
    with pytest.raises(Corruption):
        unpack(bomb, size=MIB, digest=digest_of(bytes(MIB)))


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as opened:
        yield opened.bind(agent_id="a")


def database(store: Store) -> apsw.Connection:
    return cast(SqliteEngine, core_of(store).engine)._writer.database


def test_a_stored_bomb_is_refused_by_every_reader(store: Store) -> None:
    transcript = store.store_transcript("the words")
    memory = store.remember("m", transcript=transcript.id)
    long = store.remember("x" * 5000)
    bomb = zstd.compress(bytes(64 * MIB), level=3)
    database(store).execute("UPDATE blob SET content = ?", (bomb,))
    (entry,) = store.replay_transcripts(memory.id)
    for read in (
        transcript.text,
        entry.text,
        entry.excerpts,
        lambda: transcript.find("words"),
        lambda: store.origins(memory.id),
        lambda: store.get_memory(long.id),
        lambda: list(store.list_memories(content=True)),
        lambda: store.remember("y", transcript=transcript.id, spans=[(0, 3)]),
    ):
        with pytest.raises(Corruption, match="does not unpack"):
            read()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE blob SET content = x'00'", "cannot be unpacked"),
        ("DELETE FROM blob", "is missing"),
    ],
)
def test_verifying_finds_content_that_was_changed(
    store: Store, statement: str, problem: str
) -> None:
    store.write(key="k", value={})
    store.store_transcript("the words")
    store.verify()
    database(store).execute(statement)
    with pytest.raises(ChainBroken, match=problem) as caught:
        store.verify()
    assert caught.value.commit_ts == 2


def test_content_that_is_packed_otherwise_is_the_same_content(store: Store) -> None:
    transcript = store.store_transcript("the words " * 500)
    again = zstd.compress(("the words " * 500).encode(), level=19)
    database(store).execute("UPDATE blob SET content = ?", (again,))
    assert transcript.text() == "the words " * 500
    store.verify()


def test_what_waits_to_be_committed_counts_its_content() -> None:
    with memory_store() as opened:
        transaction = opened.bind(agent_id="a").begin_transaction()
        transaction.store_transcript("words " * 2000)
        request = transaction._transaction.draft.request()
    (packed,) = request.blobs.values()
    assert request.size == len(request.encoded) + len(packed)
