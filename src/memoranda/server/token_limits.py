"""The limits of a token, on its calls at once and over time."""

from __future__ import annotations

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr

_MIB = 1024 * 1024
_MAX_LIMIT = 1e12
"""Higher than what any machine can do, and exact in a float."""


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The default limits of one token: more than an agent needs, and less than a machine can do."""

    requests_per_second: float = 5_000
    bytes_per_second: float = 64 * _MIB
    """Bytes of requests and of answers."""
    calls_in_flight: int = 1_000
    open_streams: int = 100
    """Replays, subscriptions and streams of commits that are open at once."""
    long_seconds_per_minute: float = 30
    """Seconds in which calls of the lane `long` run, such as `verify`."""

    def __post_init__(self) -> None:
        _check_limits(self)


class TokenLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits of one token, each as in `CallLimits`; None: what the server allows all tokens."""

    requests_per_second: float | None = None
    bytes_per_second: float | None = None
    calls_in_flight: int | None = None
    open_streams: int | None = None
    long_seconds_per_minute: float | None = None

    def __post_init__(self) -> None:
        _check_limits(self)

    def over(self, limits: CallLimits) -> CallLimits:
        """Return these limits, with those of the server where there is none."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        own = {name: value for name, value in values.items() if value is not None}
        return msgspec.structs.replace(limits, **own)


def _check_limits(limits: msgspec.Struct) -> None:
    """Refuse a limit that is no positive number."""
    for name in limits.__struct_fields__:
        number = getattr(limits, name)
        if number is None:
            continue
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not is_number or not 0 < number <= _MAX_LIMIT:  # also refuses NaN
            raise InvalidInput(
                f"limits.{name}", f"{short_repr(number)} is not a positive number up to 10¹²"
            )


UNMETERED = CallLimits(
    requests_per_second=_MAX_LIMIT,
    bytes_per_second=_MAX_LIMIT,
    calls_in_flight=int(_MAX_LIMIT),
    open_streams=int(_MAX_LIMIT),
    long_seconds_per_minute=_MAX_LIMIT,
)
"""For callers without a token, on a server that asks for none."""
