"""How `memoranda demo` is shown: on a terminal for people, as JSON lines for programs."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from memoranda.cli import hit_lines, hit_shapes, reason_shapes, shapes
from memoranda.cli.bars import Bar, draw, glyphs_for
from memoranda.cli.options import Target
from memoranda.cli.output import colour_wanted, write_json
from memoranda.cli.refs import spelled
from memoranda.graph.records import Fact
from memoranda.model.event import ReplayEvent
from memoranda.sdk.store import Store
from memoranda.search.hits import Hit
from memoranda.state.records import StateChange
from memoranda.why.reason import Reason

Report = dict[str, Any]
_LOOKED_AT = ("policy", "ledger", "progress")
_DECISION = "invoice/7"
_PARTS = {
    "note": ("Its beliefs", "three talks are kept word for word, and noted where it matters"),
    "words": ("The words", "what the last belief is made of, however far away"),
    "superseded": ("A change of mind", "whoever built on the old belief is told"),
}
"""Where a part of the second act begins, its title and what is said beside it."""
_BELIEFS = {
    "note": "[green]noted[/green]      {content} [dim]bytes {span[0]} to {span[1]}[/dim]",
    "reflection": "[cyan]believes[/cyan]   {content}",
    "words": "[dim]{hop} links away[/dim]  “{words}”",
    "superseded": "[yellow]superseded[/yellow] {old} → {new}",
    "notice": "[yellow]to decide[/yellow]  {about} [dim]rests on what was superseded[/dim]",
    "decision": "[green]{decision}d[/green]    {content}",
}
"""How each step is told."""


_FACTS = {
    "fact": "[green]learned[/green]    {said} since {since}{then}",
    "decided": "[cyan]decided[/cyan]    {key} {value}",
    "believed": "{valid_at}: as known at commit {known_at}, Ann worked at [bold]{object}[/bold]",
    "corrected": "[yellow]corrected[/yellow]  {belief} [dim]{notified} told[/dim]",
}
"""How each step of the third act is told."""


class Stage(Protocol):
    """Where the demo is played."""

    def open(self, path: Path) -> None:
        """Say where the store is."""
        ...

    def tell(self, pid: int, report: Report) -> None:
        """Pass on what an agent's process reports, or what happened to it."""
        ...

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Show what the agent did."""
        ...

    def past(self, store: Store, crash: int) -> None:
        """Show what it knew when it was killed, and what it knows now."""
        ...

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Show what has changed in between."""
        ...

    def belief(self, report: Report) -> None:
        """Show one step on the way from words to a belief, and on from there."""
        ...

    def fact(self, report: Report) -> None:
        """Show one step on the way from words to facts, and to what rests on them."""
        ...

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Show when things held."""
        ...

    def why(self, reason: Reason, title: str) -> None:
        """Show what a decision rests on."""
        ...

    def talk(self, report: Report) -> None:
        """Show a conversation, what was drawn from it, or what a search says of itself."""
        ...

    def hits(self, found: Sequence[Hit], query: str, subtitle: str) -> None:
        """Show what was found, and how each score came about."""
        ...

    def proof(self, store: Store) -> None:
        """Show that the log is whole, and what a decision rests on."""
        ...

    def close(self, target: Target, crash: int) -> None:
        """Say what to try next."""
        ...


class JsonStage:
    """One JSON object for everything that happens."""

    def open(self, path: Path) -> None:
        """Say where the store is."""
        write_json({"what": "store", "path": str(path)})

    def tell(self, pid: int, report: Report) -> None:
        """Pass the report on."""
        write_json({**report, "process": pid})

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Give the events."""
        for event in events:
            write_json({"what": "event", **shapes.event(event)})

    def past(self, store: Store, crash: int) -> None:
        """Give both values of each key."""
        for key, then, now in _then_and_now(store, crash):
            write_json({"what": "past", "key": key, "at": crash, "then": then, "now": now})

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Give the changes."""
        for change in changes:
            write_json({"what": "change", "since": crash, **shapes.change(change)})

    def belief(self, report: Report) -> None:
        """Pass the step on."""
        write_json(report)

    def fact(self, report: Report) -> None:
        """Pass the step on."""
        write_json(report)

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Give the facts."""
        for fact in facts:
            write_json({"what": "timeline", "title": title, **_stretch(fact)})

    def why(self, reason: Reason, title: str) -> None:
        """Give the parts of the tree."""
        for place in reason_shapes.places(reason):
            write_json({"what": "reason", "title": title, **reason_shapes.place(place)})

    def talk(self, report: Report) -> None:
        """Pass the step on."""
        write_json(report)

    def hits(self, found: Sequence[Hit], query: str, subtitle: str) -> None:
        """Give each hit."""
        for hit in found:
            write_json({"what": "hit", "query": query, "title": subtitle, **hit_shapes.hit(hit)})

    def proof(self, store: Store) -> None:
        """Give the verification."""
        write_json({"what": "verification", **shapes.report(store.verify())})

    def close(self, target: Target, crash: int) -> None:
        """Have nothing to add."""


