"""The entries in a client's configuration, a server and hooks: adding and removing them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoranda.cli.assistants.clients import SERVER_NAME, Client, HookFile
from memoranda.cli.assistants.config_files import ConfigFile
from memoranda.errors import InvalidInput

_OWN_HOOK = re.compile(
    r"\bmemoranda\b.*\shook (session-start|prompt|pre-compact|session-end)\b", re.DOTALL
)


@dataclass(frozen=True)
class Setup:
    """How a client starts our programs."""

    command: tuple[str, ...]
    """The program, and arguments that come before any command."""
    server: tuple[str, ...] = ()
    """The options of `memoranda mcp`."""
    hook: tuple[str, ...] = ()
    """The options of `memoranda hook`."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def entry(self, client: Client) -> dict[str, Any]:
        """Return the entry of our server in the form of the client's configuration."""
        program, *first = self.command
        entry: dict[str, Any] = {"type": "stdio"} if client.has_type else {}
        entry |= {"command": program, "args": [*first, "mcp", *self.server]}
        return entry | ({"env": dict(self.environment)} if self.environment else {})

    def hook_command(self, client: Client, event: str) -> str:
        """Return the command of an event, as a shell reads it."""
        words = [*self.command, "hook", event, "--client", client.name, *self.hook]
        return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def own_command() -> tuple[str, ...]:
    """Return the command that starts this installation from any folder."""
    suffix = ".exe" if sys.platform == "win32" else ""
    script = Path(sysconfig.get_path("scripts")) / f"memoranda{suffix}"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "memoranda")


class Configuration:
    """The files of a client that have our server and our hooks."""

    def __init__(self, client: Client, scope: str, folders: Mapping[str, str]) -> None:
        if scope not in client.files:
            raise InvalidInput("scope", f"{client.title} has no configuration of a {scope}")
        self.client = client
        self._scope = scope
        self._folders = folders
        self._files: dict[Path, ConfigFile] = {}

    @property
    def server_path(self) -> Path:
        """The file that names servers."""
        return Path(self.client.files[self._scope].format_map(self._folders))

    @property
    def hook_path(self) -> Path | None:
        """The file that has hooks; None if the client has none."""
        hooks = self.client.hooks
        return None if hooks is None else Path(hooks.files[self._scope].format_map(self._folders))

    @property
    def files(self) -> Iterator[ConfigFile]:
        """The files that were read so far."""
        yield from self._files.values()

    def server(self) -> dict[str, Any] | None:
        """Return our server as it is configured; None if it is not."""
        entry = self._file(self.server_path, self.client.form).get(
            (self.client.servers, SERVER_NAME)
        )
        return entry if isinstance(entry, dict) else None

    def hook_commands(self) -> list[str]:
        """Return the commands of our hooks, as they are configured."""
        hooks = self.client.hooks
        if hooks is None:
            return []
        file = self._hook_file(hooks)
        return [
            command
            for event in hooks.events
            for group in file.get(("hooks", event)) or ()
            for command in _commands(group)
            if _OWN_HOOK.search(command)
        ]

    def add(self, setup: Setup, *, with_hooks: bool) -> None:
        """Add our server to the files, and our hooks if they are wanted."""
        file = self._file(self.server_path, self.client.form)
        file.is_installed |= self.server() is not None
        file.set((self.client.servers, SERVER_NAME), setup.entry(self.client))
        if with_hooks:
            self._add_hooks(setup)

    def _add_hooks(self, setup: Setup) -> None:
        hooks = _hooks_of(self.client)
        file = self._hook_file(hooks)
        file.is_installed |= bool(self.hook_commands())
        for name, value in hooks.header.items():
            if file.get((name,)) is None:
                file.set((name,), value)
        for event, own_event in hooks.events.items():
            place = ("hooks", event)
            group = hook_group(hooks, setup.hook_command(self.client, own_event))
            index = _own_index(file.get(place))
            if index is None:
                file.append(place, group)
            else:
                file.set((*place, index), group)

    def remove(self) -> None:
        """Remove our server and our hooks from the files, and containers that become empty."""
        file = self._file(self.server_path, self.client.form)
        file.remove((self.client.servers, SERVER_NAME))
        file.remove_empty((self.client.servers,))
        hooks = self.client.hooks
        if hooks is None:
            return
        file = self._hook_file(hooks)
        for event in hooks.events:
            while (index := _own_index(file.get(("hooks", event)))) is not None:
                file.remove(("hooks", event, index))
            file.remove_empty(("hooks", event))
        file.remove_empty(("hooks",))
        if file.get(()) == hooks.header:
            for name in hooks.header:
                file.remove((name,))

    def _hook_file(self, hooks: HookFile) -> ConfigFile:
        path = self.hook_path
        assert path is not None, "the client has hooks"
        return self._file(path, hooks.form)

    def _file(self, path: Path, form: str) -> ConfigFile:
        if path not in self._files:
            self._files[path] = ConfigFile(path, form)
        return self._files[path]


def snippets(client: Client, setup: Setup, *, with_hooks: bool) -> list[tuple[bool, Any]]:
    """Return the planned entries: whether each is a hook, and its members."""
    parts: list[tuple[bool, Any]] = [(False, {client.servers: {SERVER_NAME: setup.entry(client)}})]
    if with_hooks:
        hooks = _hooks_of(client)
        events = {
            event: [hook_group(hooks, setup.hook_command(client, own_event))]
            for event, own_event in hooks.events.items()
        }
        parts.append((True, {**hooks.header, "hooks": events}))
    return parts


def hook_group(hooks: HookFile, command: str) -> dict[str, Any]:
    """Return a hook in the form of the client's configuration."""
    if hooks.is_flat:
        return {"command": command, "timeout": hooks.timeout}
    return {"hooks": [{"type": "command", "command": command, "timeout": hooks.timeout}]}


def _hooks_of(client: Client) -> HookFile:
    if client.hooks is None:
        raise InvalidInput("hooks", f"{client.title} has no hooks that can be installed")
    return client.hooks


def _own_index(groups: Any) -> int | None:
    """Return the index of our group of an event."""
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        if any(_OWN_HOOK.search(command) for command in _commands(group)):
            return index
    return None


def _commands(group: Any) -> list[str]:
    """Return the commands of a group, or of an entry of a flat list."""
    entries = group.get("hooks", [group]) if isinstance(group, dict) else ()
    commands = [entry.get("command") for entry in entries if isinstance(entry, dict)]
    return [command for command in commands if isinstance(command, str)]
