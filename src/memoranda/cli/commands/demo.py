"""`memoranda demo`: an agent works, dies, resumes, believes, learns, recalls, can be asked why."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memoranda.cli.options import Target, takes_target

if TYPE_CHECKING:
    from memoranda.cli.stage import Stage

KILLED_AT = 5
DEFAULT_AGENT = "clerk"


@click.command()
@takes_target
def demo(target: Target) -> None:
    """Watch an agent work, die, resume and account for itself.

    A small agent settles invoices in a process of its own. The process is killed in the middle of a
    transaction; another one resumes from the state it finds. Then its log is replayed, read in the
    past and compared between two moments. Then it keeps talks, notes what matters in them, draws
    beliefs, and changes its mind; whoever built on the old belief decides. Then a job change is
    told out of order, and a decision that rests on it is asked why. Then conversations are read,
    and what they say is recalled, the newer before the older. At last the log is verified. The
    store goes to a temporary folder unless --db names a new path.
    """
    from memoranda.cli.demo_beliefs import believe
    from memoranda.cli.demo_facts import learn
    from memoranda.cli.demo_talks import converse
    from memoranda.cli.stage import JsonStage, TerminalStage

    path = _place(_named_on_the_command_line(target))
    target = Target(str(path), target.agent or DEFAULT_AGENT, target.namespace, target.as_json)
    stage = JsonStage() if target.as_json else TerminalStage()
    stage.open(path)
    _work(stage, target, stop_at=KILLED_AT)
    with target.store() as store:
        crash = store.stats().commits
    _work(stage, target)
    with target.store() as store:
        stage.replay(store.replay())
        stage.past(store, crash)
        stage.diff(store.diff(a=crash), crash)
        believe(store.bind(namespace="beliefs"), stage)
        learn(store.bind(namespace="facts"), stage)
        converse(store.bind(namespace="talks"), stage)
        stage.proof(store)
    stage.close(target, crash)


def _named_on_the_command_line(target: Target) -> str | None:
    """Return the --db that was typed: a user's own store, set in the environment, is left alone."""
    source = click.get_current_context().get_parameter_source("db")
    return target.db if source is ParameterSource.COMMANDLINE else None


def _place(db: str | None) -> Path:
    """Return where the demo's store goes: never where something is already."""
    if db is None:
        return Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "store.db"
    if "://" in db or db == ":memory:":
        raise click.UsageError(f"{db} is not a plain path: the demo's agent is another process")
    if Path(db).exists():
        raise click.UsageError(f"{db} exists already: give --db a new path")
    return Path(db)


def _work(stage: Stage, target: Target, *, stop_at: int = 0) -> None:
    """Run the agent's process and tell what it reports; kill it when it has staged `stop_at`."""
    assert target.agent is not None, "the demo names its agent"
    command = [sys.executable, "-m", "memoranda.cli.demo_agent", target.location]
    command += [target.agent, target.namespace, str(stop_at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        try:
            for report in _reports(agent):
                stage.tell(agent.pid, report)
                if report["what"] == "staged":
                    agent.kill()
                    stage.tell(agent.pid, {"what": "killed", "number": stop_at})
        finally:
            agent.kill()
    if agent.returncode and not stop_at:
        raise click.ClickException(f"the demo's agent ended with code {agent.returncode}")


def _reports(agent: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert agent.stdout is not None, "the pipe was asked for"
    for line in agent.stdout:
        yield json.loads(line)
