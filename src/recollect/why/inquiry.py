"""Inquiries: who asks why, about which moment, and whom facts are asked of."""

from __future__ import annotations

import msgspec

from recollect.log.moments import Asked
from recollect.storage.port import Reader
from recollect.why.facts import FactSource


class Inquiry(msgspec.Struct, frozen=True):
    """What every part of an answer is looked up with."""

    reader: Reader
    asked: Asked
    viewer: str
    facts: FactSource
