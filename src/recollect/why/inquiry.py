"""Inquiries: who asks why, and about which moment."""

from __future__ import annotations

import msgspec

from recollect.log.moments import Asked
from recollect.log.parts import SplitEvents
from recollect.storage.port import Reader


class Inquiry(msgspec.Struct, frozen=True):
    """What every part of an answer is looked up with."""

    reader: Reader
    asked: Asked
    viewer: str
    events: SplitEvents = msgspec.field(default_factory=SplitEvents)
    """What was read of the log: all of it is read in one snapshot."""
