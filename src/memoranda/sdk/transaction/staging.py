"""Staging: what every group of a transaction's calls stands on."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.errors import InvalidInput, NotFound
from memoranda.log import pages
from memoranda.log.transaction import Draft
from memoranda.memory import transcripts
from memoranda.memory.pending import PendingMemories
from memoranda.memory.requests import MemoryRequest, TitleKey
from memoranda.memory.spoken import rendering_of
from memoranda.memory.standing import Standing, text_of
from memoranda.model.memory import Span
from memoranda.model.packing import unpack
from memoranda.model.scope import Scope
from memoranda.sdk.calls import Calls
from memoranda.sdk.core import Core, Defaults
from memoranda.storage.port import Reader


class Staging:
    """A transaction that is being put together, on behalf of whoever is bound to its store."""

    _core: Core
    _calls: Calls
    _defaults: Defaults
    _draft: Draft
    _memories: PendingMemories
    _transcripts: dict[str, tuple[bytes, int, int]]
    """The transcripts that are staged: the hash of what is kept of each, its size and its form."""
    _words: tuple[str, bytes] | None = None
    """The transcript whose spans were checked last, and its text: often the next one's too."""

    def _owner(self, agent_id: str | None, namespace: str | None) -> Scope:
        """Return whose something new is."""
        self._draft.check()
        return self._defaults.scope(agent_id, namespace, self._core.limits, writing=True)

    def _acting(self, agent_id: str | None) -> str:
        """Return who acts in a call."""
        self._draft.check()
        if agent_id is None:  # it was checked when it was bound
            return self._defaults.actor
        acting = self._defaults.acting(agent_id)
        return (
            Scope(self._defaults.namespace, acting).check(self._core.limits, engine=True).agent_id
        )

    def _stage(self, *requests: MemoryRequest, blobs: Mapping[bytes, bytes] | None = None) -> None:
        """Stage what belongs together: all of it, or nothing."""
        self._draft.stage(*requests, blobs=blobs)
        self._memories.add(*requests)

    def _titled(self, key: TitleKey) -> str | None:
        """Return which memory has a title, as this transaction sees it; a read that is tracked."""
        self._draft.track(key)
        with self._core.engine.snapshot() as reader:
            return self._memories.working(reader).titled(key)

    def _text(self, reader: Reader, found: Standing) -> str:
        """Return a memory's content, which may be staged only."""
        digest = found.content.digest
        packed = None if digest is None else self._draft.blob(digest)
        if packed is None or digest is None:
            return text_of(reader, found)
        return unpack(packed, size=found.content.size, digest=digest).decode()

    def _check_spans(self, transcript_id: str, spans: object) -> tuple[Span, ...]:
        """Return spans of a transcript, once they are sure to fit its text, which never changes."""
        if spans is None:
            return ()
        if self._words is None or self._words[0] != transcript_id:
            self._words = (transcript_id, self._load(transcript_id))
        checked = transcripts.check_spans(spans, self._words[1])
        if not checked:
            raise InvalidInput("spans", "are empty: give at least one, or none for the whole text")
        return checked

    def _load(self, transcript_id: str) -> bytes:
        """Return a transcript's text: as it never changes, one of after the beginning will do."""
        if staged := self._transcripts.get(transcript_id):
            digest, size, form = staged
            packed = self._draft.blob(digest)
            assert packed is not None, "a transcript is staged with its text"
            content = unpack(packed, size=size, digest=digest)
            rendering = rendering_of(form, content)
            return content if rendering is None else rendering.text
        with self._core.engine.reading() as reader:
            found = transcripts.get(reader, transcript_id, pages.head_commit(reader))
            if found is None:
                raise NotFound(f"transcript_id: there is no transcript {transcript_id!r}")
            return transcripts.load(reader, found)
