"""Open transactions: staged requests, and the lookups that staging needs.

Staging checks the arguments of a call and turns them into requests. It needs little of the store:
the id of a memory by its title, the words of a transcript, the time of a memory's event. A client
of a server asks for these (`Lookups`), and stages with the same checks and the same ids; the server
stages the same calls again, and decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from memoranda.calls.call import WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.requests import GraphRequest
from memoranda.graph.staged_reads import FactOverlay
from memoranda.log import pages
from memoranda.log.commit.staged_transaction import Draft
from memoranda.memory import transcripts
from memoranda.memory.requests import MemoryRequest, TitleKey
from memoranda.memory.snapshots import MemorySnapshot, text_of
from memoranda.memory.staged_reads import PendingMemories
from memoranda.memory.transcripts import rendering_of
from memoranda.model.codec import unpack
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.model.memory import Span
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.model.scope import Scope, checked_scope
from memoranda.state.reads import PendingState
from memoranda.state.requests import KeyRequest
from memoranda.storage.port import Reader


class Lookups(Protocol):
    """The store's data that staging needs."""

    def find_title(self, key: TitleKey, /) -> str | None:
        """Return the id of the memory that has a title, as the transaction sees it."""
        ...

    def load_text(self, transcript_id: str, /) -> bytes:
        """Return the text of a committed transcript, or raise `NotFound`."""
        ...

    def has_transcript(self, transcript_id: str, /) -> bool:
        """Say whether there is a transcript with this id."""
        ...

    def event_time(self, memory: MemoryRef, asker: Scope, /) -> int | None:
        """Return the time of a memory's event; None if it is not known."""
        ...


