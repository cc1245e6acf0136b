"""What a transaction has staged about memories, seen by its own reads."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace

from memoranda.errors import Conflict, InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.memory.records import Link
from memoranda.memory.requests import MemoryRequest
from memoranda.memory.rules import MemoryRules
from memoranda.memory.settings import KnownSettings
from memoranda.memory.standing import Standing
from memoranda.memory.working import Working
from memoranda.storage.port import Reader

_REFUSALS = (Conflict, InvalidInput, LinkCycle, NotFound, ReflectionTooDeep)
"""What the rules say to a request they do not grant. The commit may yet: it sees more."""


class PendingMemories:
    """The requests of one transaction, decided as of its beginning.

    The same rules run again when it is committed, then on what is there by then.
    """

    def __init__(self, at: int) -> None:
        self._at = at
        self._staged: list[MemoryRequest] = []
        self._decided = 0
        self._rules: MemoryRules | None = None

    def add(self, *requests: MemoryRequest) -> None:
        """Remember staged requests."""
        self._staged.extend(requests)

    def working(self, reader: Reader) -> Working:
        """Return the memories as the transaction sees them."""
        return self.rules(reader).working

    def rules(self, reader: Reader) -> MemoryRules:
        """Return the rules as they are after everything staged so far."""
        if self._rules is None:
            self._rules = MemoryRules(Working(reader, self._at, KnownSettings()))
        self._rules.working.reader = reader
        while self._decided < len(self._staged):
            with suppress(*_REFUSALS):
                list(self._rules.decide(self._staged[self._decided]))
            self._decided += 1
        return self._rules

    def memory(self, reader: Reader, memory_id: str, viewer: str) -> Standing | None:
        """Return a memory, if an agent may see it."""
        working = self.working(reader)
        found = working.memory(memory_id)
        if found is None or not found.seen_by(viewer):
            return None
        return replace(found, superseded_by=working.superseder(found.memory_id, viewer))

    def links(
        self, reader: Reader, memory_id: str, relations: Iterable[str], viewer: str
    ) -> list[Link]:
        """Return the links of a memory that hold, as far as an agent may see both ends."""
        working = self.working(reader)
        ends = [
            end
            for relation in relations
            for end in (
                *(
                    (memory_id, to, relation)
                    for to in working.targets((memory_id,), relation)[memory_id]
                ),
                *(
                    (of, memory_id, relation)
                    for of in working.sources((memory_id,), relation)[memory_id]
                ),
            )
        ]
        known = working.memories({end for source, target, _ in ends for end in (source, target)})
        seen = {each for each, found in known.items() if found.seen_by(viewer)}
        return [
            Link(source, target, relation, None)
            for source, target, relation in ends
            if source in seen and target in seen
        ]
