"""Numbers: the small integers that stand for memories and transcripts in the tables."""

from __future__ import annotations

from memoranda.errors import Corruption
from memoranda.storage.gathering import Gathering

_MOST = 20_000


class Numbers:
    """Remembers the numbers it has seen; they never change once they are committed."""

    def __init__(self) -> None:
        self._memories: dict[str, int] = {}
        self._transcripts: dict[str, int] = {}
        self._last: int | None = None
        """The highest number that a memory was given."""

    def give(self, rows: Gathering, memory_id: str) -> int:
        """Give a memory that begins the next number."""
        if self._last is None:
            row = rows.written().row("memory_last_number")
            assert row is not None, "a maximum has a row"
            self._last = int(row[0])
        number = self._last + 1
        self.put(memory_id, number)
        return number

    def of(self, rows: Gathering, memory_id: str) -> int:
        """Return a memory's number."""
        known = self._memories.get(memory_id)
        if known is None:
            row = rows.written().row("memory_number", memory_id=memory_id)
            if row is None:
                raise Corruption(f"the log speaks of memory {memory_id!r} before it begins")
            known = int(row[0])
            self.put(memory_id, known)
        return known

    def of_transcript(self, rows: Gathering, transcript_id: str) -> int:
        """Return a transcript's number."""
        known = self._transcripts.get(transcript_id)
        if known is None:
            row = rows.written().row("transcript_number", transcript_id=transcript_id)
            if row is None:
                raise Corruption(f"the log speaks of transcript {transcript_id!r} before it begins")
            known = int(row[0])
            self.put_transcript(transcript_id, known)
        return known

    def put(self, memory_id: str, number: int) -> None:
        """Remember a memory's number."""
        if self._last is not None and number > self._last:
            self._last = number
        if len(self._memories) >= _MOST:
            self._memories.clear()
        self._memories[memory_id] = number

    def put_transcript(self, transcript_id: str, number: int) -> None:
        """Remember a transcript's number."""
        if len(self._transcripts) >= _MOST:
            self._transcripts.clear()
        self._transcripts[transcript_id] = number

    def forget(self) -> None:
        """Remember nothing: one of them may have been rolled back."""
        self._memories.clear()
        self._transcripts.clear()
        self._last = None
