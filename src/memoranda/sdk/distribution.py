"""Distributing a PostgreSQL database of stores over several nodes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput
from memoranda.sdk.open import check_driver
from memoranda.storage.postgres.database_url import is_database_url, parse_database

if TYPE_CHECKING:
    from memoranda.storage.postgres.distribution import Distribution


def distribute_database(url: str) -> Distribution:
    """Distribute the tables of a database on Citus by the store; make them if there are none."""
    if not is_database_url(url):
        raise InvalidInput("url", "is no PostgreSQL database: give postgresql://host/database")
    database = parse_database("url", url)
    check_driver()
    from memoranda.storage.postgres.distribution import distribute
    from memoranda.storage.postgres.schema import Schema
    from memoranda.storage.postgres.session import open_session

    with closing(open_session(database.conninfo)) as session:
        Schema(session).prepare(create=True)
        return distribute(session)
