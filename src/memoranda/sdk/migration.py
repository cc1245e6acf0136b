"""Bringing a file, or a PostgreSQL database, to the format of this version.

A file is migrated by the first program that opens it. Many programs share a database, so only this
module migrates one: an operator upgrades all programs, then runs it once.
"""

from __future__ import annotations

from contextlib import closing

import msgspec

from memoranda.calls.core import all_views
from memoranda.errors import NotFound
from memoranda.sdk.open import check_driver, open_engine, open_engine_to_read
from memoranda.sdk.open import open as open_store
from memoranda.storage.port import Engine, Progress
from memoranda.storage.postgres.database_url import DatabaseUrl, is_database_url, parse_database
from memoranda.storage.sqlite import schema as file_schema
from memoranda.storage.sqlite.schema import FORMAT
from memoranda.storage.store_url import Url, file_of


class MigrationStep(msgspec.Struct, frozen=True):
    """A format, and what is new in it."""

    format: int
    description: str


class MigrationPlan(msgspec.Struct, frozen=True):
    """The steps that bring a store, or all stores of a database, to the format of this version."""

    store: str
    """The path, or the URL without a password."""
    format: int
    """The stored format."""
    target: int
    """The format of this version."""
    steps: tuple[MigrationStep, ...] = ()
    """None if the format is that of this version."""
    views: tuple[str, ...] = ()
    """The views that are built again from the log; those of a database, when a store is opened."""

    @property
    def is_empty(self) -> bool:
        """Whether no step is needed."""
        return not self.steps and not self.views


def plan_migration(url: Url) -> MigrationPlan:
    """Return the plan; raise `UnsupportedFormat` for a newer format."""
    if not is_database_url(url):
        path = file_of("url", url)
        with closing(open_engine_to_read(path)) as engine:
            return _plan(str(path), file_schema.read_format(path), _outdated_views(engine))
    database = parse_database("url", url)
    number = _format_of(database)
    views: tuple[str, ...] = ()
    if database.store and number == FORMAT:
        with closing(open_engine(url, create=False, read_only=True)) as engine:
            views = _outdated_views(engine)
    return _plan(database.name, number, views)


def migrate(url: Url, progress: Progress | None = None) -> MigrationPlan:
    """Execute the plan of `plan_migration`, and return it; at most one process does."""
    plan = plan_migration(url)
    if is_database_url(url):
        database = parse_database("url", url)
        if plan.steps:
            _migrate_database(database)
        if not database.store:
            return plan
    open_store(url, create=False, embedder=None, progress=progress).close()
    return plan


def _plan(store: str, number: int, views: tuple[str, ...]) -> MigrationPlan:
    steps = [MigrationStep(*step) for step in file_schema.describe_steps(number)]
    return MigrationPlan(store, number, FORMAT, tuple(steps), views)


def _outdated_views(engine: Engine) -> tuple[str, ...]:
    with engine.reading() as reader:
        return tuple(view.name for view in all_views().outdated(reader).all)


def _format_of(database: DatabaseUrl) -> int:
    """Return the format of a database's tables; raise if there are none, or newer ones."""
    check_driver()
    from memoranda.storage.postgres.schema import Schema, check_not_newer
    from memoranda.storage.postgres.session import open_session

    with closing(open_session(database.conninfo)) as session:
        number = Schema(session).read_format()
    if number is None:
        raise NotFound(f"{database.name} has no Memoranda stores: open one, which makes the tables")
    check_not_newer(number)
    return number


def _migrate_database(database: DatabaseUrl) -> None:
    from memoranda.storage.postgres.schema import Schema
    from memoranda.storage.postgres.session import open_session

    with closing(open_session(database.conninfo)) as session:
        Schema(session).migrate()
