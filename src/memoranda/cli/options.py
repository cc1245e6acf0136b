"""Options that several commands take: store, agent, namespace, embedder, format, fact fields."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memoranda.cli.completion import complete_agent, complete_id, complete_namespace
from memoranda.cli.configuration.option import SettingOption, setting_without_flag, takes_config
from memoranda.cli.location import default_path, location_of
from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.progress import meter
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.sdk.aio.store.store import AsyncStore
    from memoranda.sdk.remote.options import Tls
    from memoranda.sdk.store.store import Store


# The embedder.

NO_EMBEDDER = "none"


def choose_embedder(option: str | None = None) -> str | None:
    """Return the embedder for `memoranda.open`: the option, the setting, or the default."""
    text = option or setting_without_flag("embedder") or "auto"
    return None if text == NO_EMBEDDER else text


def takes_embedder(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--embedder`."""
    option = click.option(
        "--embedder",
        cls=SettingOption,
        setting="embedder",
        metavar="auto|none|onnx:PATH|URL#MODEL",
        show_default="auto",
        help="Embedding model: the local one, none, an ONNX model in a folder, or an endpoint.",
    )
    return option(command)


# The target: the store, the scope in it, and the output format.

Command = Callable[..., None]
_FOLDER_MODE = 0o700
"""Only the user can read the folder: stores hold private data."""
_OPENING = "Updating the store's views"
"""Shown while a store of an older version is rebuilt, which is the only part that takes long."""


@dataclass(frozen=True)
class Target:
    """The store and the scope of a command."""

    db: str | None
    agent: str | None
    namespace: str
    as_json: bool
    token: str | None = None

    @property
    def location(self) -> str:
        """The path or URL of the store: `--db`, or the default path."""
        return location_of(self.db)

    @property
    def name(self) -> str:
        """The path or URL of the store for messages: without a password."""
        from memoranda.storage.postgres.database_url import is_database_url, parse_database_url

        location = self.location
        return parse_database_url("url", location).name if is_database_url(location) else location

    @property
    def is_remote(self) -> bool:
        """Whether a server has the store."""
        from memoranda.storage.server_url import is_server_url

        return is_server_url(self.location)

    @property
    def scope_text(self) -> str:
        """The agent and the namespace, for messages."""
        return self.events_text(all_agents=False, all_namespaces=False)

    def events_text(self, *, all_agents: bool, all_namespaces: bool) -> str:
        """Return the agents and namespaces whose events are read, for messages."""
        agents = "of any agent" if all_agents else f"of agent {self.agent!r}"
        return agents if all_namespaces else f"{agents} in namespace {self.namespace!r}"

    def make_folder(self) -> None:
        """Make the folder of the default store; the folder of any other store must exist."""
        if self.db is None:
            _make_folder(default_path().parent)

    @contextmanager
    def store(self, *, create: bool = False, embedder: str | None = None) -> Iterator[Store]:
        """Open the store for a command that writes, or that searches by vectors.

        Only `create` makes a missing store. A store that cannot be written is opened for reading,
        so that a command fails at its first write and not before.
        """
        import memoranda

        if self.is_remote:
            with self._connect() as remote:
                yield remote
            return
        if create:
            self.make_folder()
        with meter(_OPENING) as progress:
            open_store = partial(
                memoranda.open, create=create, embedder=choose_embedder(embedder), progress=progress
            )
            store = open_store(self.location) if create else self._open_existing(open_store)
        with store:
            yield self._bind(store)

    @contextmanager
    def reader(self, *, embedder: str | None = NO_EMBEDDER) -> Iterator[Store]:
        """Open the store for a command that only reads: start no thread, load no model."""
        from memoranda.sdk.open import open_without_workers

        if self.is_remote:
            with self._connect() as remote:
                yield remote
            return
        with meter(_OPENING) as progress:
            store = self._open_existing(
                partial(open_without_workers, embedder=choose_embedder(embedder), progress=progress)
            )
        with store:
            yield self._bind(store)

    @contextmanager
    def _connect(self) -> Iterator[Store]:
        """Open the store of a server, which has its own embedder, and creates stores itself."""
        import memoranda

        with memoranda.open(self.location, token=self.token, tls=_tls()) as store:
            yield self._bind(store)

    async def open_async(self, *, read_only: bool, embedder: str | None) -> AsyncStore:
        """Open the store for asyncio; a missing one is created, unless it is only read."""
        import memoranda

        if self.is_remote:
            return await memoranda.open_async(self.location, token=self.token, tls=_tls())
        if not read_only:
            self.make_folder()
        return await memoranda.open_async(
            self.location,
            create=not read_only,
            read_only=read_only,
            embedder=choose_embedder(embedder),
        )

    def agent_store(self, *, create: bool = False) -> AbstractContextManager[Store]:
        """Open the store for a command that writes for an agent; refuse if none is named."""
        self._check_agent()
        return self.store(create=create)

    def agent_reader(self) -> AbstractContextManager[Store]:
        """Open the store for a command that reads for an agent; refuse if none is named."""
        self._check_agent()
        return self.reader()

    def _open_existing(self, open_store: Callable[..., Store]) -> Store:
        """Open a store that exists; read-only, if it cannot be written."""
        from memoranda.errors import StoreReadOnly

        try:
            return open_store(self.location)
        except StoreReadOnly:
            return open_store(self.location, read_only=True)

    def _bind(self, store: Store) -> Store:
        return store.bind(agent_id=self.agent, namespace=self.namespace)

    def _check_agent(self) -> None:
        if self.agent is None:
            raise InvalidInput(
                "agent_id",
                "is missing: name one, such as `--agent planner`, or set MEMORANDA_AGENT",
            )


