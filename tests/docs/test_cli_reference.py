"""The reference of the command line is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_cli_docs", ROOT / "scripts" / "generate_cli_docs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert text == generator().generate(), "run `make generate`"


def test_the_reference_names_every_command_and_exit_code() -> None:
    from memoranda.cli.command_table import COMMANDS
    from memoranda.cli.exit_codes import MEANINGS

    text = generator().generate()
    for command in COMMANDS:
        assert f"\n## {command}\n" in text
    for code in MEANINGS:
        assert f"\n| {code} | " in text
