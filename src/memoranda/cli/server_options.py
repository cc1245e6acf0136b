"""The options of `memoranda serve`, by theme; each is a setting of the table `server`.

Help, defaults and checks are those of the schema, so that a flag, a variable and a line of the
file mean the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.call_limits import parse_limits, takes_limits
from memoranda.cli.configuration.option import SettingOption, resolution
from memoranda.cli.main import FIELD_NAMES
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.server.jobs.settings import JobSettings

Command = Callable[..., None]
_JOBS = "jobs."


class ServerOption(SettingOption):
    """An option with the help and the default of the schema, which is imported when needed."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flag, and its description in the schema."""
        from memoranda.cli.configuration.settings import all_settings

        setting = all_settings()[self.setting]
        self.help = setting.description
        self.show_default = setting.default not in (None, False, [])
        return super().get_help_record(ctx)

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: FBT001
        """Return the default of the schema."""
        from memoranda.cli.configuration.settings import all_settings

        default = all_settings()[self.setting].default
        return super().get_default(ctx, call) if default in (None, []) else default


def _option(flag: str, name: str, **attributes: Any) -> Callable[[Command], Command]:
    """Return the option of a setting of the server."""
    return click.option(flag, name, cls=ServerOption, setting=f"server.{name}", **attributes)


_ADDRESSES = (
    _option("--grpc", "grpc", metavar="HOST:PORT"),
    _option("--http", "http", metavar="HOST:PORT"),
    _option("--http-host-name", "http_host_names", metavar="NAME", multiple=True),
    _option("--http-origin", "http_origins", metavar="URL", multiple=True),
    _option(
        "--http-authorization-server", "http_authorization_servers", metavar="URL", multiple=True
    ),
    _option("--metrics-open", "metrics_open", is_flag=True),
)
_TLS = (
    _option("--tls-cert", "tls_cert", type=click.Path()),
    _option("--tls-key", "tls_key", type=click.Path()),
    _option("--tls-client-ca", "tls_client_ca", type=click.Path()),
)
_ACCESS = (
    _option("--tokens/--no-tokens", "tokens", default=None),
    takes_limits("A limit of tokens that have none of their own"),
    _option("--insecure", "insecure", is_flag=True),
)
_OPERATION = (
    _option("--drain", "drain", type=click.FloatRange(min=0), metavar="SECONDS"),
    _option("--max-open-stores", "max_open_stores", type=click.IntRange(min=1), metavar="N"),
    _option("--log", "log", type=click.Choice(["debug", "info", "warning", "error"])),
    click.option(
        "--job",
        "jobs",
        metavar="NAME.KEY=VALUE",
        multiple=True,
        help="A setting of a scheduled job, such as backup.every=1d. Repeatable.",
    ),
)
_STATEHOUSE = (
    _option("--statehouse-store", "statehouse_store", metavar="NAME"),
    _option("--statehouse-anywhere", "statehouse_anywhere", is_flag=True),
)


def takes_server_settings(command: Command) -> Command:
    """Give a command the options of a server, as a `ServerSection` and as `JobSettings`."""

    @functools.wraps(command)
    def with_settings(
        *args: Any, limits: tuple[str, ...], jobs: tuple[str, ...], **values: Any
    ) -> None:
        from msgspec.structs import replace

        from memoranda.cli.configuration.schema import ServerSection

        ctx = click.get_current_context()
        ctx.meta[FIELD_NAMES] = _flags(ctx.command)
        names = values.keys() & {*ServerSection.__struct_fields__}
        fields = {name: values.pop(name) for name in names}
        configured = resolution(ctx).configuration.server.limits
        section = ServerSection(**fields, limits=replace(configured, **parse_limits(limits)))
        command(*args, settings=section, jobs=_jobs(jobs), **values)

    for option in reversed((*_ADDRESSES, *_TLS, *_ACCESS, *_OPERATION, *_STATEHOUSE)):
        with_settings = option(with_settings)
    return with_settings


def _flags(command: click.Command) -> dict[str, str]:
    """Return the flags that set the fields which errors name, with and without their table."""
    options = [option for option in command.params if isinstance(option, SettingOption)]
    flags = {option.setting: option.opts[0] for option in options}
    return flags | {path.removeprefix("server."): flag for path, flag in flags.items()}


def _jobs(pairs: Iterable[str]) -> JobSettings:
    """Return the jobs of the settings, with those that were given as `name.key=value`."""
    from memoranda.cli.configuration.resolution import build, from_text
    from memoranda.model.suggestions import did_you_mean

    values = dict(resolution(click.get_current_context()).values)
    for pair in pairs:
        path, separator, text = pair.partition("=")
        setting = values.get(_JOBS + path)
        if not separator or setting is None:
            names = [name.removeprefix(_JOBS) for name in values if name.startswith(_JOBS)]
            problem = f"{pair!r} is not NAME.KEY=VALUE of a job"
            raise InvalidInput("job", problem + did_you_mean(path, names))
        values[_JOBS + path] = from_text(setting.setting, text, f"--job {path}")
    return build(values.values()).jobs
