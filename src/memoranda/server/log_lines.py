"""The log of a server: one line of JSON for each event, without content."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from memoranda.model.clock import to_rfc3339

LEVELS: Mapping[str, int] = {
    "grpc": logging.WARNING,
    "asyncio": logging.WARNING,
    "mcp": logging.ERROR,  # its warnings have texts of clients
}
"""From which level on others are logged."""
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; other fields were given with it."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        extra = {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}
        fields: dict[str, object] = {
            "time": to_rfc3339(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **extra,
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        return json.dumps(fields, default=str)


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Say whether a record is about more than a client that went away while it was answered.

    gRPC logs that as an error of the server, if it comes while a message is being sent.
    """
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or kind.__name__ != "ExecuteBatchError"


@contextmanager
def logging_to(stream: TextIO, level: str) -> Iterator[None]:
    """Log lines of a level and above to a stream, for the length of a block."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(_is_of_interest)
    levels: dict[str, int | str] = {"memoranda": level.upper(), **LEVELS}
    loggers = [*map(logging.getLogger, levels)]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(levels[logger.name])
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (logger_level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(logger_level)
            logger.propagate = propagate
