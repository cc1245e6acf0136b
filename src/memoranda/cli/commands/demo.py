"""`memoranda demo`: an agent works, crashes, resumes, learns, recalls and explains itself."""

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

from memoranda.cli.commands.serve import check_packages, http_url
from memoranda.cli.options import Target, takes_target

if TYPE_CHECKING:
    from memoranda.cli.demo.stage import Stage
    from memoranda.server.serving import Server

KILL_AT = 5
"""The invoice at which the agent's process is killed."""
DEFAULT_AGENT = "clerk"


@click.command()
@click.option("--no-pause", is_flag=True, help="Do not wait for a key between the acts.")
@click.option("--ui", "with_page", is_flag=True, help="Then serve the store's page, until Ctrl-C.")
@takes_target
def demo(target: Target, *, no_pause: bool, with_page: bool) -> None:
    """Watch an agent work, crash, resume and explain itself.

    An agent settles invoices in its own process. The process is killed in the middle of a
    transaction, and a second one resumes from the stored state. The demo then replays the log,
    reads a past state, and compares two moments. Next, the agent stores conversations, derives
    beliefs from them and revises one; a notice asks it to review what rested on the old belief.
    Then it learns of a job change out of order, and explains a decision that rests on it. Then it
    extracts facts from conversations and recalls them, the newer answer first. Finally it verifies
    the log. The store is in a temporary folder, unless --db names a new path. On a terminal, the
    demo waits for a key between its acts. With --ui, it then serves a page on this machine that
    shows the whole story.
    """
    if with_page:
        check_packages()
    from memoranda.cli.demo.stage import ACTS, JsonStage, TerminalStage
    from memoranda.cli.demo.story import believe, converse, learn

    path = _new_path(_db_option(target))
    target = Target(str(path), target.agent or DEFAULT_AGENT, target.namespace, target.as_json)
    pauses = not no_pause and sys.stdin.isatty() and sys.stdout.isatty()
    stage = JsonStage() if target.as_json else TerminalStage(_wait_for_key if pauses else None)
    acts = iter(ACTS)
    stage.open(path)
    stage.act(next(acts))
    _work(stage, target, stop_at=KILL_AT)
    with target.store() as store:
        crash = store.stats().commits
    _work(stage, target)
    with target.store() as store:
        stage.replay(store.replay())
        stage.past(store, crash)
        stage.diff(store.diff(old=crash), crash)
        stage.act(next(acts))
        believe(store.bind(namespace="beliefs"), stage)
        stage.act(next(acts))
        learn(store.bind(namespace="facts"), stage)
        stage.act(next(acts))
        converse(store.bind(namespace="talks"), stage)
        stage.act(next(acts))
        stage.proof(store)
    stage.close(target, crash)
    if with_page:
        _serve(stage, path)


def _serve(stage: Stage, path: Path) -> None:
    """Serve the page of the demo's store until Ctrl-C."""
    from memoranda.cli.commands.ui import serve_page

    def announce(server: Server) -> None:
        stage.page(http_url(server))
        sys.stdout.flush()

    serve_page(str(path), port=0, embedder=None, announce=announce)


def _wait_for_key() -> None:
    """Wait until the user presses a key; Ctrl-C and Ctrl-D end the demo."""
    prompt = "  press any key to go on, Ctrl-C to end"
    click.secho(prompt, dim=True, nl=False)
    try:
        click.getchar()
    except EOFError as error:
        raise KeyboardInterrupt from error
    click.echo(f"\r{' ' * len(prompt)}\r", nl=False)


def _db_option(target: Target) -> str | None:
    """Return --db if it was typed; the store that the environment names is not touched."""
    source = click.get_current_context().get_parameter_source("db")
    return target.db if source is ParameterSource.COMMANDLINE else None


def _new_path(db: str | None) -> Path:
    """Return the path of the demo's store; refuse an existing file."""
    if db is None:
        return Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "store.db"
    if "://" in db or db == ":memory:":
        raise click.UsageError(f"{db} is not a path: the agent opens the store in another process")
    if Path(db).exists():
        raise click.UsageError(f"{db} exists: give --db a new path")
    return Path(db)


def _work(stage: Stage, target: Target, *, stop_at: int = 0) -> None:
    """Run the agent's process and show its reports; kill it when it has staged `stop_at`."""
    assert target.agent is not None, "the demo sets its agent"
    command = [sys.executable, "-m", "memoranda.cli.demo.agent", target.location]
    command += [target.agent, target.namespace, str(stop_at)]
    # In a session of its own: Ctrl-C ends this process, which then kills the agent's.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as agent:
        try:
            for report in _reports(agent):
                stage.tell(agent.pid, report)
                if report["what"] == "staged":
                    agent.kill()
                    stage.tell(agent.pid, {"what": "killed", "number": stop_at})
        finally:
            agent.kill()
    if agent.returncode and not stop_at:
        raise click.ClickException(f"the agent's process ended with code {agent.returncode}")


def _reports(agent: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert agent.stdout is not None, "stdout is a pipe"
    for line in agent.stdout:
        yield json.loads(line)
