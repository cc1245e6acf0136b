"""Salts: what an event of chain version 2 has of them, and where they stand.

    salts = 0x02 ‖ envelope ‖ scopes ‖ operations
    salts = 0x02 ‖ envelope ‖ request                 of an event without operations

Each is 16 bytes; a scope has two, for its namespace and its agent. Scopes are those of the whole
operations, each once, in the order in which they first come up. An operation of which something was
erased has zeros here, and what is left of it has the salts of what it opens.

The request's salt is that of all operations together, so it goes with any of them. Where there is
none, the envelope's salt is a hash of the request's, which can go alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from memoranda.errors import Corruption
from memoranda.log.commitments import SALT_SIZE, SCOPE_SALTS, Scopes
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, Erased, Redacted

SECOND = b"\x02"
NO_SALT = bytes(SALT_SIZE)
"""What stands in the place of a salt that was erased."""
_OF_REQUEST = b"\x0c"
_FIRST = len(SECOND) + SALT_SIZE
"""Where the salts begin that follow the envelope's."""
_ERASED = frozenset((Erased, Redacted))
_MOST_SCOPES = 1024

Pair = tuple[str, str]
"""A namespace and an agent in it."""


def is_second(salts: bytes) -> bool:
    """Say whether an event has chain version 2: its salts begin with that."""
    return len(salts) % SALT_SIZE == len(SECOND) and salts.startswith(SECOND)


class Salts:
    """The salts of one event."""

    def __init__(self, salts: bytes, operations: Sequence[AnyOperation]) -> None:
        scopes = pairs(operations)
        behind = _FIRST + SCOPE_SALTS * len(scopes)
        if len(salts) != behind + SALT_SIZE * max(1, len(operations)):
            raise Corruption("its salts do not fit its operations")
        self.envelope = salts[len(SECOND) : _FIRST]
        self.scopes: dict[Pair, bytes] = {}
        for index, pair in enumerate(scopes):
            first = _FIRST + SCOPE_SALTS * index
            self.scopes[pair] = salts[first : first + SCOPE_SALTS]
        self.operations = [
            salts[first : first + SALT_SIZE] for first in range(behind, len(salts), SALT_SIZE)
        ]
        self._check(operations)

    def _check(self, operations: Sequence[AnyOperation]) -> None:
        if not operations:
            (request,) = self.operations
            if request != NO_SALT and self.envelope != of_envelope(request):
                raise Corruption("its request's salt was changed")
        for salt, operation in zip(self.operations, operations, strict=False):
            if (type(operation) in _ERASED) != (salt == NO_SALT):
                raise Corruption("the salt of something erased is still there, or another is gone")


def joined(
    envelope: bytes, scopes: dict[Pair, bytes], salts: Iterable[bytes], left: Iterable[AnyOperation]
) -> bytes:
    """Return an event's salts, of the scopes that are still needed."""
    return b"".join((SECOND, envelope, *(scopes[pair] for pair in pairs(left)), *salts))


def pairs(operations: Iterable[AnyOperation]) -> list[Pair]:
    """Return the scopes of whole operations, each once, in the order in which they come up."""
    return [
        *dict.fromkeys(
            (each.namespace, each.agent_id) for each in operations if type(each) not in _ERASED
        )
    ]


def of_envelope(request: bytes) -> bytes:
    """Return the envelope's salt where the request has one of its own."""
    return sha256(_OF_REQUEST + request).digest()[:SALT_SIZE]


def without_request(salts: bytes) -> bytes:
    """Return the salts of an event without operations, from which no request can be guessed."""
    if is_second(salts):
        return salts[:_FIRST] + NO_SALT
    return NO_SALT + salts[SALT_SIZE:]


class SaltSource:
    """Draws salts for new events.

    A scope has the same ones again: that links no more than its names do, or the pseudonym that
    takes their place, and saves two hashes. As soon as anything was erased all of them are dropped:
    a name that comes back must not have the salt of the one that was forgotten.
    """

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self._scopes: dict[Pair, bytes] = {}
        self.known: Scopes = {}

    def draw(self, operations: Sequence[AnyOperation]) -> bytes:
        """Return the salts of an event with these operations."""
        if not operations:
            request = self._ids.entropy(SALT_SIZE)
            return SECOND + of_envelope(request) + request
        drawn = self._ids.entropy(SALT_SIZE * (1 + len(operations)))
        if len(operations) == 1:
            pair = (operations[0].namespace, operations[0].agent_id)
            scope = self._scopes.get(pair) or self._scope(pair)
            return SECOND + drawn[:SALT_SIZE] + scope + drawn[SALT_SIZE:]
        found = dict.fromkeys([(each.namespace, each.agent_id) for each in operations])
        scopes = [self._scopes.get(pair) or self._scope(pair) for pair in found]
        return b"".join((SECOND, drawn[:SALT_SIZE], *scopes, drawn[SALT_SIZE:]))

    def _scope(self, pair: Pair) -> bytes:
        if len(self._scopes) >= _MOST_SCOPES:
            self.forget()
        salts = self._scopes[pair] = self._ids.entropy(SCOPE_SALTS)
        return salts

    def forget(self) -> None:
        """Drop what scopes have: something was erased, or may have been."""
        self._scopes.clear()
        self.known.clear()
