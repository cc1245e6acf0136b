"""Hooks as processes: whatever happens, they end in time, with 0, and nothing but the digest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import memoranda
from tests.patience import HANG_SECONDS

HOOK = (sys.executable, "-m", "memoranda", "hook")
FAILING = """
import sys
from memoranda.cli.assistants import hook_run
def fail(*arguments): raise KeyError("a bug")
hook_run.HookRun.run = fail
sys.argv = ["memoranda", "hook", "prompt"]
from memoranda.__main__ import main
main()
"""
HANGING = """
import sys, time
from memoranda.cli.assistants import hook_run
def hang(*arguments):
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(3600)
hook_run.HookRun._run = hang
sys.argv = ["memoranda", "hook", "prompt"]
from memoranda.__main__ import main
main()
"""
"""A store that hangs, once everything is imported."""


LOCKING = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def environment(db: Path, **others: str) -> dict[str, str]:
    names = ("MEMORANDA_AGENT", "MEMORANDA_NAMESPACE", "MEMORANDA_TOKEN", "CLAUDE_PROJECT_DIR")
    base = {name: value for name, value in os.environ.items() if name not in names}
    limit = str(HANG_SECONDS)  # no test depends on the speed of the machine
    return {**base, "MEMORANDA_DB": str(db), "MEMORANDA_HOOK_SECONDS": limit, **others}


def run(
    *arguments: str, env: Mapping[str, str], stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        arguments,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        env=env,
        capture_output=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.fixture
def session(tmp_path: Path) -> bytes:
    """The event of a session with one message."""
    transcript = tmp_path / "session.jsonl"
    record = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hello"}}
    transcript.write_text(json.dumps(record) + "\n", "utf-8")
    members = {"session_id": "s1", "transcript_path": str(transcript), "prompt": "hello"}
    return json.dumps(members).encode()


def test_a_store_that_hangs_is_left_at_the_limit(tmp_path: Path) -> None:
    memoranda.open(tmp_path / "store.db", embedder=None).close()
    env = environment(tmp_path / "store.db", MEMORANDA_HOOK_SECONDS="0.5")
    process = run(sys.executable, "-c", HANGING, env=env, stdin=b"{}")
    assert (process.returncode, process.stdout) == (0, b"")
    assert b"out of time" in process.stderr


def test_a_pipe_that_is_never_closed_is_left_at_the_limit(tmp_path: Path) -> None:
    env = environment(tmp_path / "store.db", MEMORANDA_HOOK_SECONDS="0.5")
    with subprocess.Popen(
        [*HOOK, "prompt"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        assert process.wait(HANG_SECONDS) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


@pytest.mark.slow
def test_a_locked_store_is_left_and_the_next_hook_goes_on(tmp_path: Path, session: bytes) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, embedder=None) as store:
        store.bind(agent_id="assistant").remember("hello is what we say")
    with subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"locked\n"
        env = environment(path, MEMORANDA_HOOK_SECONDS="3")
        process = run(*HOOK, "prompt", env=env, stdin=session)
        assert process.returncode == 0
        assert process.stderr != b""
        holder.stdin.close()
    assert run(*HOOK, "session-end", env=environment(path), stdin=session).stderr == b""
    with memoranda.open(path, create=False, embedder=None) as store:
        assert len(list(store.list_transcripts())) == 1


@pytest.mark.parametrize("event", ["session-start", "session-end"])
def test_a_missing_store_is_no_error(event: str, tmp_path: Path) -> None:
    process = run(*HOOK, event, env=environment(tmp_path / "store.db"), stdin=b"{}")
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("stdin", [b"{", None])
def test_what_is_no_event_is_none(stdin: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = run(*HOOK, "prompt", env=environment(path), stdin=stdin)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


def test_a_closed_stdin_is_no_event(tmp_path: Path) -> None:
    env = environment(tmp_path / "store.db")
    command = " ".join((*HOOK, "prompt", "<&-"))
    process = subprocess.run(command, shell=True, env=env, capture_output=True, check=False)
    assert (process.returncode, process.stdout) == (0, b"")


@pytest.mark.parametrize(
    "arguments", [("--bogus",), ("prompt", "--bogus"), ("prompt", "--url", "x")]
)
def test_a_wrong_command_does_not_block_the_prompt(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    process = run(*HOOK, *arguments, env=environment(tmp_path / "store.db"), stdin=b"{}")
    assert process.returncode == 0, "2 would tell a client to refuse the prompt"
    assert process.stderr or process.stdout


def test_a_damaged_store_is_reported_on_stderr(tmp_path: Path, session: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database" * 100)
    process = run(*HOOK, "prompt", env=environment(path), stdin=session)
    assert (process.returncode, process.stdout) == (0, b"")
    assert process.stderr.startswith(b"memoranda hook prompt: ")


@pytest.mark.slow
def test_a_transcript_that_cannot_be_read_is_reported_after_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, embedder=None) as store:
        store.bind(agent_id="assistant").remember("The server is called heron")
    event = {"session_id": "s1", "transcript_path": str(tmp_path)}
    process = run(*HOOK, "session-start", env=environment(path), stdin=json.dumps(event).encode())
    assert process.returncode == 0
    assert b"heron" in process.stdout
    assert b"Is a directory" in process.stderr


def test_an_error_that_nobody_expects_succeeds_too(tmp_path: Path) -> None:
    env = environment(tmp_path / "store.db")
    process = run(sys.executable, "-c", FAILING, env=env, stdin=b"{}")
    assert (process.returncode, process.stdout) == (0, b"")
    assert b"KeyError: 'a bug'" in process.stderr


def test_help_of_hooks_is_printed_whole(tmp_path: Path) -> None:
    process = run(*HOOK, "session-start", "--help", env=environment(tmp_path / "store.db"))
    assert b"--namespace" in process.stdout


def test_the_limit_is_below_two_seconds_with_the_start_of_the_interpreter() -> None:
    from memoranda.cli.assistants.time_limit import SECONDS

    assert SECONDS <= 1.5
