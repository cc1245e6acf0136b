"""The location of a server's stores: a folder, a database, or a single file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from memoranda.cli.configuration.option import SettingOption, takes_config
from memoranda.cli.location import location_of
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda.server.control_store import ControlStore
    from memoranda.server.database_catalog import DatabaseCatalog
    from memoranda.server.store_catalog import FolderCatalog
    from memoranda.server.tokens import TokenBook

Command = Callable[..., None]
_RANKS = {
    ParameterSource.COMMANDLINE: 3,
    ParameterSource.ENVIRONMENT: 2,
    ParameterSource.DEFAULT_MAP: 1,
}
"""Sources by precedence: flags, the environment, the file."""


@dataclass(frozen=True)
class ServerLocation:
    """The stores of a server: a folder of them, one file, or a PostgreSQL database."""

    folder: Path | None = None
    file: Path | None = None
    database: str | None = None
    """The URL of a database of stores; with `?store=name`, of the only store."""

    @property
    def has_many(self) -> bool:
        """Whether there may be several stores."""
        from memoranda.storage.postgres.database_url import parse_database

        if self.database is not None:
            return not parse_database("stores", self.database).store
        return self.folder is not None

    def has_store(self, name: str) -> bool:
        """Say whether there is a store of this name."""
        with self.catalog() as catalog:
            return name in catalog.names()

    @contextmanager
    def catalog(self) -> Iterator[FolderCatalog | DatabaseCatalog]:
        """Return the stores of the folder, or of the database."""
        from memoranda.server.store_catalog import FolderCatalog

        address = f"memoranda {' '.join(_command_names())}"
        if self.folder is not None:
            yield FolderCatalog(self.folder, address)
        elif self.database is not None:
            from memoranda.sdk.open import check_driver

            check_driver()
            from memoranda.server.database_catalog import DatabaseCatalog
            from memoranda.storage.postgres.database_url import parse_database

            with closing(
                DatabaseCatalog(parse_database("stores", self.database), address)
            ) as catalog:
                yield catalog
        else:
            raise InvalidInput("stores", "is missing: name the folder, or set MEMORANDA_STORES")

    @contextmanager
    def directory(self) -> Iterator[DatabaseCatalog]:
        """Return the stores of the database, which may be on several servers."""
        if self.database is None:
            raise InvalidInput(
                "stores", "is no database: servers have those of postgresql://host/database"
            )
        with self.catalog() as catalog:
            yield cast("DatabaseCatalog", catalog)

    @contextmanager
    def existing_tokens(self) -> Iterator[TokenBook | None]:
        """Open the tokens of the server; None if there are none yet."""
        try:
            control = self.control_store()
        except NotFound:
            yield None
            return
        with control:
            yield control.tokens

    def control_store(self, *, create: bool = False) -> ControlStore:
        """Open the control store of the server; only `create` makes a missing one."""
        from memoranda.server.control_store import ControlStore, control_path

        if self.database is not None:
            return self._control_store_in_database(self.database, create=create)
        if self.folder is not None and not self.folder.is_dir():
            raise NotFound(f"there is no folder {self.folder}: make it first", field="stores")
        path = control_path(folder=self.folder, file=self.file)
        if not create and not path.exists():
            raise NotFound(f"there is no token yet: {path} does not exist")
        return ControlStore(path, create=create)

    def _control_store_in_database(self, url: str, *, create: bool) -> ControlStore:
        from memoranda.sdk.open import check_driver
        from memoranda.server.control_store import ControlStore
        from memoranda.storage.postgres.database_url import parse_database

        check_driver()
        from memoranda.server.database_catalog import control_store_url

        database = parse_database("stores", url)
        try:
            return ControlStore(control_store_url(database), create=create)
        except NotFound:
            raise NotFound(f"there is no token yet in {database.name}") from None


_takes_folder = click.option(
    "--stores",
    cls=SettingOption,
    setting="stores",
    metavar="FOLDER|URL",
    type=click.Path(),
    help="The folder of the server's stores, or their database: postgresql://host/database.",
)


def takes_server(command: Command) -> Command:
    """Give a command `--stores` and `--db`, as a `ServerLocation`, which is its first argument."""

    @functools.wraps(command)
    def with_server(*, stores: str | None, db: str | None, **options: Any) -> None:
        command(_location(stores, db), **options)

    db = click.option(
        "--db",
        cls=SettingOption,
        setting="db",
        metavar="PATH|URL",
        type=click.Path(),
        help="The only store of the server, if it has no folder of them.",
    )
    return takes_config(_takes_folder(db(with_server)))


def takes_stores(command: Command) -> Command:
    """Give a command `--stores`, as a `ServerLocation`, which is its first argument."""

    @functools.wraps(command)
    def with_folder(*, stores: str | None, **options: Any) -> None:
        command(_many(stores), **options)

    return takes_config(_takes_folder(with_folder))


def _location(stores: str | None, db: str | None) -> ServerLocation:
    """Return the folder or the file: the one with the stronger source, else the folder."""
    from memoranda.storage.postgres.database_url import is_database_url, parse_database_url
    from memoranda.storage.store_url import file_of

    rank_of_stores, rank_of_db = _rank("stores"), _rank("db")
    if rank_of_stores == rank_of_db == _RANKS[ParameterSource.COMMANDLINE]:
        raise InvalidInput("stores", "is given with --db: give one of them")
    if stores is not None and rank_of_stores >= rank_of_db:
        return _many(stores)
    if is_database_url(db):
        parse_database_url("url", db)  # it names one store
        return ServerLocation(database=db)
    return ServerLocation(file=file_of("url", location_of(db)))


def _many(stores: str | None) -> ServerLocation:
    """Return the folder or the database that `--stores` names."""
    from memoranda.storage.postgres.database_url import is_database_url, parse_database

    if not is_database_url(stores):
        return ServerLocation(folder=None if stores is None else Path(stores))
    if parse_database("stores", stores).store:
        raise InvalidInput("stores", "names one store: give the URL as --db, or without ?store=")
    return ServerLocation(database=stores)


def _rank(name: str) -> int:
    source = click.get_current_context().get_parameter_source(name)
    return 0 if source is None else _RANKS.get(source, 0)


def _command_names() -> list[str]:
    """Return the names of the command that runs, such as `stores drop`."""
    return click.get_current_context().command_path.split()[1:]
