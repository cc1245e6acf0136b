"""The `memoranda` command; it needs the packages of the extra `cli` and says so if they miss."""

from __future__ import annotations

import os
import sys

from memoranda import __version__

_COMPLETION = "_MEMORANDA_COMPLETE"
"""Set by the completion scripts of shells, which pass the words to complete elsewhere."""


def main() -> None:
    """Run the command line; answer `--help` and `--version` without importing it."""
    answer = None if _COMPLETION in os.environ else _quick_answer(sys.argv[1:])
    if answer is not None:
        _print_and_exit(answer)
    if sys.argv[1:2] == ["hook"]:
        from memoranda.cli.assistants.time_limit import always_succeed

        always_succeed(_run)
    _run()


def _run() -> None:
    """Run a command."""
    from importlib.util import find_spec

    missing = [name for name in ("click", "platformdirs", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"memoranda: the command line needs {', '.join(missing)}: "
            "pip install 'memoranda[cli]'\n"
        )
        sys.exit(1)
    from memoranda.cli.main import run

    run()


def _quick_answer(arguments: list[str]) -> str | None:
    """Return the answer to arguments that need no command; None: `cli.main` parses them."""
    if arguments in (["--help"], ["-h"]):
        from memoranda.cli.command_table import help_page

        return help_page()
    return f"memoranda, version {__version__}\n" if arguments == ["--version"] else None


def _print_and_exit(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # as `head` does; the interpreter would flush again and fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(0)


if __name__ == "__main__":
    main()
