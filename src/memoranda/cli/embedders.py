"""Which embedder a command uses: what is named, what the environment names, else the local one."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

VARIABLE = "MEMORANDA_EMBEDDER"
_NONE = "none"


def chosen(named: str | None = None) -> str | None:
    """Return what `memoranda.open` is to take."""
    text = named or os.environ.get(VARIABLE) or "auto"
    return None if text == _NONE else text


def takes_embedder(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--embedder`."""
    option = click.option(
        "--embedder",
        envvar=VARIABLE,
        show_envvar=True,
        metavar="auto|none|FOLDER|URL#MODEL",
        show_default="auto",
        help="What makes vectors: the local model, none, an ONNX model's folder, an endpoint.",
    )
    return option(command)
