"""Stubs: what stays of something whose content was erased, so that what names it still finds it.

They stand in no event of their own, only inside an `Erased` operation.
"""

from __future__ import annotations

from memoranda.model.operation import Operation, OperationType


class MemoryStub(Operation, frozen=True, tag=26, gc=False):
    """There was a memory: its id, for links, depths and notices, and nothing it said."""

    type = OperationType.ERASED

    memory_id: str
    private: bool = False


class TranscriptStub(Operation, frozen=True, tag=27, gc=False):
    """There was a transcript: its id, for citations, and none of its words."""

    type = OperationType.ERASED

    transcript_id: str
