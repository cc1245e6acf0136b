"""Inquiries: who asks why, and about which moment."""

from __future__ import annotations

import msgspec

from memoranda.log.moments import Asked
from memoranda.log.parts import SplitEvents
from memoranda.storage.port import Reader


class Inquiry(msgspec.Struct, frozen=True):
    """What every part of an answer is looked up with."""

    reader: Reader
    asked: Asked
    viewer: str
    events: SplitEvents = msgspec.field(default_factory=SplitEvents)
    """What was read of the log: all of it is read in one snapshot."""
