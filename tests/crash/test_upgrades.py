"""A server is replaced by one of a newer version: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda import UnsupportedFormat
from memoranda.storage.sqlite import schema
from tests.crash.server.campaign import Campaign, Plan, free_port
from tests.crash.server.versions import OtherVersion, unpack_released
from tests.crash.stores import scratch
from tests.crash.test_newer_versions import VERIFY, newer, run_with

OVER_GRPC = ("grpc", "grpc", "grpc", "grpc")


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as folder:
        yield folder


def test_the_released_package_is_another_one(tmp_path: Path) -> None:
    package = unpack_released(tmp_path)
    output = subprocess.run(
        [sys.executable, "-c", "import memoranda; print(memoranda.__file__)"],
        env=os.environ | {"PYTHONPATH": str(package)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert Path(output.strip()).is_relative_to(tmp_path)


@pytest.mark.slow
def test_a_server_of_the_last_release_is_replaced_under_load(folder: Path) -> None:
    released = folder / "released"
    plan = Plan(3, "upgrade", schemes=OVER_GRPC, previous=str(unpack_released(released)))
    report = Campaign(folder / "campaign", plan).run()
    assert report.acknowledged > 32, "every client did something"
    assert report.across > 0, "a write was sent to one version and answered by another"
    assert not report.errors_of_patient, "who waits for the next server notices nothing"


@pytest.mark.slow
def test_a_handle_of_the_old_version_does_not_write_under_the_new_server(folder: Path) -> None:
    number = schema.FORMAT + 1
    changed = folder / "newer"
    changed.mkdir()
    package = newer(changed, "storage/sqlite/schema.py", r"^FORMAT = \d+$", f"FORMAT = {number}")
    migration = package / "storage" / "sqlite" / "migrations" / f"{number}.sql"
    migration.write_text("CREATE TABLE newer (id INTEGER PRIMARY KEY) STRICT;\n", "utf-8")
    path, address = folder / "store.db", f"127.0.0.1:{free_port(Random('upgrade'))}"
    arguments = ["--db", str(path), "--grpc", address, "--no-tokens"]
    this = Path(memoranda.__file__).parents[1]
    server = OtherVersion(this, arguments, folder / "stderr")
    try:
        with (
            memoranda.open(path, embedder=None) as handle,
            memoranda.open(f"grpc://{address}", timeout=300) as client,
        ):
            for store in (handle, client):
                store.write(agent_id="a", key="k", value={"before": True})
            server.kill()
            server = OtherVersion(changed, arguments, folder / "stderr")
            client.write(agent_id="a", key="k", value={"after": True})
            with pytest.raises(UnsupportedFormat, match=f"has format {number} by now.*upgrade"):
                handle.write(agent_id="a", key="k", value={"lost": True})
            state = handle.get_state(agent_id="a", key="k")
            assert state is not None
            assert (state.value, state.version) == ({"after": True}, 3), "reads go on"
    finally:
        server.kill()
    assert run_with(package, VERIFY, path) == "3"
