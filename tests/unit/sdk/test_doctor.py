"""The doctor: what it says of stores in every state, and that it changes none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

import memoranda
from memoranda import Finding, InvalidInput, diagnose
from memoranda.audit.signers import Signer
from memoranda.storage.sqlite import health, placement
from memoranda.storage.sqlite.schema import FORMAT
from memoranda.testing import FixedClock
from tests.unit.audit.forging import at, rechain, with_envelope
from tests.unprivileged import open_folder, run_unprivileged

ALWAYS = ("python", "sqlite", "file", "place", "space", "journal", "store", "clock", "index")
DIES_WITHOUT_CLOSING = """
import os, sys, memoranda
store = memoranda.open(sys.argv[1])
store.write(agent_id="a", key="late", value={})
os._exit(0)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with memoranda.open(path, clock=FixedClock(), durability="relaxed") as store:
        for number in range(50):
            store.write(agent_id="a", key=f"k{number}", value={"text": "x" * 2000})
    return path


def findings(path: Path, *, quick: bool = False, deep: bool = False) -> dict[str, Finding]:
    result = list(diagnose(path, clock=FixedClock(), quick=quick, deep=deep))
    assert len({finding.check for finding in result}) == len(result)
    for finding in result:
        assert finding.message
        assert finding.status == "ok" or finding.remedy or finding.error
    return {finding.check: finding for finding in result}


def troubles(findings: dict[str, Finding]) -> dict[str, tuple[str, str | None]]:
    return {
        name: (finding.status, finding.error)
        for name, finding in findings.items()
        if finding.status != "ok"
    }


def test_a_healthy_store(path: Path) -> None:
    result = findings(path)
    assert troubles(result) == {}
    assert set(result) == {*ALWAYS, "pages", "chain"}
    assert "50" in result["chain"].message
    assert f"format {FORMAT}" in result["store"].message
    assert list(path.parent.iterdir()) == [path]


def test_a_store_that_is_in_use(path: Path) -> None:
    with memoranda.open(path, clock=FixedClock()) as store:
        store.write(agent_id="a", key="k", value={})
        assert troubles(findings(path, deep=True)) == {}
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 52


def test_quick_leaves_out_what_reads_everything(path: Path) -> None:
    tamper(path, "UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 7")
    assert tuple(findings(path, quick=True)) == ALWAYS


def test_a_missing_store(path: Path) -> None:
    result = findings(path.with_name("missing.db"))
    assert troubles(result) == {"file": ("problem", "NotFound")}
    assert "a first write creates one" in (result["file"].remedy or "")
    assert list(path.parent.iterdir()) == [path]
    assert troubles(findings(path.parent)) == {"file": ("problem", "InvalidInput")}


@pytest.mark.parametrize("content", [b"Dear diary, " * 500, b"", b"\0" * 8192])
def test_what_is_no_store(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    result = findings(path)
    assert troubles(result) == {"store": ("problem", "InvalidInput")}
    assert "not a Memoranda store" in result["store"].message
    assert path.read_bytes() == content


def test_a_newer_format(path: Path) -> None:
    tamper(path, "PRAGMA user_version = 99")
    result = findings(path)
    assert troubles(result) == {"store": ("problem", "UnsupportedFormat")}
    assert "upgrade Memoranda" in result["store"].message


def test_a_file_cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)
    assert troubles(findings(path)) == {"store": ("problem", "Corruption")}


@pytest.mark.parametrize(
    ("table", "where", "troubled"),
    [("event", 0, ("clock", "pages", "chain")), ("sqlite_autoindex_state_1", 20, ("pages",))],
)
def test_a_damaged_page(path: Path, table: str, where: int, troubled: tuple[str, ...]) -> None:
    database = apsw.Connection(str(path))
    ((page,),) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    database.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096 + where)
        file.write(b"\xff" * 60)
    result = findings(path)
    assert troubles(result) == dict.fromkeys(troubled, ("problem", "Corruption"))
    if troubled == ("pages",):
        assert result["pages"].message.startswith("SQLite finds damage: Tree ")