_OPTIONS: Mapping[str, Callable[[Command], Command]] = {
    "db": click.option(
        "--db",
        cls=SettingOption,
        setting="db",
        metavar="PATH|URL",
        type=click.Path(),
        show_default="store.db in the user's data folder",
        help="The store: a path, sqlite:///path, grpc://host:port/store or https://host/store.",
    ),
    "token": click.option(
        "--token",
        cls=SettingOption,
        setting="token",
        metavar="TOKEN",
        help="Token of the caller, for a store of a server.",
    ),
    "agent": click.option(
        "--agent",
        cls=SettingOption,
        setting="agent",
        metavar="ID",
        shell_complete=complete_agent,
        help="The agent that acts, and whose data is read.",
    ),
    "namespace": click.option(
        "--namespace",
        cls=SettingOption,
        setting="namespace",
        metavar="PATH",
        default="default",
        show_default=True,
        shell_complete=complete_namespace,
        help="The namespace, such as team/eng.",
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON."),
}


def takes_target(command: Command) -> Command:
    """Give a command the options of a `Target`, which becomes its first argument."""
    return _with_target(command, *_OPTIONS)


def takes_namespace(command: Command) -> Command:
    """Give a command the options of a `Target` without `--agent`, which would have no effect."""
    return _with_target(command, "db", "token", "namespace", "json")


def takes_store(command: Command) -> Command:
    """Give a command that is about the whole store `--db` and `--json`, as a `Target`."""
    return _with_target(command, "db", "token", "json")


def takes_scope(command: Command) -> Command:
    """Give a command that prints no JSON of its own the other options of a `Target`."""
    return _with_target(command, "db", "token", "agent", "namespace")


takes_url = click.option(
    "--url",
    metavar="URL",
    help="A store of a server, instead of --db: grpc://host:port/store or https://host/store.",
)


def with_url(target: Target, url: str | None) -> Target:
    """Return the target with the store that `--url` names, if it is given."""
    from memoranda.storage.server_url import is_server_url

    if url is None:
        return target
    if is_given("db"):
        raise InvalidInput("url", "is given with --db: give one of them")
    if not is_server_url(url):
        raise InvalidInput("url", f"{url!r} is not the URL of a server: give a file as --db")
    return replace(target, db=url)


def is_given(option: str) -> bool:
    """Say whether an option of the running command was given on the command line."""
    return source_of(option) is ParameterSource.COMMANDLINE


def source_of(option: str) -> ParameterSource:
    """Return the source of an option's value in the running command."""
    return click.get_current_context().get_parameter_source(option) or ParameterSource.DEFAULT


takes_project = click.option(
    "--project",
    metavar="FOLDER",
    help="Use the namespace of the project in this folder, instead of --namespace.",
)


def with_project(target: Target, folder: str | None) -> Target:
    """Return the target with the namespace of a project, if a folder names one."""
    from memoranda.cli.assistants.projects import project_namespace

    if folder is None:
        return target
    if is_given("namespace"):
        raise InvalidInput("project", "is given with --namespace: give one of them")
    return replace(target, namespace=project_namespace(Path(folder)) or target.namespace)


def _with_target(command: Command, *names: str) -> Command:
    @functools.wraps(command)
    def with_target(
        *,
        db: str | None,
        token: str | None,
        as_json: bool = False,
        agent: str | None = None,
        namespace: str = "default",
        **options: Any,
    ) -> None:
        command(Target(db, agent, namespace, as_json, token), **options)

    return takes_config(_apply(with_target, *(_OPTIONS[name] for name in names)))


def takes_moment(command: Command) -> Command:
    """Give a command `--at`."""
    return _apply(
        command,
        click.option(
            "--at",
            metavar="MOMENT",
            help="As of a commit number, a time such as 2026-02-07T10:00:00+01:00, or a date.",
        ),
    )


def takes_limit(command: Command) -> Command:
    """Give a command `--limit`."""
    return _apply(
        command,
        click.option(
            "--limit", metavar="N", type=click.IntRange(min=0), help="Stop after N results."
        ),
    )


def _apply(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _tls() -> Tls | None:
    """Return the certificates that the settings name for connections to a server."""
    from memoranda import Tls

    names = ("root", "certificate", "key")
    files = {name: setting_without_flag(f"tls.{name}") for name in names}
    return Tls(**files) if any(files.values()) else None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {folder}: {error.strerror}") from error


# Facts: subject, relation and object, valid time and transaction time.

KINDS = ("number", "boolean", "date", "time", "text")
"""Kinds of literals; repeated here so that help does not import the engine."""
_REJECTED_SUFFIX = re.compile(r"(\.rejected(\.\d+)?)+$")
"""The end of the name of a file of rejected rows, which has the format of its original."""


class ArgumentGroup(click.Group):
    """A group in which errors name a field by the argument that the command has for it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Store the metavars of the command's arguments for error messages."""
        name, command, remaining = super().resolve_command(ctx, args)
        ctx.meta[FIELD_NAMES] = {
            argument.name.strip("_"): (argument.metavar or argument.name).strip("[]")
            for argument in (command.params if command else ())
            if isinstance(argument, click.Argument) and argument.name is not None
        }
        return name, command, remaining


def takes_parts(*names: str) -> Callable[[Command], Command]:
    """Give a command parts of a fact as arguments; those that end in `?` are optional."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            part, required = name.removesuffix("?"), not name.endswith("?")
            metavar = part.upper() if required else f"[{part.upper()}]"
            parameter = "object_" if part == "object" else part
            command = click.argument(parameter, metavar=metavar, required=required)(command)
        return command

    return decorate


takes_literal = click.option(
    "--literal",
    metavar="KIND",
    type=click.Choice(KINDS),
    help=f"OBJECT is a literal, not an entity: a {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
)
takes_valid_at = click.option("--valid-at", metavar="TIME", help="Valid time; default: now.")
takes_known_at = click.option(
    "--known-at",
    metavar="MOMENT",
    help="Transaction time: as known at a commit number or a time.",
)
_takes_source = click.option(
    "--source",
    metavar="ID",
    shell_complete=complete_id("memory", "transcript"),
    help="The source: a memory or a transcript.",
)
_takes_spans = click.option(
    "--span",
    "spans",
    metavar="START:END",
    multiple=True,
    help="Bytes of the source transcript that support it. Repeatable.",
)


def takes_evidence(command: Command) -> Command:
    """Give a command `--source` and `--span`."""
    return _takes_source(_takes_spans(command))


takes_visibility = click.option(
    "--visibility",
    type=click.Choice(["namespace", "private"]),
    help="Visibility; default: as its source, so facts of a private memory are private.",
)
takes_txn_id = click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries.")
takes_form = click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="Format of the file; default: by its suffix .csv, .jsonl or .ndjson.",
)


def form_of(file: str, form: str | None) -> str:
    """Return the format of a file: the option, or that of its suffix."""
    from memoranda.cli.formats.fact_files import SUFFIXES

    file_format = form or SUFFIXES.get(Path(_REJECTED_SUFFIX.sub("", file)).suffix.lower())
    if file_format is None:
        raise InvalidInput("path", f"{file!r} has no known suffix: give --format csv or jsonl")
    return file_format
