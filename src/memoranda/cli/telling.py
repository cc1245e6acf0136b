"""What a search has to say of itself, such as that it has no vectors, told to a person."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memoranda.cli.output import note

Tell = Callable[[str], None]


@contextmanager
def telling(tell: Tell = note) -> Iterator[None]:
    """Tell what is logged meanwhile, on stderr unless somebody else tells it."""
    handler, logger = _Notes(tell), logging.getLogger("memoranda.search")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notes(logging.Handler):
    """Passes on what was logged."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it."""
        self._tell(record.getMessage())
