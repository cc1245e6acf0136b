"""What a server process sets for itself: file handles, and the interpreter's intervals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda.calls.key_writes import Write
from memoranda.server import process_limits
from memoranda.server.process_limits import fitting_stores
from tests.grpc_client import GrpcClient
from tests.server_process import ServerProcess


def run(script: str) -> list[str]:
    """Run a script in a process of its own, whose settings are not ours."""
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return process.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_limit_of_file_handles_is_raised_as_far_as_it_can_be() -> None:
    script = """
import resource
from memoranda.server.process_limits import fitting_stores
hard = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 4096)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
print(fitting_stores(100), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print(fitting_stores(1000), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print(fitting_stores(1000), fitting_stores(1))
"""
    assert run(script) == ["100", "2024", "307", "4096", "3", "1"]


def test_fewer_stores_are_worth_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process_limits, "_raise_handle_limit", lambda _: 2048)
    assert fitting_stores(100) == 100
    assert not caplog.records
    assert fitting_stores(500) == 102
    assert "ulimit -n" in caplog.text
    monkeypatch.setattr(process_limits, "_raise_handle_limit", lambda _: None)
    assert fitting_stores(500) == 500


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it looks at open files")
def test_many_stores_are_served_with_few_file_handles(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(16)]
    for name in names:
        memoranda.open(tmp_path / f"{name}.db", embedder=None).close()
    few_handles = ("sh", "-c", 'ulimit -n 96; exec "$@"', "sh")
    with ServerProcess("--stores", str(tmp_path), prefix=few_handles) as server:
        handles = Path(f"/proc/{server.pid}/fd")
        for number in (1, 2):
            for name in names:
                with GrpcClient(server.address, store=name) as client:
                    receipt = client.ask(Write("a", "default", "k", {"n": number}))
                assert receipt.commit_ts == number
                assert len([*handles.iterdir()]) < 96
        server.signal(signal.SIGTERM)
        status, errors = server.wait()
    assert status == 0
    assert "only 4 stores can be open at a time" in errors


@pytest.mark.slow
def test_the_interpreter_is_tuned_in_the_process_of_a_server_only() -> None:
    script = """
import gc, sys
import memoranda.server.serving
print(sys.getswitchinterval(), gc.get_freeze_count())
from memoranda.server.process_limits import tune_interpreter
tune_interpreter()
print(sys.getswitchinterval(), gc.get_freeze_count() > 1000)
"""
    assert run(script) == ["0.005", "0", "0.0005", "True"]


@pytest.mark.slow
def test_signals_do_what_they_did_once_a_server_has_ended(tmp_path: Path) -> None:
    """The event loop of a server leaves its handlers behind, which do nothing any more."""
    script = f"""
import signal
from pathlib import Path
from memoranda.server.process import serve
from memoranda.server.serving import ServerSettings
try:
    serve(ServerSettings(folder=Path({str(tmp_path)!r}), port=0), 0.0, lambda server: 1 / 0)
except ZeroDivisionError:
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""
    assert run(script) == ["True", "True"]
