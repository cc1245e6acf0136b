"""Copies that somebody was killed over: found by the doctor, and named by whoever forgets."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import memoranda
from memoranda.sdk.doctor import diagnose
from memoranda.storage.files import leftovers
from tests.unit.cli.runner import Cli

KILLED = """
import os, signal, sys, memoranda
folder, what = sys.argv[1:]
done = []
def die(*_):
    done.append(1)
    if len(done) == 2 or what == "verify":
        os.kill(os.getpid(), signal.SIGKILL)
if what == "restore":
    memoranda.restore(folder + "/kept.db", folder + "/s.db", overwrite=True, progress=die)
elif what == "import":
    memoranda.import_log(folder + "/log.jsonl", folder + "/s.db", progress=die)
store = memoranda.open(folder + "/s.db")
if what == "backup":
    store.backup(folder + "/backup.db", progress=die)
elif what == "fork":
    store.fork(folder + "/fork.db", at=600, progress=die)
else:
    store.verify(deep=True, progress=die)
"""
WORDS = "the cat is called Mimi"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some size, a backup of it and its log."""
    home = tmp_path_factory.mktemp("template")
    with memoranda.open(home / "s.db", durability="relaxed") as store:
        store.write(agent_id="a", key="k", value={"text": WORDS})
        for number in range(600):
            store.write(agent_id="a", key="more", value={"text": f"{number}" + "x" * 10_000})
        store.backup(home / "kept.db")
        store.export_log(home / "log.jsonl")
    return home


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with these, and one for temporary files beside it."""
    apart = tmp_path / "tmp"
    apart.mkdir()
    monkeypatch.setenv("TMPDIR", str(apart))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return Path(shutil.copytree(template, tmp_path / "home"))


def kill(folder: Path, what: str) -> None:
    if what == "import":
        (folder / "s.db").rename(folder / "aside.db")
    command = [sys.executable, "-c", KILLED, str(folder), what]
    ended = subprocess.run(command, env=os.environ, check=False).returncode
    assert ended == -signal.SIGKILL
    if what == "import":
        (folder / "aside.db").rename(folder / "s.db")


@pytest.mark.parametrize("what", ["backup", "fork", "restore", "import", "verify"])
def test_it_is_found_and_named(folder: Path, what: str) -> None:
    path = folder / "s.db"
    (healthy,) = [finding for finding in diagnose(path, quick=True) if finding.check == "store"]
    assert healthy.status == "ok"
    kill(folder, what)
    (result,) = [finding for finding in diagnose(path, quick=True) if finding.check == "copies"]
    assert result.status == "warning"
    with memoranda.open(path) as store:
        (remainder,) = leftovers(path, store.verify().log_id)
        assert not remainder.in_use
        preview = store.bind(agent_id="a").forget(key="k", dry_run=True)
        certificate = store.bind(agent_id="a").forget(key="k")
        assert preview.copies == certificate.copies == (remainder.path,)
        assert store.certificate(certificate.erasure_id).copies == (remainder.path,)
    assert result.remedy is not None
    assert remainder.path in result.remedy
    subprocess.run(result.remedy.partition(": ")[2], shell=True, check=True)
    assert "copies" not in [finding.check for finding in diagnose(path, quick=True)]


@pytest.mark.slow
def test_what_is_of_another_store_is_not(folder: Path) -> None:
    kill(folder, "backup")
    kill(folder, "verify")
    with memoranda.open(folder / "other.db") as store:
        store.write(agent_id="a", key="k", value={})
        assert store.bind(agent_id="a").forget(key="k").copies == ()
    assert "copies" not in [finding.check for finding in diagnose(folder / "other.db", quick=True)]


def test_one_that_is_being_made_is_named_and_left_alone(folder: Path) -> None:
    by_name: list[str] = []
    with memoranda.open(folder / "s.db") as store:

        def look(done: int, total: int) -> None:
            if not by_name:
                (remainder,) = leftovers(folder / "s.db", store.verify().log_id)
                assert remainder.in_use
                by_name.extend(store.bind(agent_id="a").forget(key="k", dry_run=True).copies)
                findings = diagnose(folder / "s.db", quick=True)
                assert "copies" not in [item.check for item in findings]

        store.backup(folder / "backup.db", progress=look)
        assert len(by_name) == 1
        assert store.bind(agent_id="a").forget(key="k").copies == ()


def test_those_of_older_versions_count_too(folder: Path) -> None:
    for old in (
        folder / ".recollect-ab12_x9z",
        folder.with_name("tmp") / "recollect-verify-q1w2e3r4",
    ):
        old.mkdir()
        (old / "some.db").write_text(WORDS)
    with memoranda.open(folder / "s.db") as store:
        assert len(store.bind(agent_id="a").forget(key="k").copies) == 2


def test_the_command_names_them(folder: Path) -> None:
    kill(folder, "backup")
    cli = Cli(folder)
    place = ["--db", folder / "s.db", "--agent", "a"]
    assert "Unfinished copies" in cli("forget", "key", "k", "--dry-run", *place)
    (copy,) = cli.row("forget", "key", "k", "--dry-run", *place)["copies"]
    assert copy in cli("forget", "key", "k", "--yes", *place)
    assert copy in cli("doctor", "--quick", "--db", folder / "s.db")


def test_a_store_in_memory_has_none() -> None:
    with memoranda.open(":memory:") as store:
        store.write(agent_id="a", key="k", value={})
        assert store.bind(agent_id="a").forget(key="k").copies == ()
