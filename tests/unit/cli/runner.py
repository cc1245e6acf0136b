"""Runs commands on a store of their own, in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from memoranda.cli.main import cli


class Cli:
    """The command line as a user with a fresh home sees it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.db = home / "store.db"
        self.env: dict[str, str | None] = {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "MEMORANDA_SIGNERS": None,
            "MEMORANDA_SIGNER": None,
            "MEMORANDA_DB": str(self.db),
            "MEMORANDA_AGENT": "planner",
            "MEMORANDA_NAMESPACE": None,
            "NO_COLOR": None,
        }

    def run(
        self,
        *arguments: object,
        stdin: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Result:
        """Run a command; an exception that is not an ending is the test's."""
        return CliRunner().invoke(
            cli,
            [str(argument) for argument in arguments],
            input=stdin,
            env={**self.env, **(env or {})},
            prog_name="memoranda",
            catch_exceptions=False,
        )

    def __call__(self, *arguments: object, stdin: str | bytes | None = None) -> str:
        """Run a command that must work and return what it wrote."""
        result = self.run(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def rows(self, *arguments: object) -> list[dict[str, Any]]:
        """Run a command with `--json` and return its objects, one a line."""
        return [json.loads(line) for line in self(*arguments, "--json").splitlines()]

    def row(self, *arguments: object) -> dict[str, Any]:
        """Run a command with `--json` that answers with one object."""
        (row,) = self.rows(*arguments)
        return row

    def fails(self, code: int, *arguments: object, stdin: str | bytes | None = None) -> str:
        """Run a command that must end with `code` and no data; return its message."""
        result = self.run(*arguments, stdin=stdin)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        return result.stderr
