"""The programs that run assistants: where each has its configuration, and in which form.

{home} and {project} are folders; {config} is where applications keep their settings: `~/.config` on
Linux, `~/Library/Application Support` on macOS, `%APPDATA%` on Windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Literal

Scope = Literal["user", "project"]
Form = Literal["json", "jsonc", "toml"]

SERVER_NAME = "memoranda"
"""The name of the entry in the configuration of every client."""


@dataclass(frozen=True)
class HookFile:
    """The hook configuration of a client, and the events that we handle."""

    files: Mapping[str, str]
    """Scope -> template of the path."""
    events: Mapping[str, str]
    """Event of the client -> event of `memoranda hook`."""
    form: Form = "json"
    timeout: int = 5
    """The client's timeout for a hook, in the client's unit; our hooks end long before."""
    is_flat: bool = False
    """Whether an event has a flat list of commands instead of groups."""
    header: Mapping[str, object] = field(default_factory=dict)
    """Members that the file needs beside the hooks."""


@dataclass(frozen=True)
class Client:
    """A program that runs an assistant."""

    name: str
    title: str
    files: Mapping[str, str]
    """Scope -> template of the path of the file that names servers."""
    servers: str = "mcpServers"
    """The member that has the servers."""
    form: Form = "json"
    has_type: bool = False
    """Whether an entry needs a member that marks it as a program on standard streams."""
    project: str | None = "."
    """How the server finds the project, if it is installed for all projects; None: it cannot."""
    inherits: bool = True
    """Whether the server gets the whole environment of the client."""
    restart: str = "Restart it"
    hooks: HookFile | None = None


_CLAUDE_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            {"user": "{config}/Claude/claude_desktop_config.json"},
            project=None,
            inherits=False,
        ),
        Client(
            "claude-code",
            "Claude Code",
            {"user": "{claude_json}", "project": "{project}/.mcp.json"},
            has_type=True,
            restart="Start a new session; /mcp shows its servers",
            hooks=HookFile(
                {
                    "user": "{claude}/settings.json",
                    "project": "{project}/.claude/settings.local.json",
                },
                _CLAUDE_EVENTS,
            ),
        ),
        Client(
            "cursor",
            "Cursor",
            {"user": "{home}/.cursor/mcp.json", "project": "{project}/.cursor/mcp.json"},
            form="jsonc",
            project="${workspaceFolder}",
            hooks=HookFile(
                {"user": "{home}/.cursor/hooks.json", "project": "{project}/.cursor/hooks.json"},
                {
                    "sessionStart": "session-start",
                    "beforeSubmitPrompt": "prompt",
                    "preCompact": "pre-compact",
                    "sessionEnd": "session-end",
                },
                form="jsonc",
                is_flat=True,
                header={"version": 1},
            ),
        ),
        Client(
            "vscode",
            "VS Code",
            {"user": "{config}/Code/User/mcp.json", "project": "{project}/.vscode/mcp.json"},
            servers="servers",
            form="jsonc",
            has_type=True,
            restart="Run the command `MCP: List Servers` to start it",
        ),
        Client(
            "codex",
            "Codex",
            {"user": "{codex}/config.toml", "project": "{project}/.codex/config.toml"},
            servers="mcp_servers",
            form="toml",
            inherits=False,
            restart="Start a new session; /mcp shows its servers, /hooks asks you to trust hooks",
            hooks=HookFile(
                {"user": "{codex}/hooks.json", "project": "{project}/.codex/hooks.json"},
                {
                    "SessionStart": "session-start",
                    "UserPromptSubmit": "prompt",
                    "PreCompact": "pre-compact",
                    "Stop": "session-end",  # after each answer: not every version has an end
                },
            ),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            {"user": "{home}/.gemini/settings.json", "project": "{project}/.gemini/settings.json"},
            form="jsonc",
            restart="Start a new session; /mcp shows its servers",
            hooks=HookFile(
                {
                    "user": "{home}/.gemini/settings.json",
                    "project": "{project}/.gemini/settings.json",
                },
                {
                    "SessionStart": "session-start",
                    "BeforeAgent": "prompt",
                    "PreCompress": "pre-compact",
                    "SessionEnd": "session-end",
                },
                form="jsonc",
                timeout=5000,
            ),
        ),
    )
}
HOOK_CLIENTS = tuple(name for name, client in CLIENTS.items() if client.hooks is not None)


def folders(platform: str, environment: Mapping[str, str], project: PurePath) -> dict[str, str]:
    """Return the folders that templates of paths name, on a platform."""
    home = environment.get("USERPROFILE" if platform == "win32" else "HOME") or str(Path.home())
    config = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    if platform == "darwin":
        config = f"{home}/Library/Application Support"
    elif platform == "win32":
        config = environment.get("APPDATA") or f"{home}/AppData/Roaming"
    claude = environment.get("CLAUDE_CONFIG_DIR")
    return {
        "home": home,
        "config": config,
        "project": str(project),
        "claude": claude or f"{home}/.claude",
        "claude_json": f"{claude or home}/.claude.json",
        "codex": environment.get("CODEX_HOME") or f"{home}/.codex",
    }