class TerminalStage:
    """Something to look at."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=True, no_color=not colour_wanted())
        self._part = ""

    def open(self, path: Path) -> None:
        """Say where the store is."""
        self._title("A clerk settles invoices", f"its memory is one file: {path}")

    def tell(self, pid: int, report: Report) -> None:
        """Give each report a line."""
        number = report.get("number")
        if report["what"] == "begin":
            told = "starts with nothing" if number == 1 else "finds its state and resumes"
            self._say(f"[cyan]process {pid}[/cyan] {told}: invoice {number} is next")
        elif report["what"] == "policy":
            self._say(f"[yellow]policy[/yellow]     spending is high: limit {report['limit']}")
        elif report["what"] == "killed":
            self._tell_of_death(pid, report)
        else:
            self._tell_of_invoice(report)

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Show a table, an event a row."""
        self._title("Its replay", "one event a transaction, in commit order")
        table = Table(box=None, pad_edge=True, header_style="dim")
        for heading in ("commit", "time", "transaction", "operations"):
            table.add_column(heading, no_wrap=heading != "operations")
        for event in events:
            operations = "  ".join(
                f"[bold]{operation.key}[/bold][dim] v{operation.version}[/dim]"
                for operation in event.operations
            )
            commit, time = str(event.commit_ts), event.timestamp[11:23]
            table.add_row(commit, time, event.txn_id[-12:], operations)
        self._console.print(table, soft_wrap=False)

    def past(self, store: Store, crash: int) -> None:
        """Show both values of each key beside each other."""
        self._title("The past", f"what it knew at commit {crash}, the moment it was killed")
        for key, then, now in _then_and_now(store, crash):
            self._say(f"{key:<9} then {json.dumps(then):<16} now {json.dumps(now)}")

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Show each change with its mark."""
        marks = {"added": "[green]+", "removed": "[red]-", "changed": "[yellow]~"}
        self._title("The difference", f"commit {crash} against now")
        for change in changes:
            before = json.dumps(change.before.value) + " → " if change.before else ""
            after = json.dumps(change.after.value) if change.after else "deleted"
            self._say(f"{marks[change.kind]}[/] {change.key:<10} {before}{after}")

    def belief(self, report: Report) -> None:
        """Give each step a line, and a title where another part begins."""
        what = report["what"]
        if what in _PARTS and what != self._part:
            self._part = what
            self._title(*_PARTS[what])
        self._say(_BELIEFS[what].format(**report))

    def fact(self, report: Report) -> None:
        """Give each step a line."""
        if report["what"] == "fact" and self._part != "fact":
            self._part = "fact"
            self._title("Facts", "from words to a fact, and from that to a decision")
        closed = ", ".join(report.get("closed", ())).title()
        report = {**report, "then": f" [dim]and no longer at {closed}[/dim]" if closed else ""}
        self._say(_FACTS[report["what"]].format(**report))

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Draw bars over an axis of dates."""
        self._title(title, "each employer's time, as far as it is known")
        rows = [Bar(str(fact.object), fact.valid_from, fact.valid_to) for fact in facts]
        for line in draw(rows, 78, glyphs=glyphs_for(sys.stdout.encoding)):
            click.echo(f"  {line}")
        click.echo()

    def why(self, reason: Reason, title: str) -> None:
        """Draw the tree."""
        self._title(title, "what the decision rests on, down to the words")
        for line in str(reason).splitlines():
            click.secho(f"  {line}", fg="yellow" if "STALE" in line else None)

    def talk(self, report: Report) -> None:
        """Show what was said line by line, and what was drawn from it with the words."""
        if report["what"] == "heard":
            self._title("A conversation", "kept word for word, and read by rules: no model")
            for line in report["lines"]:
                self._console.out(f"  {line}")
            self._console.print()
        elif report["what"] == "aside":
            self._say(f"[dim]{escape(report['said'])}[/dim]")
        else:
            said = f"[green]drawn[/green]      {report['said']}"
            self._say(f"{said} [dim]“{escape(report['words'])}”[/dim]")

    def hits(self, found: Sequence[Hit], query: str, subtitle: str) -> None:
        """Show each hit with its rank and its parts."""
        self._title(query, subtitle)
        best = found[0].score if found else 1.0
        for rank, hit in enumerate(found, 1):
            click.echo(hit_lines.hit(hit, rank, best, query, parts=True))

    def proof(self, store: Store) -> None:
        """Show the chain's head and a decision's reason."""
        (decided,) = store.history(key=_DECISION)
        (policy,) = decided.because
        found = store.verify()
        self._title("The proof", "nothing was changed behind its back")
        self._say(f"{found.commits} commits, the chain holds, head [dim]{found.head_hash[:16]}…[/]")
        verdict = (decided.value or {})["verdict"]
        self._say(f"{_DECISION} was {verdict} because of {spelled(policy)}")

    def close(self, target: Target, crash: int) -> None:
        """Show commands that can be pasted."""
        words = [sys.argv[0] if shutil.which("memoranda") is None else "memoranda"]
        place = ["--db", target.location, "--agent", str(target.agent)]
        if target.namespace != "default":
            place += ["--namespace", target.namespace]
        self._title("Ask it yourself", "the store stays where it is")
        for command in (f"diff {crash}", f"get ledger --at {crash}", "history policy", "replay"):
            self._console.out("  " + shlex.join([*words, *command.split(), *place]))
        asked = ["why", "orders/polaris", *place[:4], "--namespace", "facts"]
        self._console.out("  " + shlex.join([*words, *asked]))
        asked = ["recall", "who likes sailing?", *place[:4], "--namespace", "talks"]
        self._console.out("  " + shlex.join([*words, *asked]))
        self._console.print()

    def _title(self, title: str, subtitle: str) -> None:
        self._console.print(f"\n[bold]{title}[/bold]  [dim]{subtitle}[/dim]\n")

    def _say(self, line: str) -> None:
        self._console.print(f"  {line}")

    def _tell_of_invoice(self, report: Report) -> None:
        verdict = {"paid": "[green]✓ paid[/green]", "held": "[red]✗ held[/red]"}[report["verdict"]]
        commit = report.get("commit_ts")
        end = f"[dim]commit {commit}[/dim]" if commit else "staged …"
        line = f"{report['vendor']:<15} {report['amount']:>4}  {verdict}"
        self._say(f"invoice {report['number']}  {line}   {end}")

    def _tell_of_death(self, pid: int, report: Report) -> None:
        told = (
            f"process {pid} got SIGKILL while invoice {report['number']} was staged but not "
            "committed.\nOf that transaction nothing is in the log: no decision, no money spent."
        )
        panel = Panel(told, border_style="red", title="killed", title_align="left", expand=False)
        self._console.print(panel)


def _then_and_now(store: Store, crash: int) -> Iterable[tuple[str, Any, Any]]:
    for key in _LOOKED_AT:
        then, now = store.get_state(key=key, at=crash), store.get_state(key=key)
        assert then is not None, "the agent had written it before"
        assert now is not None, "the agent never deletes it"
        yield key, then.value, now.value


def _stretch(fact: Fact) -> Report:
    end = None if fact.valid_to is None else fact.valid_to.isoformat()
    return {"object": str(fact.object), "valid_from": fact.valid_from.isoformat(), "valid_to": end}
