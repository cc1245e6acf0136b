"""What is generated is what would be generated now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts import SCRIPTS, load_script

GENERATORS = sorted(path.stem for path in SCRIPTS.glob("generate_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_generated_files_are_up_to_date(name: str) -> None:
    script = load_script(name)
    generated = script.generate()
    files: dict[Path, str] = (
        generated if isinstance(generated, dict) else {script.TARGET: generated}
    )
    for path, text in files.items():
        assert path.read_text("utf-8") == text
