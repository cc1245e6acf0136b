"""Options that can also be set by the environment and by the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memoranda.cli.configuration.variables import CONFIG, variable_of
from memoranda.cli.location import config_file
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.cli.configuration.resolution import Resolution

_FILE = "memoranda.cli.config"
"""Key in a context's `meta`: the file that `--config` names."""
_RESOLUTION = "memoranda.cli.resolution"
"""Key in a context's `meta`: the settings, after they were read."""


class SettingOption(click.Option):
    """An option of a setting: a flag goes before the environment, and that before the file."""

    def __init__(self, *args: Any, setting: str, **attributes: Any) -> None:
        attributes |= {"envvar": variable_of(setting), "show_envvar": True}
        super().__init__(*args, **attributes)
        self.setting = setting

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value and its source: `DEFAULT_MAP` stands for the file."""
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.DEFAULT:
            return value, source
        if config_file(ctx.meta.get(_FILE)) is None:  # most users have none: nothing is imported
            return value, source
        stored = None
        with suppress(*((MemorandaError,) if ctx.resilient_parsing else ())):  # a shell completes
            stored = resolution(ctx).given(self.setting)
        return (value, source) if stored is None else (stored, ParameterSource.DEFAULT_MAP)


def _set_file(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.meta[_FILE] = value


takes_config = click.option(
    "--config",
    envvar=CONFIG,
    show_envvar=True,
    metavar="FILE",
    type=click.Path(),
    is_eager=True,
    expose_value=False,
    callback=_set_file,
    show_default="config.toml in the user's configuration folder",
    help="Settings, in TOML; flags and the environment go before it.",
)


def resolution(ctx: click.Context) -> Resolution:
    """Return the settings of the command that runs, before its flags."""
    settings: Resolution | None = ctx.meta.get(_RESOLUTION)
    if settings is None:
        from memoranda.cli.configuration.resolution import resolve

        settings = resolve(config_file(ctx.meta.get(_FILE)), os.environ)
        ctx.meta[_RESOLUTION] = settings
    return settings


def setting_without_flag(path: str) -> Any:
    """Return a setting that the current command has no flag for; None if nobody has set it."""
    text = os.environ.get(variable_of(path))
    ctx = click.get_current_context(silent=True)
    if text or ctx is None or config_file(ctx.meta.get(_FILE)) is None:
        return text or None
    return resolution(ctx).given(path)
