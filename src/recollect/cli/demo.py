"""`recollect demo`: an agent works, is killed, resumes, and can be asked what it did."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli.demo_agent import AGENT, INVOICES

if TYPE_CHECKING:
    from rich.console import Console

    from recollect import ReplayEvent, Store

KILLED_AT = 5


@click.command()
@click.option(
    "--db",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to put the demo's store; it must not exist yet.  [default: a temporary folder]",
)
def demo(db: Path | None) -> None:
    """Watch an agent work, die, resume and account for itself.

    A small agent settles invoices in a process of its own. The process is killed in the middle of a
    transaction; another one resumes from the state it finds. Then its log is replayed, read in the
    past, compared between two moments and verified.
    """
    if db is not None and db.exists():
        raise click.UsageError(f"{db} exists already: give --db a new path")
    import recollect

    path = db or Path(tempfile.mkdtemp(prefix="recollect-demo-")) / "store.db"
    console = _console()
    _title(console, "A clerk settles invoices", f"its memory is one file: {path}")
    _work(console, path, KILLED_AT)
    with recollect.open(path, create=False) as store:
        crash = store.stats().commits
    _work(console, path, None)
    with recollect.open(path, create=False) as store:
        _show_replay(console, store)
        _show_past(console, store, crash)
        _show_diff(console, store, crash)
        _show_proof(console, store)
    _show_way_on(console, path, crash)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _title(console: Console, title: str, subtitle: str) -> None:
    console.print()
    console.print(f"[bold]{title}[/bold]  [dim]{subtitle}[/dim]")
    console.print()


def _work(console: Console, path: Path, stop_at: int | None) -> None:
    """Run the agent's process and tell what it reports; kill it when it has staged `stop_at`."""
    command = [sys.executable, "-m", "recollect.cli.demo_agent", str(path)]
    if stop_at is not None:
        command.append(str(stop_at))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        try:
            for report in _reports(agent):
                _tell(console, agent.pid, report)
                if report["what"] == "staged":
                    agent.kill()
                    _tell_of_death(console, agent.pid)
        finally:
            agent.kill()
    if agent.returncode != 0 and stop_at is None:
        raise click.ClickException(f"the demo's agent ended with code {agent.returncode}")


def _reports(agent: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert agent.stdout is not None, "the pipe was asked for"
    for line in agent.stdout:
        yield json.loads(line)


def _tell(console: Console, pid: int, report: dict[str, Any]) -> None:
    what = report["what"]
    if what == "begin":
        told = "starts with nothing" if report["number"] == 1 else "finds its state and resumes"
        console.print(f"  [cyan]process {pid}[/cyan] {told}: invoice {report['number']} is next")
    elif what == "policy":
        console.print(f"  [yellow]   policy[/yellow]  spending is high: limit {report['limit']}")
    else:
        verdict = {"paid": "[green]✓ paid[/green]", "held": "[red]✗ held[/red]"}[report["verdict"]]
        end = f"[dim]commit {report['commit_ts']}[/dim]" if what == "committed" else "staged …"
        line = f"{report['vendor']:<15} {report['amount']:>4}  {verdict}"
        console.print(f"  invoice {report['number']}  {line}   {end}")


def _tell_of_death(console: Console, pid: int) -> None:
    from rich.panel import Panel

    console.print(
        Panel(
            f"process {pid} got SIGKILL while invoice {KILLED_AT} was staged but not committed.\n"
            "Of that transaction nothing is in the log: no decision, no money spent.",
            border_style="red",
            title="killed",
            title_align="left",
            expand=False,
        )
    )


def _show_replay(console: Console, store: Store) -> None:
    from rich.table import Table

    _title(console, "Its replay", "one event a transaction, in commit order")
    table = Table(box=None, pad_edge=True, header_style="dim")
    for heading in ("commit", "time", "transaction", "operations"):
        table.add_column(heading, no_wrap=heading != "operations")
    for event in store.replay(agent_id=AGENT):
        table.add_row(
            str(event.commit_ts), event.timestamp[11:23], event.txn_id[-12:], _operations(event)
        )
    console.print(table, soft_wrap=False)


def _operations(event: ReplayEvent) -> str:
    return "  ".join(
        f"[bold]{operation.key}[/bold][dim] v{operation.version}[/dim]"
        for operation in event.operations
    )


def _show_past(console: Console, store: Store, crash: int) -> None:
    _title(console, "The past", f"what it knew at commit {crash}, the moment it was killed")
    for key in ("policy", "ledger", "progress"):
        then = store.get_state(agent_id=AGENT, key=key, at=crash)
        now = store.get_state(agent_id=AGENT, key=key)
        assert then is not None, "the agent had written it before"
        assert now is not None, "the agent never deletes it"
        console.print(f"  {key:<9} then {json.dumps(then.value):<16} now {json.dumps(now.value)}")


def _show_diff(console: Console, store: Store, crash: int) -> None:
    marks = {
        "added": "[green]+[/green]",
        "removed": "[red]-[/red]",
        "changed": "[yellow]~[/yellow]",
    }
    _title(console, "The difference", f"commit {crash} against now")
    for change in store.diff(agent_id=AGENT, a=crash):
        before = json.dumps(change.before.value) + " → " if change.before else ""
        after = json.dumps(change.after.value) if change.after else "deleted"
        console.print(f"  {marks[change.kind]} {change.key:<10} {before}{after}")


def _show_proof(console: Console, store: Store) -> None:
    decided = next(iter(store.history(agent_id=AGENT, key=f"invoice/{len(INVOICES) - 1}")))
    (policy,) = decided.because
    found = store.verify()
    _title(console, "The proof", "nothing was changed behind its back")
    console.print(
        f"  {found.commits} commits, the chain holds, head [dim]{found.head_hash[:16]}…[/dim]\n"
        f"  invoice/{len(INVOICES) - 1} was {(decided.value or {})['verdict']} because of "
        f"{policy.key} at version {policy.version}"
    )


def _show_way_on(console: Console, path: Path, crash: int) -> None:
    place = f"--db {shlex.quote(str(path))} --agent {AGENT}"
    _title(console, "Ask it yourself", "the store stays where it is")
    for command in (f"diff {crash}", f"get ledger --at {crash}", "history policy", "replay"):
        console.print(f"  recollect {command} {place}")
    console.print()
