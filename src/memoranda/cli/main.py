"""The `memoranda` command: the group, and the seam where errors become exit codes."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import click

from memoranda.cli import exits
from memoranda.cli.output import abandon_stdout, colour_wanted, write_error
from memoranda.errors import InvalidInput, MemorandaError

COMMANDS: Mapping[str, str] = {
    "demo": "memoranda.cli.demo:demo",
    "write": "memoranda.cli.state:write",
    "get": "memoranda.cli.state:get",
    "delete": "memoranda.cli.state:delete",
    "keys": "memoranda.cli.state:keys",
    "scan": "memoranda.cli.state:scan",
    "history": "memoranda.cli.state:history",
    "diff": "memoranda.cli.state:diff",
    "remember": "memoranda.cli.memories:remember",
    "show": "memoranda.cli.memories:show",
    "memories": "memoranda.cli.memories:memories",
    "edit": "memoranda.cli.memories:edit",
    "retract": "memoranda.cli.memories:retract",
    "reflect": "memoranda.cli.memories:reflect",
    "link": "memoranda.cli.links:link",
    "unlink": "memoranda.cli.links:unlink",
    "supersede": "memoranda.cli.links:supersede",
    "origins": "memoranda.cli.links:origins",
    "why": "memoranda.cli.why:why",
    "recall": "memoranda.cli.recall:recall",
    "context": "memoranda.cli.recall:context",
    "transcript": "memoranda.cli.transcripts:transcript",
    "extract": "memoranda.cli.chats:extract",
    "fact": "memoranda.cli.facts:fact",
    "inbox": "memoranda.cli.links:inbox",
    "resolve": "memoranda.cli.links:resolve",
    "configure": "memoranda.cli.links:configure",
    "audit": "memoranda.cli.links:audit",
    "forget": "memoranda.cli.forget:forget",
    "certificate": "memoranda.cli.forget:certificate",
    "purge": "memoranda.cli.forget:purge",
    "sweep": "memoranda.cli.forget:sweep",
    "replay": "memoranda.cli.log:replay",
    "tail": "memoranda.cli.tail:tail",
    "cursors": "memoranda.cli.tail:cursors",
    "verify": "memoranda.cli.log:verify",
    "signer": "memoranda.cli.signers:signer",
    "checkpoint": "memoranda.cli.checkpoints:checkpoint",
    "checkpoints": "memoranda.cli.checkpoints:checkpoints",
    "prove": "memoranda.cli.checkpoints:prove",
    "prove-growth": "memoranda.cli.checkpoints:prove_growth",
    "rebuild": "memoranda.cli.log:rebuild",
    "reindex": "memoranda.cli.reindex:reindex",
    "stats": "memoranda.cli.log:stats",
    "sql": "memoranda.cli.sql:sql",
    "backup": "memoranda.cli.backup:backup",
    "restore": "memoranda.cli.backup:restore",
    "fork": "memoranda.cli.backup:fork",
    "compact": "memoranda.cli.compact:compact",
    "export": "memoranda.cli.log_files:export_group",
    "import": "memoranda.cli.log_files:import_group",
    "doctor": "memoranda.cli.doctor:doctor",
    "completion": "memoranda.cli.completion:completion",
}
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
    "a": "A",
    "b": "B",
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
    "overwrite": "--force",
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
    "tiers": "--tier",
    "subject": "--subject",
    "object": "--object",
    "object_kind": "--literal",
    "valid_from": "--valid-from",
    "valid_to": "--valid-to",
    "valid_at": "--valid-at",
    "known_at": "--known-at",
    "spans": "--span",
    "assertion_id": "--assertion",
    "transcript_id": "ID",
    "erasure_id": "ID",
    "facts_from": "ID",
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
}
"""How a user of the command line spells what the library calls a field."""
_AS_JSON = "memoranda.cli.as_json"
FIELD_NAMES = "memoranda.cli.field_names"
"""Under this a context has names that a group of commands spells differently."""


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for, and where its errors end."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look for `--json` first: an error in the other arguments is then told in JSON too."""
        ctx.meta[_AS_JSON] = "--json" in args
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and write out what it said before saying how it ended."""
        with _endings(ctx):
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


@contextmanager
def _endings(ctx: click.Context) -> Iterator[None]:
    """Turn what a command can end with into a message and an exit code."""
    try:
        yield
    except MemorandaError as error:
        message = _message(error, ctx.meta.get(FIELD_NAMES, {}))
        _end(ctx, type(error).__name__, message, exits.exit_code(error))
    except click.ClickException as error:
        if not ctx.meta.get(_AS_JSON):
            raise
        kind = "UsageError" if isinstance(error, click.UsageError) else "Error"
        _end(ctx, kind, error.format_message(), error.exit_code)
    except KeyboardInterrupt:
        abandon_stdout()
        _end(ctx, "Interrupted", "interrupted", exits.INTERRUPTED)
    except BrokenPipeError:
        abandon_stdout()
        ctx.exit(exits.OUTPUT_CLOSED)
    except OSError as error:  # stdin cannot be read, or stdout not be written
        abandon_stdout()
        _end(ctx, type(error).__name__, str(error), exits.FAILED)


def _end(ctx: click.Context, kind: str, message: str, code: int) -> None:
    write_error(kind, message, as_json=bool(ctx.meta.get(_AS_JSON)))
    ctx.exit(code)


def _message(error: MemorandaError, names: Mapping[str, str]) -> str:
    if isinstance(error, InvalidInput):
        return f"{({**_OPTION_NAMES, **names}).get(error.field, error.field)}: {error.problem}"
    return str(error)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok, 1 error, 2 usage, 3 verification failed, 4 not found, 5 conflict.",
)
@click.version_option(package_name="memoranda", prog_name="memoranda")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """State and memory for AI agents, on a log that can be replayed and proven.

    Every write is an event in a hash-chained log, and whatever is read is a view of it.
    """
    if not colour_wanted():
        ctx.color = False


def run() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        _spell_out_what_cannot_be_encoded(stream)
    cli(prog_name="memoranda")


def _spell_out_what_cannot_be_encoded(stream: IO[str]) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
