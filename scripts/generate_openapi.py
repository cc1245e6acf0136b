"""Generate `docs/reference/openapi.json` from the registry of calls.

Run without arguments to write the document, with `--check` to learn whether it is up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from memoranda.server.http.openapi import document

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "openapi.json"


def main() -> int:
    """Write the document, or compare it."""
    text = generate()
    if "--check" not in sys.argv:
        TARGET.write_text(text, "utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text("utf-8") == text:
        return 0
    print(f"{TARGET.name} is out of date: run `make generate`")
    return 1


def generate() -> str:
    """Return the document."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
