"""Logs as files: the same bytes however often they travel, and nothing else accepted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import ChainBroken, Corruption, InvalidInput, NotFound, Store, UnsupportedFormat
from memoranda.testing import memory_store, same_behaviour
from tests.logs import Fields, answers, exported, full_store, lines_of, refusal, spelled, verdicts
from tests.patience import HANG_SECONDS, wait_until
from tests.quick import only
from tests.unprivileged import open_folder, run_unprivileged

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.db"))
WRITER = """
import sys, memoranda
from pathlib import Path
store = memoranda.open(sys.argv[1], durability="relaxed").bind(agent_id="b")
number = 0
while not Path(sys.argv[2]).exists():
    number += 1
    store.write(key=f"k{number % 10}", value={"n": number, "text": "x" * 2000})
"""
SLOW = """
import signal, sys, time, memoranda
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
seen = 0
def wait(done, total):
    global seen
    seen += 1
    if seen == int(sys.argv[4]):
        print(done, total, flush=True)
        time.sleep(60)
if sys.argv[1] == "export":
    memoranda.open(sys.argv[2]).export_log(sys.argv[3], progress=wait)
else:
    memoranda.import_log(sys.argv[2], sys.argv[3], progress=wait)
"""


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "full"
    folder.mkdir()
    with full_store(folder) as store:
        yield store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with many small commits."""
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(1000):
            store.write(agent_id="a", key=f"k{number % 7}", value={"n": number})
    return path


def places(line: Fields) -> list[tuple[int, int]]:
    return [(position, erasure) for position, erasure, _ in line.get("erased", ())]


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


@pytest.mark.slow
def test_a_full_store_travels_and_stays_the_same(full: Store, tmp_path: Path) -> None:
    export = full.export_log(tmp_path / "log.jsonl")
    data = (tmp_path / "log.jsonl").read_bytes()
    verified = full.verify()
    assert (export.log_id, export.commits) == (verified.log_id, verified.commits)
    assert (export.head_hash, export.bytes) == (verified.head_hash, len(data))
    assert export.lines == data.count(b"\n")
    kinds = [line["type"] for line in lines_of(data)]
    assert kinds.count("event") == export.commits
    assert kinds.count("blob") > 2
    assert kinds.count("checkpoint") == 3
    erased = [row for line in lines_of(data) for row in line.get("erased", ())]
    assert {position for position, *_ in erased} > {-1, 0, 1}
    twice = [len(rows) > len(dict(rows)) for rows in map(places, lines_of(data))]
    assert any(twice), "something was erased twice"
    assert b"secret" not in data
    assert refusal(data) is None
    imported = memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")
    assert imported.head_hash == verified.head_hash
    assert (imported.checkpoints, imported.last_checkpoint) == (3, verified.last_checkpoint)
    with memoranda.open(tmp_path / "new.db", create=False) as new:
        assert exported(new) == data
        assert answers(new) == answers(full)
        assert same_behaviour(new.replay(agent_id="planner"), full.replay(agent_id="planner"))
        assert new.rebuild().identical
        assert new.verify().head_hash == verified.head_hash
        queries: dict[str, Any] = {"agent_id": "planner", "namespace": "team/eng", "at": 32}
        assert str(new.why("trip", **queries)) == str(full.why("trip", **queries))


@pytest.mark.slow
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_every_released_store_travels(golden: Path, tmp_path: Path) -> None:
    shutil.copy(golden, tmp_path / "old.db")
    with memoranda.open(tmp_path / "old.db") as old:
        old.export_log(tmp_path / "log.jsonl")
        memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")
        data = (tmp_path / "log.jsonl").read_bytes()
        assert refusal(data) is None
        with memoranda.open(tmp_path / "new.db") as new:
            assert exported(new) == data
            assert answers(new) == answers(old)
            assert new.rebuild().identical


