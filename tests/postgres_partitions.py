"""Tables that are partitioned by the store: what distributed databases do, on one server.

`MEMORANDA_TEST_DISTRIBUTE=partitions` makes the tables of every test like this.
"""

from __future__ import annotations

import re

import psycopg

from memoranda.storage import query_loader
from memoranda.storage.postgres.schema import FIRST_FORMAT, stored_steps
from memoranda.storage.sqlite.schema import FORMAT

_PARTITIONS = 4
_OF_A_STORE = re.compile(
    r"CREATE TABLE memoranda\.(?!store )(\w+) \(\n    store_id.*?\n\)", re.DOTALL
)


def create_partitioned_tables(url: str) -> None:
    """Create our tables in an empty database, each in partitions by a hash of the store."""
    script = query_loader.read_sql("memoranda.storage.postgres", "schema.sql")
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE SCHEMA memoranda")
        database.execute(_OF_A_STORE.sub(r"\g<0> PARTITION BY HASH (store_id)", script).encode())
        for table in _OF_A_STORE.findall(script):
            for number in range(_PARTITIONS):
                database.execute(
                    f"CREATE TABLE memoranda.{table}_p{number} PARTITION OF memoranda.{table} "
                    f"FOR VALUES WITH (MODULUS {_PARTITIONS}, REMAINDER {number})".encode()
                )
        for step in stored_steps(FIRST_FORMAT):
            database.execute(step.script.encode())
        database.execute("INSERT INTO memoranda.format (number) VALUES (%s)", (FORMAT,))
