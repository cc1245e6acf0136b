"""What an erasure leaves of events that an older release wrote is reported: nothing proves it."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import pytest

import memoranda
import memoranda_verify
from memoranda import ALL_AGENTS, ALL_NAMESPACES
from memoranda.cli import exit_codes
from tests.unit.cli.runner import Cli

HERE = Path(__file__).parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of an older release in which a memory was forgotten since."""
    path = tmp_path / "old.db"
    shutil.copy(HERE / "0.6.0.db", path)
    with memoranda.open(path) as store:
        before = store.verify().unproven
        first = next(iter(store.list_memories(namespace="team")))
        store.forget(memory_id=first.id)
        assert store.verify().unproven > before
    return path


def test_places_that_nothing_proves_are_counted(path: Path) -> None:
    with memoranda.open(path) as store:
        report = store.verify(deep=True)
        assert report.unproven > 0
        marked = [event for event in store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES)
                  if event.unproven]  # fmt: skip
        assert marked
        opened = BytesIO()
        store.export_log(opened)
    opened.seek(0)
    reports = memoranda_verify.check_log(opened, [])
    assert reports["unproven"] == report.unproven
    log = path.with_suffix(".jsonl")
    log.write_bytes(opened.getvalue())
    assert memoranda_verify.main(["log", str(log)]) == memoranda_verify.UNPROVEN


def test_a_command_ends_with_a_code_of_its_own(path: Path, tmp_path: Path) -> None:
    command = Cli(tmp_path)
    for form in ((), ("--json",)):
        result = command.run("verify", *form, env={"MEMORANDA_DB": str(path)})
        assert result.exit_code == exit_codes.UNPROVEN
