"""Which server a command is about: the folder of its stores, or its only file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memoranda.cli.configuration.option import SettingOption, takes_config
from memoranda.cli.location import location_of
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda.server.control_store import ControlStore
    from memoranda.server.store_catalog import FolderCatalog
    from memoranda.server.tokens import TokenBook

Command = Callable[..., None]
_RANKS = {
    ParameterSource.COMMANDLINE: 3,
    ParameterSource.ENVIRONMENT: 2,
    ParameterSource.DEFAULT_MAP: 1,
}
"""Flags go before the environment, and that before the file."""


@dataclass(frozen=True)
class ServerLocation:
    """The stores of a server: a folder of them, or one file."""

    folder: Path | None
    file: Path | None

    def has_store(self, name: str) -> bool:
        """Say whether the folder has a store of this name."""
        return self.folder is not None and (self.folder / f"{name}.db").exists()

    def catalog(self) -> FolderCatalog:
        """Return the stores of the folder."""
        from memoranda.server.store_catalog import FolderCatalog

        if self.folder is None:
            raise InvalidInput("stores", "is missing: name the folder, or set MEMORANDA_STORES")
        return FolderCatalog(self.folder, f"memoranda {' '.join(_command_names())}")

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

        if self.folder is not None and not self.folder.is_dir():
            raise NotFound(f"there is no folder {self.folder}: make it first", field="stores")
        path = control_path(folder=self.folder, file=self.file)
        if not create and not path.exists():
            raise NotFound(f"there is no token yet: {path} does not exist")
        return ControlStore(path, create=create)


_takes_folder = click.option(
    "--stores",
    cls=SettingOption,
    setting="stores",
    metavar="FOLDER",
    type=click.Path(),
    help="The folder of the server's stores.",
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
        command(ServerLocation(None if stores is None else Path(stores), None), **options)

    return takes_config(_takes_folder(with_folder))


def _location(stores: str | None, db: str | None) -> ServerLocation:
    """Return the folder or the file: whichever has the stronger source, or else the folder."""
    from memoranda.storage.store_url import file_of

    rank_of_stores, rank_of_db = _rank("stores"), _rank("db")
    if rank_of_stores == rank_of_db == _RANKS[ParameterSource.COMMANDLINE]:
        raise InvalidInput("stores", "is given with --db: give one of them")
    if stores is not None and rank_of_stores >= rank_of_db:
        return ServerLocation(Path(stores), None)
    return ServerLocation(None, file_of("url", location_of(db)))


def _rank(name: str) -> int:
    source = click.get_current_context().get_parameter_source(name)
    return 0 if source is None else _RANKS.get(source, 0)


def _command_names() -> list[str]:
    """Return the names of the command that runs, such as `stores drop`."""
    return click.get_current_context().command_path.split()[1:]
