"""Reads of a transaction that see its own staged changes to memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec.structs import replace

from memoranda.errors import Conflict, InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.memory.overlay import Edge, TransactionOverlay
from memoranda.memory.records import Link
from memoranda.memory.requests import MemoryRequest
from memoranda.memory.rules import MemoryRules
from memoranda.memory.settings import SettingsCache
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.storage.port import Reader

_REFUSALS = (Conflict, InvalidInput, LinkCycle, NotFound, ReflectionTooDeep)
"""Errors for a refused request. A read ignores them: the commit decides again, on newer state."""


class PendingMemories:
    """Decides the staged requests of one transaction as of its start commit.

    The operations are dropped; only the overlay that the rules fill is read. At commit the same
    rules run again on the newest commit, and that result is written.
    """

    def __init__(self, at: Callable[[], int]) -> None:
        self._at = at
        self._staged: list[MemoryRequest] = []
        self._decided_count = 0
        self._rules: MemoryRules | None = None

    def add(self, *requests: MemoryRequest) -> None:
        """Add staged requests; they are decided at the next read."""
        self._staged.extend(requests)

    def overlay(self, reader: Reader) -> TransactionOverlay:
        """Return the overlay with the effects of all staged requests."""
        return self.rules(reader).overlay

    def rules(self, reader: Reader) -> MemoryRules:
        """Return the rules after all staged requests; `reader` serves the lookups from now on."""
        if self._rules is None:
            self._rules = MemoryRules(TransactionOverlay(reader, self._at(), SettingsCache()))
        self._rules.overlay.reader = reader
        while self._decided_count < len(self._staged):
            with suppress(*_REFUSALS):
                list(self._rules.decide(self._staged[self._decided_count]))
            self._decided_count += 1
        return self._rules

    def memory(self, reader: Reader, memory_id: str, viewer: str) -> MemorySnapshot | None:
        """Return a memory; None if the viewer may not see it."""
        overlay = self.overlay(reader)
        memory = overlay.memory(memory_id)
        if memory is None or not memory.visible_to(viewer):
            return None
        return replace(memory, superseded_by=overlay.find_superseding(memory.memory_id, viewer))

    def links(
        self, reader: Reader, memory_id: str, relations: Iterable[str], viewer: str
    ) -> list[Link]:
        """Return the open links of a memory, if the viewer may see both ends."""
        overlay = self.overlay(reader)
        edges: list[Edge] = []
        for relation in relations:
            targets = overlay.targets((memory_id,), relation)[memory_id]
            sources = overlay.sources((memory_id,), relation)[memory_id]
            edges += [(memory_id, relation, target) for target in targets]
            edges += [(source, relation, memory_id) for source in sources]
        ends = {end for source, _, target in edges for end in (source, target)}
        memories = overlay.memories(ends)
        visible_ids = {name for name, memory in memories.items() if memory.visible_to(viewer)}
        return [
            Link(source, target, relation, None)
            for source, relation, target in edges
            if source in visible_ids and target in visible_ids
        ]
