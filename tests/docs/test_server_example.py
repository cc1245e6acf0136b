"""The examples of a server in the README and its page run against a server."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^memoranda serve (.*)$", re.MULTILINE)
ADDRESS = "127.0.0.1:7420"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "output"),
    [("README.md", "The launch is on Friday\n"), ("docs/howto/run-a-server.md", "")],
)
def test_the_first_example_of_a_server_runs(
    page: str,
    output: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / page).read_text("utf-8")
    (command, *_), (source, *_) = COMMAND.findall(text), BLOCK.findall(text)
    assert source.count(ADDRESS) == 1
    arguments = shlex.split(command.replace("team.db", shlex.quote(str(tmp_path / "team.db"))))
    with ServerProcess(*arguments) as server:
        code = source.replace(ADDRESS, server.address)
        exec(compile(code, page, "exec"), {"__name__": "example"})
    assert capsys.readouterr() == (output, "")
