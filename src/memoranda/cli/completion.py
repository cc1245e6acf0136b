"""The command that prints a shell's completion script."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "memoranda"
_VARIABLE = "_MEMORANDA_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a completion script for a shell.

    For bash, put `eval "$(memoranda completion bash)"` in ~/.bashrc; for zsh, the same with zsh in
    ~/.zshrc; for fish, `memoranda completion fish | source` in config.fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, f"click completes in {shell}"
    click.echo(found(ctx.find_root().command, {}, _PROGRAM, _VARIABLE).source())
