"""Staging: the common base of the groups of calls that `Transaction` is composed of."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput, NotFound
from memoranda.log import pages
from memoranda.log.commit.staged_transaction import Draft
from memoranda.memory import transcripts
from memoranda.memory.requests import MemoryRequest, TitleKey
from memoranda.memory.snapshots import MemorySnapshot, text_of
from memoranda.memory.staged_reads import PendingMemories
from memoranda.memory.transcripts import rendering_of
from memoranda.model.codec import unpack
from memoranda.model.memory import Span
from memoranda.model.refs import TranscriptRef
from memoranda.model.scope import Scope
from memoranda.sdk.calls import Calls
from memoranda.storage.port import Reader


class Staging:
    """A transaction that is being staged, with the defaults of its handle."""

    _core: Core
    _calls: Calls
    _defaults: Defaults
    _draft: Draft
    _memories: PendingMemories
    _transcripts: dict[str, tuple[bytes, int, int]]
    """Staged transcripts by id: the hash of the content, its size in bytes, and its form."""
    _words: tuple[str, bytes] | None = None
    """The id and text of the transcript whose spans were checked last; the next are often of it."""

    def _owner(self, agent_id: str | None, namespace: str | None) -> Scope:
        """Return the scope of something new, once the transaction is known to be open."""
        self._draft.check()
        return self._defaults.scope(agent_id, namespace, self._core.limits, writing=True)

    def _acting(self, agent_id: str | None) -> str:
        """Return the agent that acts in a call."""
        self._draft.check()
        if agent_id is None:  # it was checked when it was bound
            return self._defaults.actor
        acting = self._defaults.acting(agent_id)
        return (
            Scope(self._defaults.namespace, acting).check(self._core.limits, engine=True).agent_id
        )

    def _stage(
        self,
        *requests: MemoryRequest,
        blobs: Mapping[bytes, bytes] | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        """Stage requests that belong together: all of them, or none.

        `arguments` are the names by which the caller knows fields of the requests, for errors.
        """
        self._draft.stage(*requests, blobs=blobs, arguments=arguments)
        self._memories.add(*requests)

    def _titled(self, key: TitleKey) -> str | None:
        """Return the id of the memory with a title, as this transaction sees it; track the read."""
        self._draft.track(key)
        with self._core.engine.snapshot() as reader:
            return self._memories.overlay(reader).find_by_title(key)

    def _text(self, reader: Reader, snapshot: MemorySnapshot) -> str:
        """Return the content of a memory, from the staged blobs or from the log."""
        digest = snapshot.content.digest
        packed = None if digest is None else self._draft.blob(digest)
        if packed is None or digest is None:
            return text_of(reader, snapshot)
        return unpack(packed, size=snapshot.content.size, digest=digest).decode()

    def _check_quotation(
        self, ref: TranscriptRef, spans: object = None, field: str = "spans"
    ) -> TranscriptRef:
        """Return a reference to spans of a transcript, which are its own by default."""
        if spans is None and type(ref.spans) is tuple and not ref.spans:
            return ref
        own = ref.spans if spans is None else spans
        return TranscriptRef(ref.transcript_id, self._check_spans(ref.transcript_id, own, field))

    def _check_spans(self, transcript_id: str, spans: object, field: str) -> tuple[Span, ...]:
        """Return checked spans of a transcript; it never changes, so the read is not tracked."""
        if spans is None:
            return ()
        if self._words is None or self._words[0] != transcript_id:
            self._words = (transcript_id, self._load(transcript_id))
        checked = transcripts.check_spans(spans, self._words[1], field)
        if not checked:
            raise InvalidInput(field, "are empty: give at least one, or none for the whole text")
        return checked

    def _load(self, transcript_id: str) -> bytes:
        """Return the text of a transcript, staged or as of the current head: it never changes."""
        if staged := self._transcripts.get(transcript_id):
            digest, size, form = staged
            packed = self._draft.blob(digest)
            assert packed is not None, "a transcript is staged with its text"
            content = unpack(packed, size=size, digest=digest)
            rendering = rendering_of(form, content)
            return content if rendering is None else rendering.text
        with self._core.engine.reading() as reader:
            info = transcripts.get(reader, transcript_id, pages.head_commit(reader))
            if info is None:
                raise NotFound(f"there is no transcript {transcript_id!r}", field="transcript_id")
            return transcripts.load(reader, info)
