"""`memoranda mcp install`: the configuration of each client, on each platform, and back again."""

from __future__ import annotations

import json
import os
import shlex
import stat
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from memoranda.cli.assistants.clients import CLIENTS, HOOK_CLIENTS, folders
from memoranda.cli.assistants.configuration import own_command
from memoranda.cli.assistants.projects import project_namespace, project_root
from tests.unit.cli.runner import Cli

USAGE = 2
LINUX = {"HOME": "/home/ann"}
MACOS = {"HOME": "/Users/ann"}
WINDOWS = {"USERPROFILE": "C:/Users/ann", "APPDATA": "C:/Users/ann/AppData/Roaming"}
USER_FILES = {
    ("linux", "claude-desktop"): "/home/ann/.config/Claude/claude_desktop_config.json",
    ("linux", "claude-code"): "/home/ann/.claude.json",
    ("linux", "cursor"): "/home/ann/.cursor/mcp.json",
    ("linux", "vscode"): "/home/ann/.config/Code/User/mcp.json",
    ("linux", "codex"): "/home/ann/.codex/config.toml",
    ("linux", "gemini"): "/home/ann/.gemini/settings.json",
    (
        "darwin",
        "claude-desktop",
    ): "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json",
    ("darwin", "claude-code"): "/Users/ann/.claude.json",
    ("darwin", "cursor"): "/Users/ann/.cursor/mcp.json",
    ("darwin", "vscode"): "/Users/ann/Library/Application Support/Code/User/mcp.json",
    ("darwin", "codex"): "/Users/ann/.codex/config.toml",
    ("darwin", "gemini"): "/Users/ann/.gemini/settings.json",
    (
        "win32",
        "claude-desktop",
    ): "C:/Users/ann/AppData/Roaming/Claude/claude_desktop_config.json",
    ("win32", "claude-code"): "C:/Users/ann/.claude.json",
    ("win32", "cursor"): "C:/Users/ann/.cursor/mcp.json",
    ("win32", "vscode"): "C:/Users/ann/AppData/Roaming/Code/User/mcp.json",
    ("win32", "codex"): "C:/Users/ann/.codex/config.toml",
    ("win32", "gemini"): "C:/Users/ann/.gemini/settings.json",
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}


def test_every_client_has_its_place_on_every_platform() -> None:
    environments = {"linux": LINUX, "darwin": MACOS, "win32": WINDOWS}
    for (platform, name), path in USER_FILES.items():
        places = folders(platform, environments[platform], PurePosixPath("/work"))
        assert CLIENTS[name].files["user"].format_map(places) == path
    for name, client in CLIENTS.items():
        places = folders("linux", LINUX, PurePosixPath("/work"))
        path = client.files.get("project", "").format_map(places)
        assert path == (f"/work/{PROJECT_FILES[name]}" if name in PROJECT_FILES else "")