def test_a_changed_event(path: Path) -> None:
    tamper(path, "UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 7")
    result = findings(path)
    assert troubles(result) == {"chain": ("problem", "ChainBroken")}
    assert "commit 7" in result["chain"].message


def test_a_changed_view_is_found_in_depth_and_left_as_it_is(path: Path) -> None:
    assert "rows are what the log says" in findings(path, deep=True)["views"].message
    tamper(path, "DELETE FROM state WHERE id = 7")
    assert troubles(findings(path)) == {}
    result = findings(path, deep=True)
    assert troubles(result) == {"views": ("problem", "ViewsDiffer")}
    assert "in: state" in result["views"].message
    assert "memoranda rebuild" in (result["views"].remedy or "")
    assert troubles(findings(path, deep=True)) == {"views": ("problem", "ViewsDiffer")}
    with memoranda.open(path) as store:
        store.rebuild()
    assert troubles(findings(path, deep=True)) == {}


def test_views_of_another_version_are_no_damage(path: Path) -> None:
    tamper(path, "UPDATE meta SET value = '0' WHERE name = 'view:state'")
    result = findings(path, deep=True)
    assert troubles(result) == {}
    assert "rebuilt when opened" in result["views"].message


def test_a_clock_that_was_set_back(path: Path) -> None:
    behind = FixedClock()
    behind.step(-301)
    (finding,) = [item for item in diagnose(path, clock=behind) if item.check == "clock"]
    assert finding.status == "warning"
    assert "ahead of this machine's clock" in finding.message
    assert finding.remedy


def test_a_journal_that_was_left_behind(path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES_WITHOUT_CLOSING, str(path)], check=True)
    result = findings(path)["journal"]
    assert result.status == "warning"
    assert "did not close the store" in result.message
    assert findings(path)["journal"].status == "ok", "opening the store has tidied up"


def test_a_journal_past_its_bound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_MAX_WAL_BYTES", 4096)
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={})
        result = findings(path)["journal"]
    assert result.status == "warning"
    assert "is to stay below 4096" in result.message


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("nfs4", "network file system (nfs4), where locks may not hold: opening"),
        ("fuse.sshfs", "network file system (fuse.sshfs)"),
        ("fuse.grpcfuse", "that may be another machine's"),
        ("9p", "that may be another machine's"),
    ],
)
def test_a_file_system_that_may_be_elsewhere(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, problem: str
) -> None:
    monkeypatch.setattr(placement, "file_system", lambda *_: kind)
    monkeypatch.setattr(health, "file_system", lambda *_: kind)
    result = findings(path)
    assert troubles(result) == {"place": ("warning", None)}
    assert problem in result["place"].message


@pytest.mark.parametrize(
    ("free", "status"), [(10**6, "problem"), (5 * 10**8, "warning"), (10**12, "ok")]
)
def test_free_space(path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str) -> None:
    usage = SimpleNamespace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert findings(path, quick=True)["space"].status == status


@pytest.mark.parametrize(
    ("version", "status"), [("3.51.2", "warning"), ("3.51.3", "ok"), ("3.100.0", "ok")]
)
def test_the_version_of_sqlite(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: str, status: str
) -> None:
    answers = SimpleNamespace(**vars(apsw))
    answers.sqlite_lib_version = lambda: version
    monkeypatch.setattr(health, "apsw", answers)
    result = health.check_version()
    assert (result.status, version in result.message) == (status, True)


def test_a_store_in_memory_has_no_file() -> None:
    with pytest.raises(InvalidInput, match="in memory"):
        list(diagnose(":memory:"))


def test_a_store_that_cannot_be_written_is_looked_at_all_the_same() -> None:
    with open_folder() as folder:
        locked = folder / "locked"
        locked.mkdir()
        with memoranda.open(locked / "store.db", clock=FixedClock()) as store:
            store.write(agent_id="a", key="k", value={})
        (locked / "store.db").chmod(0o644)  # who asks may read it
        locked.chmod(0o555)

        def work() -> None:
            result = findings(locked / "store.db", deep=True)
            assert troubles(result) == {"file": ("warning", None)}, result
            assert {"store", "index", "pages", "chain", "views"} <= result.keys()
            assert "up to commit 1" in result["chain"].message
            assert "cannot be written" in result["file"].message
            assert "nothing can be written beside it" in result["file"].message
            assert "read_only=True" in (result["file"].remedy or "")
            assert "permissions" in (result["file"].remedy or "")
            assert [item.name for item in locked.iterdir()] == ["store.db"]

        run_unprivileged(work)


