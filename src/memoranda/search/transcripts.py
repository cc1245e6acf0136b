"""Transcripts that are cut into units: each is read and cut once, and remembered for a while.

What is remembered is found by the digest and the form of the words themselves, so it is never out
of date; that there is such a transcript, with words not erased, is looked up each time.
"""

from __future__ import annotations

from collections import OrderedDict

from memoranda.memory import transcripts
from memoranda.memory.standing import NEWEST
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.search.cutting import Cutting
from memoranda.search.folding import Breathe, go_on
from memoranda.storage.locks import new_lock
from memoranda.storage.port import Reader

MOST_REMEMBERED = 32 * 1024 * 1024
"""How many bytes of transcripts a process remembers, the one in use not counted."""


class RememberedCuttings:
    """Transcripts that were cut lately, by the digests of their words. Threads may share it."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._lock = new_lock()
        self._cuttings: OrderedDict[bytes, Cutting] = OrderedDict()
        self._size = 0
        self.loads = 0
        """How often a transcript had to be read."""

    def get(self, digest: bytes) -> Cutting | None:
        """Return a transcript that is remembered."""
        with self._lock:
            known = self._cuttings.get(digest)
            if known is not None:
                self._cuttings.move_to_end(digest)
            return known

    def put(self, digest: bytes, cutting: Cutting) -> None:
        """Remember a transcript, and let go of those that nobody used for longest."""
        with self._lock:
            self.loads += 1
            if digest in self._cuttings:
                return
            self._cuttings[digest] = cutting
            self._size += len(cutting)
            while self._size > self._most and len(self._cuttings) > 1:
                self._size -= len(self._cuttings.popitem(last=False)[1])

    def drop(self) -> None:
        """Remember nothing: something was erased."""
        with self._lock:
            self._cuttings.clear()
            self._size = 0


class Cuttings:
    """The transcripts that passages are derived from, as one reader sees them."""

    def __init__(
        self,
        reader: Reader,
        remembered: RememberedCuttings | None = None,
        breathe: Breathe = go_on,
    ) -> None:
        self.reader = reader
        self._remembered = RememberedCuttings() if remembered is None else remembered
        self._breathe = breathe
        self._known: dict[str, Cutting] = {}

    def of(self, transcript_id: str) -> Cutting:
        """Return a transcript, cut; one whose words are gone has no unit."""
        known = self._known.get(transcript_id)
        if known is None:
            info = transcripts.find(self.reader, [transcript_id], NEWEST).get(transcript_id)
            known = self._known[transcript_id] = self.of_info(info)
        return known

    def of_info(self, info: TranscriptInfo | None) -> Cutting:
        """Return a transcript of which it was looked up what it is."""
        if info is None or info.erased:
            return Cutting(b"")
        key = info.digest + str(info.form).encode()  # a text may say what messages are as JSON
        cutting = self._remembered.get(key)
        if cutting is None:
            content, rendering = transcripts.load_rendered(self.reader, info)
            if rendering is None:
                cutting = Cutting(content, self._breathe)
            else:
                cutting = Cutting(rendering.text, self._breathe, rendering.places)
            self._remembered.put(key, cutting)
        return cutting
