"""Names of calls, arguments, fields, commands and options in the pages are names that exist."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import memoranda
from memoranda import testing
from memoranda.cli.configuration.settings import all_settings
from memoranda.cli.main import cli
from memoranda.sdk.memory_operations import OPERATIONS
from memoranda.server.mcp.catalog import TOOLS
from memoranda.server.mcp.http_connection import PARAMETERS
from memoranda.server.metrics import METRICS, shown_name
from memoranda.server.statehouse import statehouse_pb2
from memoranda.wire.schema import messages

ROOT = Path(__file__).parents[2]
GENERATED = (
    "docs/reference/calls.md",
    "docs/reference/cli.md",
    "docs/reference/configuration.md",
    "docs/reference/lineage.md",
    "docs/reference/mcp.md",
    "docs/reference/python",
)
FORMATS = ("docs/reference/log-format.md", "docs/reference/sql.md", "docs/adr/", "ARCHITECTURE.md")
"""Pages about stored names, which other tests compare."""
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")))
    if not str(page.relative_to(ROOT)).startswith((*GENERATED, *FORMATS, "CHANGELOG.md"))
]
OTHERS = {
    "docs/concepts.md": {
        *("add", "delete_all", "get_all", "infer", "put", "run_id", "search"),
        *("add_episode", "expired_at", "group_id", "invalid_at", "reference_time"),
        *("checkpoint_id", "get_state_history", "thread_id", "memory_insert", "memory_replace"),
    },
    "docs/explanation/audit.md": {"secure_delete"},
    "docs/howto/scale.md": {
        *("connect_timeout", "keepalives_count", "keepalives_idle", "keepalives_interval"),
        "tcp_user_timeout",
    },
    "docs/howto/use-with-an-assistant.md": {tool.name for tool in TOOLS},
    "docs/howto/come-from-statehouse.md": {
        field.name
        for message in statehouse_pb2.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    },
    "docs/howto/embeddings.md": {
        *("attention_mask", "input_ids", "token_type_ids"),
        *("last_hidden_state", "sentence_embedding", "per_channel", "quantize_dynamic"),
    },
    "docs/howto/keep-facts.md": {"object_kind"},
    "docs/howto/observe-a-server.md": {
        *map(shown_name, METRICS),
        *(label for kind in METRICS.values() for label in kind.labels),
        *OPERATIONS.values(),
    },
    "docs/howto/run-a-server.md": {
        *PARAMETERS,
        *(part for path in all_settings() for part in path.split(".")),
        *map(shown_name, METRICS),
    },
    "docs/reference/audit-events.md": {"left_out"},
    "docs/reference/wire.md": {
        field.name for message in messages().values() for field in message.fields
    },
}
"""Names of other systems, of SQLite, of models, of metrics, of columns, of fields of messages."""


def public_names() -> Iterator[str]:
    """Yield every public name, with the members of classes and the parameters of calls."""
    for value in (
        *(getattr(memoranda, name) for name in memoranda.__all__),
        *(getattr(testing, name) for name in testing.__all__),
    ):
        yield getattr(value, "__name__", "")
        members = [value]
        if isinstance(value, type):
            yield from dir(value)
            yield from getattr(value, "__annotations__", {})
            members += [getattr(value, name) for name in dir(value) if name[0] != "_"]
        for member in members:
            if inspect.isfunction(member) or inspect.ismethod(member) or isinstance(member, type):
                yield from parameters(member)


def parameters(value: object) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)  # type: ignore[arg-type]
    except ValueError:  # a class without a signature, such as an enumeration
        return []


NAMES = set(public_names())


def mentions(text: str) -> Iterator[str]:
    """Yield what is written as a call, as an argument, or as a name with an underscore."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`]+)`", prose):
        code = re.sub(r"\w+://[^\s\"]*", "", code)  # a URL has parameters of its own
        yield from (call.rpartition(".")[2] for call in re.findall(r"\b([a-z_][\w.]*)\(", code))
        yield from re.findall(r"\b([a-z_]\w*)=", code)
        yield from re.findall(r"^[a-z]+_[a-z_]+$", code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_names_in_a_page_exist(page: Path) -> None:
    others = OTHERS.get(str(page.relative_to(ROOT)), set())
    unknown = {name for name in mentions(page.read_text("utf-8")) if name not in NAMES | others}
    assert unknown == set()


def test_old_names_are_noticed() -> None:
    assert set(mentions("`forget(agent=…)`, `store.diff(a=1)`, `read_state`")) - NAMES == {
        "agent",
        "a",
        "read_state",
    }


def commands() -> Iterator[object]:
    """Yield the commands that the pages show in a shell."""
    for page in PAGES:
        for block in re.findall(
            r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("memoranda "):
                    yield pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}")


@pytest.mark.parametrize("line", list(commands()))
def test_the_commands_in_a_page_and_their_options_exist(line: str) -> None:
    command: click.Command = cli
    context = click.Context(cli, info_name="memoranda")
    _, *words = shlex.split(re.split(r" [|<>] ", line)[0], comments=True)
    while isinstance(command, click.Group):
        subcommand = command.get_command(context, words.pop(0))
        assert subcommand is not None, line
        command = subcommand
    options = {option for part in command.params for option in (*part.opts, *part.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options
