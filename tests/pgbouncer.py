"""PgBouncer in transaction mode, in front of the PostgreSQL server of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.patience import wait_until
from tests.postgres_server import database_url

_FOLDER = tempfile.gettempdir()
_USER = "embedded_postgres"
_PORT = 6432
"""Part of the name of a socket; nothing listens on the network."""
SERVER_CONNECTIONS = 2
"""Fewer than the clients of any test have."""
PROGRAM = shutil.which("pgbouncer")


@contextmanager
def pgbouncer() -> Iterator[str]:
    """Start PgBouncer; return the URL of the tests' database behind it."""
    assert PROGRAM is not None
    server = conninfo_to_dict(database_url())
    folder = Path(tempfile.mkdtemp(prefix="memoranda-pgbouncer-", dir=_FOLDER))
    target = " ".join(
        f"{name}={server[name]}"
        for name in ("host", "port", "user", "password")
        if server.get(name)
    )
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(
        f"[databases]\n* = {target}\n[pgbouncer]\nlisten_addr =\nlisten_port = {_PORT}\n"
        f"unix_socket_dir = {folder}\nauth_type = any\npool_mode = transaction\n"
        f"default_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\n"
        f"logfile = {folder}/log\n"
    )
    is_root = os.geteuid() == 0
    if is_root:  # it refuses to be run by root
        shutil.chown(folder, _USER)
        shutil.chown(configuration, _USER)
    user = _USER if is_root else None
    process = subprocess.Popen([PROGRAM, "--quiet", str(configuration)], user=user)
    url = f"postgresql://postgres@/{server['dbname']}?host={quote(str(folder))}&port={_PORT}"
    try:
        wait_until(lambda: process.poll() is None and _answers(url))
        yield url
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