def test_an_empty_store_travels(tmp_path: Path) -> None:
    empty = memory_store()
    data = exported(empty)
    assert [line["type"] for line in lines_of(data)] == ["recollect.log"]
    assert refusal(data) is None
    result = memoranda.import_log(BytesIO(data), tmp_path / "new.db")
    assert (result.commits, result.last_committed_at) == (0, None)
    with memoranda.open(tmp_path / "new.db") as new:
        assert exported(new) == data
        new.write(agent_id="a", key="k", value={})
        (event,) = new.replay(agent_id="_engine", namespace="_log")
        assert event.operations[0].value is not None
        assert event.operations[0].value["cause"] == "created"


@pytest.mark.slow
def test_how_content_is_packed_makes_no_difference(full: Store, tmp_path: Path) -> None:
    from backports import zstd

    data = exported(full)
    full.backup(tmp_path / "copy.db")
    database = apsw.Connection(str(tmp_path / "copy.db"))
    for row, content in [*database.execute("SELECT rowid, content FROM blob")]:
        packed = zstd.compress(zstd.decompress(content), level=19)
        database.execute("UPDATE blob SET content = ? WHERE rowid = ?", (packed, row))
    database.close()
    with memoranda.open(tmp_path / "copy.db") as copy:
        assert exported(copy) == data


@pytest.mark.slow
def test_the_first_write_begins_an_epoch(full: Store, tmp_path: Path) -> None:
    epoch = full.stats().epoch
    memoranda.import_log(BytesIO(exported(full)), tmp_path / "new.db")
    with memoranda.open(tmp_path / "new.db") as new:
        assert new.stats().epoch == epoch
        new.write(agent_id="a", key="k", value={})
        assert new.stats().epoch == (epoch or 0) + 1
        *_, event = new.replay(agent_id="_engine", namespace="_log")
        assert event.operations[0].value is not None
        assert event.operations[0].value["cause"] == "copied"
        assert new.verify().commits == full.stats().commits + 1


@pytest.mark.slow
def test_a_named_transaction_is_still_known(full: Store, tmp_path: Path) -> None:
    memoranda.import_log(BytesIO(exported(full)), tmp_path / "new.db")
    with memoranda.open(tmp_path / "new.db") as new:
        before = new.stats().commits
        with (
            pytest.raises(memoranda.IdempotencyMismatch),
            new.bind(agent_id="planner").begin_transaction(txn_id="golden-1") as transaction,
        ):
            transaction.write(agent_id="a", key="k", value={})
        assert new.stats().commits == before


@pytest.mark.slow
def test_what_is_written_meanwhile_is_not_in_it(path: Path, tmp_path: Path) -> None:
    with memoranda.open(path) as store:
        steps: list[tuple[int, int]] = []

        def write_more(done: int, total: int) -> None:
            steps.append((done, total))
            store.write(agent_id="a", key="more", value={})

        export = store.export_log(tmp_path / "log.jsonl", progress=write_more)
        assert export.commits == 1000
        assert [total for _, total in steps] == [1000] * len(steps)
        assert steps[-1] == (1000, 1000)
        assert len(steps) > 3
    assert refusal((tmp_path / "log.jsonl").read_bytes()) is None


@pytest.mark.slow
def test_an_export_under_load_is_a_prefix(path: Path, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(stop)])
    try:
        with memoranda.open(path) as store:
            while store.stats().commits < 1020:
                assert writer.poll() is None
            instance: list[memoranda.ExportedLog] = []
            for number in range(4):
                instance.append(store.export_log(tmp_path / f"{number}.jsonl"))
                wait_until(lambda: store.stats().commits > instance[-1].commits)
    finally:
        stop.touch()
        assert writer.wait(HANG_SECONDS) == 0
    assert instance[-1].commits > instance[0].commits
    with memoranda.open(path) as store:
        whole = lines_of(exported(store))
    for number, item in enumerate(instance):
        data = (tmp_path / f"{number}.jsonl").read_bytes()
        assert refusal(data) is None
        assert lines_of(data)[1:] == whole[1 : item.commits + 1]


