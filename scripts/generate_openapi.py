"""Generate `docs/reference/openapi.json` from the registry of calls.

Run without arguments to write the document, with `--check` to learn whether it is up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from memoranda.server.http.openapi import document
from scripts.generated_file import write_or_compare

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "openapi.json"


def main() -> int:
    """Write the document, or compare it."""
    return write_or_compare(TARGET, generate(), "the registry of calls")


def generate() -> str:
    """Return the document."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
