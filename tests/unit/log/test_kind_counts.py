"""Counts of operations by kind: their codes, their packed form, and what buckets read of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from unittest import mock

import apsw
import pytest

import memoranda
from memoranda import Corruption, OperationType, Store, StoreFull
from memoranda.log.read import kind_counts
from memoranda.log.read.kind_counts import BLOCK_COMMITS, CountReader
from memoranda.model.operations import AnyOperation, Delete, Write
from tests.bulk import write_events
from tests.cores import core_of
from tests.work import counted

PUBLIC = CountReader(public_only=True, all_namespaces=False)
OWN = CountReader(public_only=False, all_namespaces=False)
OWN_OF_ALL = CountReader(public_only=False, all_namespaces=True)


def test_codes_never_change_without_a_new_version_of_the_view() -> None:
    names = " ".join(kind.name for kind in OperationType)
    assert names == (
        "WRITE DELETE EPOCH REMEMBER UPDATE RETRACT TOUCH LINK UNLINK TRANSCRIPT CITE NOTIFY "
        "RESOLVE CONFIGURE ASSERT END WITHDRAW CARDINALITY ALIAS MERGE ERASED ERASE SUMMARY TRUST "
        "RETIRE REFUSED"
    )
    write = Write("n", "a", "k", 1, b"{}")
    assert kind_counts.count_scopes([write]) == {("a", "n"): {4: 1}}


def test_counts_of_an_event() -> None:
    operations: list[AnyOperation] = [
        Write("n", "a", "k", 1, b"{}"),
        Write("n", "a", "l", 1, b"{}"),
        Delete("m", "a", "k", 1),
        Delete("m", "b", "k", 1),
    ]
    counts = kind_counts.count_scopes(operations)
    assert counts == {
        ("a", "m"): {6: 1},
        ("a", "n"): {4: 2, 0: 1, 1: 1, 2: 1, 3: 1},
        ("b", "m"): {6: 1},
    }
    assert OWN.by_type(counts["a", "n"]) == {OperationType.WRITE: 2}
    assert OWN.events(counts["a", "n"]) == 1
    assert OWN_OF_ALL.events(counts["a", "n"]) == 0, "it is counted in the other namespace"
    assert PUBLIC.events({5: 2, 0: 1}) == 0


@pytest.mark.parametrize("counts", [{}, {4: 1}, {4: 2}, {4: 1, 7: 300, 0: 5}], ids=repr)
def test_packed_counts(counts: dict[int, int]) -> None:
    assert kind_counts.unpack(kind_counts.pack(counts)) == counts


@pytest.mark.parametrize("packed", [b"", b"\xc1", b"\x91\x04", b"\xa1k"], ids=repr)
def test_counts_that_cannot_be_read(packed: bytes) -> None:
    with pytest.raises(Corruption, match="counts"):
        kind_counts.unpack(packed)


def test_a_code_of_no_kind() -> None:
    with pytest.raises(Corruption, match="999"):
        OWN.by_type({999: 1})


@pytest.mark.slow
def test_no_event_is_read_and_work_grows_with_blocks(tmp_path: Path) -> None:
    steps = []
    for events in (20 * BLOCK_COMMITS, 200 * BLOCK_COMMITS):
        path = tmp_path / f"{events}.db"
        write_events(path, events)
        with memoranda.open(path) as store, counted(store) as work:
            buckets = store.timeline_buckets(agent_id="a", buckets=10)
        assert sum(bucket.events for bucket in buckets) == events
        assert (work.decoded, work.split, work.event_reads) == (0, 0, 0)
        steps.append(work.steps)
    rows = 180 * BLOCK_COMMITS
    assert steps[1] - steps[0] < 2 * rows, "less than to look at each row"


# Sums: they are stored when a block of commits is complete.


def sums_of(store: Store) -> list[tuple[object, ...]]:
    with core_of(store).engine.snapshot() as reader:
        return reader.rows("kind_count_rows")


def write(store: Store, count: int) -> None:
    for number in range(count):
        store.write(agent_id="a", key=f"k{number % 7}", value={})


def check_sums(store: Store) -> None:
    assert store.rebuild().identical
    head = store.stats().commits
    own = [row for row in sums_of(store) if row[:2] == ("a", "default")]
    assert {row[2] for row in own} == {*range((head + 1) // BLOCK_COMMITS)}
    buckets = store.timeline_buckets(agent_id="a", buckets=3)
    assert sum(bucket.events for bucket in buckets) == len(list(store.replay(agent_id="a")))


def test_a_block_is_stored_with_its_last_commit(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        write(store, BLOCK_COMMITS - 2)
        assert sums_of(store) == []
        write(store, 1)
        assert [row[2:] for row in sums_of(store) if row[0] == "a"] == [(0, 4, BLOCK_COMMITS - 1)]
        check_sums(store)


def test_a_block_that_was_begun_elsewhere_is_counted_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for _ in range(3):
        with memoranda.open(path, durability="relaxed") as store:
            write(store, BLOCK_COMMITS // 2)
            check_sums(store)
    with (
        memoranda.open(path, durability="relaxed") as store,
        memoranda.open(path, durability="relaxed") as other,
    ):
        for _ in range(BLOCK_COMMITS):
            write(store, 1)
            write(other, 2)
        check_sums(store)


def test_what_is_rolled_back_is_not_counted(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        write(store, BLOCK_COMMITS // 2)

        def fail(name: str) -> None:
            if name == "before-commit":
                raise StoreFull

        batch = core_of(store).committer._writer
        with mock.patch.object(batch, "failpoint", fail), pytest.raises(StoreFull):
            write(store, 1)
        write(store, BLOCK_COMMITS)
        check_sums(store)


def test_a_large_event_is_added_at_once(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        write(store, 3)
        with store.begin_transaction() as transaction:
            for number in range(17):
                transaction.write(agent_id="a", key=f"k{number}", value={})
        assert [row[2:] for row in sums_of(store) if row[3] == 4] == [(0, 4, 17)]
        store.bind(agent_id="a").forget(key="k16")
        assert [row[2:] for row in sums_of(store) if row[3] == 4] == [(0, 4, 16)]
        write(store, BLOCK_COMMITS)
        check_sums(store)


def test_an_erasure_changes_the_sums_of_complete_blocks_alone(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        write(store, BLOCK_COMMITS + BLOCK_COMMITS // 2)
        store.bind(agent_id="a").forget(key="k3")
        before = sums_of(store)
        check_sums(store)
        assert sums_of(store) == before
        write(store, BLOCK_COMMITS // 4)
        store.bind(agent_id="a").forget(key="k4")  # also in the block that this process has counted
        write(store, BLOCK_COMMITS)
        check_sums(store)


def test_a_changed_sum_is_found_and_repaired_by_rebuilding(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        write(store, BLOCK_COMMITS)
    with closing(apsw.Connection(str(path))) as database:
        database.execute("UPDATE kind_count SET count = count + 1 WHERE block = 0")
    with memoranda.open(path) as store:
        assert store.rebuild().differing == ("log",)
        check_sums(store)
