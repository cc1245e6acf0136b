"""The option `--limit`: how much the callers of a token may do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import click

from memoranda.errors import InvalidInput

NAMES = (
    "requests-per-second", "bytes-per-second", "calls-in-flight", "open-streams",
    "long-seconds-per-minute",
)  # fmt: skip
"""The fields of `CallLimits`; repeated here so that help does not import the engine."""
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?", re.ASCII)


def takes_limits(help_text: str) -> Callable[..., Any]:
    """Give a command `--limit`, as `limits`."""
    return click.option(
        "--limit",
        "limits",
        metavar="NAME=N",
        multiple=True,
        help=f"{help_text}: {', '.join(NAMES)}. Repeatable.",
    )


def parse_limits(pairs: Iterable[str]) -> dict[str, Any]:
    """Return limits that were given as `name=number`, by the names of the fields."""
    limits: dict[str, Any] = {}
    for pair in pairs:
        name, _, number = pair.partition("=")
        if name not in NAMES or not _NUMBER.fullmatch(number):
            names = ", ".join(NAMES)
            raise InvalidInput("limits", f"{pair!r} is not NAME=N, with one of {names}")
        limits[name.replace("-", "_")] = float(number) if "." in number else int(number)
    return limits
