"""`memoranda doctor`: whether the store is well, and what to do if it is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from memoranda import errors
from memoranda.cli import exits
from memoranda.cli.embedders import chosen
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import safe

if TYPE_CHECKING:
    from memoranda.model.finding import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}
_STATUS_WIDTH = 7
_CHECK_WIDTH = 8
_PREFIX = "MEMORANDA_"
_OF_OTHERS = frozenset(
    ("MEMORANDA_API_KEY", "MEMORANDA_EMBEDDER", "MEMORANDA_SIGNER", "MEMORANDA_SIGNERS")
)
"""Variables that other commands read."""
_SOURCES: Mapping[ParameterSource | None, str] = {
    ParameterSource.COMMANDLINE: "named by --db",
    ParameterSource.ENVIRONMENT: "named by MEMORANDA_DB",
}


@click.command()
@click.option("--quick", is_flag=True, help="Leave out what reads the whole store.")
@click.option("--deep", is_flag=True, help="Build the views again beside the store, and compare.")
@takes_target
def doctor(target: Target, *, quick: bool, deep: bool) -> None:
    """Check that the store is well, and say what to do where it is not.

    Nothing is changed. The exit code is 0 if there are no more than warnings, 3 if the store is
    damaged or was changed after it was written, 4 if there is none, and 1 for other problems.
    """
    from memoranda.cli import shapes
    from memoranda.sdk.doctor import diagnose

    worst = 0
    with meter("Checking", beside_output=False) as progress:
        found = diagnose(
            target.location, quick=quick, deep=deep, progress=progress, embedder=chosen()
        )
        for finding in chain([_settings(target)], found):
            worst = max(worst, _code(finding))
            if target.as_json:
                write_json(shapes.report(finding))
            else:
                _write(finding)
    sys.stdout.flush()
    click.get_current_context().exit(worst)


def _settings(target: Target) -> Finding:
    """Return which store was chosen and why, and what in the environment is not understood."""
    from memoranda.model.finding import fine, warning

    ctx = click.get_current_context()
    why = _SOURCES.get(ctx.get_parameter_source("db"), "the default, since none was named")
    told = f"the store is {target.location}, {why}"
    known = {option.envvar for option in ctx.command.params if isinstance(option.envvar, str)}
    known |= _OF_OTHERS
    set_now = sorted(name for name in os.environ if name.startswith(_PREFIX))
    unknown = [name for name in set_now if name not in known]
    if unknown:
        return warning(
            "settings",
            f"{told}; nothing reads {', '.join(unknown)}",
            f"the variables are {', '.join(sorted(known))}: is one of them misspelled?",
        )
    return fine("settings", f"{told}; variables set: {', '.join(set_now) or 'none'}")


def _code(finding: Finding) -> int:
    if finding.status != "problem":
        return 0
    code = exits.code_of(getattr(errors, finding.error)) if finding.error else exits.FAILED
    return code if code in (exits.DAMAGED, exits.NOT_FOUND) else exits.FAILED


def _write(finding: Finding) -> None:
    status = click.style(finding.status.ljust(_STATUS_WIDTH), fg=_COLOURS[finding.status])
    click.echo(f"{status}  {finding.check.ljust(_CHECK_WIDTH)}  {safe(finding.message)}")
    if finding.remedy:
        indent = " " * (_STATUS_WIDTH + _CHECK_WIDTH + 4)
        click.echo(f"{indent}{click.style(safe(finding.remedy), dim=True)}")
