"""Counts of operations by kind: of each scope in an event, and of each scope in a block of commits.

A count has a code: the kind of an operation and whether it is private, or one of the corrections
below. Events are not counted themselves, since most have one operation: the number of events is
that of their operations, less the corrections. So a commit of one operation adds one count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

import msgspec

from memoranda.errors import Corruption
from memoranda.model.operations import AUDIT_SCOPE, AnyOperation, OperationType

Counts = dict[int, int]
"""Code -> how many."""
ScopeName = tuple[str, str]
"""Agent and namespace."""

BLOCK_COMMITS: Final = 64
"""Commits of a block: a bucket costs a row for each block and kind, and up to a block at an end."""

# The codes. A change of any of them needs a new version of the view.

_REPEATED, _REPEATED_PUBLIC = 0, 1
"""Operations, and operations that are not private, behind the first of their event and scope."""
_SHARED, _SHARED_PUBLIC = 2, 3
"""Events that the agent has in an earlier namespace too: `ALL_NAMESPACES` counts them once."""
FIRST_KIND: Final = 4
"""The first code of a kind of operation; the code of a private operation is odd."""

_TYPES: Final = tuple(OperationType)
_CODES: Final[Mapping[type, int]] = {
    kind: FIRST_KIND + 2 * _TYPES.index(kind.type) for kind in get_args(AnyOperation)
}
_ERASED_CODE: Final = FIRST_KIND + 2 * _TYPES.index(OperationType.ERASED)
"""The code of operations that were erased without a residue."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[int]).decode
_PACKED: Final = {
    code: _encode([code, 1]) for code in range(FIRST_KIND, FIRST_KIND + 2 * len(_TYPES))
}
"""The packed counts of a single operation, as most events have."""


# Counting: what an event adds.


def count_scopes(operations: Sequence[AnyOperation]) -> dict[ScopeName, Counts]:
    """Return the counts of each scope of an event, whose residues are in place."""
    if len(operations) == 1:  # the most frequent case
        (single,) = operations
        return {(single.agent_id, single.namespace): {_code(single): 1}}
    scopes: dict[ScopeName, Counts] = {}
    counts, agent_id, namespace = Counts(), None, None
    for operation in operations:
        if operation.agent_id != agent_id or operation.namespace != namespace:
            agent_id, namespace = operation.agent_id, operation.namespace
            counts = scopes.setdefault((agent_id, namespace), {})
        code = _code(operation)
        counts[code] = counts.get(code, 0) + 1
    _add_corrections(scopes)
    return scopes


def _code(operation: AnyOperation) -> int:
    code = _CODES[type(operation)]
    # An erased operation is shown to everybody: nothing is left of it.
    return code + 1 if operation.private and code != _ERASED_CODE else code


def _add_corrections(scopes: Mapping[ScopeName, Counts]) -> None:
    owners, public_owners = set[str](), set[str]()
    for (agent_id, namespace), counts in sorted(scopes.items()):
        operations = sum(counts.values())
        public = sum(count for code, count in counts.items() if not code % 2)
        corrections = {
            _REPEATED: operations - 1,
            _REPEATED_PUBLIC: max(public - 1, 0),
            _SHARED: int(agent_id in owners),
            _SHARED_PUBLIC: int(public > 0 and agent_id in public_owners),
        }
        counts.update((code, count) for code, count in corrections.items() if count)
        if namespace != AUDIT_SCOPE.namespace:  # a replay of all namespaces does not read it
            owners.add(agent_id)
            if public:
                public_owners.add(agent_id)


def pack(counts: Mapping[int, int]) -> bytes | None:
    """Encode the counts of a scope in an event; None if there are none."""
    if len(counts) == 1:
        ((code, count),) = counts.items()
        if count == 1:
            return _PACKED[code]
    return _encode([part for pair in sorted(counts.items()) for part in pair]) if counts else None


def unpack(packed: bytes | None) -> Counts:
    """Decode the counts of a scope in an event."""
    try:
        parts = iter(_decode(packed) if packed is not None else ())
        return dict(zip(parts, parts, strict=True))
    except (msgspec.DecodeError, ValueError) as error:
        raise Corruption(f"the counts of an event cannot be read: {error}") from error


def difference(before: Mapping[int, int], after: Mapping[int, int]) -> Counts:
    """Return what has to be added to the counts before to get those after."""
    codes = before.keys() | after.keys()
    changes = {code: after.get(code, 0) - before.get(code, 0) for code in sorted(codes)}
    return {code: change for code, change in changes.items() if change}


# Reading: what a viewer may see of summed counts.


class CountReader(msgspec.Struct, frozen=True):
    """Reads counts as one viewer sees them, of one namespace or of all."""

    public_only: bool
    """Whether the viewer is another agent, to which private operations are not shown."""
    all_namespaces: bool

    def by_type(self, counts: Mapping[int, int]) -> dict[OperationType, int]:
        """Return the visible operations by type, in the order of the types."""
        totals: dict[OperationType, int] = {}
        for code in sorted(counts):
            if counts[code] and self._shows(code):
                kind = _type_of(code)
                totals[kind] = totals.get(kind, 0) + counts[code]
        return totals

    def events(self, counts: Mapping[int, int]) -> int:
        """Return the events with a visible operation."""
        operations = sum(count for code, count in counts.items() if self._shows(code))
        corrections = [_REPEATED_PUBLIC if self.public_only else _REPEATED]
        if self.all_namespaces:
            corrections.append(_SHARED_PUBLIC if self.public_only else _SHARED)
        return operations - sum(counts.get(code, 0) for code in corrections)

    def is_visible(self, counts: Iterable[int]) -> bool:
        """Say whether an event with these counts has a visible operation."""
        return any(self._shows(code) for code in counts)

    def _shows(self, code: int) -> bool:
        return code >= FIRST_KIND and not (self.public_only and code % 2)


def without_erased(counts: Mapping[int, int]) -> Counts:
    """Return the counts of operations of which something is left."""
    return {code: count for code, count in counts.items() if code != _ERASED_CODE}


def _type_of(code: int) -> OperationType:
    place = (code - FIRST_KIND) // 2
    if place >= len(_TYPES):
        raise Corruption(f"a count has the code {code}, which does not exist: rebuild the views")
    return _TYPES[place]
