"""The display of `memoranda demo`: text for a terminal, or JSON Lines."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from memoranda.calls.as_json import reason_nodes, to_json
from memoranda.cli.options import Target
from memoranda.cli.output import fit, use_colour, write_json
from memoranda.cli.render import hit_text
from memoranda.cli.render.timeline_chart import Bar, draw, glyphs_for
from memoranda.graph.records import Fact
from memoranda.model.event import ReplayEvent
from memoranda.model.ref_text import format_ref
from memoranda.sdk.store.store import Store
from memoranda.search.results import Hit
from memoranda.state.reads import StateChange
from memoranda.why.reason import Reason

Report = dict[str, Any]
_COMPARED_KEYS = ("policy", "ledger", "progress")
_DECISION = "invoice/7"
_CHART_COLUMNS = 78
"""Columns of a chart: it fits on a terminal of 80 columns, indented."""
_TITLES = {
    "note": ("Beliefs", "three conversations are stored, with notes that quote them"),
    "words": ("Sources", "the quotations that the last belief rests on, through other beliefs"),
    "superseded": (
        "A revision",
        "the owner of every belief that rested on the old one is notified",
    ),
}
"""First step of a part of the second act -> its title and subtitle."""
_BELIEFS = {
    "note": "[green]noted[/green]      {content} [dim]bytes {span[0]} to {span[1]}[/dim]",
    "reflection": "[cyan]believes[/cyan]   {content}",
    "words": "[dim]{hop} links away[/dim]  “{words}”",
    "superseded": "[yellow]superseded[/yellow] {old} → {new}",
    "notice": "[yellow]to decide[/yellow]  {about} [dim]its source was superseded[/dim]",
    "decision": "[green]{decision}d[/green]    {content}",
}
"""Step of the second act -> its line."""


_FACTS = {
    "fact": "[green]learned[/green]    {said} since {since}{closed_text}",
    "decided": "[cyan]decided[/cyan]    {key} {value}",
    "believed": "{valid_at}: as known at commit {known_at}, Ann worked at [bold]{object}[/bold]",
    "corrected": "[yellow]corrected[/yellow]  {belief} [dim]{notified} notified[/dim]",
}
"""Step of the third act -> its line."""


class Act(NamedTuple):
    """A part of the demo."""

    title: str
    matters: str
    """Why a user should care, in one line."""
    summary: str
    """What was shown, for the end."""


ACTS = (
    Act(
        "A crash in the middle",
        "An agent that dies half-way must neither lose work nor do it twice, nor lose its past.",
        "a process was killed in a transaction, the next one lost nothing, and its past was read",
    ),
    Act(
        "Beliefs and their sources",
        "A belief is only as good as the words it rests on, and words are corrected.",
        "beliefs were traced to quotations, and a revision notified their owners",
    ),
    Act(
        "Facts in time",
        "News arrives out of order; the timeline must come out right all the same.",
        "a late fact corrected a timeline, and a decision explained itself",
    ),
    Act(
        "Recall",
        "An answer that was true last year is a wrong answer today.",
        "facts were extracted from conversations, and the newer answer came first",
    ),
    Act(
        "Proof",
        "An audit needs more than a promise that nobody edited the log.",
        "the hash chain of the whole log was verified",
    ),
)


class Stage(Protocol):
    """A display of the demo."""

    def act(self, act: Act) -> None:
        """Announce the next act, and why it matters."""
        ...

    def open(self, path: Path) -> None:
        """Show the path of the store."""
        ...

    def tell(self, pid: int, report: Report) -> None:
        """Show a report of the agent's process, or its end."""
        ...

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Show the agent's transactions."""
        ...

    def past(self, store: Store, crash: int) -> None:
        """Show the state at the crash beside the state now."""
        ...

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Show the changes since the crash."""
        ...

    def belief(self, report: Report) -> None:
        """Show a step of the second act: from a conversation to a belief and its revision."""
        ...

    def fact(self, report: Report) -> None:
        """Show a step of the third act: from a conversation to facts and a decision."""
        ...

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Show the valid times of facts."""
        ...

    def why(self, reason: Reason, title: str) -> None:
        """Show the tree of reasons of a decision."""
        ...

    def talk(self, report: Report) -> None:
        """Show a conversation, an extracted fact, or a note of the search."""
        ...

    def hits(self, hits: Sequence[Hit], query: str, subtitle: str) -> None:
        """Show search results and the parts of their scores."""
        ...

    def proof(self, store: Store) -> None:
        """Show that the log verifies, and the reason of a decision."""
        ...

    def close(self, target: Target, crash: int) -> None:
        """Show commands to try next."""
        ...

    def page(self, address: str) -> None:
        """Show where the page of the store is."""
        ...


