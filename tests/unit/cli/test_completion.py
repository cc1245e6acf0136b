"""Shell completion."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.unit.cli.runner import Cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(cli: Cli, shell: str) -> None:
    script = cli("completion", shell)
    assert "_MEMORANDA_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_another_shell_is_a_usage_error(cli: Cli) -> None:
    assert "tcsh" in cli.fails(2, "completion", "tcsh")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("memoranda rep", {"replay"}),
        ("memoranda replay --all", {"--all-agents", "--all-namespaces"}),
        ("memoranda completion f", {"fish"}),
    ],
)
def test_what_completing_offers(cli: Cli, words: str, offered: set[str]) -> None:
    env = {
        "_MEMORANDA_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = cli.run(env=env)
    assert {line.split(",")[1] for line in result.stdout.splitlines()} == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script(cli: Cli) -> None:
    script = cli("completion", "bash")
    taken = subprocess.run(
        ["bash", "-c", 'eval "$1"; complete -p memoranda', "bash", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_memoranda_completion" in taken.stdout