@pytest.mark.slow
def test_a_paused_export_holds_nothing(path: Path) -> None:
    """Whoever reads the output may stop for hours: no snapshot and no lock is held meanwhile."""

    class Paused(BytesIO):
        journal = 0

        def write(self, data: object, /) -> int:
            if self.tell() and not self.journal:
                for _ in range(100):
                    store.write(agent_id="a", key="large", value={"text": "x" * 200_000})
                    self.journal = max(self.journal, store.stats().journal_bytes)
            return super().write(data)  # type: ignore[arg-type]

    with memoranda.open(path, durability="relaxed") as store:
        opened = Paused()
        assert store.export_log(opened).commits == 1000
    assert 0 < opened.journal < 8_000_000
    assert refusal(opened.getvalue()) is None


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(path: Path, tmp_path: Path) -> None:
    def peak(work: object) -> int:
        assert callable(work)
        tracemalloc.start()
        work()
        _, result = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return result

    with memoranda.open(path, durability="relaxed") as store:
        for number in range(40):
            store.store_transcript(f"{number}" * 250_000, agent_id="a")
        most = peak(lambda: store.export_log(tmp_path / "log.jsonl"))
    size = (tmp_path / "log.jsonl").stat().st_size
    assert size > 15_000_000
    assert most < 8_000_000
    assert (
        peak(lambda: memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")) < size / 2
    )


@pytest.mark.slow
def test_a_file_that_is_there_is_never_touched(path: Path, tmp_path: Path) -> None:
    with memoranda.open(path) as store:
        store.export_log(tmp_path / "log.jsonl")
        with pytest.raises(InvalidInput, match=r"path: .* already exists"):
            store.export_log(tmp_path / "log.jsonl")
        before = answers(store)
    with pytest.raises(InvalidInput, match=r"url: .* already exists"):
        memoranda.import_log(tmp_path / "log.jsonl", path)
    with memoranda.open(path) as store:
        assert answers(store) == before


@pytest.mark.slow
def test_only_the_owner_can_read_what_was_exported(path: Path, tmp_path: Path) -> None:
    with memoranda.open(path) as store:
        store.export_log(tmp_path / "log.jsonl")
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600
    memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", [":memory:", "ftp://x", "", "a\0b", 7])
def test_what_names_no_file_is_refused(name: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="path"):
        memory_store().export_log(name)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="path"):
        memoranda.import_log(name, tmp_path / "new.db")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="url"):
        memoranda.import_log(BytesIO(exported(memory_store())), ":memory:")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        memoranda.import_log(tmp_path / "missing.jsonl", tmp_path / "new.db")
    with pytest.raises(InvalidInput, match="cannot be read"):
        memoranda.import_log(tmp_path, tmp_path / "new.db")
    with pytest.raises(NotFound, match="make it first"):
        memory_store().export_log(tmp_path / "missing" / "log.jsonl")
    assert names(tmp_path) == []


def test_a_full_disk_is_told(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memoranda.calls.copies.export", fail)
    with memoranda.open(path) as store, pytest.raises(memoranda.StoreFull, match="No space left"):
        store.export_log(tmp_path / "log.jsonl")
    assert names(tmp_path) == ["store.db"]


def test_a_folder_that_cannot_be_written_is_reported() -> None:
    with open_folder() as folder:
        locked = folder / "locked"
        locked.mkdir(mode=0o555)
        data = exported(memory_store())

        def work() -> None:
            with pytest.raises(memoranda.StoreReadOnly, match="check the permissions"):
                memory_store().export_log(locked / "log.jsonl")
            with pytest.raises(memoranda.StoreReadOnly, match="check the permissions"):
                memoranda.import_log(BytesIO(data), locked / "new.db")

        run_unprivileged(work)


@pytest.mark.slow
def test_a_cut_file_is_refused_wherever_it_is_cut(full: Store, tmp_path: Path) -> None:
    data = exported(full)
    ends = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)][:-1]
    for end in (*ends, *(at + 20 for at in ends), len(data) - 1):
        ours, theirs = verdicts(data[:end], tmp_path)
        assert ours is not None
        assert theirs is not None
        assert ours.startswith("the file is cut after line ")
        assert "the file is truncated" in theirs
    assert names(tmp_path) == ["full"]