class JsonStage:
    """A display that prints one JSON object for each step."""

    def act(self, act: Act) -> None:
        """Print the title, and why it matters."""
        write_json({"what": "act", "title": act.title, "matters": act.matters})

    def open(self, path: Path) -> None:
        """Print the path of the store."""
        write_json({"what": "store", "path": str(path)})

    def tell(self, pid: int, report: Report) -> None:
        """Print the report."""
        write_json({**report, "process": pid})

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Print the events."""
        for event in events:
            write_json({"what": "event", **to_json(event)})

    def past(self, store: Store, crash: int) -> None:
        """Print both values of each key."""
        for key, past, now in _past_and_present(store, crash):
            write_json({"what": "past", "key": key, "at": crash, "then": past, "now": now})

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Print the changes."""
        for change in changes:
            write_json({"what": "change", "since": crash, **to_json(change)})

    def belief(self, report: Report) -> None:
        """Print the step."""
        write_json(report)

    def fact(self, report: Report) -> None:
        """Print the step."""
        write_json(report)

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Print the facts."""
        for fact in facts:
            write_json({"what": "timeline", "title": title, **_valid_time(fact)})

    def why(self, reason: Reason, title: str) -> None:
        """Print the nodes of the tree."""
        for node in reason_nodes(reason):
            write_json({"what": "reason", "title": title, **node})

    def talk(self, report: Report) -> None:
        """Print the step."""
        write_json(report)

    def hits(self, hits: Sequence[Hit], query: str, subtitle: str) -> None:
        """Print the hits."""
        for hit in hits:
            write_json({"what": "hit", "query": query, "title": subtitle, **to_json(hit)})

    def proof(self, store: Store) -> None:
        """Print the verification."""
        write_json({"what": "verification", **to_json(store.verify())})

    def close(self, target: Target, crash: int) -> None:
        """Print nothing."""

    def page(self, address: str) -> None:
        """Print the address."""
        write_json({"what": "page", "url": address})


class TerminalStage:
    """A display for a terminal; it pauses before every act but the first, if it is told how."""

    def __init__(self, pause: Callable[[], None] | None = None) -> None:
        self._pause = pause
        self._acts: list[Act] = []
        self._console = Console(highlight=False, soft_wrap=True, no_color=not use_colour())
        self._part = ""

    def open(self, path: Path) -> None:
        """Print the path of the store."""
        self._title("A clerk settles invoices", f"its memory is one file: {path}")

    def act(self, act: Act) -> None:
        """Print the number and the title of the act, and why it matters."""
        if self._acts and self._pause is not None:
            click.echo()
            self._pause()
        self._acts.append(act)
        number = f"Act {len(self._acts)} of {len(ACTS)}"
        self._console.print(f"\n[bold cyan]{number}: {act.title}[/bold cyan]")
        self._console.print(f"[cyan]{act.matters}[/cyan]\n")

    def tell(self, pid: int, report: Report) -> None:
        """Print a line for the report."""
        number = report.get("number")
        if report["what"] == "begin":
            start = "starts without state" if number == 1 else "finds its state and resumes"
            self._print(f"[cyan]process {pid}[/cyan] {start}: invoice {number} is next")
        elif report["what"] == "policy":
            self._print(f"[yellow]policy[/yellow]     spending is high: limit {report['limit']}")
        elif report["what"] == "killed":
            self._print_kill(pid, report)
        else:
            self._print_invoice(report)

    def replay(self, events: Iterable[ReplayEvent]) -> None:
        """Print a table with a row for each event."""
        self._title("Replay", "one event for each transaction, in commit order")
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
        """Print both values of each key side by side."""
        self._title("Time travel", f"the state as of commit {crash}, the last before the crash")
        for key, past, now in _past_and_present(store, crash):
            self._print(f"{key:<9} then {json.dumps(past):<16} now {json.dumps(now)}")

    def diff(self, changes: Iterable[StateChange], crash: int) -> None:
        """Print a line for each change."""
        marks = {"added": "[green]+", "removed": "[red]-", "changed": "[yellow]~"}
        self._title("Diff", f"commit {crash} compared with now")
        for change in changes:
            before = json.dumps(change.before.value) + " → " if change.before else ""
            after = json.dumps(change.after.value) if change.after else "deleted"
            self._print(f"{marks[change.kind]}[/] {change.key:<10} {before}{after}")

    def belief(self, report: Report) -> None:
        """Print a line for the step, and a title if it is the first of a part."""
        step = report["what"]
        if step in _TITLES and step != self._part:
            self._part = step
            self._title(*_TITLES[step])
        self._print(_BELIEFS[step].format(**report))

    def fact(self, report: Report) -> None:
        """Print a line for the step."""
        if report["what"] == "fact" and self._part != "fact":
            self._part = "fact"
            self._title("Facts", "from a conversation to a fact, and from the fact to a decision")
        employers = ", ".join(report.get("closed", ())).title()
        closed_text = f" [dim]and no longer at {employers}[/dim]" if employers else ""
        self._print(_FACTS[report["what"]].format(**report, closed_text=closed_text))

    def timeline(self, facts: Sequence[Fact], title: str) -> None:
        """Draw bars over an axis of dates."""
        self._title(title, "the valid time of each employer")
        rows = [Bar(str(fact.object), fact.valid_from, fact.valid_to) for fact in facts]
        for line in draw(rows, _CHART_COLUMNS, glyphs=glyphs_for(sys.stdout.encoding)):
            click.echo(f"  {line}")
        click.echo()

    def why(self, reason: Reason, title: str) -> None:
        """Draw the tree."""
        self._title(title, "the sources of the decision, down to the quotations")
        for line in str(reason).splitlines():
            click.secho(f"  {fit(line, beside='  ')}", fg="yellow" if "STALE" in line else None)

    def talk(self, report: Report) -> None:
        """Print a conversation line by line, or an extracted fact with its quotation."""
        if report["what"] == "heard":
            self._title(
                "A conversation", "stored as it is; rules extract its facts, without a model"
            )
            for line in report["lines"]:
                self._console.out(f"  {line}")
            self._console.print()
        elif report["what"] == "aside":
            self._print(f"[dim]{escape(report['said'])}[/dim]")
        else:
            fact = f"[green]extracted[/green]  {report['said']}"
            self._print(f"{fact} [dim]“{escape(report['words'])}”[/dim]")

    def hits(self, hits: Sequence[Hit], query: str, subtitle: str) -> None:
        """Print each hit with its rank and the parts of its score."""
        self._title(query, subtitle)
        best = hits[0].score if hits else 1.0
        for rank, hit in enumerate(hits, 1):
            click.echo(hit_text.hit(hit, rank, best, query, parts=True))

    def proof(self, store: Store) -> None:
        """Print the head of the chain, and the reason of a decision."""
        (decision,) = store.history(key=_DECISION)
        (policy,) = decision.because
        report = store.verify()
        self._title("Verification", "no event was changed after it was written")
        head = f"head [dim]{report.head_hash[:16]}…[/]"
        self._print(f"{report.commits} commits, the chain holds, {head}")
        verdict = (decision.value or {})["verdict"]
        self._print(f"{_DECISION} was {verdict} because of {format_ref(policy)}")

    def close(self, target: Target, crash: int) -> None:
        """Print commands that can be pasted into a shell."""
        program = sys.argv[0] if shutil.which("memoranda") is None else "memoranda"
        store = ["--db", target.location, "--agent", str(target.agent)]
        scope = [] if target.namespace == "default" else ["--namespace", target.namespace]
        self._title("What you saw", "all of it in one file, on one log")
        for number, act in enumerate(self._acts, 1):
            self._print(f"{number}. {act.summary}")
        self._title("Try it yourself", "the store is not deleted")
        for arguments in (
            ["why", "orders/polaris", *store, "--namespace", "facts"],
            ["recall", "who likes sailing?", *store, "--namespace", "talks"],
            ["diff", str(crash), *store, *scope],
        ):
            self._console.out("  " + shlex.join([program, *arguments]))
        self._console.print()

    def page(self, address: str) -> None:
        """Print the address, and what to look at first."""
        self._title("See it yourself", "the same story on a page of this machine, until Ctrl-C")
        for path, hint in (
            ("", "drag the strip, or press ← and →, to any moment of the story"),
            ("/why?key=orders%2Fpolaris&space=facts", "from a stale decision to the words"),
            ("/inbox", "beliefs whose evidence changed: keep, revise or retract them"),
        ):
            self._print(f"[bold]{address}{path}[/bold]\n    [dim]{hint}[/dim]")

    def _title(self, title: str, subtitle: str) -> None:
        self._console.print(f"\n[bold]{title}[/bold]  [dim]{subtitle}[/dim]\n")

    def _print(self, line: str) -> None:
        self._console.print(f"  {line}")

    def _print_invoice(self, report: Report) -> None:
        verdict = {"paid": "[green]✓ paid[/green]", "held": "[red]✗ held[/red]"}[report["verdict"]]
        commit = report.get("commit_ts")
        end = f"[dim]commit {commit}[/dim]" if commit else "staged …"
        line = f"{report['vendor']:<15} {report['amount']:>4}  {verdict}"
        self._print(f"invoice {report['number']}  {line}   {end}")

    def _print_kill(self, pid: int, report: Report) -> None:
        message = (
            f"process {pid} got SIGKILL while invoice {report['number']} was staged but not "
            "committed.\nThe log has nothing of that transaction: no decision, and no spending."
        )
        panel = Panel(message, border_style="red", title="killed", title_align="left", expand=False)
        self._console.print(panel)


def _past_and_present(store: Store, crash: int) -> Iterable[tuple[str, Any, Any]]:
    for key in _COMPARED_KEYS:
        past, now = store.get_state(key=key, at=crash), store.get_state(key=key)
        assert past is not None, "the agent wrote it before the crash"
        assert now is not None, "the agent never deletes it"
        yield key, past.value, now.value


def _valid_time(fact: Fact) -> Report:
    end = None if fact.valid_to is None else fact.valid_to.isoformat()
    return {"object": str(fact.object), "valid_from": fact.valid_from.isoformat(), "valid_to": end}
