"""The `recollect` command: the group, and the seam where errors become exit codes."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import click

from recollect.cli import exits
from recollect.cli.output import abandon_stdout, colour_wanted, write_error
from recollect.errors import InvalidInput, RecollectError

COMMANDS: Mapping[str, str] = {
    "demo": "recollect.cli.demo:demo",
    "write": "recollect.cli.state:write",
    "get": "recollect.cli.state:get",
    "delete": "recollect.cli.state:delete",
    "keys": "recollect.cli.state:keys",
    "scan": "recollect.cli.state:scan",
    "history": "recollect.cli.state:history",
    "diff": "recollect.cli.state:diff",
    "remember": "recollect.cli.memories:remember",
    "show": "recollect.cli.memories:show",
    "memories": "recollect.cli.memories:memories",
    "edit": "recollect.cli.memories:edit",
    "retract": "recollect.cli.memories:retract",
    "reflect": "recollect.cli.memories:reflect",
    "link": "recollect.cli.links:link",
    "unlink": "recollect.cli.links:unlink",
    "supersede": "recollect.cli.links:supersede",
    "origins": "recollect.cli.links:origins",
    "why": "recollect.cli.why:why",
    "recall": "recollect.cli.recall:recall",
    "context": "recollect.cli.recall:context",
    "transcript": "recollect.cli.transcripts:transcript",
    "extract": "recollect.cli.chats:extract",
    "fact": "recollect.cli.facts:fact",
    "inbox": "recollect.cli.links:inbox",
    "resolve": "recollect.cli.links:resolve",
    "configure": "recollect.cli.links:configure",
    "audit": "recollect.cli.links:audit",
    "forget": "recollect.cli.forget:forget",
    "certificate": "recollect.cli.forget:certificate",
    "purge": "recollect.cli.forget:purge",
    "sweep": "recollect.cli.forget:sweep",
    "replay": "recollect.cli.log:replay",
    "tail": "recollect.cli.tail:tail",
    "cursors": "recollect.cli.tail:cursors",
    "verify": "recollect.cli.log:verify",
    "signer": "recollect.cli.signers:signer",
    "checkpoint": "recollect.cli.checkpoints:checkpoint",
    "checkpoints": "recollect.cli.checkpoints:checkpoints",
    "prove": "recollect.cli.checkpoints:prove",
    "prove-growth": "recollect.cli.checkpoints:prove_growth",
    "rebuild": "recollect.cli.log:rebuild",
    "reindex": "recollect.cli.reindex:reindex",
    "stats": "recollect.cli.log:stats",
    "sql": "recollect.cli.sql:sql",
    "backup": "recollect.cli.backup:backup",
    "restore": "recollect.cli.backup:restore",
    "fork": "recollect.cli.backup:fork",
    "compact": "recollect.cli.compact:compact",
    "export": "recollect.cli.log_files:export_group",
    "import": "recollect.cli.log_files:import_group",
    "doctor": "recollect.cli.doctor:doctor",
    "completion": "recollect.cli.completion:completion",
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
_AS_JSON = "recollect.cli.as_json"
FIELD_NAMES = "recollect.cli.field_names"
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
    except RecollectError as error:
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


def _message(error: RecollectError, names: Mapping[str, str]) -> str:
    if isinstance(error, InvalidInput):
        return f"{({**_OPTION_NAMES, **names}).get(error.field, error.field)}: {error.problem}"
    return str(error)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok, 1 error, 2 usage, 3 verification failed, 4 not found, 5 conflict.",
)
@click.version_option(package_name="recollect", prog_name="recollect")
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
    cli(prog_name="recollect")


def _spell_out_what_cannot_be_encoded(stream: IO[str]) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
