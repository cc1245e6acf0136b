"""Sources: which memories, facts and transcripts commits speak of, in ways that can be found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from memoranda.log import pages
from memoranda.model import codec
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    Begun,
    Carried,
    Cite,
    Continued,
    KeepTranscript,
    Notify,
    Remember,
    Retract,
    Revise,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.search.folding import MOST_CHARACTERS
from memoranda.storage.port import Reader

_OF_A_MEMORY = (Remember, Revise, Retract, Cite, Notify, Begun, Carried, Continued)
_OF_A_FACT = (Assert, AssertPrivately, Withdraw, WithdrawPrivately)
APPLIED = frozenset((*_OF_A_MEMORY, *_OF_A_FACT, KeepTranscript))
"""The kinds of operation that change what can be found."""
_UNIT = 800
"""About how many bytes of a text are one passage, or as much work as one."""


class Sources:
    """The ids of what is spoken of, each once, in order."""

    def __init__(self, operations: Iterable[AnyOperation] = ()) -> None:
        self.memories: dict[str, None] = {}
        self.facts: dict[str, None] = {}
        self.transcripts: dict[str, None] = {}
        for operation in operations:
            self.add(operation)

    def add(self, operation: AnyOperation) -> None:
        """Take in what an operation speaks of."""
        if isinstance(operation, _OF_A_MEMORY):
            self.memories[operation.memory_id] = None
        elif isinstance(operation, _OF_A_FACT):
            self.facts[operation.assertion_id] = None
        elif isinstance(operation, KeepTranscript):
            self.transcripts[operation.transcript_id] = None

    @property
    def all(self) -> list[str]:
        """All of them."""
        return [*self.memories, *self.facts, *self.transcripts]

    def without(self, others: Sources) -> Sources:
        """Return those that others do not have."""
        left = Sources()
        left.memories = {each: None for each in self.memories if each not in others.memories}
        left.facts = {each: None for each in self.facts if each not in others.facts}
        left.transcripts = {
            each: None for each in self.transcripts if each not in others.transcripts
        }
        return left

    @classmethod
    def of_commits(cls, reader: Reader, commits: Sequence[int]) -> Sources:
        """Return what commits speak of, as the log has them now."""
        events = pages.events_of(reader, commits)
        return cls(chain.from_iterable(codec.decode_standing(each.operations) for each in events))


def weight(operations: Iterable[AnyOperation]) -> int:
    """Return about how many passages follow from operations; a long text counts as several."""
    return sum(
        1 + _size(operation) // _UNIT for operation in operations if type(operation) in APPLIED
    )


def _size(operation: AnyOperation) -> int:
    """Return about how much text there is to be indexed of what an operation brings."""
    if isinstance(operation, KeepTranscript):
        return operation.size
    if isinstance(operation, Remember | Revise) and operation.content is not None:
        content = operation.content
        return min(content.size or len(content.text or ""), MOST_CHARACTERS)
    return 0
