"""Commands that show settings with their sources, and that check a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.configuration.option import resolution, takes_config
from memoranda.cli.location import default_config, default_path
from memoranda.cli.output import note, plural, safe, warn, write_json

if TYPE_CHECKING:
    from memoranda.cli.configuration.resolution import Resolution, Value

_takes_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _complete_setting(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from memoranda.cli.configuration.settings import all_settings

    return [path for path in all_settings() if path.startswith(incomplete)]


@click.group()
def config() -> None:
    """Show the settings and where they come from, or check a file."""


@config.command()
@click.argument(
    "setting", metavar="[SETTING]", required=False, default="", shell_complete=_complete_setting
)
@_takes_json
@takes_config
def show(*, setting: str, as_json: bool) -> None:
    """Print every setting and where it comes from.

    A setting comes from a flag of the command, else from its environment variable, else from the
    file, else it has its default. Secrets are masked. With SETTING, only settings whose names
    begin with it are printed, such as jobs.backup.
    """
    from memoranda.cli.configuration.resolution import unknown_variables

    settings = resolution(click.get_current_context())
    values = [value for value in _display_values(settings) if value[0].startswith(setting)]
    if as_json:
        for path, display, value in values:
            write_json(
                {
                    "setting": path,
                    "value": display,
                    "source": value.source,
                    "variable": value.setting.variable,
                }
            )
    else:
        _write_table(values)
        place = f"{settings.file}" if settings.file else f"none; {default_config()} is not there"
        note(f"file: {place}")
    for name in unknown_variables(os.environ):
        warn(f"nothing reads {name}")


@config.command()
@click.argument("file", metavar="FILE", type=click.Path())
@_takes_json
def check(*, file: str, as_json: bool) -> None:
    """Check a file without using it.

    An unknown key, a value that does not fit, and settings that contradict each other are errors
    with their line. The environment is not looked at.
    """
    from memoranda.cli.configuration.resolution import DEFAULT, resolve

    settings = resolve(Path(file), {})
    own = [value for value in settings.values.values() if value.source != DEFAULT]
    warnings = [*_warnings(Path(file), own)]
    if as_json:
        write_json({"path": file, "settings": len(own), "warnings": warnings})
        return
    click.echo(f"{safe(file)} is right: {plural(len(own), 'setting')}.")
    for warning in warnings:
        warn(warning)


def _display_values(settings: Resolution) -> Iterator[tuple[str, Any, Value]]:
    """Yield the settings with what is shown of them; some defaults depend on the platform."""
    for path, value in settings.values.items():
        display = value.display
        if path == "db" and display is None and settings.values["stores"].value is None:
            display = str(default_path())
        yield path, display, value


def _write_table(values: list[tuple[str, Any, Value]]) -> None:
    rows = [(path, _text(display), value.source) for path, display, value in values]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for path, text, source in rows:
        name = click.style(path.ljust(widths[0]), dim=source == "default")
        click.echo(f"{name}  {safe(text).ljust(widths[1])}  {click.style(safe(source), dim=True)}")


def _text(value: Any) -> str:
    """Return a value as TOML spells it; `-` for what is not set."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _warnings(path: Path, values: list[Value]) -> Iterator[str]:
    secret_names = [value.setting.path for value in values if value.setting.is_secret]
    if secret_names and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        yield f"others can read {', '.join(secret_names)} in {path}: make it `chmod 600`"
    for value in values:
        if value.setting.is_path and _is_missing(value.value):
            yield f"{value.source}: {value.setting.path} is {value.value}, which is not there"


def _is_missing(value: str) -> bool:
    return "://" not in value and value != ":memory:" and not Path(value).exists()