@pytest.mark.slow
def test_a_newer_version_is_told_from_what_is_no_log(full: Store, tmp_path: Path) -> None:
    lines = lines_of(exported(full))
    lines[0] |= {"version": 3, "more": "to say"}
    with pytest.raises(UnsupportedFormat, match=r"version 3.*upgrade Memoranda"):
        memoranda.import_log(BytesIO(spelled(lines)), tmp_path / "new.db")
    for other in (b"", b"{}\n", b"[1]\n", b"\xff\n", b'{"type":"event","version":9}\n'):
        with pytest.raises(Corruption):
            memoranda.import_log(BytesIO(other), tmp_path / "new.db")
        assert refusal(other) is not None
    assert names(tmp_path) == ["full"]


@pytest.mark.slow
def test_a_bad_line_is_named(full: Store, tmp_path: Path) -> None:
    data = exported(full)
    lines = data.split(b"\n")
    lines[4] = lines[4][:-20]
    with pytest.raises(Corruption, match="line 5: it cannot be read"):
        memoranda.import_log(BytesIO(b"\n".join(lines)), tmp_path / "new.db")
    assert (refusal(b"\n".join(lines)) or "").startswith("line 5: ")
    changed = lines_of(data)
    changed[4]["committed_at"] += 1
    with pytest.raises(ChainBroken, match=r"commit 4: .*\(line 5 of the file\)"):
        memoranda.import_log(BytesIO(spelled(changed)), tmp_path / "new.db")
    assert "line 5: the content of commit 4 does not have its hash" in (
        refusal(spelled(changed)) or ""
    )


@pytest.mark.slow
def test_a_changed_store_is_not_exported(full: Store, tmp_path: Path) -> None:
    full.backup(tmp_path / "copy.db")
    database = apsw.Connection(str(tmp_path / "copy.db"))
    database.execute("UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 7")
    database.execute("DELETE FROM blob")
    database.close()
    with (
        memoranda.open(tmp_path / "copy.db") as copy,
        pytest.raises(ChainBroken, match="commit 7"),
    ):
        copy.export_log(tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.slow
def test_missing_content_is_not_exported(full: Store, tmp_path: Path) -> None:
    full.backup(tmp_path / "copy.db")
    database = apsw.Connection(str(tmp_path / "copy.db"))
    ((commit_ts,),) = database.execute("SELECT MAX(commit_ts) FROM blob")
    database.execute("DELETE FROM blob WHERE commit_ts = ?", (commit_ts,))
    database.close()
    with memoranda.open(tmp_path / "copy.db") as copy, pytest.raises(ChainBroken) as caught:
        copy.export_log(tmp_path / "log.jsonl")
    assert caught.value.commit_ts == commit_ts


@pytest.mark.slow
def test_an_interrupt_leaves_nothing(path: Path, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with memoranda.open(path) as store:
        data = exported(store)
        before = names(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            store.export_log(tmp_path / "log.jsonl", progress=interrupt)
        with pytest.raises(KeyboardInterrupt):
            memoranda.import_log(BytesIO(data), tmp_path / "new.db", progress=interrupt)
        assert names(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", only([signal.SIGKILL], [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
)
@pytest.mark.parametrize(
    ("what", "step"), [("export", 1), ("export", 3), ("import", 1), ("import", 3), ("import", 7)]
)
def test_a_kill_leaves_no_target(
    path: Path, tmp_path: Path, what: str, step: int, how: signal.Signals
) -> None:
    source, target = (path, tmp_path / "out") if what == "export" else (tmp_path / "log", path)
    if what == "import":
        with memoranda.open(path) as store:
            store.export_log(tmp_path / "log")
        path.unlink()
    command = [sys.executable, "-c", SLOW, what, str(source), str(target), str(step)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        os.kill(child.pid, how)
    assert child.returncode != 0
    assert not target.exists()
    if what == "import":
        assert memoranda.import_log(source, target).commits == 1000
    else:
        with memoranda.open(path) as store:
            assert store.export_log(target).commits == 1000
