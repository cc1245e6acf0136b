"""What the command line's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.runner import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A command line whose store does not exist yet."""
    return Cli(tmp_path)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """A command line on a store with a goal, a plan in two versions, and a deleted key."""
    cli("write", "goal", '{"text": "ship it"}')
    cli("write", "plan", '{"step": 1, "todo": ["a", "b"]}', "--because", "goal")
    cli("write", "plan", '{"step": 2, "todo": ["a", "b"], "by": "bob"}')
    cli("write", "tmp", "{}")
    cli("delete", "tmp")
    return cli
