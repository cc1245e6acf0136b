"""Whether a log keeps to what its clients were told, and what they have seen of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from memoranda import OperationType
from tests.crash.checks import Entry
from tests.crash.server.journal import Deed

_OPERATIONS = {"pair": 3, "statehouse": 2}
"""How many operations a deed has in the log, if it has not one."""


def names_in(entry: Entry) -> Counter[str]:
    """Return the deeds that an event has operations of; the deletion of a pair is one of it."""
    names = Counter(name for operation in entry.operations if (name := _name_in(operation)))
    if any(operation.type is OperationType.DELETE for operation in entry.operations):
        names.update(set(names))
    return names


def _name_in(operation: Any) -> str | None:
    value = operation.value
    if operation.type is OperationType.WRITE:
        return str(value["by"])
    if operation.type is OperationType.REMEMBER:
        return str(value["content"])
    if operation.type is OperationType.ASSERT:
        return str(value["object"])
    return None


def check_deeds(log: list[Entry], deeds: dict[str, Deed]) -> None:
    """Everything acknowledged is in the log once, as a whole, and what was refused is not."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for entry in log:
        for name, count in names_in(entry).items():
            assert name in deeds, f"nobody meant to do {name}, in commit {entry.commit_ts}"
            whole = _OPERATIONS.get(deeds[name].kind, 1)
            assert count == whole, f"{name} is in commit {entry.commit_ts} with {count} operations"
            places[name].append(entry.commit_ts)
    for deed in deeds.values():
        check_deed(deed, log, places[deed.name])


def check_deed(deed: Deed, log: list[Entry], commits: list[int]) -> None:
    """A deed is in the log as its client was told."""
    name = deed.name
    assert deed.lines, f"{name} has no outcome"
    assert len(commits) <= 1, f"{name} is in the log {len(commits)} times: {commits}"
    if deed.commits:
        assert deed.commits == {*commits}, (
            f"{name} was acknowledged as {deed.commits}, and is in the log as {commits}"
        )
    elif deed.outcome == "refused":
        assert not commits, f"{name} was refused, and is in the log as {commits}: {deed.lines}"
    if commits and deed.txn_ids:
        txn_id = log[commits[0] - 1].txn_id
        assert txn_id in deed.txn_ids, f"{name} is in the log as {txn_id}, not {deed.txn_ids}"


def check_counters(log: list[Entry]) -> int:
    """Every counter was raised by one each time: no update was lost. Return their sum."""
    reached: Counter[str] = Counter()
    for entry in log:
        operation: Any
        for operation in entry.operations:
            if operation.type is OperationType.WRITE and operation.key.startswith("count/"):
                reached[operation.key] += 1
                number = operation.value["n"]
                assert number == reached[operation.key], (
                    f"{operation.key} was raised to {number} in commit {entry.commit_ts}, "
                    f"instead of {reached[operation.key]}"
                )
    return reached.total()


def check_watched(log: list[Entry], path: Path) -> None:
    """A subscription has received every event once, in order."""
    expected = [_line_of(entry) for entry in log]
    lines = path.read_text().splitlines()
    for number, (line, wanted) in enumerate(zip(lines, expected, strict=False)):
        assert line == wanted, f"{path.stem} received {line!r} as event {number + 1}"
    assert len(lines) == len(expected), f"{path.stem} received {len(lines)} of {len(expected)}"


def check_replayed(log: list[Entry], path: Path) -> int:
    """Each replay has the events from its first to its last without a gap; return how many."""
    replays = 0
    last: int | None = None
    for line in path.read_text().splitlines():
        if line in ("complete", "interrupted"):
            replays, last = replays + (line == "complete"), None
            continue
        commit_ts = int(line.split()[0])
        assert last is None or commit_ts == last + 1, f"{commit_ts} follows {last} in {path.stem}"
        assert line == _line_of(log[commit_ts - 1]), f"{path.stem} replayed {line!r}"
        last = commit_ts
    return replays


def _line_of(entry: Entry) -> str:
    return f"{entry.commit_ts} {entry.hash.hex()}"
