"""The `memoranda` command group; the one place where errors become messages and exit codes."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

import click
from click.shell_completion import CompletionItem

from memoranda import __version__
from memoranda.cli import exit_codes
from memoranda.cli.command_table import COMMANDS, DESCRIPTION, SYNONYMS, help_page
from memoranda.cli.output import discard_stdout, use_colour, write_error
from memoranda.errors import InvalidInput, MemorandaError, NotFound

_OPTION_NAMES: Mapping[str, str] = {
    "url": "--db",
    "agent_id": "--agent",
    "namespace": "--namespace",
    "txn_id": "--txn-id",
    "expect_version": "--expect-version",
    "because": "--because",
    "because.key": "--because",
    "because.version": "--because",
    "because.memory_id": "--because",
    "because.assertion_id": "--because",
    "ref": "REF",
    "ref.key": "REF",
    "ref.version": "REF",
    "ref.memory_id": "REF",
    "ref.assertion_id": "REF",
    "version": "--version",
    "at": "--at",
    "from_timestamp": "--from",
    "to_timestamp": "--to",
    "after_commit": "--after",
    "through_commit": "--through",
    "last": "--last",
    "cursor": "--cursor",
    "timeout": "--timeout",
    "embedder": "--embedder",
    "kinds": "--kind",
    "key": "KEY",
    "prefix": "PREFIX",
    "path": "FILE",
    "backup": "BACKUP",
    "overwrite": "--overwrite",
    "query": "QUERY",
    "k": "-k",
    "budget": "--budget",
    "content": "CONTENT",
    "text": "TEXT",
    "title": "--title",
    "kind": "--kind",
    "tier": "--tier",
    "tags": "--tag",
    "priority": "--priority",
    "confidence": "--confidence",
    "source": "--source",
    "metadata": "--metadata",
    "ttl": "--ttl",
    "event_time": "--event-time",
    "occurred_at": "--occurred-at",
    "quote": "--quote",
    "extractor": "--extractor",
    "relation": "--relation",
    "memory_id": "ID",
    "status": "--status",
    "replacement": "--with",
    "note": "--note",
    "reason": "--reason",
    "event_type": "--type",
    "created_after": "--after",
    "created_before": "--before",
    "max_reflection_depth": "--max-reflection-depth",
    "transcript_retention": "--retention",
    "log_retention": "--log-retention",
    "before": "--before",
    "confirm": "--yes",
    "since": "--since",
    "until": "--until",
    "speaker": "--speaker",
    "min_score": "--min-score",
    "tiers": "--tier",
    "subject": "--subject",
    "object": "--object",
    "object_kind": "--literal",
    "valid_from": "--valid-from",
    "valid_to": "--valid-to",
    "valid_at": "--valid-at",
    "known_at": "--known-at",
    "spans": "--span",
    "names": "--name",
    "assertion_id": "--assertion",
    "transcript_id": "ID",
    "erasure_id": "ID",
    "facts_from": "ID",
    "whole_agent": "NAME",
    "whole_namespace": "PATH",
    "children": "--children",
    "derived": "--derived",
    "allow_large": "--allow-large",
    "max_hops": "--max-hops",
    "direction": "--direction",
    "batch": "--batch",
    "once": "--once",
    "signer": "--signer",
    "checkpoint": "--checkpoint",
    "keys": "--key",
    "old": "OLD",
    "new": "NEW",
    "commit_ts": "COMMIT",
    "stores": "--stores",
    "store": "--store",
    "covers": "--covers",
    "namespaces": "--namespace",
    "verbs": "--can",
    "expires": "--expires",
    "grace": "--grace",
    "limits": "--limit",
    "token_id": "TOKEN",
    "config": "--config",
    "job": "--job",
    "to": "--to",
    "every": "--every",
    "keep": "--keep",
    "keep_for": "--keep-for",
}
"""Field of the library -> the option or argument that sets it, for error messages."""
_PACKAGE = "memoranda.cli.commands"
_AS_JSON = "memoranda.cli.as_json"
FIELD_NAMES = "memoranda.cli.field_names"
"""Key in a context's `meta`: the names of fields that a command spells differently."""


class LazyGroup(click.Group):
    """A group that imports a command when it runs, and turns its errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"{_PACKAGE}.{module}"), attribute)
        return command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the help page, which lists the commands without importing them."""
        formatter.write(help_page())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table, an option as any command does."""
        names = [
            CompletionItem(name, help=short_help)
            for name, (_, short_help) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look for `--json` first, so that errors in other arguments are JSON too."""
        ctx.meta[_AS_JSON] = "--json" in args
        is_unknown = bool(args) and args[0] not in COMMANDS and not args[0].startswith("-")
        if is_unknown and not ctx.resilient_parsing:  # a shell that completes gets no message
            raise click.UsageError(_unknown_command(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and flush its output before an error is written."""
        with _exit_on_error(ctx):
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


def _unknown_command(name: str) -> str:
    """Return a message that suggests the command with the same meaning, or similar names."""
    from difflib import get_close_matches

    synonym = SYNONYMS.get(name.lower())
    names = [synonym] if synonym else get_close_matches(name.lower(), COMMANDS)
    if not names:
        return f"No such command {name!r}. `memoranda --help` lists the commands."
    return f"No such command {name!r}. Did you mean {' or '.join(map(repr, names))}?"


@contextmanager
def _exit_on_error(ctx: click.Context) -> Iterator[None]:
    """Turn an error or an interrupt into a message and an exit code."""
    try:
        yield
    except MemorandaError as error:
        message = _message(error, ctx.meta.get(FIELD_NAMES, {}))
        _exit(ctx, type(error).__name__, message, exit_codes.exit_code(error))
    except click.ClickException as error:
        if not ctx.meta.get(_AS_JSON):
            raise
        kind = "UsageError" if isinstance(error, click.UsageError) else "Error"
        _exit(ctx, kind, error.format_message(), error.exit_code)
    except KeyboardInterrupt:
        discard_stdout()
        _exit(ctx, "Interrupted", "interrupted", exit_codes.INTERRUPTED)
    except BrokenPipeError:
        discard_stdout()
        ctx.exit(exit_codes.OUTPUT_CLOSED)
    except OSError as error:  # reading stdin or writing stdout failed
        discard_stdout()
        _exit(ctx, type(error).__name__, str(error), exit_codes.FAILED)


def _exit(ctx: click.Context, kind: str, message: str, code: int) -> None:
    write_error(kind, message, as_json=bool(ctx.meta.get(_AS_JSON)))
    ctx.exit(code)


def _message(error: MemorandaError, names: Mapping[str, str]) -> str:
    if not isinstance(error, (InvalidInput, NotFound)) or error.field is None:
        return str(error)
    options = {**_OPTION_NAMES, **names}
    argument = error.field.partition(".")[0].partition("[")[0]  # of `tiers.short`, or `spans[2]`
    return f"{options.get(error.field) or options.get(argument, error.field)}: {error.problem}"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=DESCRIPTION,
)
@click.version_option(__version__, prog_name="memoranda")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run one of the commands."""
    if not use_colour():
        ctx.color = False


def run() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        _escape_unencodable(stream)
    cli(prog_name="memoranda")


def _escape_unencodable(stream: IO[str]) -> None:
    """Print a character that the terminal's encoding lacks as an escape instead of failing."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
