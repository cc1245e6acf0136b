"""Spelling: how a transaction's own reads write names, which is as they were first written."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.graph import beliefs
from memoranda.graph.queries import Wanted, asking_of, node_at
from memoranda.model.graph_operations import Name
from memoranda.model.operations import Alias, AnyOperation, Assert, End, Merge
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

Meaning = tuple[str, str]
"""What a name means: a kind and a key."""


class Spelling:
    """The texts of names, committed or only staged."""

    def __init__(self, reader: Reader, scope: Scope, operations: Iterable[AnyOperation]) -> None:
        self._reader = reader
        self._asking = asking_of(reader, Wanted(scope=scope))
        self._staged: dict[Meaning, str] = {}
        for operation in operations:
            if operation.scope == scope:
                for name in _mentioned(operation):
                    self._staged.setdefault((name.kind, name.key), name.text)
        self._found: dict[Meaning, str] = {}

    def learn(self, names: Iterable[Name]) -> None:
        """Take in names that are committed."""
        self._found |= {(name.kind, name.key): name.text for name in names}

    def of(self, meaning: Meaning) -> str:
        """Return how a name was first written."""
        if meaning not in self._found:
            kind, key = meaning
            self.learn(self._committed(Name(key, key, kind)))
        return self._found.get(meaning) or self._staged.get(meaning, meaning[1])

    def _committed(self, name: Name) -> Iterable[Name]:
        asking = self._asking
        number = None if asking is None else node_at(self._reader, asking.scope_id, name, None)
        return [] if number is None else beliefs.names(self._reader, [number]).values()


def _mentioned(operation: AnyOperation) -> Iterable[Name]:
    if isinstance(operation, Assert | End):
        yield operation.subject
        yield operation.relation
        if operation.object is not None:
            yield operation.object
    elif isinstance(operation, Alias):
        yield from (operation.entity, operation.alias)
    elif isinstance(operation, Merge):
        yield from (operation.source, operation.into)
