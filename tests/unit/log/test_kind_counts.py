"""Counts of operations by kind: their codes, their packed form, and what buckets read of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda import Corruption, OperationType
from memoranda.log.read import kind_counts
from memoranda.log.read.kind_counts import BLOCK_COMMITS, CountReader
from memoranda.model.operations import AnyOperation, Delete, Write
from tests.bulk import write_events
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
