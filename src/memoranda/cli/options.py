"""What every command takes: which store, whose data, and in which form to answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.embedders import chosen
from memoranda.cli.progress import meter
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.sdk.store import Store

Command = Callable[..., None]
_MODE = 0o700


@dataclass(frozen=True)
class Target:
    """The store a command is about, and the scope in it."""

    db: str | None
    agent: str | None
    namespace: str
    as_json: bool

    @property
    def location(self) -> str:
        """Where the store is: what was named, or the user's own."""
        return str(_default_path()) if self.db is None else self.db

    @property
    def whose(self) -> str:
        """The scope, in words."""
        return self.whose_events(all_agents=False, all_namespaces=False)

    def whose_events(self, *, all_agents: bool, all_namespaces: bool) -> str:
        """Whose events of which part of the log, in words."""
        who = "of any agent" if all_agents else f"of agent {self.agent!r}"
        return who if all_namespaces else f"{who} in namespace {self.namespace!r}"

    def make_folder(self) -> None:
        """Make the folder of the user's own store; any other is the user's to make."""
        if self.db is None:
            _make_folder(_default_path().parent)

    @contextmanager
    def store(self, *, create: bool = False, embedder: str | None = None) -> Iterator[Store]:
        """Open the store; only what writes creates one.

        One that cannot be written to is opened for reading, so that only what writes fails.
        """
        import memoranda

        if create:
            self.make_folder()
        with meter("Bringing the store up to date") as progress:
            open_it = partial(
                memoranda.open, self.location, embedder=chosen(embedder), progress=progress
            )
            try:
                opened = open_it(create=create)
            except memoranda.StoreReadOnly:
                if create:
                    raise
                opened = open_it(read_only=True)
        with opened as store:
            yield store.bind(agent_id=self.agent, namespace=self.namespace)

    @contextmanager
    def agents_store(self, *, create: bool = False) -> Iterator[Store]:
        """Open the store for something that is about an agent, which must then be named."""
        if self.agent is None:
            raise InvalidInput("agent_id", "is missing: name an agent, or set MEMORANDA_AGENT")
        with self.store(create=create) as store:
            yield store


_OPTIONS = (
    click.option(
        "--db",
        envvar="MEMORANDA_DB",
        show_envvar=True,
        metavar="PATH|URL",
        type=click.Path(),
        show_default="store.db in the user's data folder",
        help="The store: a path, or sqlite:///path.",
    ),
    click.option(
        "--agent",
        envvar="MEMORANDA_AGENT",
        show_envvar=True,
        metavar="ID",
        help="The agent whose data it is.",
    ),
    click.option(
        "--namespace",
        envvar="MEMORANDA_NAMESPACE",
        show_envvar=True,
        metavar="PATH",
        default="default",
        show_default=True,
        help="The namespace, such as team/eng.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Answer in JSON, on stdout."),
)


def takes_target(command: Command) -> Command:
    """Give a command the options that name a store; it gets them as one `Target`, first."""

    @functools.wraps(command)
    def with_target(
        *, db: str | None, agent: str | None, namespace: str, as_json: bool, **others: Any
    ) -> None:
        command(Target(db, agent, namespace, as_json), **others)

    return _apply(with_target, *_OPTIONS)


def takes_moment(command: Command) -> Command:
    """Give a command `--at`."""
    return _apply(
        command,
        click.option(
            "--at",
            metavar="MOMENT",
            help="As of a commit number, or of a time such as 2026-02-07T10:00:00+01:00.",
        ),
    )


def takes_limit(command: Command) -> Command:
    """Give a command `--limit`."""
    return _apply(
        command,
        click.option(
            "--limit", metavar="N", type=click.IntRange(min=0), help="Stop after so many."
        ),
    )


def _apply(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _default_path() -> Path:
    from platformdirs import user_data_path

    return user_data_path("memoranda") / "store.db"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_MODE)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {folder}: {error.strerror}") from error