def test_damage_is_found_where_nothing_can_be_written() -> None:
    with open_folder() as folder:
        locked = folder / "locked"
        locked.mkdir()
        with memoranda.open(locked / "store.db", clock=FixedClock()) as store:
            store.write(agent_id="a", key="k", value={})
        tamper(locked / "store.db", "UPDATE event SET committed_at = committed_at + 1")
        (locked / "store.db").chmod(0o444)
        locked.chmod(0o555)

        def work() -> None:
            result = troubles(findings(locked / "store.db"))
            assert result == {"file": ("warning", None), "chain": ("problem", "ChainBroken")}

        run_unprivileged(work)


def test_a_file_that_cannot_be_written_in_a_folder_that_can() -> None:
    with open_folder() as folder:
        memoranda.open(folder / "store.db").close()
        (folder / "store.db").chmod(0o444)

        def work() -> None:
            assert troubles(findings(folder / "store.db")) == {"file": ("warning", None)}

        run_unprivileged(work)


def test_a_store_that_cannot_be_read() -> None:
    with open_folder() as folder:
        memoranda.open(folder / "store.db").close()
        (folder / "store.db").chmod(0o000)

        def work() -> None:
            result = findings(folder / "store.db")
            assert "cannot be read" in result["file"].message
            assert result["store"].status == "problem"

        run_unprivileged(work)


def tamper(path: Path, statement: str) -> None:
    database = apsw.Connection(str(path))
    database.execute(statement)
    database.close()


def test_what_was_erased_and_may_be_in_the_files_is_told(path: Path) -> None:
    with memoranda.open(path) as store:
        store.bind(agent_id="a").forget(key="k1", purge=False)
    result = findings(path)["erased"]
    assert (result.status, result.remedy) == ("warning", "let it go: `memoranda purge`")
    with memoranda.open(path) as store:
        store.purge()
    assert "erased" not in findings(path)


def test_an_index_of_an_older_version_is_no_damage(path: Path) -> None:
    with memoranda.open(path, clock=FixedClock()) as store:
        his = store.bind(agent_id="bob").remember("his").id
        store.bind(agent_id="ann").touch(his)
    tamper(
        path,
        "DELETE FROM event_scope WHERE scope_id IN"
        " (SELECT id FROM scope WHERE namespace = '_audit')",
    )
    assert troubles(findings(path)) == {"chain": ("problem", "ViewsDiffer")}
    tamper(path, "UPDATE meta SET value = '1' WHERE name = 'view:log'")
    assert troubles(findings(path, deep=True)) == {}
    with memoranda.open(path) as store:
        store.verify(deep=True)
        (touched,) = store.audit_events(agent_id="ann")
        assert touched.event_type == "memory.touched"


def test_signatures_that_do_not_hold(path: Path) -> None:
    with memoranda.open(path, clock=FixedClock()) as store:
        ann = store.bind(agent_id="ann", signer=Signer("ann", bytes(32)))
        for number in range(2):
            ann.write(key="k", value={"n": number})
    assert troubles(findings(path)) == {}
    rechain(path, at(52, with_envelope(txn_id="another")))
    result = findings(path)
    assert troubles(result) == {"chain": ("problem", "NotProven")}
    assert "commit 52" in result["chain"].message


def test_checkpoints_that_do_not_hold(path: Path, tmp_path: Path) -> None:
    ours = memoranda.create_signer(tmp_path / "ours.key", name="example.com/log")
    with memoranda.open(path, clock=FixedClock()) as store:
        store.checkpoint(signer=ours)
    result = findings(path)
    assert troubles(result) == {}
    assert "1 checkpoints fit it" in result["chain"].message
    database = apsw.Connection(str(path))
    database.execute("UPDATE checkpoint SET note = replace(note, 'example', 'exemple')")
    database.close()
    assert troubles(findings(path)) == {"chain": ("problem", "NotProven")}
