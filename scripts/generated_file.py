"""The last step of a generator: write its file, or compare it with `--check`."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_compare(target: Path, text: str, source: str = "the source") -> int:
    """Write a file, or with `--check` return 1 if it has another text than its source gives."""
    if "--check" not in sys.argv:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        return 0
    if target.exists() and target.read_text("utf-8") == text:
        return 0
    print(f"{target.name} is not what {source} gives: run `make generate`")
    return 1
