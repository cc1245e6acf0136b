"""Calls that make, change and configure memories.

An UNSET field was not given: an existing memory with the title keeps its value, and a new memory
gets the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from memoranda.calls.call import AnyDuration, AnyInstant, WriteCall
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction, checked_agent
from memoranda.calls.requests import (
    check_memory_id,
    check_memory_ids,
    check_transcript_ref,
    promote_memory,
    retract_memory,
    share_facts,
    touch_memory,
)
from memoranda.calls.write import WriteHandler, Writes, Written, receipts
from memoranda.errors import InvalidInput
from memoranda.memory import reads
from memoranda.memory.records import Memory
from memoranda.memory.requests import (
    ChangeSettings,
    CiteTranscript,
    LinkMemories,
    MemoryRequest,
    NamespaceSettings,
    RememberMemory,
    RememberMemoryAs,
    ReviseMemory,
    TitleKey,
    check_changes,
    check_choice,
    check_content,
    check_details,
    check_settings,
    check_title,
    fields_of,
)
from memoranda.model.clock import check_duration
from memoranda.model.document import Document
from memoranda.model.limits import Limits, renamed_fields
from memoranda.model.memory import (
    KINDS,
    REFLECTION,
    REFLECTS_ON,
    TIERS,
    VISIBILITIES,
    Details,
    Span,
)
from memoranda.model.operations import Configure as ConfigureOperation
from memoranda.model.receipt import Receipt
from memoranda.model.refs import TranscriptRef

ON_CONFLICT = ("update", "error")
_ARGUMENTS = {"target": "on", "transcript_id": "transcript"}
"""Field of the links and citations of a new memory -> the argument of `remember` or `reflect`."""


class Remember(WriteCall[Memory], frozen=True):
    """Store a memory, or add a version to the one that has its title."""

    agent_id: str
    namespace: str
    content: str
    title: str | None = None
    kind: str | UnsetType = UNSET
    tier: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    source: str | UnsetType = UNSET
    metadata: Document | UnsetType | None = UNSET
    ttl: AnyDuration = UNSET
    event_time: AnyInstant = UNSET
    source_uri: str | UnsetType | None = UNSET
    citations: tuple[str, ...] | UnsetType = UNSET
    entity_id: str | UnsetType | None = UNSET
    confidence_source: str | UnsetType | None = UNSET
    visibility: str | UnsetType = UNSET
    on_conflict: str | UnsetType = UNSET
    transcript: TranscriptRef | UnsetType | None = UNSET
    spans: tuple[Span, ...] | UnsetType | None = UNSET

    @property
    def looks_up(self) -> bool:
        """Whether it has a title, which a memory may have, or cites a transcript."""
        return self.title is not None or isinstance(self.transcript, TranscriptRef)


class Reflect(Remember, frozen=True):
    """Store a memory that reflects on others, with links to them."""

    on: tuple[str, ...] = ()
    """The ids of the memories."""


class UpdateMemory(WriteCall[Memory], frozen=True):
    """Change fields of a memory; other fields keep their values."""

    reach = "id"

    memory_id: str
    agent_id: str | None = None
    expect_version: int | None = None
    title: str | UnsetType | None = UNSET
    content: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    tier: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    source: str | UnsetType = UNSET
    metadata: Document | UnsetType | None = UNSET
    ttl: AnyDuration = UNSET
    event_time: AnyInstant = UNSET
    source_uri: str | UnsetType | None = UNSET
    citations: tuple[str, ...] | UnsetType = UNSET
    entity_id: str | UnsetType | None = UNSET
    confidence_source: str | UnsetType | None = UNSET


class RetractMemory(WriteCall[Memory], frozen=True):
    """Retract a memory: reads omit it then; its history and its links stay."""

    reach = "id"

    memory_id: str
    reason: str | None = None
    agent_id: str | None = None


class Touch(WriteCall[Memory], frozen=True):
    """Count a use of a memory, and renew its time to live."""

    reach = "id"

    memory_id: str
    agent_id: str | None = None


class Promote(WriteCall[Memory], frozen=True):
    """Move a memory to a tier with a longer time to live."""

    reach = "id"

    memory_id: str
    tier: str = "long"
    agent_id: str | None = None


class Configure(WriteCall[Receipt], frozen=True):
    """Change the settings of a namespace and those below it, for later writes."""

    verb = "admin"

    namespace: str
    agent_id: str | None = None
    max_reflection_depth: int | UnsetType = UNSET
    tiers: dict[str, Any] | UnsetType = UNSET
    """Tier -> the lifetime of its memories; None: for ever."""
    transcript_retention: AnyDuration = UNSET
    log_retention: AnyDuration = UNSET
    facts: str | UnsetType = UNSET
    """`shared` if the agents of the namespace share one history of facts, else `own`."""
    allow_large: bool = False


def stage_remember(transaction: OpenTransaction, call: Remember) -> str:
    """Stage a memory, and return its id; a title that is taken gives the id of its memory."""
    return _stage_memory(transaction, call, call.kind)


def stage_reflect(transaction: OpenTransaction, call: Reflect) -> str:
    """Stage a reflection with its links, and return its id."""
    targets = check_memory_ids("on", call.on)
    if not targets:
        raise InvalidInput("on", "is empty: name at least one memory to reflect on")
    kind = REFLECTION if call.kind is UNSET or not call.kind else call.kind
    return _stage_memory(transaction, call, kind, targets)


def _stage_memory(
    transaction: OpenTransaction,
    call: Remember,
    kind: str | UnsetType,
    targets: Sequence[str] = (),
) -> str:
    """Stage a memory with its citation and its links, all or nothing, and return its id.

    The citation and the links name the new id, which a retry under the same `txn_id` gives out
    again. If another memory has the title at the commit, its id replaces the new one.
    """
    scope, limits = transaction.owner(call.namespace, call.agent_id), transaction.limits
    checked, blobs = check_content(call.content, limits)
    title, details = check_title(call.title, limits), check_details(call, limits)
    arguments = (
        scope,
        transaction.new_id(),
        None if kind is UNSET else check_choice("kind", kind, KINDS),
        None if call.tier is UNSET else check_choice("tier", call.tier, TIERS),
        title,
        call.visibility is not UNSET and _is_private(call.visibility),
        checked,
        Details(**details),
        None if call.ttl is UNSET else check_duration("ttl", call.ttl),
        call.on_conflict is UNSET or _updates(call.on_conflict),
    )
    request = RememberMemory(*arguments)
    if title is not None and (reset := request.details.defaults_among(details)):
        request = RememberMemoryAs(*arguments, reset)
    citation = _citation(transaction, call)
    existing_id = transaction.title = None
    if title is not None:
        transaction.title = TitleKey.of(scope, title, private=request.private)
        existing_id = transaction.find_title(transaction.title)
    memory_id = request.memory_id
    group: list[MemoryRequest] = [request]
    if citation is not None:
        group.append(
            CiteTranscript(scope.agent_id, memory_id, citation.transcript_id, citation.spans)
        )
    if targets:
        by = transaction.acting(call.agent_id)
        group.extend(LinkMemories(by, memory_id, target, REFLECTS_ON) for target in targets)
    transaction.add_memory(*group, blobs=blobs, arguments=_ARGUMENTS)
    return existing_id or memory_id


def _citation(transaction: OpenTransaction, call: Remember) -> TranscriptRef | None:
    """Return the transcript that a new memory cites, with the spans of it."""
    transcript = None if call.transcript is UNSET else call.transcript
    spans = None if call.spans is UNSET else call.spans
    if transcript is None:
        if spans is not None:
            raise InvalidInput("spans", "are given without the transcript they are of")
        return None
    with renamed_fields(transcript_id="transcript"):
        return transaction.check_quotation(check_transcript_ref("transcript", transcript), spans)


def _is_private(visibility: str) -> bool:
    return check_choice("visibility", visibility, VISIBILITIES) == "private"


def _updates(on_conflict: str) -> bool:
    return check_choice("on_conflict", on_conflict, ON_CONFLICT) == "update"


def stage_update(transaction: OpenTransaction, call: UpdateMemory) -> None:
    """Stage changes of a memory."""
    by, memory_id = transaction.acting(call.agent_id), check_memory_id("memory_id", call.memory_id)
    changes, blobs = check_changes(call, transaction.limits)
    version = check_optional_integer("expect_version", call.expect_version, minimum=1)
    transaction.add_memory(ReviseMemory(by, memory_id, changes, version), blobs=blobs)


def retract_request(grant: Grant, call: RetractMemory, limits: Limits) -> MemoryRequest:
    """Return the request of a retraction."""
    agent = checked_agent(grant, call.agent_id, limits)
    return retract_memory(limits, agent, call.memory_id, call.reason)


def touch_request(grant: Grant, call: Touch, limits: Limits) -> MemoryRequest:
    """Return the request to count a use."""
    return touch_memory(checked_agent(grant, call.agent_id, limits), call.memory_id)


def promote_request(grant: Grant, call: Promote, limits: Limits) -> MemoryRequest:
    """Return the request to move a memory to another tier."""
    agent = checked_agent(grant, call.agent_id, limits)
    return promote_memory(agent, call.memory_id, call.tier)


def configure_request(grant: Grant, call: Configure, limits: Limits) -> MemoryRequest | None:
    """Return the request to change settings; None if facts become shared, or no longer are."""
    if call.facts is not UNSET:
        return None
    agent = checked_agent(grant, call.agent_id, limits)
    scope = grant.scope(call.namespace, agent, limits, writing=True)
    return ChangeSettings(scope, check_settings(fields_of(NamespaceSettings, call)))


def stage_configure(transaction: OpenTransaction, call: Configure) -> None:
    """Stage settings; `facts` goes into no transaction with other requests about facts."""
    limits, agent = transaction.limits, transaction.acting(call.agent_id)
    scope = transaction.owner(call.namespace, agent)
    settings = fields_of(NamespaceSettings, call)
    if settings or call.facts is UNSET:
        transaction.add_memory(ChangeSettings(scope, check_settings(settings)))
    if call.facts is not UNSET:
        transaction.draft.stage(
            share_facts(limits, scope, call.facts, allow_large=call.allow_large)
        )


def single(
    request: Callable[[Grant, Any, Limits], MemoryRequest],
    arguments: Mapping[str, str] | None = None,
) -> Callable[[OpenTransaction, Any], None]:
    """Return the staging of a call that is one request about memories."""

    def stage(transaction: OpenTransaction, call: WriteCall[Any]) -> None:
        transaction.draft.check()
        transaction.add_memory(
            request(transaction.grant, call, transaction.limits), arguments=arguments
        )

    return stage


def _answer_new(core: Core, _: Remember, written: Written) -> Memory:
    """Return the memory that was made, or that has the title."""
    assert written.item_id is not None, "a memory has an id"
    assert written.transaction is not None, "an id is given out in a transaction"
    title = written.transaction.title
    with core.engine.reading() as reader:
        return reads.committed_memory(reader, written.item_id, title, written.committed)


def _answer_changed(
    core: Core, call: UpdateMemory | RetractMemory | Touch | Promote, written: Written
) -> Memory:
    with core.engine.reading() as reader:
        return reads.committed_memory(reader, call.memory_id, None, written.committed)


WRITES: Writes = {
    Remember: WriteHandler(stage_remember, _answer_new),
    Reflect: WriteHandler(stage_reflect, _answer_new),
    UpdateMemory: WriteHandler(stage_update, _answer_changed),
    RetractMemory: WriteHandler(single(retract_request), _answer_changed, retract_request),
    Touch: WriteHandler(single(touch_request), _answer_changed, touch_request),
    Promote: WriteHandler(single(promote_request), _answer_changed, promote_request),
    Configure: WriteHandler(
        stage_configure, receipts("updated", ConfigureOperation), configure_request
    ),
}
