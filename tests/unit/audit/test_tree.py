"""The tree in a store: as it is defined, filled behind commits, and found when it is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from memoranda import ChainBroken, Corruption, NotProven, Store
from memoranda.audit import merkle_store
from memoranda.audit.merkle import Frontier
from tests.cores import core_of
from tests.unit.audit.logs import open_store, signer_in, spoil, write

MOST = 300
BELOW = "UPDATE tree_node SET hash = zeroblob(32) WHERE level = ? AND place = ?"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("tree") / "store.db") as store:
        write(store, MOST)
        merkle_store.grow(core_of(store).engine, MOST)
        yield store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of a hundred commits, the last of which is signed."""
    place = tmp_path / "store.db"
    with open_store(place) as store:
        write(store, 99)
        store.checkpoint(signer=signer_in(tmp_path))
    return place


def hashes_of(store: Store) -> list[bytes]:
    with core_of(store).engine.reading() as reader:
        return [row[1] for row in reader.rows("event_hashes", after=0, through=10**6)]


def rows_of(path: Path) -> list[tuple[int, int, bytes]]:
    database = apsw.Connection(str(path))
    rows = list(database.execute("SELECT level, place, hash FROM tree_node ORDER BY 1, 2"))
    database.close()
    return rows


def left(size: int) -> int:
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def climb(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that a path leads to, by walking down the tree as RFC 6962 splits it."""
    if size == 1:
        assert not path
        return leaf
    *below, beside = path
    split = left(size)
    if index < split:
        return sha256(b"\1" + climb(leaf, index, split, below) + beside).digest()
    return sha256(b"\1" + beside + climb(leaf, index - split, size - split, below)).digest()


@pytest.mark.slow
def test_every_root_and_every_proof(filled: Store) -> None:
    data = hashes_of(filled)

    @cache
    def root(start: int, end: int) -> bytes:
        if end - start == 1:
            return sha256(b"\0" + data[start]).digest()
        middle = start + left(end - start)
        return sha256(b"\1" + root(start, middle) + root(middle, end)).digest()

    with core_of(filled).engine.snapshot() as reader:
        tree = merkle_store.load_tree(reader)
        for size in range(1, MOST + 1):
            assert tree.root(size) == root(0, size)
            for index in range(size):
                path = tree.inclusion_proof(index, size)
                assert climb(root(index, index + 1), index, size, path) == root(0, size)


def test_a_row_for_every_fifteen_events(filled: Store) -> None:
    with core_of(filled).engine.reading() as reader:
        (count,) = reader.row("tree_node_count") or (0,)
    assert count == MOST // 16 + MOST // 256 == merkle_store.expected_rows(MOST)


def test_it_is_filled_in_batches_and_goes_on_where_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merkle_store, "BATCH", 7)
    with open_store(path) as store:
        write(store, 60)
        steps: list[tuple[int, int]] = []
        engine = core_of(store).engine
        merkle_store.grow(engine, 131, lambda done, whole: steps.append((done, whole)))
        assert steps == [(107, 131), (114, 131), (121, 131), (128, 131), (131, 131)]
        frontier = Frontier()
        for data in hashes_of(store)[:131]:
            frontier.append(data)
        with engine.snapshot() as reader:
            assert merkle_store.load_tree(reader).root() == frontier.root()
            assert merkle_store.size(reader) == 131


def test_two_that_fill_it_at_once_do_no_harm(path: Path) -> None:
    with open_store(path) as one, open_store(path) as other:
        write(one, 40)
        engine, steps = core_of(one).engine, 0
        grow = merkle_store._complete_nodes

        def overtaken(*args: object) -> object:
            nonlocal steps
            steps += 1
            if steps == 1:
                merkle_store.grow(core_of(other).engine, 140)
            return grow(*args)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merkle_store, "_complete_nodes", overtaken)
            merkle_store.grow(engine, 105)
        assert one.verify().checkpoints == 1
        with engine.reading() as reader:
            assert merkle_store.size(reader) == 140


@pytest.mark.parametrize("place", range(6))
def test_a_wrong_node_is_found_and_can_be_made_anew(path: Path, place: int) -> None:
    before = rows_of(path)
    assert len(before) == 6
    spoil(path, BELOW, 4, place)
    first, last = place * 16 + 1, place * 16 + 16
    with open_store(path) as store:
        with pytest.raises(
            Corruption, match=f"over commits {first} to {last} does not match the log"
        ):
            store.verify()
        result = store.rebuild()
        assert result.differing == ("tree",)
        assert store.verify().last_checkpoint == 100
        assert store.rebuild().identical
    assert rows_of(path) == before


def test_a_missing_node_is_found_by_who_needs_it(path: Path) -> None:
    spoil(path, "DELETE FROM tree_node WHERE place = 3")
    with open_store(path) as store:
        with pytest.raises(Corruption, match="over commits 49 to 64 is missing"):
            store.verify()
        with pytest.raises(Corruption, match="over commits 49 to 64 is missing"):
            store.prove(1)
        store.rebuild()
        assert store.prove(1).commit_ts == 1


def test_a_proof_is_never_made_of_wrong_nodes(path: Path) -> None:
    spoil(path, BELOW, 4, 2)
    with open_store(path) as store, pytest.raises(NotProven, match="memoranda verify"):
        store.prove(40)


def test_more_nodes_than_there_are(path: Path) -> None:
    spoil(path, "INSERT INTO tree_node VALUES (4, 99, zeroblob(32))")
    with open_store(path) as store:
        with pytest.raises(Corruption, match="has 7 nodes, too many"):
            store.verify()
        assert store.rebuild().differing == ("tree",)
        assert store.verify().checkpoints == 1


@pytest.mark.parametrize("mark", ["101", "x", "-1", "1e2"])
def test_a_mark_behind_the_end(path: Path, mark: str) -> None:
    spoil(path, "UPDATE meta SET value = ? WHERE name = 'tree'", mark)
    with open_store(path) as store:
        with pytest.raises(Corruption, match="size is stored as"):
            store.verify()
        assert store.rebuild().differing == ("tree",)
        assert store.verify().checkpoints == 1


def test_a_mark_that_was_set_back_only_costs_time(path: Path) -> None:
    spoil(path, "UPDATE meta SET value = '16' WHERE name = 'tree'")
    with open_store(path) as store:
        store.prove(50)
        assert store.verify().checkpoints == 1


def test_an_event_that_went_missing_is_named(path: Path) -> None:
    with open_store(path) as store:
        write(store, 10)
    spoil(path, "DELETE FROM event WHERE commit_ts = 105")
    with open_store(path) as store, pytest.raises(ChainBroken, match="commit 105"):
        store.prove(50)


def test_commits_do_not_fill_it(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        write(store, 40)
        assert store.verify().checkpoints == 0
    assert rows_of(tmp_path / "store.db") == []
