"""The `memoranda` command; what it needs comes with the extra `cli`, and it says so if not."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    missing = [name for name in ("click", "platformdirs", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"memoranda: the command line needs {', '.join(missing)}: "
            "pip install 'memoranda[cli]'\n"
        )
        sys.exit(1)
    from memoranda.cli.main import run

    run()


if __name__ == "__main__":
    main()
