"""Commands that maintain a store: doctor, compact, reindex, sql; and shell completion."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from click.shell_completion import FishComplete, ZshComplete

from memoranda import errors
from memoranda.cli import exit_codes, inputs
from memoranda.cli.completion import BashScript, complete_namespace
from memoranda.cli.configuration.variables import PREFIX
from memoranda.cli.inputs import is_interactive
from memoranda.cli.options import (
    Target,
    choose_embedder,
    takes_embedder,
    takes_limit,
    takes_store,
    takes_target,
)
from memoranda.cli.output import note, plural, safe, takes_wide, warn, write_json
from memoranda.cli.progress import meter
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.log.compaction.compactor import Compaction
    from memoranda.search.index.background_indexer import Reindexed
    from memoranda.storage.port import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}
_STATUS_COLUMNS = len("warning")
_CHECK_COLUMNS = len("settings")
_MAX_TEXT_COLUMNS = 100
"""Longer lines of text are hard to read, however wide the terminal is."""
_SOURCES: Mapping[ParameterSource | None, str] = {
    ParameterSource.COMMANDLINE: "named by --db",
    ParameterSource.ENVIRONMENT: "named by MEMORANDA_DB",
    ParameterSource.DEFAULT_MAP: "named by the configuration file",
}


@click.command()
@click.option("--quick", is_flag=True, help="Skip the checks that read the whole store.")
@click.option("--deep", is_flag=True, help="Also rebuild the views beside the store and compare.")
@takes_store
def doctor(target: Target, *, quick: bool, deep: bool) -> None:
    """Check the store and suggest repairs.

    The store does not change. The exit code is 0 if there are only warnings, 3 if the store is
    damaged or was tampered with, 4 if there is no store, and 1 for other problems.
    """
    from memoranda.sdk.doctor import diagnose

    worst = 0
    with meter("Checking", beside_output=False) as progress:
        findings = diagnose(
            target.location, quick=quick, deep=deep, progress=progress, embedder=choose_embedder()
        )
        for finding in chain([_settings(target)], findings):
            worst = max(worst, _code(finding))
            if target.as_json:
                write_json(finding)
            else:
                _write(finding)
    sys.stdout.flush()
    click.get_current_context().exit(worst)


def _settings(target: Target) -> Finding:
    """Report the chosen store, and environment variables that no command reads."""
    from memoranda.cli.configuration.resolution import unknown_variables
    from memoranda.storage.port import fine, warning

    ctx = click.get_current_context()
    source = _SOURCES.get(ctx.get_parameter_source("db"), "the default, since none was named")
    message = f"the store is {target.name}, {source}"
    unknown = unknown_variables(os.environ)
    if unknown:
        names = ", ".join(name.partition(":")[0] for name in unknown)
        return warning(
            "settings",
            f"{message}; nothing reads {names}",
            f"{'; '.join(unknown)}: `memoranda config show` lists the variables",
        )
    set_now = sorted(name for name in os.environ if name.startswith(PREFIX))
    return fine("settings", f"{message}; variables set: {', '.join(set_now) or 'none'}")


def _code(finding: Finding) -> int:
    if finding.status != "problem":
        return 0
    kind = getattr(errors, finding.error) if finding.error else errors.MemorandaError
    code = errors.report_of(kind).exit_code
    return code if code in (exit_codes.DAMAGED, exit_codes.NOT_FOUND) else exit_codes.FAILED


def _write(finding: Finding) -> None:
    status = click.style(finding.status.ljust(_STATUS_COLUMNS), fg=_COLOURS[finding.status])
    click.echo(f"{status}  {finding.check.ljust(_CHECK_COLUMNS)}  {safe(finding.message)}")
    if finding.remedy:
        indent = " " * (_STATUS_COLUMNS + _CHECK_COLUMNS + 4)
        click.echo(f"{indent}{click.style(safe(finding.remedy), dim=True)}")


# Compaction.


@click.command()
@click.option(
    "--before",
    metavar="MOMENT",
    help="The horizon: a commit number or a time, such as 2026-02-07T10:00:00+01:00.",
)
@click.option(
    "--retention", is_flag=True, help="Use the log retention of the namespace as the horizon."
)
@click.option("--dry-run", is_flag=True, help="Show what would be erased.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option("--reason", metavar="TEXT", help="Reason, stored in the log.")
@click.option("--purge", is_flag=True, help="Then rewrite the file to make it smaller.")
@takes_target
def compact(
    target: Target,
    *,
    before: str | None,
    retention: bool,
    dry_run: bool,
    yes: bool,
    reason: str | None,
    purge: bool,
) -> None:
    """Compact the history of a namespace for good.

    Erase the operations of all agents up to the horizon, except those that the state at the horizon
    or a source of it needs; these keep their versions and times. The erased operations keep their
    hashes, so the chain still verifies, but reads as of a moment before the horizon are refused.
    Other programs can write meanwhile. After an interruption the store is consistent, and the next
    compaction of the namespace continues.
    """
    import memoranda

    if (before is None) is not retention:
        raise InvalidInput("before", "give either this or --retention")
    moment = memoranda.RETENTION if retention else inputs.moment(before or "")
    with target.store() as store:
        if not dry_run and not yes:
            with meter("Looking") as progress:
                preview = store.compact(before=moment, progress=progress)
            _confirm(preview)
            moment = preview.horizon  # the one that was confirmed
        with meter("Looking" if dry_run else "Compacting") as progress:
            compaction = store.compact(
                before=moment, confirm=not dry_run, reason=reason, purge=purge, progress=progress
            )
    if target.as_json:
        write_json(compaction)
        return
    _report_compaction(compaction, dry_run=dry_run)


def _confirm(preview: Compaction) -> None:
    """Ask the user to confirm; without a terminal, --yes is required."""
    if not is_interactive():
        raise InvalidInput("confirm", "is missing: give it, or --dry-run to see what would go")
    click.confirm(f"Erase {_erased_text(preview)} for good?", abort=True, err=True)


def _report_compaction(compaction: Compaction, *, dry_run: bool) -> None:
    if not compaction.erased:
        namespace = safe(compaction.namespace)
        click.echo(f"Nothing to compact in {namespace} up to commit {compaction.horizon}.")
        return
    verb = "Would erase" if dry_run else "Erased"
    message = f"{verb} {_erased_text(compaction)}; {compaction.retained:,} stay."
    if compaction.unfinished:
        message += " This completes an earlier compaction that was interrupted."
    commit = compaction.commit_ts
    click.echo(message if commit is None else f"{message} Commit {commit}.")


def _erased_text(compaction: Compaction) -> str:
    end = f"{safe(compaction.namespace)} up to commit {compaction.horizon}"
    return f"{plural(compaction.erased, 'operation')} of {end}"


# Indexes.


@click.command()
@click.option(
    "--language",
    metavar="NAME",
    help="Set the store's language, such as german, which selects the stemmer.",
)
@click.option(
    "--in-namespace",
    metavar="PATH",
    shell_complete=complete_namespace,
    help="Set --language for this namespace and those below it, not for the store.",
)
@takes_embedder
@takes_store
def reindex(
    target: Target, *, embedder: str | None, language: str | None, in_namespace: str | None
) -> None:
    """Bring the full-text index and the vectors up to date.

    Programs do both in the background. Vectors of another model are deleted and computed again.
    Documents that were indexed in another language are indexed again; their vectors stay.
    An interrupted run continues the next time.
    """
    with target.store(embedder=embedder) as store:
        with meter("Indexing") as progress:
            text = store.reindex(
                vectors=False, language=language, namespace=in_namespace, progress=progress
            )
        with meter("Embedding") as progress:
            vectors = store.reindex(text=False, progress=progress)
    if target.as_json:
        write_json(
            {
                "commits": text.commits,
                "vectors": vectors.vectors,
                "model": vectors.model,
                "replaced": vectors.replaced,
                "language": text.language,
                "rewritten": text.rewritten,
            }
        )
        return
    click.echo(_reindexed_text(text, vectors))
    if vectors.model is None:
        warn("no embedder, so there are no vectors: pip install 'memoranda[embeddings]'")


def _reindexed_text(text: Reindexed, vectors: Reindexed) -> str:
    parts = []
    if text.commits:
        parts.append(f"indexed {plural(text.commits, 'commit')}")
    if text.rewritten:
        parts.append(f"rewrote {plural(text.rewritten, 'passage')} in {safe(text.language)}")
    if vectors.replaced is not None:
        parts.append(f"dropped the vectors of {safe(vectors.replaced)}")
    if vectors.vectors:
        parts.append(
            f"embedded {plural(vectors.vectors, 'passage')} by {safe(vectors.model or '')}"
        )
    if not parts:
        return "Nothing to do: all is indexed."
    sentence = ", ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


# SQL.


@click.command()
@click.argument("query", metavar="[QUERY]", required=False)
@click.option("--csv", "form", flag_value="csv", help="Print CSV, the default in a pipe.")
@click.option(
    "--table", "form", flag_value="table", help="Print a table, the default on a terminal."
)
@takes_wide
@takes_limit
@takes_store
def sql(target: Target, *, query: str | None, form: str | None, limit: int | None) -> None:
    """Run a read-only SQL query, or list what it can read.

    QUERY is one SELECT over SQL views of the store, of all agents, such as state, memories, facts
    and events. Without it, list the views and their columns; docs/reference/sql.md documents them.
    Values are JSON text for SQLite's JSON functions. A query cannot change the store.
    """
    from memoranda.cli.render.table import FORMS

    if target.as_json and form:
        raise click.UsageError(f"give either --json or --{form}")
    if query is None:
        _list_views(target)
        return
    default = "table" if sys.stdout.isatty() else "csv"
    name = "json" if target.as_json else form or default
    with target.reader() as store:
        if not FORMS[name](islice(store.sql(query), limit)) and not target.as_json:
            note("no rows")


def _list_views(target: Target) -> None:
    """Print the views with their descriptions and columns."""
    with target.reader() as store:
        views = store.sql_views()
    if target.as_json:
        for view in views:
            write_json(view)
        return
    width = min(shutil.get_terminal_size().columns, _MAX_TEXT_COLUMNS)
    for view in views:
        click.echo(f"{click.style(view.name, bold=True)}  {view.description}")
        columns = textwrap.wrap(", ".join(view.columns), width - 4)
        click.echo("\n".join(click.style(f"    {line}", dim=True) for line in columns))
    note("Example: memoranda sql 'SELECT key, value FROM state'")


# Shell completion.

_SCRIPTS = {"bash": BashScript, "zsh": ZshComplete, "fish": FishComplete}
_PROGRAM = "memoranda"
_VARIABLE = "_MEMORANDA_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(list(_SCRIPTS)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script.

    It completes commands and options; keys, ids, agents and namespaces, at most 50, from the store
    that the line names; and references after `memory:`, `fact:` or `transcript:`. Names that a
    shell would expand or run are left out.

    bash: add `eval "$(memoranda completion bash)"` to ~/.bashrc. zsh: add the same with zsh to
    ~/.zshrc. fish: add `memoranda completion fish | source` to config.fish.
    """
    script = _SCRIPTS[shell]
    click.echo(script(ctx.find_root().command, {}, _PROGRAM, _VARIABLE).source())
