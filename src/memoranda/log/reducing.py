"""Reducing: what stays of an operation when its content is erased, or a name in it.

What stays has no content, only ids, and applies in place of what was there, so that nothing else
changes: who linked to a forgotten memory still finds that there was one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from memoranda.log.redaction import Left
from memoranda.model.memory import inbox_of
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AddLink,
    AnyOperation,
    Begun,
    Cite,
    Classify,
    CloseLink,
    Configure,
    ErasedOperation,
    KeepTranscript,
    MemoryStub,
    Notify,
    Remember,
    Resolve,
    Rest,
    TranscriptStub,
    Write,
)
from memoranda.model.redacted import FORGOTTEN
from memoranda.model.refs import FactRef, KeyRef, Ref
from memoranda.model.scope import Scope

ENGINE_SPACES = (ENGINE_SCOPE.namespace, AUDIT_SCOPE.namespace)
_FACT_NEEDLE = msgspec.msgpack.encode(FactRef("-" * 36)).split(b"-")[0]
"""What every reference to a fact begins with."""
_NAMING = ("by", "agent")
"""The fields of operations that name an agent, beside whose operation it is."""


def _same(operation: Any) -> Any:
    return operation


_LEFT: Mapping[type, Callable[[Any], Rest]] = {
    Remember: lambda it: MemoryStub(it.namespace, it.agent_id, it.memory_id, it.private),
    Begun: lambda it: MemoryStub(it.namespace, it.agent_id, it.memory_id, it.private),
    KeepTranscript: lambda it: TranscriptStub(it.namespace, it.agent_id, it.transcript_id),
    Resolve: lambda it: replace(it, note=None),
    AddLink: _same,
    CloseLink: _same,
    Cite: _same,
    Notify: _same,
    Configure: _same,
    Classify: _same,
    MemoryStub: _same,
    TranscriptStub: _same,
}
"""What stays of each kind of operation; of the others nothing does."""


def without_content(operation: AnyOperation) -> Rest | None:
    """Return what stays of an operation without its content; None: nothing."""
    left = _LEFT.get(type(operation))
    return None if left is None else left(operation)


def left_if_changed(
    operation: AnyOperation, left: AnyOperation | None, scope: tuple[str, str]
) -> Left | None:
    """Return what is left of an operation, if that is less than there was."""
    if left == operation:
        return None
    same = scope == (operation.namespace, operation.agent_id)
    if same and isinstance(operation, ErasedOperation):
        return None
    assert not isinstance(left, ErasedOperation), "what is left is an operation, a stub or nothing"
    return Left(*scope, left)


class Names(msgspec.Struct, frozen=True):
    """What is to go wherever it stands: the name of an agent, a namespace or a key.

    So are the ids of assertions that follow from what they say: a guess could be confirmed by them.
    """

    agent_id: str | None = None
    namespace: str | None = None
    children: bool = False
    """Whether the namespaces below it go too, all under the one pseudonym."""
    key: tuple[Scope, str] | None = None
    pseudonym: str | None = None
    facts: frozenset[str] = frozenset()

    @property
    def needles(self) -> list[bytes]:
        """The bytes without which an event has none of it."""
        if self.facts:
            return [*replace(self, facts=frozenset()).needles, _FACT_NEEDLE]
        if self.key is not None:
            ref = msgspec.msgpack.encode(KeyRef(self.key[1], 0, "", ""))
            return [ref.removesuffix(b"\x00\xa0\xa0")]  # whichever version, of whichever scope
        if self.namespace is not None and self.children:
            return [msgspec.msgpack.encode(self.namespace), f"{self.namespace}/".encode()]
        names = self.spaces if self.agent_id is None else [self.agent_id]
        return [msgspec.msgpack.encode(name) for name in names]

    @property
    def spaces(self) -> list[str]:
        """The namespace, and the one beside it that its notices stand in."""
        if self.namespace is None:
            return []
        return list(dict.fromkeys((self.namespace, inbox_of(self.namespace))))

    def has_space(self, namespace: str) -> bool:
        """Say whether a namespace goes."""
        if self.namespace is not None and self.children:
            return f"{namespace}/".startswith(f"{self.namespace}/")
        return namespace in self.spaces

    def owns(self, operation: AnyOperation) -> bool:
        """Say whether an operation is of the agent or the namespace; the engine's never are."""
        if operation.namespace in ENGINE_SPACES:
            return False
        if self.agent_id is not None:
            return operation.agent_id == self.agent_id
        return self.has_space(operation.namespace)

    def left_of(self, operation: AnyOperation) -> Left | None:
        """Return what is left without the name, and without content if it is its owner's."""
        scope = self._unnamed_scope(operation)
        if not self.owns(operation):
            return left_if_changed(operation, self._unnamed(operation), scope)
        left = without_content(operation)
        if left is not None and self.namespace and isinstance(left, (Configure, Classify)):
            left = None
        unnamed = None if left is None else self._unnamed(left)
        return left_if_changed(operation, unnamed, scope)

    def _unnamed_scope(self, operation: AnyOperation) -> tuple[str, str]:
        """Return whose operation it is, with the pseudonym in the place of the name that goes."""
        namespace, agent_id = operation.namespace, operation.agent_id
        if self.pseudonym is None or namespace in ENGINE_SPACES:
            return namespace, agent_id
        if agent_id == self.agent_id:
            return namespace, self.pseudonym
        if self.namespace is not None and self.has_space(namespace):
            return self._unnamed_space(namespace, self.pseudonym), agent_id
        return namespace, agent_id

    def _unnamed_space(self, namespace: str, pseudonym: str) -> str:
        """Return what a namespace is called once its name is gone; notices stay beside it."""
        is_inbox = namespace != self.namespace and namespace == inbox_of(namespace)
        return inbox_of(pseudonym) if is_inbox else pseudonym

    def _unnamed(self, operation: AnyOperation) -> AnyOperation:
        namespace, agent_id = self._unnamed_scope(operation)
        changes: dict[str, Any] = {}
        if (namespace, agent_id) != (operation.namespace, operation.agent_id):
            changes = {"namespace": namespace, "agent_id": agent_id}
        for field in _NAMING if self.agent_id is not None else ():
            if getattr(operation, field, None) == self.agent_id:
                changes[field] = self.pseudonym
        if isinstance(operation, Write) and operation.because:
            because = tuple(map(self._unnamed_ref, operation.because))
            if because != operation.because:
                changes["because"] = because
        return replace(operation, **changes) if changes else operation

    def _unnamed_ref(self, ref: Ref) -> Ref:
        if isinstance(ref, FactRef) and ref.assertion_id in self.facts:
            return FactRef(FORGOTTEN)
        if not isinstance(ref, KeyRef) or ref.key == FORGOTTEN:
            return ref
        if self.key is not None:
            scope, key = self.key
            named = (ref.namespace, ref.agent_id, ref.key) == (scope.namespace, scope.agent_id, key)
        elif self.agent_id is not None:
            named = ref.agent_id == self.agent_id
        else:
            named = ref.namespace is not None and self.has_space(ref.namespace)
        return KeyRef(FORGOTTEN, ref.version) if named else ref