def test_variables_of_the_clients_move_their_files() -> None:
    variables = {"CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "XDG_CONFIG_HOME": "/x"}
    places = folders("linux", {**LINUX, **variables}, PurePosixPath("/work"))
    paths = [CLIENTS[name].files["user"].format_map(places) for name in CLIENTS]
    assert paths[:2] == ["/x/Claude/claude_desktop_config.json", "/d/.claude.json"]
    assert paths[3:5] == ["/x/Code/User/mcp.json", "/c/config.toml"]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A user with a home of their own, in the folder of a project."""
    project = tmp_path / "webshop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    cli = Cli(tmp_path)
    for name in ("MEMORANDA_DB", "MEMORANDA_AGENT", "XDG_CONFIG_HOME", "CODEX_HOME"):
        cli.env[name] = None
    cli.env["CLAUDE_CONFIG_DIR"] = None
    cli.env["MEMORANDA_TOKEN"] = None
    return cli


def config(user: Cli, client: str, scope: str = "user") -> Path:
    places = folders("linux", {"HOME": str(user.home)}, Path.cwd())
    return Path(CLIENTS[client].files[scope].format_map(places))


def entry(path: Path, client: str) -> dict[str, Any]:
    text = path.read_text("utf-8")
    value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    server: dict[str, Any] = value[CLIENTS[client].servers]["memoranda"]
    return server


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_is_installed_once_and_taken_out_again(user: Cli, client: str) -> None:
    install = ("mcp", "install", "--client", client)
    path = config(user, client)
    assert user(*install) == f"wrote {path}\n"
    server = entry(path, client)
    assert server["command"] == own_command()[0]
    assert Path(server["command"]).is_absolute()
    assert server["args"][0] == "mcp"
    before = path.read_bytes()
    result = user.run(*install)
    assert (result.stdout, path.read_bytes()) == ("", before)
    assert "nothing to change" in result.stderr
    assert user(*install, "--undo") == f"removed {path}\n"
    assert not path.exists()
    assert [*path.parent.glob("*memoranda*")] == []
    assert "nothing to undo" in user.run(*install, "--undo").stderr


OTHERS = {
    "json": '{"numStartups": 7,\n "mcpServers": {"other": {"command": "x"}}}',
    "jsonc": '{\n  // mine\n  "mcpServers": {"other": {"command": "x"},},\n}\n',
    "toml": "model = 'x' # mine\n[mcp_servers.other]\ncommand = 'x'\n",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_else_is_in_the_file_stays(user: Cli, client: str) -> None:
    path = config(user, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = OTHERS[CLIENTS[client].form].replace("mcpServers", CLIENTS[client].servers)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    install = ("mcp", "install", "--client", client)
    user(*install)
    changed = path.read_text("utf-8")
    assert "other" in changed
    assert ("mine" in text) == ("mine" in changed)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    backup = path.with_name(path.name + ".memoranda-backup")
    assert backup.read_text("utf-8") == text
    user(*install, "--agent", "ann")
    assert "ann" in path.read_text("utf-8")
    assert backup.read_text("utf-8") == text, "the version without our entry"
    assert user(*install, "--undo") == f"restored {path}\n"
    assert path.read_text("utf-8") == text
    assert not backup.exists()


def test_undoing_keeps_what_was_changed_since(user: Cli) -> None:
    path = config(user, "cursor")
    install = ("mcp", "install", "--client", "cursor")
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"a": {}}}', "utf-8")
    user(*install)
    path.write_text(path.read_text("utf-8").replace('"a"', '"b"'), "utf-8")
    user(*install, "--undo")
    assert json.loads(path.read_text("utf-8")) == {"mcpServers": {"b": {}}}


def test_a_link_to_a_file_stays_a_link(user: Cli) -> None:
    dotfiles = user.home / "dotfiles.json"
    dotfiles.write_text("{}", "utf-8")
    path = config(user, "claude-code")
    path.symlink_to(dotfiles)
    user("mcp", "install", "--client", "claude-code")
    assert path.is_symlink()
    assert "memoranda" in dotfiles.read_text("utf-8")


@pytest.mark.parametrize(
    ("client", "text", "problem"),
    [
        ("claude-code", "{ // no comments here\n}", "is not JSON"),
        ("claude-code", "[]", "is not a JSON object"),
        ("cursor", "{", "is not JSON"),
        ("codex", "a = ", "is not TOML"),
        ("codex", "mcp_servers = { memoranda = {} }", "cannot be edited"),
        ("gemini", '{"mcpServers": []}', "cannot be edited"),
        ("vscode", "\udcff", "is not JSON"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(
    user: Cli, client: str, text: str, problem: str
) -> None:
    path = config(user, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", errors="surrogateescape")
    message = user.fails(USAGE, "mcp", "install", "--client", client)
    assert str(path) in message
    assert problem in message
    assert "nothing was changed" in message
    assert path.read_bytes() == text.encode(errors="surrogateescape")


# The store and its scope.


def test_each_project_has_a_namespace_of_its_own(user: Cli) -> None:
    user("mcp", "install", "--client", "claude-code")
    assert entry(config(user, "claude-code"), "claude-code")["args"] == ["mcp", "--project", "."]
    user("mcp", "install", "--client", "claude-code", "--scope", "project")
    arguments = entry(Path(".mcp.json"), "claude-code")["args"]
    assert arguments == ["mcp", "--namespace", project_namespace(Path.cwd())]


def test_the_store_is_named_absolutely(user: Cli) -> None:
    options = ("--db", "a.db", "--agent", "me", "--namespace", "team", "--tools", "full")
    user("mcp", "install", "--client", "gemini", *options)
    assert entry(config(user, "gemini"), "gemini")["args"] == [
        *("mcp", "--db", str(Path.cwd() / "a.db"), "--agent", "me"),
        *("--namespace", "team", "--tools", "full"),
    ]
    url = "grpcs://memory.example:7420/acme"
    user("mcp", "install", "--client", "gemini", "--url", url, "--token", "secret")
    server = entry(config(user, "gemini"), "gemini")
    assert server["args"][:3] == ["mcp", "--db", url]
    assert server["env"] == {"MEMORANDA_TOKEN": "secret"}
    assert "secret" not in str(server["args"])


def test_settings_of_the_user_are_left_to_their_file(user: Cli) -> None:
    file = user.home / ".config" / "memoranda" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('agent = "me"\nnamespace = "team"\ndb = "a.db"\n', "utf-8")
    user("mcp", "install", "--client", "gemini")
    assert entry(config(user, "gemini"), "gemini")["args"] == ["mcp"]
    user("mcp", "install", "--client", "gemini", "--config", file)
    arguments = entry(config(user, "gemini"), "gemini")["args"]
    assert arguments == ["mcp", "--config", str(file)], "a file that was named"


def test_a_token_is_written_only_on_request_and_never_into_a_project(user: Cli) -> None:
    url = ("--url", "grpc://127.0.0.1:7420/acme")
    user.env["MEMORANDA_TOKEN"] = "secret"
    user("mcp", "install", "--client", "codex", *url)
    assert "secret" not in config(user, "codex").read_text("utf-8")
    message = user.fails(
        USAGE, "mcp", "install", "--client", "codex", "--scope", "project", *url, "--token", "x"
    )
    assert "MEMORANDA_TOKEN" in message


def test_a_client_without_projects_is_told_so(user: Cli) -> None:
    message = user.fails(
        USAGE, "mcp", "install", "--client", "claude-desktop", "--scope", "project"
    )
    assert "Claude Desktop has no configuration of a project" in message


def test_options_before_the_subcommand_are_not_lost_silently(user: Cli) -> None:
    message = user.fails(USAGE, "mcp", "--db", "x", "install", "--client", "cursor")
    assert "Give --db behind `mcp install`" in message


# Printing, and hooks.


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_is_what_would_be_written(user: Cli, client: str) -> None:
    hooks = ("--hooks",) if client in HOOK_CLIENTS else ()
    printed = user.run("mcp", "install", "--client", client, "--print", *hooks)
    assert printed.exit_code == 0
    assert str(config(user, client)) in printed.stderr
    assert not config(user, client).exists()
    user("mcp", "install", "--client", client)
    assert printed.stdout.startswith(config(user, client).read_text("utf-8"))


def hook_file(user: Cli, client: str, scope: str = "user") -> Path:
    hooks = CLIENTS[client].hooks
    assert hooks is not None
    places = folders("linux", {"HOME": str(user.home)}, Path.cwd())
    return Path(hooks.files[scope].format_map(places))


@pytest.mark.parametrize("client", HOOK_CLIENTS)
def test_hooks_are_installed_beside_others(user: Cli, client: str) -> None:
    hooks = CLIENTS[client].hooks
    assert hooks is not None
    path = hook_file(user, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    first = next(iter(hooks.events))
    mine = {first: [{"hooks": [{"type": "command", "command": "mine"}]}]}
    others = {**hooks.header, "hooks": mine}
    path.write_text(json.dumps(others), "utf-8")
    install = ("mcp", "install", "--client", client, "--hooks", "--namespace", "a b")
    user(*install)
    value = json.loads(path.read_text("utf-8"))
    assert value["hooks"].keys() == hooks.events.keys()
    assert value["hooks"][first][0] == mine[first][0]
    for event, own_event in hooks.events.items():
        group = value["hooks"][event][-1]
        command = group["command"] if hooks.is_flat else group["hooks"][0]["command"]
        words = shlex.split(command)
        assert words[: len(own_command())] == [*own_command()]
        options = ["--client", client, "--namespace", "a b"]
        assert words[len(own_command()) :] == ["hook", own_event, *options]
    before = path.read_bytes()
    user(*install)
    assert path.read_bytes() == before
    user(*install, "--agent", "ann")
    assert path.read_text("utf-8").count(" hook ") == len(hooks.events), "replaced, not added"
    user("mcp", "install", "--client", client, "--undo")
    assert json.loads(path.read_text("utf-8")) == others


def test_a_client_without_hooks_is_told_so(user: Cli) -> None:
    message = user.fails(USAGE, "mcp", "install", "--client", "claude-desktop", "--hooks")
    assert "--hooks: Claude Desktop has no hooks" in message
    assert not config(user, "claude-desktop").exists(), "nothing was written by half"


# Projects.


def test_a_project_is_its_repository(tmp_path: Path) -> None:
    shop = tmp_path / "a" / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "src").mkdir()
    worktree = tmp_path / "fix"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {shop}/.git/worktrees/fix\n", "utf-8")
    assert project_root(shop / "src") == shop
    assert project_root(worktree) == shop
    namespace = project_namespace(shop / "src")
    assert namespace is not None
    assert namespace.startswith("projects/shop-")
    assert project_namespace(worktree) == namespace
    other = tmp_path / "b" / "shop"
    other.mkdir(parents=True)
    assert project_namespace(other) not in (None, namespace), "another project of this name"


def test_strange_names_of_folders_are_names_of_namespaces(cli: Cli, tmp_path: Path) -> None:
    for number, name in enumerate((".hidden", "_own", "a b\n", "…", "x" * 200)):
        folder = tmp_path / str(number) / name
        folder.mkdir(parents=True)
        namespace = project_namespace(folder)
        cli("write", "k", "{}", "--namespace", namespace)


def test_the_home_and_missing_folders_are_no_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert project_namespace(tmp_path) is None
    assert project_namespace(Path(os.sep)) is None
    assert project_namespace(tmp_path / "${workspaceFolder}") is None