class OpenTransaction:
    """A transaction that is being staged, by a caller with a grant."""

    def __init__(
        self,
        draft: Draft,
        grant: Grant,
        limits: Limits,
        ids: IdSource,
        lookups: Lookups | None = None,
    ) -> None:
        self.draft = draft
        self.grant = grant
        self.limits = limits
        self.item_ids: list[str | None] = []
        """The id of the item that each call of a commit has made; None if it made none."""
        self.title: TitleKey | None = None
        """The title that was staged last; only the commit decides which memory has it."""
        self.is_staged_again = False
        """Whether a client has staged the same calls before, so that their times are in the
        past."""
        self.stagings: object = None
        """The calls that an asynchronous carrier is staging in other threads."""
        self._ids = ids
        self._lookups = lookups
        self._keys: PendingState | None = None
        self._memories: PendingMemories | None = None
        self._facts: FactOverlay | None = None
        self._transcripts: dict[str, tuple[bytes, int, int]] = {}
        """Staged transcripts by id: the hash of the content, its size in bytes, and its form."""
        self._words: tuple[str, bytes] | None = None
        """The id and text of the transcript whose spans were checked last; others often follow."""

    @classmethod
    def of(cls, core: Core, grant: Grant, draft: Draft) -> OpenTransaction:
        """Return a new transaction of a store of this process."""
        transaction = cls(draft, grant, core.limits, core.ids)
        transaction._lookups = StoreLookups(core, transaction)
        return transaction

    # The overlays: what the transaction sees of its own requests. They are made when something
    # is staged or read, since where a transaction begins is not known before.

    @property
    def keys(self) -> PendingState:
        """The staged keys."""
        if self._keys is None:
            self._keys = PendingState()
        return self._keys

    @property
    def memories(self) -> PendingMemories:
        """The staged requests about memories."""
        if self._memories is None:
            self._memories = PendingMemories(lambda: self.draft.base_commit)
        return self._memories

    @property
    def facts(self) -> FactOverlay:
        """The staged requests about facts."""
        if self._facts is None:
            self._facts = FactOverlay(lambda: self.draft.base_commit)
        return self._facts

    # The acting agent, and its scope.

    def owner(self, namespace: str, agent_id: str) -> Scope:
        """Return the checked scope of something new."""
        self.draft.check()
        return self.grant.scope(namespace, agent_id, self.limits, writing=True)

    def acting(self, agent_id: str | None) -> str:
        """Return the agent that acts in a call that names this agent, or none."""
        self.draft.check()
        return checked_agent(self.grant, agent_id, self.limits)

    def new_id(self) -> str:
        """Return an id for a staged item; a retry under the same txn_id gets the same ids."""
        return self.draft.new_id(self._ids)

    # Staging: all requests of a call, or none. `arguments` are the names by which the caller
    # knows fields of the requests, for errors.

    def add_key(self, request: KeyRequest) -> None:
        """Stage a request about a key."""
        self.draft.stage(request)
        self.keys.add(request)

    def add_memory(
        self,
        *requests: MemoryRequest,
        blobs: Mapping[bytes, bytes] | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        """Stage requests about memories that belong together."""
        self.draft.stage(*requests, blobs=blobs, arguments=arguments)
        self.memories.add(*requests)

    def add_fact(self, request: GraphRequest) -> None:
        """Stage a request about facts."""
        self.draft.stage(request)
        self.facts.add(request)

    def add_transcript(
        self, transcript_id: str, digest: bytes, size: int, form: int, text: bytes
    ) -> None:
        """Remember a staged transcript, so that its spans can be checked."""
        self._transcripts[transcript_id] = (digest, size, form)
        self._words = (transcript_id, text)

    def note_staged(self, call: WriteCall[Any]) -> None:
        """Note that a call is staged. A client sends staged calls again with the commit."""

    # What staging looks up.

    def find_title(self, key: TitleKey) -> str | None:
        """Return the id of the memory with a title, as this transaction sees it; track the read."""
        self.draft.track(key)
        return self._look_up.find_title(key)

    def has_transcript(self, transcript_id: str) -> bool:
        """Say whether there is such a transcript, staged or committed."""
        return transcript_id in self._transcripts or self._look_up.has_transcript(transcript_id)

    def event_time(self, memory: MemoryRef, asker: Scope) -> int | None:
        """Return when the event of a memory took place; None if that is not known."""
        return self._look_up.event_time(memory, asker)

    def now(self) -> int:
        """Return the time on the clock of the transaction, in microseconds."""
        return self.draft.now()

    def check_quotation(
        self, ref: TranscriptRef, spans: object = None, field: str = "spans"
    ) -> TranscriptRef:
        """Return a reference to spans of a transcript, which are its own by default."""
        if spans is None and type(ref.spans) is tuple and not ref.spans:
            return ref
        own = ref.spans if spans is None else spans
        text = self._text_of(ref.transcript_id)
        checked: tuple[Span, ...] = transcripts.check_spans(own, text, field)
        if not checked:
            raise InvalidInput(field, "are empty: give at least one, or none for the whole text")
        return TranscriptRef(ref.transcript_id, checked)

    def _text_of(self, transcript_id: str) -> bytes:
        """Return the text of a transcript; it never changes, so the read is not tracked."""
        if self._words is None or self._words[0] != transcript_id:
            staged = self._staged_text(transcript_id)
            text = self._look_up.load_text(transcript_id) if staged is None else staged
            self._words = (transcript_id, text)
        return self._words[1]

    def _staged_text(self, transcript_id: str) -> bytes | None:
        if transcript_id not in self._transcripts:
            return None
        digest, size, form = self._transcripts[transcript_id]
        packed = self.draft.blob(digest)
        assert packed is not None, "a transcript is staged with its text"
        content = unpack(packed, size=size, digest=digest)
        rendering = rendering_of(form, content)
        return content if rendering is None else rendering.text

    @property
    def _look_up(self) -> Lookups:
        assert self._lookups is not None, "whoever opens a transaction gives it its lookups"
        return self._lookups

    def memory_text(self, reader: Reader, snapshot: MemorySnapshot) -> str:
        """Return the content of a memory, from the staged blobs or from the log."""
        digest = snapshot.content.digest
        packed = None if digest is None else self.draft.blob(digest)
        if packed is None or digest is None:
            return text_of(reader, snapshot)
        return unpack(packed, size=snapshot.content.size, digest=digest).decode()


def check_own_spans(ref: TranscriptRef, field: str) -> None:
    """Refuse a reference whose spans are none, before its transcript is known."""
    if type(ref.spans) is tuple and not ref.spans:
        return
    if not transcripts.check_span_pairs(ref.spans, field):
        raise InvalidInput(field, "are empty: give at least one, or none for the whole text")


class StoreLookups:
    """Looks things up in a store of this process."""

    def __init__(self, core: Core, transaction: OpenTransaction) -> None:
        self._core = core
        self._transaction = transaction

    def find_title(self, key: TitleKey) -> str | None:
        """Return the id of the memory that has a title, as the transaction sees it.

        The transaction begins before the snapshot, since that takes a connection of its own: behind
        a pooler, a thread that holds one and waits for another can keep all others waiting.
        """
        self._transaction.draft.begin()
        with self._core.engine.snapshot() as reader:
            return self._transaction.memories.overlay(reader).find_by_title(key)

    def load_text(self, transcript_id: str) -> bytes:
        """Return the text of a committed transcript, or raise `NotFound`."""
        with self._core.engine.reading() as reader:
            info = transcripts.get(reader, transcript_id, pages.head_commit(reader))
            if info is None:
                raise NotFound(f"there is no transcript {transcript_id!r}", field="transcript_id")
            return transcripts.load(reader, info)

    def has_transcript(self, transcript_id: str) -> bool:
        """Say whether there is a transcript with this id."""
        with self._core.engine.reading() as reader:
            return transcripts.exists(reader, transcript_id)

    def event_time(self, memory: MemoryRef, asker: Scope) -> int | None:
        """Return when the event of a memory took place; the commit refuses an unknown memory."""
        with suppress(NotFound), self._core.engine.reading() as reader:
            rules = self._transaction.memories.rules(reader)
            return rules.look_up(memory, asker).event_time
        return None


def checked_agent(grant: Grant, agent_id: str | None, limits: Limits) -> str:
    """Return the checked name of the agent that acts in a call."""
    agent = grant.acting(agent_id)
    if agent_id is None or agent is not agent_id:  # it was checked when the handle was bound
        return agent
    return checked_scope("default", agent, limits, engine=True).agent_id
