from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuditEventsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "event_type", "agent_id", "after_commit", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_COMMIT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    event_type: TextList
    agent_id: str
    after_commit: NumberOrText
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., event_type: _Optional[_Union[TextList, _Mapping]] = ..., agent_id: _Optional[str] = ..., after_commit: _Optional[_Union[NumberOrText, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AuditEventsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[AuditEvent]
    def __init__(self, items: _Optional[_Iterable[_Union[AuditEvent, _Mapping]]] = ...) -> None: ...

class CheckpointsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CheckpointsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SignedCheckpoint]
    def __init__(self, items: _Optional[_Iterable[_Union[SignedCheckpoint, _Mapping]]] = ...) -> None: ...

class ProveRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "commit_ts", "checkpoint", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    commit_ts: int
    checkpoint: NumberOrText
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., commit_ts: _Optional[int] = ..., checkpoint: _Optional[_Union[NumberOrText, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ProveResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: InclusionProof
    def __init__(self, answer: _Optional[_Union[InclusionProof, _Mapping]] = ...) -> None: ...

class ProveGrowthRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "old", "new", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    old: NumberOrText
    new: NumberOrText
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., old: _Optional[_Union[NumberOrText, _Mapping]] = ..., new: _Optional[_Union[NumberOrText, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ProveGrowthResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: ConsistencyProof
    def __init__(self, answer: _Optional[_Union[ConsistencyProof, _Mapping]] = ...) -> None: ...

class TrustedKeysRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TrustedKeysResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TrustedKey]
    def __init__(self, answer: _Optional[_Iterable[_Union[TrustedKey, _Mapping]]] = ...) -> None: ...

class CountAssertedRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "ids", "commit_ts", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    commit_ts: int
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., commit_ts: _Optional[int] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CountAssertedResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: AssertedFacts
    def __init__(self, answer: _Optional[_Union[AssertedFacts, _Mapping]] = ...) -> None: ...

class DescribeStoreRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class DescribeStoreResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: StoreDescription
    def __init__(self, answer: _Optional[_Union[StoreDescription, _Mapping]] = ...) -> None: ...

class AgentsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AgentsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[AgentSummary]
    def __init__(self, items: _Optional[_Iterable[_Union[AgentSummary, _Mapping]]] = ...) -> None: ...

class NamespacesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class NamespacesResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[NamespaceSummary]
    def __init__(self, items: _Optional[_Iterable[_Union[NamespaceSummary, _Mapping]]] = ...) -> None: ...

class FindIdRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "prefix", "kinds", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    prefix: str
    kinds: TextList
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., prefix: _Optional[str] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FindIdResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: str
    def __init__(self, answer: _Optional[str] = ...) -> None: ...

class FindIdsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "prefix", "kinds", "limit", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    prefix: str
    kinds: TextList
    limit: int
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., prefix: _Optional[str] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., limit: _Optional[int] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FindIdsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[IdMatch]
    def __init__(self, answer: _Optional[_Iterable[_Union[IdMatch, _Mapping]]] = ...) -> None: ...

class ShortIdsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "ids", "kind", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    kind: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., kind: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ShortIdsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TextEntry]
    def __init__(self, answer: _Optional[_Iterable[_Union[TextEntry, _Mapping]]] = ...) -> None: ...

class CertificateRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "erasure_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    erasure_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., erasure_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CertificateResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Certificate
    def __init__(self, answer: _Optional[_Union[Certificate, _Mapping]] = ...) -> None: ...

class ErasuresRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ErasuresResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Certificate]
    def __init__(self, items: _Optional[_Iterable[_Union[Certificate, _Mapping]]] = ...) -> None: ...

class ProveErasureRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "erasure_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    erasure_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., erasure_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ProveErasureResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: ErasureProof
    def __init__(self, answer: _Optional[_Union[ErasureProof, _Mapping]] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("progress", "answer")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    answer: bool
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., answer: bool = ...) -> None: ...

class PreviewErasureRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "erasure", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    erasure: ErasureCall
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., erasure: _Optional[_Union[ErasureCall, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class PreviewErasureResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Certificate
    def __init__(self, answer: _Optional[_Union[Certificate, _Mapping]] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "before", "confirm", "reason", "purge", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    before: Moment
    confirm: bool
    reason: str
    purge: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., before: _Optional[_Union[Moment, _Mapping]] = ..., confirm: bool = ..., reason: _Optional[str] = ..., purge: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("progress", "answer")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    answer: Compaction
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., answer: _Optional[_Union[Compaction, _Mapping]] = ...) -> None: ...

class FindSameTranscriptRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "digests", "size", "occurred_at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    digests: _containers.RepeatedScalarFieldContainer[bytes]
    size: int
    occurred_at: Instant
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., digests: _Optional[_Iterable[bytes]] = ..., size: _Optional[int] = ..., occurred_at: _Optional[_Union[Instant, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FindSameTranscriptResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: StoredTranscript
    def __init__(self, answer: _Optional[_Union[StoredTranscript, _Mapping]] = ...) -> None: ...

class GetCommittedItemsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "txn_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    txn_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., txn_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetCommittedItemsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: CommittedItems
    def __init__(self, answer: _Optional[_Union[CommittedItems, _Mapping]] = ...) -> None: ...

class UnusedRelationsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "relations", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    relations: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., relations: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class UnusedRelationsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, answer: _Optional[_Iterable[str]] = ...) -> None: ...

class GetHeadRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetHeadResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: LogHead
    def __init__(self, answer: _Optional[_Union[LogHead, _Mapping]] = ...) -> None: ...

class FactsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "object", "valid_at", "known_at", "include_closed", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CLOSED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: NameOrLiteral
    valid_at: Instant
    known_at: Moment
    include_closed: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., include_closed: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FactsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, answer: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class IterFactsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "object", "valid_at", "known_at", "include_closed", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CLOSED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: NameOrLiteral
    valid_at: Instant
    known_at: Moment
    include_closed: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., include_closed: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class IterFactsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, items: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class IterSharedFactsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "object", "valid_at", "known_at", "include_closed", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CLOSED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: NameOrLiteral
    valid_at: Instant
    known_at: Moment
    include_closed: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., include_closed: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class IterSharedFactsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SharedFact]
    def __init__(self, items: _Optional[_Iterable[_Union[SharedFact, _Mapping]]] = ...) -> None: ...

class TimelineRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "known_at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    known_at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TimelineResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, answer: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "fact", "known_at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    fact: str
    known_at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., fact: _Optional[str] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Explanation
    def __init__(self, answer: _Optional[_Union[Explanation, _Mapping]] = ...) -> None: ...

class CurrentEdgesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject_key", "relation", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject_key: str
    relation: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject_key: _Optional[str] = ..., relation: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CurrentEdgesResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[ExistingEdge]
    def __init__(self, answer: _Optional[_Iterable[_Union[ExistingEdge, _Mapping]]] = ...) -> None: ...

class CardinalitiesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CardinalitiesResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TextEntry]
    def __init__(self, answer: _Optional[_Iterable[_Union[TextEntry, _Mapping]]] = ...) -> None: ...

class EntityRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "name", "known_at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    name: str
    known_at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class EntityResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Entity
    def __init__(self, answer: _Optional[_Union[Entity, _Mapping]] = ...) -> None: ...

class EntitiesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "known_at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    known_at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class EntitiesResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Entity]
    def __init__(self, items: _Optional[_Iterable[_Union[Entity, _Mapping]]] = ...) -> None: ...

class NeighborsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "relation", "valid_at", "known_at", "entity", "hops", "direction", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    relation: str
    valid_at: Instant
    known_at: Moment
    entity: str
    hops: int
    direction: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., relation: _Optional[str] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., entity: _Optional[str] = ..., hops: _Optional[int] = ..., direction: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class NeighborsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Neighbor]
    def __init__(self, answer: _Optional[_Iterable[_Union[Neighbor, _Mapping]]] = ...) -> None: ...

class PathRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "relation", "valid_at", "known_at", "source", "target", "max_hops", "direction", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    MAX_HOPS_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    relation: str
    valid_at: Instant
    known_at: Moment
    source: str
    target: str
    max_hops: int
    direction: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., relation: _Optional[str] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., source: _Optional[str] = ..., target: _Optional[str] = ..., max_hops: _Optional[int] = ..., direction: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class PathResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: FactList
    def __init__(self, answer: _Optional[_Union[FactList, _Mapping]] = ...) -> None: ...

class SubgraphRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "relation", "valid_at", "known_at", "entities", "entities_alone", "hops", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_ALONE_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    relation: str
    valid_at: Instant
    known_at: Moment
    entities: _containers.RepeatedScalarFieldContainer[str]
    entities_alone: str
    hops: int
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., relation: _Optional[str] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., entities: _Optional[_Iterable[str]] = ..., entities_alone: _Optional[str] = ..., hops: _Optional[int] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SubgraphResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Subgraph
    def __init__(self, answer: _Optional[_Union[Subgraph, _Mapping]] = ...) -> None: ...

class SuggestMergesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "score", "limit", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    score: float
    limit: int
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., score: _Optional[float] = ..., limit: _Optional[int] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SuggestMergesResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[MergeSuggestion]
    def __init__(self, answer: _Optional[_Iterable[_Union[MergeSuggestion, _Mapping]]] = ...) -> None: ...

class GetStateRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "key", "version", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    key: str
    version: int
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., key: _Optional[str] = ..., version: _Optional[int] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetStateResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: StateRecord
    def __init__(self, answer: _Optional[_Union[StateRecord, _Mapping]] = ...) -> None: ...

class ListKeysRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "prefix", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    prefix: str
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ListKeysResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class ScanPrefixRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "prefix", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    prefix: str
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ScanPrefixResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[StateRecord]
    def __init__(self, items: _Optional[_Iterable[_Union[StateRecord, _Mapping]]] = ...) -> None: ...

class HistoryRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "key", "since", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    key: str
    since: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., key: _Optional[str] = ..., since: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class HistoryResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[StateVersion]
    def __init__(self, items: _Optional[_Iterable[_Union[StateVersion, _Mapping]]] = ...) -> None: ...

class DiffRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "old", "new", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    old: Moment
    new: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., old: _Optional[_Union[Moment, _Mapping]] = ..., new: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class DiffResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[StateChange]
    def __init__(self, items: _Optional[_Iterable[_Union[StateChange, _Mapping]]] = ...) -> None: ...

class LinksRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "relation", "include_closed", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CLOSED_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    relation: str
    include_closed: bool
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., relation: _Optional[str] = ..., include_closed: bool = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class LinksResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Link]
    def __init__(self, answer: _Optional[_Iterable[_Union[Link, _Mapping]]] = ...) -> None: ...

class DependentsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "depth", "at", "agent_id", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    depth: int
    at: Moment
    agent_id: str
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., depth: _Optional[int] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class DependentsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[DependentRecord]
    def __init__(self, answer: _Optional[_Iterable[_Union[DependentRecord, _Mapping]]] = ...) -> None: ...

class InvalidationsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "status", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    status: str
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., status: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class InvalidationsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Invalidation]
    def __init__(self, items: _Optional[_Iterable[_Union[Invalidation, _Mapping]]] = ...) -> None: ...

class ReplayRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "from_timestamp", "to_timestamp", "after_commit", "through_commit", "kinds", "stored", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FROM_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TO_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    AFTER_COMMIT_FIELD_NUMBER: _ClassVar[int]
    THROUGH_COMMIT_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    from_timestamp: Instant
    to_timestamp: Instant
    after_commit: NumberOrText
    through_commit: int
    kinds: TextList
    stored: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., from_timestamp: _Optional[_Union[Instant, _Mapping]] = ..., to_timestamp: _Optional[_Union[Instant, _Mapping]] = ..., after_commit: _Optional[_Union[NumberOrText, _Mapping]] = ..., through_commit: _Optional[int] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., stored: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class EventPage(_message.Message):
    __slots__ = ("log_id", "bound", "caught_up", "events")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    bound: int
    caught_up: bool
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, log_id: _Optional[str] = ..., bound: _Optional[int] = ..., caught_up: bool = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class TimelineBucketsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "from_timestamp", "to_timestamp", "buckets", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FROM_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TO_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    from_timestamp: Instant
    to_timestamp: Instant
    buckets: int
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., from_timestamp: _Optional[_Union[Instant, _Mapping]] = ..., to_timestamp: _Optional[_Union[Instant, _Mapping]] = ..., buckets: _Optional[int] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TimelineBucketsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TimelineBucket]
    def __init__(self, answer: _Optional[_Iterable[_Union[TimelineBucket, _Mapping]]] = ...) -> None: ...

class CursorsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CursorsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[CursorPosition]
    def __init__(self, answer: _Optional[_Iterable[_Union[CursorPosition, _Mapping]]] = ...) -> None: ...

class DropCursorRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "cursor", "purge", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    cursor: str
    purge: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., cursor: _Optional[str] = ..., purge: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class DropCursorResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "checkpoint", "keys", "deep", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    DEEP_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    checkpoint: str
    keys: TextList
    deep: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., checkpoint: _Optional[str] = ..., keys: _Optional[_Union[TextList, _Mapping]] = ..., deep: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("progress", "answer")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    answer: Verification
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., answer: _Optional[_Union[Verification, _Mapping]] = ...) -> None: ...

class RebuildViewsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RebuildViewsResponse(_message.Message):
    __slots__ = ("progress", "answer")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    answer: Rebuild
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., answer: _Optional[_Union[Rebuild, _Mapping]] = ...) -> None: ...

class ReindexRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "text", "vectors", "language", "namespace", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    text: bool
    vectors: bool
    language: str
    namespace: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., text: bool = ..., vectors: bool = ..., language: _Optional[str] = ..., namespace: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ReindexResponse(_message.Message):
    __slots__ = ("progress", "answer")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    answer: Reindexed
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., answer: _Optional[_Union[Reindexed, _Mapping]] = ...) -> None: ...

class GetStatsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetStatsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Stats
    def __init__(self, answer: _Optional[_Union[Stats, _Mapping]] = ...) -> None: ...

class SqlViewsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SqlViewsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[SqlView]
    def __init__(self, answer: _Optional[_Iterable[_Union[SqlView, _Mapping]]] = ...) -> None: ...

class SqlRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "query", "parameters", "parameters_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    query: str
    parameters: _containers.RepeatedCompositeFieldContainer[OptionalSqlValue]
    parameters_named: _containers.RepeatedCompositeFieldContainer[SqlValueEntry]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., query: _Optional[str] = ..., parameters: _Optional[_Iterable[_Union[OptionalSqlValue, _Mapping]]] = ..., parameters_named: _Optional[_Iterable[_Union[SqlValueEntry, _Mapping]]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SqlResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SqlValueEntryList]
    def __init__(self, items: _Optional[_Iterable[_Union[SqlValueEntryList, _Mapping]]] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "title", "namespace", "version", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    title: str
    namespace: str
    version: int
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., title: _Optional[str] = ..., namespace: _Optional[str] = ..., version: _Optional[int] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetMemoryResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class MemoryHistoryRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "since", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    since: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., since: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class MemoryHistoryResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Memory]
    def __init__(self, items: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "children", "agent_id", "kind", "tier", "tags", "metadata", "created_after", "created_before", "at", "content", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CREATED_AFTER_FIELD_NUMBER: _ClassVar[int]
    CREATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    children: bool
    agent_id: str
    kind: str
    tier: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: bytes
    created_after: Instant
    created_before: Instant
    at: Moment
    content: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., agent_id: _Optional[str] = ..., kind: _Optional[str] = ..., tier: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[bytes] = ..., created_after: _Optional[_Union[Instant, _Mapping]] = ..., created_before: _Optional[_Union[Instant, _Mapping]] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., content: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Memory]
    def __init__(self, items: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ...) -> None: ...

class ExplainRecallRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "query", "namespace", "children", "agent_id", "kinds", "tags", "metadata", "valid_at", "known_at", "since", "until", "speaker", "min_score", "include_expired", "k", "include_superseded", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    query: str
    namespace: str
    children: bool
    agent_id: str
    kinds: TextList
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: bytes
    valid_at: Instant
    known_at: Moment
    since: Instant
    until: Instant
    speaker: str
    min_score: float
    include_expired: bool
    k: int
    include_superseded: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., query: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., agent_id: _Optional[str] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[bytes] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., since: _Optional[_Union[Instant, _Mapping]] = ..., until: _Optional[_Union[Instant, _Mapping]] = ..., speaker: _Optional[str] = ..., min_score: _Optional[float] = ..., include_expired: bool = ..., k: _Optional[int] = ..., include_superseded: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ExplainRecallResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: RecallExplanation
    def __init__(self, answer: _Optional[_Union[RecallExplanation, _Mapping]] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "query", "namespace", "children", "agent_id", "kinds", "tags", "metadata", "valid_at", "known_at", "since", "until", "speaker", "min_score", "include_expired", "k", "include_superseded", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    query: str
    namespace: str
    children: bool
    agent_id: str
    kinds: TextList
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: bytes
    valid_at: Instant
    known_at: Moment
    since: Instant
    until: Instant
    speaker: str
    min_score: float
    include_expired: bool
    k: int
    include_superseded: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., query: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., agent_id: _Optional[str] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[bytes] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., since: _Optional[_Union[Instant, _Mapping]] = ..., until: _Optional[_Union[Instant, _Mapping]] = ..., speaker: _Optional[str] = ..., min_score: _Optional[float] = ..., include_expired: bool = ..., k: _Optional[int] = ..., include_superseded: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Hit]
    def __init__(self, answer: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ...) -> None: ...

class RecallContextRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "query", "namespace", "children", "agent_id", "kinds", "tags", "metadata", "valid_at", "known_at", "since", "until", "speaker", "min_score", "include_expired", "k", "budget", "include_superseded", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    query: str
    namespace: str
    children: bool
    agent_id: str
    kinds: TextList
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: bytes
    valid_at: Instant
    known_at: Moment
    since: Instant
    until: Instant
    speaker: str
    min_score: float
    include_expired: bool
    k: int
    budget: int
    include_superseded: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., query: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., agent_id: _Optional[str] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[bytes] = ..., valid_at: _Optional[_Union[Instant, _Mapping]] = ..., known_at: _Optional[_Union[Moment, _Mapping]] = ..., since: _Optional[_Union[Instant, _Mapping]] = ..., until: _Optional[_Union[Instant, _Mapping]] = ..., speaker: _Optional[str] = ..., min_score: _Optional[float] = ..., include_expired: bool = ..., k: _Optional[int] = ..., budget: _Optional[int] = ..., include_superseded: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RecallContextResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: str
    def __init__(self, answer: _Optional[str] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "after_commit", "last", "kinds", "prefix", "cursor", "stored", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_COMMIT_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    after_commit: NumberOrText
    last: int
    kinds: TextList
    prefix: str
    cursor: str
    stored: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., after_commit: _Optional[_Union[NumberOrText, _Mapping]] = ..., last: _Optional[int] = ..., kinds: _Optional[_Union[TextList, _Mapping]] = ..., prefix: _Optional[str] = ..., cursor: _Optional[str] = ..., stored: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AcknowledgeRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "cursor", "token", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    cursor: str
    token: str
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., cursor: _Optional[str] = ..., token: _Optional[str] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AcknowledgeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BeginRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "txn_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    txn_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., txn_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class BeginResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Begun
    def __init__(self, answer: _Optional[_Union[Begun, _Mapping]] = ...) -> None: ...

class AskWithinRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "txn_id", "since", "era", "calls", "read", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    ERA_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    txn_id: str
    since: int
    era: int
    calls: _containers.RepeatedCompositeFieldContainer[StagedCall]
    read: ReadCall
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., txn_id: _Optional[str] = ..., since: _Optional[int] = ..., era: _Optional[int] = ..., calls: _Optional[_Iterable[_Union[StagedCall, _Mapping]]] = ..., read: _Optional[_Union[ReadCall, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AskWithinResponse(_message.Message):
    __slots__ = ("get_state", "get_memory", "links", "dependents", "timeline", "facts", "refusals", "find_title", "find_event_time", "reads")
    GET_STATE_FIELD_NUMBER: _ClassVar[int]
    GET_MEMORY_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    DEPENDENTS_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    FIND_TITLE_FIELD_NUMBER: _ClassVar[int]
    FIND_EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    get_state: GetStateResponse
    get_memory: GetMemoryResponse
    links: LinksResponse
    dependents: DependentsResponse
    timeline: TimelineResponse
    facts: FactsResponse
    refusals: RefusalsResponse
    find_title: FindTitleResponse
    find_event_time: FindEventTimeResponse
    reads: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, get_state: _Optional[_Union[GetStateResponse, _Mapping]] = ..., get_memory: _Optional[_Union[GetMemoryResponse, _Mapping]] = ..., links: _Optional[_Union[LinksResponse, _Mapping]] = ..., dependents: _Optional[_Union[DependentsResponse, _Mapping]] = ..., timeline: _Optional[_Union[TimelineResponse, _Mapping]] = ..., facts: _Optional[_Union[FactsResponse, _Mapping]] = ..., refusals: _Optional[_Union[RefusalsResponse, _Mapping]] = ..., find_title: _Optional[_Union[FindTitleResponse, _Mapping]] = ..., find_event_time: _Optional[_Union[FindEventTimeResponse, _Mapping]] = ..., reads: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ListWithinRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "txn_id", "since", "era", "calls", "read", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    ERA_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    txn_id: str
    since: int
    era: int
    calls: _containers.RepeatedCompositeFieldContainer[StagedCall]
    read: ReadCall
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., txn_id: _Optional[str] = ..., since: _Optional[int] = ..., era: _Optional[int] = ..., calls: _Optional[_Iterable[_Union[StagedCall, _Mapping]]] = ..., read: _Optional[_Union[ReadCall, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ListWithinResponse(_message.Message):
    __slots__ = ("list_keys", "scan_prefix")
    LIST_KEYS_FIELD_NUMBER: _ClassVar[int]
    SCAN_PREFIX_FIELD_NUMBER: _ClassVar[int]
    list_keys: ListKeysResponse
    scan_prefix: ScanPrefixResponse
    def __init__(self, list_keys: _Optional[_Union[ListKeysResponse, _Mapping]] = ..., scan_prefix: _Optional[_Union[ScanPrefixResponse, _Mapping]] = ...) -> None: ...

class GetTranscriptRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "transcript_id", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    transcript_id: str
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., transcript_id: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class GetTranscriptResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: TranscriptInfo
    def __init__(self, answer: _Optional[_Union[TranscriptInfo, _Mapping]] = ...) -> None: ...

class LoadTranscriptRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "transcript_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    transcript_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., transcript_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class LoadTranscriptResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: bytes
    def __init__(self, answer: _Optional[bytes] = ...) -> None: ...

class ListTranscriptsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "children", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    children: bool
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ListTranscriptsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[TranscriptInfo]
    def __init__(self, items: _Optional[_Iterable[_Union[TranscriptInfo, _Mapping]]] = ...) -> None: ...

class TranscriptsForRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TranscriptsForResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TranscriptLink]
    def __init__(self, answer: _Optional[_Iterable[_Union[TranscriptLink, _Mapping]]] = ...) -> None: ...

class MemoriesForRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "transcript_id", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    transcript_id: str
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., transcript_id: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class MemoriesForResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[TranscriptLink]
    def __init__(self, answer: _Optional[_Iterable[_Union[TranscriptLink, _Mapping]]] = ...) -> None: ...

class ReplayTranscriptsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "depth", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    depth: int
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., depth: _Optional[int] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ReplayTranscriptsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[ReplayedTranscript]
    def __init__(self, answer: _Optional[_Iterable[_Union[ReplayedTranscript, _Mapping]]] = ...) -> None: ...

class OriginsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class OriginsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: OriginTree
    def __init__(self, answer: _Optional[_Union[OriginTree, _Mapping]] = ...) -> None: ...

class CheckpointRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CheckpointResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: SignedCheckpoint
    def __init__(self, answer: _Optional[_Union[SignedCheckpoint, _Mapping]] = ...) -> None: ...

class WhyRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "ref", "at", "agent_id", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    ref: Ref
    at: Moment
    agent_id: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., ref: _Optional[_Union[Ref, _Mapping]] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., agent_id: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class WhyResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: ReasonTree
    def __init__(self, answer: _Optional[_Union[ReasonTree, _Mapping]] = ...) -> None: ...

class StaleKeysRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "prefix", "at", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    prefix: str
    at: Moment
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., at: _Optional[_Union[Moment, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class StaleKeysResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ReasonTree]
    def __init__(self, items: _Optional[_Iterable[_Union[ReasonTree, _Mapping]]] = ...) -> None: ...

class RefusalsRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RefusalsResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: _containers.RepeatedCompositeFieldContainer[Refused]
    def __init__(self, answer: _Optional[_Iterable[_Union[Refused, _Mapping]]] = ...) -> None: ...

class FindTitleRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "owner", "title", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    owner: str
    title: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., owner: _Optional[str] = ..., title: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FindTitleResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: str
    def __init__(self, answer: _Optional[str] = ...) -> None: ...

class FindEventTimeRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory", "agent_id", "namespace", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory: MemoryRef
    agent_id: str
    namespace: str
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory: _Optional[_Union[MemoryRef, _Mapping]] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class FindEventTimeResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: int
    def __init__(self, answer: _Optional[int] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "transcript_id", "key", "fact", "entity", "whole_agent", "whole_namespace", "facts_from", "agent_id", "namespace", "children", "derived", "reason", "purge", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    WHOLE_AGENT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACTS_FROM_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    transcript_id: str
    key: str
    fact: str
    entity: str
    whole_agent: str
    whole_namespace: str
    facts_from: str
    agent_id: str
    namespace: str
    children: bool
    derived: bool
    reason: str
    purge: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., transcript_id: _Optional[str] = ..., key: _Optional[str] = ..., fact: _Optional[str] = ..., entity: _Optional[str] = ..., whole_agent: _Optional[str] = ..., whole_namespace: _Optional[str] = ..., facts_from: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., children: bool = ..., derived: bool = ..., reason: _Optional[str] = ..., purge: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Certificate
    def __init__(self, answer: _Optional[_Union[Certificate, _Mapping]] = ...) -> None: ...

class SweepRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "expired_for", "reason", "purge", "txn_id", "signature", "is_named", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    expired_for: Duration
    reason: str
    purge: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., expired_for: _Optional[_Union[Duration, _Mapping]] = ..., reason: _Optional[str] = ..., purge: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SweepResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Certificate
    def __init__(self, answer: _Optional[_Union[Certificate, _Mapping]] = ...) -> None: ...

class WriteRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "key", "value", "expect_version", "because", "because_alone", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPECT_VERSION_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_ALONE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    key: str
    value: bytes
    expect_version: int
    because: _containers.RepeatedCompositeFieldContainer[Ref]
    because_alone: Ref
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[bytes] = ..., expect_version: _Optional[int] = ..., because: _Optional[_Iterable[_Union[Ref, _Mapping]]] = ..., because_alone: _Optional[_Union[Ref, _Mapping]] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "key", "expect_version", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    key: str
    expect_version: int
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., key: _Optional[str] = ..., expect_version: _Optional[int] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class RememberRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "content", "title", "kind", "tier", "tags", "priority", "confidence", "source", "metadata", "ttl", "event_time", "source_uri", "citations", "entity_id", "confidence_source", "visibility", "on_conflict", "transcript", "spans", "txn_id", "signature", "is_named", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    content: str
    title: str
    kind: str
    tier: str
    tags: TextList
    priority: int
    confidence: float
    source: str
    metadata: bytes
    ttl: Duration
    event_time: Instant
    source_uri: str
    citations: TextList
    entity_id: str
    confidence_source: str
    visibility: str
    on_conflict: str
    transcript: TranscriptRef
    spans: SpanList
    txn_id: str
    signature: RequestSignature
    is_named: bool
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., content: _Optional[str] = ..., title: _Optional[str] = ..., kind: _Optional[str] = ..., tier: _Optional[str] = ..., tags: _Optional[_Union[TextList, _Mapping]] = ..., priority: _Optional[int] = ..., confidence: _Optional[float] = ..., source: _Optional[str] = ..., metadata: _Optional[bytes] = ..., ttl: _Optional[_Union[Duration, _Mapping]] = ..., event_time: _Optional[_Union[Instant, _Mapping]] = ..., source_uri: _Optional[str] = ..., citations: _Optional[_Union[TextList, _Mapping]] = ..., entity_id: _Optional[str] = ..., confidence_source: _Optional[str] = ..., visibility: _Optional[str] = ..., on_conflict: _Optional[str] = ..., transcript: _Optional[_Union[TranscriptRef, _Mapping]] = ..., spans: _Optional[_Union[SpanList, _Mapping]] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RememberResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class ReflectRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "content", "title", "kind", "tier", "tags", "priority", "confidence", "source", "metadata", "ttl", "event_time", "source_uri", "citations", "entity_id", "confidence_source", "visibility", "on_conflict", "transcript", "spans", "on", "txn_id", "signature", "is_named", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ON_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    content: str
    title: str
    kind: str
    tier: str
    tags: TextList
    priority: int
    confidence: float
    source: str
    metadata: bytes
    ttl: Duration
    event_time: Instant
    source_uri: str
    citations: TextList
    entity_id: str
    confidence_source: str
    visibility: str
    on_conflict: str
    transcript: TranscriptRef
    spans: SpanList
    on: _containers.RepeatedScalarFieldContainer[str]
    txn_id: str
    signature: RequestSignature
    is_named: bool
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., content: _Optional[str] = ..., title: _Optional[str] = ..., kind: _Optional[str] = ..., tier: _Optional[str] = ..., tags: _Optional[_Union[TextList, _Mapping]] = ..., priority: _Optional[int] = ..., confidence: _Optional[float] = ..., source: _Optional[str] = ..., metadata: _Optional[bytes] = ..., ttl: _Optional[_Union[Duration, _Mapping]] = ..., event_time: _Optional[_Union[Instant, _Mapping]] = ..., source_uri: _Optional[str] = ..., citations: _Optional[_Union[TextList, _Mapping]] = ..., entity_id: _Optional[str] = ..., confidence_source: _Optional[str] = ..., visibility: _Optional[str] = ..., on_conflict: _Optional[str] = ..., transcript: _Optional[_Union[TranscriptRef, _Mapping]] = ..., spans: _Optional[_Union[SpanList, _Mapping]] = ..., on: _Optional[_Iterable[str]] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ReflectResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "agent_id", "expect_version", "title", "content", "kind", "tier", "tags", "priority", "confidence", "source", "metadata", "ttl", "event_time", "source_uri", "citations", "entity_id", "confidence_source", "txn_id", "signature", "is_named", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    agent_id: str
    expect_version: int
    title: str
    content: str
    kind: str
    tier: str
    tags: TextList
    priority: int
    confidence: float
    source: str
    metadata: bytes
    ttl: Duration
    event_time: Instant
    source_uri: str
    citations: TextList
    entity_id: str
    confidence_source: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., expect_version: _Optional[int] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., kind: _Optional[str] = ..., tier: _Optional[str] = ..., tags: _Optional[_Union[TextList, _Mapping]] = ..., priority: _Optional[int] = ..., confidence: _Optional[float] = ..., source: _Optional[str] = ..., metadata: _Optional[bytes] = ..., ttl: _Optional[_Union[Duration, _Mapping]] = ..., event_time: _Optional[_Union[Instant, _Mapping]] = ..., source_uri: _Optional[str] = ..., citations: _Optional[_Union[TextList, _Mapping]] = ..., entity_id: _Optional[str] = ..., confidence_source: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class UpdateMemoryResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class RetractMemoryRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "reason", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    reason: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., reason: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RetractMemoryResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class TouchRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TouchResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class PromoteRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "tier", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    tier: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., tier: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class PromoteResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Memory
    def __init__(self, answer: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class ConfigureRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "agent_id", "max_reflection_depth", "tiers", "transcript_retention", "log_retention", "facts", "allow_large", "txn_id", "signature", "is_named", "nulls", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_REFLECTION_DEPTH_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_RETENTION_FIELD_NUMBER: _ClassVar[int]
    LOG_RETENTION_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_LARGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    agent_id: str
    max_reflection_depth: int
    tiers: bytes
    transcript_retention: Duration
    log_retention: Duration
    facts: str
    allow_large: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    nulls: _containers.RepeatedScalarFieldContainer[str]
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., max_reflection_depth: _Optional[int] = ..., tiers: _Optional[bytes] = ..., transcript_retention: _Optional[_Union[Duration, _Mapping]] = ..., log_retention: _Optional[_Union[Duration, _Mapping]] = ..., facts: _Optional[str] = ..., allow_large: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., nulls: _Optional[_Iterable[str]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ConfigureResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class LinkRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "source", "target", "relation", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    source: str
    target: str
    relation: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., source: _Optional[str] = ..., target: _Optional[str] = ..., relation: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class LinkResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Link
    def __init__(self, answer: _Optional[_Union[Link, _Mapping]] = ...) -> None: ...

class UnlinkRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "source", "target", "relation", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    source: str
    target: str
    relation: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., source: _Optional[str] = ..., target: _Optional[str] = ..., relation: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class UnlinkResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Link
    def __init__(self, answer: _Optional[_Union[Link, _Mapping]] = ...) -> None: ...

class SupersedeRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "old", "new", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    old: str
    new: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., old: _Optional[str] = ..., new: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SupersedeResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Link
    def __init__(self, answer: _Optional[_Union[Link, _Mapping]] = ...) -> None: ...

class ResolveInvalidationRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "notice_id", "decision", "note", "replacement", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NOTICE_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    notice_id: str
    decision: str
    note: str
    replacement: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., notice_id: _Optional[str] = ..., decision: _Optional[str] = ..., note: _Optional[str] = ..., replacement: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class ResolveInvalidationResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Invalidation
    def __init__(self, answer: _Optional[_Union[Invalidation, _Mapping]] = ...) -> None: ...

class StoreTranscriptRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "text_items", "text", "names", "occurred_at", "ttl", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TEXT_ITEMS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    text_items: _containers.RepeatedScalarFieldContainer[bytes]
    text: str
    names: TextEntryList
    occurred_at: Instant
    ttl: Duration
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., text_items: _Optional[_Iterable[bytes]] = ..., text: _Optional[str] = ..., names: _Optional[_Union[TextEntryList, _Mapping]] = ..., occurred_at: _Optional[_Union[Instant, _Mapping]] = ..., ttl: _Optional[_Union[Duration, _Mapping]] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class StoreTranscriptResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: TranscriptInfo
    def __init__(self, answer: _Optional[_Union[TranscriptInfo, _Mapping]] = ...) -> None: ...

class LinkTranscriptRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "memory_id", "transcript", "spans", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    memory_id: str
    transcript: TranscriptRef
    spans: SpanList
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., memory_id: _Optional[str] = ..., transcript: _Optional[_Union[TranscriptRef, _Mapping]] = ..., spans: _Optional[_Union[SpanList, _Mapping]] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class LinkTranscriptResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: TranscriptLink
    def __init__(self, answer: _Optional[_Union[TranscriptLink, _Mapping]] = ...) -> None: ...

class AssertFactRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "object", "valid_from", "valid_to", "confidence", "source", "spans", "visibility", "once", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ONCE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: NameOrLiteral
    valid_from: Instant
    valid_to: Instant
    confidence: float
    source: FactSource
    spans: SpanList
    visibility: str
    once: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., valid_from: _Optional[_Union[Instant, _Mapping]] = ..., valid_to: _Optional[_Union[Instant, _Mapping]] = ..., confidence: _Optional[float] = ..., source: _Optional[_Union[FactSource, _Mapping]] = ..., spans: _Optional[_Union[SpanList, _Mapping]] = ..., visibility: _Optional[str] = ..., once: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AssertFactResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: EdgeResolution
    def __init__(self, answer: _Optional[_Union[EdgeResolution, _Mapping]] = ...) -> None: ...

class EndFactRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "subject", "relation", "object", "at", "source", "spans", "visibility", "allow_unknown", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: NameOrLiteral
    at: Instant
    source: FactSource
    spans: SpanList
    visibility: str
    allow_unknown: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., at: _Optional[_Union[Instant, _Mapping]] = ..., source: _Optional[_Union[FactSource, _Mapping]] = ..., spans: _Optional[_Union[SpanList, _Mapping]] = ..., visibility: _Optional[str] = ..., allow_unknown: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class EndFactResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: EdgeResolution
    def __init__(self, answer: _Optional[_Union[EdgeResolution, _Mapping]] = ...) -> None: ...

class RetractFactRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "assertion_id", "subject", "relation", "object", "reason", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ASSERTION_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    assertion_id: str
    subject: str
    relation: str
    object: NameOrLiteral
    reason: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., assertion_id: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[NameOrLiteral, _Mapping]] = ..., reason: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RetractFactResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: EdgeResolution
    def __init__(self, answer: _Optional[_Union[EdgeResolution, _Mapping]] = ...) -> None: ...

class SetCardinalityRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "namespace", "relation", "cardinality", "agent_id", "allow_large", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_LARGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    namespace: str
    relation: str
    cardinality: str
    agent_id: str
    allow_large: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., namespace: _Optional[str] = ..., relation: _Optional[str] = ..., cardinality: _Optional[str] = ..., agent_id: _Optional[str] = ..., allow_large: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class SetCardinalityResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class AliasRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "entity", "alias", "allow_large", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_LARGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    entity: str
    alias: str
    allow_large: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., entity: _Optional[str] = ..., alias: _Optional[str] = ..., allow_large: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class AliasResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class MergeEntitiesRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "agent_id", "namespace", "source", "into", "allow_large", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    INTO_FIELD_NUMBER: _ClassVar[int]
    ALLOW_LARGE_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    agent_id: str
    namespace: str
    source: str
    into: str
    allow_large: bool
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ..., source: _Optional[str] = ..., into: _Optional[str] = ..., allow_large: bool = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class MergeEntitiesResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "calls", "since", "era", "is_named", "reads", "timeout", "txn_id", "signature", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    ERA_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    calls: _containers.RepeatedCompositeFieldContainer[StagedCall]
    since: int
    era: int
    is_named: bool
    reads: _containers.RepeatedScalarFieldContainer[bytes]
    timeout: float
    txn_id: str
    signature: RequestSignature
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[StagedCall, _Mapping]]] = ..., since: _Optional[int] = ..., era: _Optional[int] = ..., is_named: bool = ..., reads: _Optional[_Iterable[bytes]] = ..., timeout: _Optional[float] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., unfit: _Optional[bytes] = ...) -> None: ...

class CommitResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: CommittedTransaction
    def __init__(self, answer: _Optional[_Union[CommittedTransaction, _Mapping]] = ...) -> None: ...

class TrustKeyRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "key", "agent_id", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    key: str
    agent_id: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., key: _Optional[str] = ..., agent_id: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class TrustKeyResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class RetireKeyRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "key", "reason", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    key: str
    reason: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., key: _Optional[str] = ..., reason: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RetireKeyResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class RotateKeyRequest(_message.Message):
    __slots__ = ("store", "acting_agent", "old", "new", "reason", "txn_id", "signature", "is_named", "unfit")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ACTING_AGENT_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    UNFIT_FIELD_NUMBER: _ClassVar[int]
    store: str
    acting_agent: str
    old: str
    new: str
    reason: str
    txn_id: str
    signature: RequestSignature
    is_named: bool
    unfit: bytes
    def __init__(self, store: _Optional[str] = ..., acting_agent: _Optional[str] = ..., old: _Optional[str] = ..., new: _Optional[str] = ..., reason: _Optional[str] = ..., txn_id: _Optional[str] = ..., signature: _Optional[_Union[RequestSignature, _Mapping]] = ..., is_named: bool = ..., unfit: _Optional[bytes] = ...) -> None: ...

class RotateKeyResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: Receipt
    def __init__(self, answer: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class WriteBatch(_message.Message):
    __slots__ = ("store", "writes")
    STORE_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    store: str
    writes: _containers.RepeatedCompositeFieldContainer[NumberedWrite]
    def __init__(self, store: _Optional[str] = ..., writes: _Optional[_Iterable[_Union[NumberedWrite, _Mapping]]] = ...) -> None: ...

class WriteOutcomes(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[WriteOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[WriteOutcome, _Mapping]]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("error", "message", "retryable", "attributes")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    error: str
    message: str
    retryable: bool
    attributes: bytes
    def __init__(self, error: _Optional[str] = ..., message: _Optional[str] = ..., retryable: bool = ..., attributes: _Optional[bytes] = ...) -> None: ...

class TextList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class NumberOrText(_message.Message):
    __slots__ = ("number", "text")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    number: int
    text: str
    def __init__(self, number: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class AuditEvent(_message.Message):
    __slots__ = ("id", "event_type", "agent_id", "timestamp", "payload_hash", "signature", "attest_level", "commit_ts")
    ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    ATTEST_LEVEL_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    id: str
    event_type: str
    agent_id: str
    timestamp: str
    payload_hash: str
    signature: str
    attest_level: str
    commit_ts: int
    def __init__(self, id: _Optional[str] = ..., event_type: _Optional[str] = ..., agent_id: _Optional[str] = ..., timestamp: _Optional[str] = ..., payload_hash: _Optional[str] = ..., signature: _Optional[str] = ..., attest_level: _Optional[str] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class SignedCheckpoint(_message.Message):
    __slots__ = ("size", "root", "origin", "signed_by", "committed_at_micros", "note")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SIGNED_BY_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    size: int
    root: str
    origin: str
    signed_by: _containers.RepeatedScalarFieldContainer[str]
    committed_at_micros: int
    note: str
    def __init__(self, size: _Optional[int] = ..., root: _Optional[str] = ..., origin: _Optional[str] = ..., signed_by: _Optional[_Iterable[str]] = ..., committed_at_micros: _Optional[int] = ..., note: _Optional[str] = ...) -> None: ...

class InclusionProof(_message.Message):
    __slots__ = ("commit_ts", "event_hash", "path", "checkpoint")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    event_hash: bytes
    path: _containers.RepeatedScalarFieldContainer[bytes]
    checkpoint: str
    def __init__(self, commit_ts: _Optional[int] = ..., event_hash: _Optional[bytes] = ..., path: _Optional[_Iterable[bytes]] = ..., checkpoint: _Optional[str] = ...) -> None: ...

class ConsistencyProof(_message.Message):
    __slots__ = ("old_checkpoint", "new_checkpoint", "path")
    OLD_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    NEW_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    old_checkpoint: str
    new_checkpoint: str
    path: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, old_checkpoint: _Optional[str] = ..., new_checkpoint: _Optional[str] = ..., path: _Optional[_Iterable[bytes]] = ...) -> None: ...

class TrustedKey(_message.Message):
    __slots__ = ("key", "agent_id")
    KEY_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    key: PublicKey
    agent_id: str
    def __init__(self, key: _Optional[_Union[PublicKey, _Mapping]] = ..., agent_id: _Optional[str] = ...) -> None: ...

class AssertedFacts(_message.Message):
    __slots__ = ("asserted", "unchanged", "retracted", "rejected", "commit_ts", "committed_at_micros")
    ASSERTED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    asserted: int
    unchanged: int
    retracted: int
    rejected: int
    commit_ts: int
    committed_at_micros: int
    def __init__(self, asserted: _Optional[int] = ..., unchanged: _Optional[int] = ..., retracted: _Optional[int] = ..., rejected: _Optional[int] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ...) -> None: ...

class StoreDescription(_message.Message):
    __slots__ = ("log_id", "limits", "actor")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    limits: Limits
    actor: str
    def __init__(self, log_id: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., actor: _Optional[str] = ...) -> None: ...

class AgentSummary(_message.Message):
    __slots__ = ("agent_id", "namespaces", "commits", "last_commit", "last_active_micros")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    LAST_COMMIT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACTIVE_MICROS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    namespaces: int
    commits: int
    last_commit: int
    last_active_micros: int
    def __init__(self, agent_id: _Optional[str] = ..., namespaces: _Optional[int] = ..., commits: _Optional[int] = ..., last_commit: _Optional[int] = ..., last_active_micros: _Optional[int] = ...) -> None: ...

class NamespaceSummary(_message.Message):
    __slots__ = ("namespace", "agents", "commits", "last_commit", "last_active_micros")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    LAST_COMMIT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACTIVE_MICROS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agents: int
    commits: int
    last_commit: int
    last_active_micros: int
    def __init__(self, namespace: _Optional[str] = ..., agents: _Optional[int] = ..., commits: _Optional[int] = ..., last_commit: _Optional[int] = ..., last_active_micros: _Optional[int] = ...) -> None: ...

class IdMatch(_message.Message):
    __slots__ = ("id", "kind")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class TextEntry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Certificate(_message.Message):
    __slots__ = ("erasure_id", "target", "commit_ts", "committed_at_micros", "by", "reason", "operations", "events", "digest", "pseudonym", "pending_purge", "pending_reason", "copies", "preview")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PSEUDONYM_FIELD_NUMBER: _ClassVar[int]
    PENDING_PURGE_FIELD_NUMBER: _ClassVar[int]
    PENDING_REASON_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    target: str
    commit_ts: int
    committed_at_micros: int
    by: str
    reason: str
    operations: int
    events: int
    digest: str
    pseudonym: str
    pending_purge: bool
    pending_reason: str
    copies: _containers.RepeatedScalarFieldContainer[str]
    preview: Preview
    def __init__(self, erasure_id: _Optional[str] = ..., target: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ..., operations: _Optional[int] = ..., events: _Optional[int] = ..., digest: _Optional[str] = ..., pseudonym: _Optional[str] = ..., pending_purge: bool = ..., pending_reason: _Optional[str] = ..., copies: _Optional[_Iterable[str]] = ..., preview: _Optional[_Union[Preview, _Mapping]] = ...) -> None: ...

class ErasureProof(_message.Message):
    __slots__ = ("type", "version", "certificate", "erased", "previous_hash", "leaves", "position", "operation", "salts", "path", "checkpoint")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    ERASED_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_HASH_FIELD_NUMBER: _ClassVar[int]
    LEAVES_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    SALTS_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    type: str
    version: int
    certificate: ProvenCertificate
    erased: _containers.RepeatedCompositeFieldContainer[ErasedPosition]
    previous_hash: str
    leaves: _containers.RepeatedScalarFieldContainer[str]
    position: int
    operation: str
    salts: str
    path: _containers.RepeatedScalarFieldContainer[str]
    checkpoint: str
    def __init__(self, type: _Optional[str] = ..., version: _Optional[int] = ..., certificate: _Optional[_Union[ProvenCertificate, _Mapping]] = ..., erased: _Optional[_Iterable[_Union[ErasedPosition, _Mapping]]] = ..., previous_hash: _Optional[str] = ..., leaves: _Optional[_Iterable[str]] = ..., position: _Optional[int] = ..., operation: _Optional[str] = ..., salts: _Optional[str] = ..., path: _Optional[_Iterable[str]] = ..., checkpoint: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "total")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    done: int
    total: int
    def __init__(self, done: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class ErasureCall(_message.Message):
    __slots__ = ("forget", "sweep")
    FORGET_FIELD_NUMBER: _ClassVar[int]
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    forget: ForgetRequest
    sweep: SweepRequest
    def __init__(self, forget: _Optional[_Union[ForgetRequest, _Mapping]] = ..., sweep: _Optional[_Union[SweepRequest, _Mapping]] = ...) -> None: ...

class Moment(_message.Message):
    __slots__ = ("commit", "text", "micros")
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MICROS_FIELD_NUMBER: _ClassVar[int]
    commit: int
    text: str
    micros: int
    def __init__(self, commit: _Optional[int] = ..., text: _Optional[str] = ..., micros: _Optional[int] = ...) -> None: ...

class Compaction(_message.Message):
    __slots__ = ("namespace", "horizon", "horizon_at_micros", "erased", "retained", "commit_ts", "committed_at_micros", "unfinished")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HORIZON_FIELD_NUMBER: _ClassVar[int]
    HORIZON_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    ERASED_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    UNFINISHED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    horizon: int
    horizon_at_micros: int
    erased: int
    retained: int
    commit_ts: int
    committed_at_micros: int
    unfinished: bool
    def __init__(self, namespace: _Optional[str] = ..., horizon: _Optional[int] = ..., horizon_at_micros: _Optional[int] = ..., erased: _Optional[int] = ..., retained: _Optional[int] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., unfinished: bool = ...) -> None: ...

class Instant(_message.Message):
    __slots__ = ("text", "micros")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MICROS_FIELD_NUMBER: _ClassVar[int]
    text: str
    micros: int
    def __init__(self, text: _Optional[str] = ..., micros: _Optional[int] = ...) -> None: ...

class StoredTranscript(_message.Message):
    __slots__ = ("id", "commit_ts", "created_micros")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    CREATED_MICROS_FIELD_NUMBER: _ClassVar[int]
    id: str
    commit_ts: int
    created_micros: int
    def __init__(self, id: _Optional[str] = ..., commit_ts: _Optional[int] = ..., created_micros: _Optional[int] = ...) -> None: ...

class CommittedItems(_message.Message):
    __slots__ = ("commit_ts", "committed_micros", "memories", "facts")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_MICROS_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    committed_micros: int
    memories: _containers.RepeatedScalarFieldContainer[str]
    facts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, commit_ts: _Optional[int] = ..., committed_micros: _Optional[int] = ..., memories: _Optional[_Iterable[str]] = ..., facts: _Optional[_Iterable[str]] = ...) -> None: ...

class LogHead(_message.Message):
    __slots__ = ("commit_ts", "committed_micros")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_MICROS_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    committed_micros: int
    def __init__(self, commit_ts: _Optional[int] = ..., committed_micros: _Optional[int] = ...) -> None: ...

class NameOrLiteral(_message.Message):
    __slots__ = ("name", "literal")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    literal: TypedText
    def __init__(self, name: _Optional[str] = ..., literal: _Optional[_Union[TypedText, _Mapping]] = ...) -> None: ...

class Fact(_message.Message):
    __slots__ = ("subject", "relation", "object", "valid_from_micros", "valid_to_micros", "confidence", "sources", "known_from_micros", "assertions", "namespace", "agent_id", "unproven", "asserted_by")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_MICROS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    ASSERTIONS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    ASSERTED_BY_FIELD_NUMBER: _ClassVar[int]
    subject: str
    relation: str
    object: FactObject
    valid_from_micros: int
    valid_to_micros: int
    confidence: float
    sources: _containers.RepeatedCompositeFieldContainer[Ref]
    known_from_micros: int
    assertions: _containers.RepeatedScalarFieldContainer[str]
    namespace: str
    agent_id: str
    unproven: bool
    asserted_by: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[FactObject, _Mapping]] = ..., valid_from_micros: _Optional[int] = ..., valid_to_micros: _Optional[int] = ..., confidence: _Optional[float] = ..., sources: _Optional[_Iterable[_Union[Ref, _Mapping]]] = ..., known_from_micros: _Optional[int] = ..., assertions: _Optional[_Iterable[str]] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., unproven: bool = ..., asserted_by: _Optional[_Iterable[str]] = ...) -> None: ...

class SharedFact(_message.Message):
    __slots__ = ("fact", "visibility")
    FACT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    fact: Fact
    visibility: str
    def __init__(self, fact: _Optional[_Union[Fact, _Mapping]] = ..., visibility: _Optional[str] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("fact", "assertions", "end")
    FACT_FIELD_NUMBER: _ClassVar[int]
    ASSERTIONS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    fact: Fact
    assertions: _containers.RepeatedCompositeFieldContainer[Assertion]
    end: Ending
    def __init__(self, fact: _Optional[_Union[Fact, _Mapping]] = ..., assertions: _Optional[_Iterable[_Union[Assertion, _Mapping]]] = ..., end: _Optional[_Union[Ending, _Mapping]] = ...) -> None: ...

class ExistingEdge(_message.Message):
    __slots__ = ("subject_key", "relation", "object_key", "valid_from_micros", "valid_to_micros")
    SUBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_MICROS_FIELD_NUMBER: _ClassVar[int]
    subject_key: str
    relation: str
    object_key: str
    valid_from_micros: int
    valid_to_micros: int
    def __init__(self, subject_key: _Optional[str] = ..., relation: _Optional[str] = ..., object_key: _Optional[str] = ..., valid_from_micros: _Optional[int] = ..., valid_to_micros: _Optional[int] = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("name", "key", "aliases", "known_from_micros", "namespace", "agent_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    key: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    known_from_micros: int
    namespace: str
    agent_id: str
    def __init__(self, name: _Optional[str] = ..., key: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., known_from_micros: _Optional[int] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class Neighbor(_message.Message):
    __slots__ = ("node", "hop", "via")
    NODE_FIELD_NUMBER: _ClassVar[int]
    HOP_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    node: FactObject
    hop: int
    via: Fact
    def __init__(self, node: _Optional[_Union[FactObject, _Mapping]] = ..., hop: _Optional[int] = ..., via: _Optional[_Union[Fact, _Mapping]] = ...) -> None: ...

class FactList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, items: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class Subgraph(_message.Message):
    __slots__ = ("entities", "facts")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedScalarFieldContainer[str]
    facts: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, entities: _Optional[_Iterable[str]] = ..., facts: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class MergeSuggestion(_message.Message):
    __slots__ = ("entity", "other", "score")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    entity: str
    other: str
    score: float
    def __init__(self, entity: _Optional[str] = ..., other: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class StateRecord(_message.Message):
    __slots__ = ("key", "namespace", "agent_id", "value", "version", "commit_ts", "committed_at_micros", "unproven")
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    key: str
    namespace: str
    agent_id: str
    value: bytes
    version: int
    commit_ts: int
    committed_at_micros: int
    unproven: bool
    def __init__(self, key: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., value: _Optional[bytes] = ..., version: _Optional[int] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., unproven: bool = ...) -> None: ...

class StateVersion(_message.Message):
    __slots__ = ("key", "namespace", "agent_id", "version", "value", "because", "commit_ts", "committed_at_micros", "txn_id", "actor", "unproven")
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    key: str
    namespace: str
    agent_id: str
    version: int
    value: bytes
    because: _containers.RepeatedCompositeFieldContainer[Ref]
    commit_ts: int
    committed_at_micros: int
    txn_id: str
    actor: str
    unproven: bool
    def __init__(self, key: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., version: _Optional[int] = ..., value: _Optional[bytes] = ..., because: _Optional[_Iterable[_Union[Ref, _Mapping]]] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., txn_id: _Optional[str] = ..., actor: _Optional[str] = ..., unproven: bool = ...) -> None: ...

class StateChange(_message.Message):
    __slots__ = ("key", "before", "after")
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    key: str
    before: StateRecord
    after: StateRecord
    def __init__(self, key: _Optional[str] = ..., before: _Optional[_Union[StateRecord, _Mapping]] = ..., after: _Optional[_Union[StateRecord, _Mapping]] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("source", "target", "relation", "valid_from_micros", "valid_until_micros", "notified", "outcome", "commit_ts", "committed_at_micros")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_MICROS_FIELD_NUMBER: _ClassVar[int]
    NOTIFIED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    source: str
    target: str
    relation: str
    valid_from_micros: int
    valid_until_micros: int
    notified: _containers.RepeatedScalarFieldContainer[str]
    outcome: str
    commit_ts: int
    committed_at_micros: int
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., relation: _Optional[str] = ..., valid_from_micros: _Optional[int] = ..., valid_until_micros: _Optional[int] = ..., notified: _Optional[_Iterable[str]] = ..., outcome: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ...) -> None: ...

class DependentRecord(_message.Message):
    __slots__ = ("id", "namespace", "agent_id", "hop")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    HOP_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    agent_id: str
    hop: int
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., hop: _Optional[int] = ...) -> None: ...

class Invalidation(_message.Message):
    __slots__ = ("id", "namespace", "agent_id", "kind", "dependent", "evidence", "change", "dependent_id", "invalidated_id", "invalidating_id", "by", "created_at_micros", "decision", "note", "replacement", "resolved_at_micros", "resolved_by", "outcome", "commit_ts", "committed_at_micros")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEPENDENT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    DEPENDENT_ID_FIELD_NUMBER: _ClassVar[int]
    INVALIDATED_ID_FIELD_NUMBER: _ClassVar[int]
    INVALIDATING_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_BY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    agent_id: str
    kind: str
    dependent: Ref
    evidence: Ref
    change: str
    dependent_id: str
    invalidated_id: str
    invalidating_id: str
    by: str
    created_at_micros: int
    decision: str
    note: str
    replacement: str
    resolved_at_micros: int
    resolved_by: str
    outcome: str
    commit_ts: int
    committed_at_micros: int
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., kind: _Optional[str] = ..., dependent: _Optional[_Union[Ref, _Mapping]] = ..., evidence: _Optional[_Union[Ref, _Mapping]] = ..., change: _Optional[str] = ..., dependent_id: _Optional[str] = ..., invalidated_id: _Optional[str] = ..., invalidating_id: _Optional[str] = ..., by: _Optional[str] = ..., created_at_micros: _Optional[int] = ..., decision: _Optional[str] = ..., note: _Optional[str] = ..., replacement: _Optional[str] = ..., resolved_at_micros: _Optional[int] = ..., resolved_by: _Optional[str] = ..., outcome: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("commit_ts", "committed_micros", "txn_id", "actor", "hash", "summary", "signature", "unproven", "stored_operations", "operations", "request_only", "trace_id")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_MICROS_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    STORED_OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ONLY_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    committed_micros: int
    txn_id: str
    actor: str
    hash: bytes
    summary: bool
    signature: str
    unproven: bool
    stored_operations: bytes
    operations: _containers.RepeatedCompositeFieldContainer[Operation]
    request_only: bool
    trace_id: str
    def __init__(self, commit_ts: _Optional[int] = ..., committed_micros: _Optional[int] = ..., txn_id: _Optional[str] = ..., actor: _Optional[str] = ..., hash: _Optional[bytes] = ..., summary: bool = ..., signature: _Optional[str] = ..., unproven: bool = ..., stored_operations: _Optional[bytes] = ..., operations: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ..., request_only: bool = ..., trace_id: _Optional[str] = ...) -> None: ...

class TimelineBucket(_message.Message):
    __slots__ = ("start_micros", "end_micros", "counts", "events")
    START_MICROS_FIELD_NUMBER: _ClassVar[int]
    END_MICROS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    start_micros: int
    end_micros: int
    counts: _containers.RepeatedCompositeFieldContainer[IntegerEntry]
    events: int
    def __init__(self, start_micros: _Optional[int] = ..., end_micros: _Optional[int] = ..., counts: _Optional[_Iterable[_Union[IntegerEntry, _Mapping]]] = ..., events: _Optional[int] = ...) -> None: ...

class CursorPosition(_message.Message):
    __slots__ = ("cursor", "commit_ts")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    commit_ts: int
    def __init__(self, cursor: _Optional[str] = ..., commit_ts: _Optional[int] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ("log_id", "commits", "head_hash", "last_committed_at_micros", "warnings", "checkpoints", "last_checkpoint", "rows", "signed", "unproven", "request_signed")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LAST_COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    LAST_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_SIGNED_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    commits: int
    head_hash: str
    last_committed_at_micros: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    checkpoints: int
    last_checkpoint: int
    rows: int
    signed: int
    unproven: int
    request_signed: int
    def __init__(self, log_id: _Optional[str] = ..., commits: _Optional[int] = ..., head_hash: _Optional[str] = ..., last_committed_at_micros: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., checkpoints: _Optional[int] = ..., last_checkpoint: _Optional[int] = ..., rows: _Optional[int] = ..., signed: _Optional[int] = ..., unproven: _Optional[int] = ..., request_signed: _Optional[int] = ...) -> None: ...

class Rebuild(_message.Message):
    __slots__ = ("events", "rows", "differing")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DIFFERING_FIELD_NUMBER: _ClassVar[int]
    events: int
    rows: int
    differing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, events: _Optional[int] = ..., rows: _Optional[int] = ..., differing: _Optional[_Iterable[str]] = ...) -> None: ...

class Reindexed(_message.Message):
    __slots__ = ("commits", "vectors", "model", "replaced", "language", "rewritten")
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    REWRITTEN_FIELD_NUMBER: _ClassVar[int]
    commits: int
    vectors: int
    model: str
    replaced: str
    language: str
    rewritten: int
    def __init__(self, commits: _Optional[int] = ..., vectors: _Optional[int] = ..., model: _Optional[str] = ..., replaced: _Optional[str] = ..., language: _Optional[str] = ..., rewritten: _Optional[int] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("log_id", "epoch", "commits", "last_committed_at_micros", "agents", "namespaces", "keys", "memories", "transcripts", "open_notices", "facts", "entities", "data_bytes", "journal_bytes", "warnings", "pending_purge", "checkpoint_size", "checkpoint_at_micros", "signing", "index_backlog", "language", "languages", "embedder", "vectors", "vector_backlog", "cache_bytes", "cache_limit", "cache_evictions", "jobs")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    LAST_COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPTS_FIELD_NUMBER: _ClassVar[int]
    OPEN_NOTICES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    DATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    PENDING_PURGE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_SIZE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    SIGNING_FIELD_NUMBER: _ClassVar[int]
    INDEX_BACKLOG_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_BACKLOG_FIELD_NUMBER: _ClassVar[int]
    CACHE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CACHE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    CACHE_EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    epoch: int
    commits: int
    last_committed_at_micros: int
    agents: int
    namespaces: int
    keys: int
    memories: int
    transcripts: int
    open_notices: int
    facts: int
    entities: int
    data_bytes: int
    journal_bytes: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    pending_purge: bool
    checkpoint_size: int
    checkpoint_at_micros: int
    signing: str
    index_backlog: int
    language: str
    languages: _containers.RepeatedCompositeFieldContainer[TextEntry]
    embedder: str
    vectors: int
    vector_backlog: int
    cache_bytes: int
    cache_limit: int
    cache_evictions: int
    jobs: _containers.RepeatedCompositeFieldContainer[JobStatus]
    def __init__(self, log_id: _Optional[str] = ..., epoch: _Optional[int] = ..., commits: _Optional[int] = ..., last_committed_at_micros: _Optional[int] = ..., agents: _Optional[int] = ..., namespaces: _Optional[int] = ..., keys: _Optional[int] = ..., memories: _Optional[int] = ..., transcripts: _Optional[int] = ..., open_notices: _Optional[int] = ..., facts: _Optional[int] = ..., entities: _Optional[int] = ..., data_bytes: _Optional[int] = ..., journal_bytes: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., pending_purge: bool = ..., checkpoint_size: _Optional[int] = ..., checkpoint_at_micros: _Optional[int] = ..., signing: _Optional[str] = ..., index_backlog: _Optional[int] = ..., language: _Optional[str] = ..., languages: _Optional[_Iterable[_Union[TextEntry, _Mapping]]] = ..., embedder: _Optional[str] = ..., vectors: _Optional[int] = ..., vector_backlog: _Optional[int] = ..., cache_bytes: _Optional[int] = ..., cache_limit: _Optional[int] = ..., cache_evictions: _Optional[int] = ..., jobs: _Optional[_Iterable[_Union[JobStatus, _Mapping]]] = ...) -> None: ...

class SqlView(_message.Message):
    __slots__ = ("name", "description", "columns")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class OptionalSqlValue(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: SqlValue
    def __init__(self, value: _Optional[_Union[SqlValue, _Mapping]] = ...) -> None: ...

class SqlValueEntry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: SqlValue
    def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[SqlValue, _Mapping]] = ...) -> None: ...

class SqlValueEntryList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SqlValueEntry]
    def __init__(self, items: _Optional[_Iterable[_Union[SqlValueEntry, _Mapping]]] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("outcome", "commit_ts", "committed_at_micros", "id", "namespace", "agent_id", "title", "content", "kind", "tier", "tags", "priority", "confidence", "source", "metadata", "version", "created_at_micros", "updated_at_micros", "expires_at_micros", "event_time_micros", "visibility", "reflection_depth", "superseded_by", "source_uri", "citations", "entity_id", "confidence_source", "access_count", "last_accessed_at_micros", "retracted", "reason", "unproven")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MICROS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_DEPTH_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESSED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    commit_ts: int
    committed_at_micros: int
    id: str
    namespace: str
    agent_id: str
    title: str
    content: str
    kind: str
    tier: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    priority: int
    confidence: float
    source: str
    metadata: bytes
    version: int
    created_at_micros: int
    updated_at_micros: int
    expires_at_micros: int
    event_time_micros: int
    visibility: str
    reflection_depth: int
    superseded_by: str
    source_uri: str
    citations: _containers.RepeatedScalarFieldContainer[str]
    entity_id: str
    confidence_source: str
    access_count: int
    last_accessed_at_micros: int
    retracted: bool
    reason: str
    unproven: bool
    def __init__(self, outcome: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., id: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., kind: _Optional[str] = ..., tier: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., priority: _Optional[int] = ..., confidence: _Optional[float] = ..., source: _Optional[str] = ..., metadata: _Optional[bytes] = ..., version: _Optional[int] = ..., created_at_micros: _Optional[int] = ..., updated_at_micros: _Optional[int] = ..., expires_at_micros: _Optional[int] = ..., event_time_micros: _Optional[int] = ..., visibility: _Optional[str] = ..., reflection_depth: _Optional[int] = ..., superseded_by: _Optional[str] = ..., source_uri: _Optional[str] = ..., citations: _Optional[_Iterable[str]] = ..., entity_id: _Optional[str] = ..., confidence_source: _Optional[str] = ..., access_count: _Optional[int] = ..., last_accessed_at_micros: _Optional[int] = ..., retracted: bool = ..., reason: _Optional[str] = ..., unproven: bool = ...) -> None: ...

class RecallExplanation(_message.Message):
    __slots__ = ("hits", "found_by", "candidates", "accepted", "dropped")
    HITS_FIELD_NUMBER: _ClassVar[int]
    FOUND_BY_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    found_by: _containers.RepeatedCompositeFieldContainer[IntegerEntry]
    candidates: int
    accepted: int
    dropped: _containers.RepeatedCompositeFieldContainer[DroppedCandidate]
    def __init__(self, hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., found_by: _Optional[_Iterable[_Union[IntegerEntry, _Mapping]]] = ..., candidates: _Optional[int] = ..., accepted: _Optional[int] = ..., dropped: _Optional[_Iterable[_Union[DroppedCandidate, _Mapping]]] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("id", "kind", "text", "score", "parts", "memory", "provenance", "fact", "context", "duplicates", "time_micros", "conflicting", "speaker")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    TIME_MICROS_FIELD_NUMBER: _ClassVar[int]
    CONFLICTING_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    text: str
    score: float
    parts: _containers.RepeatedCompositeFieldContainer[NumberEntry]
    memory: Memory
    provenance: _containers.RepeatedCompositeFieldContainer[Ref]
    fact: Fact
    context: TextAround
    duplicates: _containers.RepeatedScalarFieldContainer[str]
    time_micros: int
    conflicting: _containers.RepeatedCompositeFieldContainer[Fact]
    speaker: str
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., parts: _Optional[_Iterable[_Union[NumberEntry, _Mapping]]] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., provenance: _Optional[_Iterable[_Union[Ref, _Mapping]]] = ..., fact: _Optional[_Union[Fact, _Mapping]] = ..., context: _Optional[_Union[TextAround, _Mapping]] = ..., duplicates: _Optional[_Iterable[str]] = ..., time_micros: _Optional[int] = ..., conflicting: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ..., speaker: _Optional[str] = ...) -> None: ...

class Begun(_message.Message):
    __slots__ = ("txn_id", "actor", "since", "era", "limits", "is_named", "log_id")
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    ERA_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    IS_NAMED_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    txn_id: str
    actor: str
    since: int
    era: int
    limits: Limits
    is_named: bool
    log_id: str
    def __init__(self, txn_id: _Optional[str] = ..., actor: _Optional[str] = ..., since: _Optional[int] = ..., era: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., is_named: bool = ..., log_id: _Optional[str] = ...) -> None: ...

class StagedCall(_message.Message):
    __slots__ = ("write", "delete", "remember", "reflect", "update_memory", "retract_memory", "touch", "promote", "configure", "link", "unlink", "supersede", "resolve_invalidation", "store_transcript", "link_transcript", "assert_fact", "end_fact", "retract_fact", "set_cardinality", "alias", "merge_entities")
    WRITE_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    REFLECT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MEMORY_FIELD_NUMBER: _ClassVar[int]
    RETRACT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    PROMOTE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    UNLINK_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_INVALIDATION_FIELD_NUMBER: _ClassVar[int]
    STORE_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    LINK_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    ASSERT_FACT_FIELD_NUMBER: _ClassVar[int]
    END_FACT_FIELD_NUMBER: _ClassVar[int]
    RETRACT_FACT_FIELD_NUMBER: _ClassVar[int]
    SET_CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    MERGE_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    write: WriteRequest
    delete: DeleteRequest
    remember: RememberRequest
    reflect: ReflectRequest
    update_memory: UpdateMemoryRequest
    retract_memory: RetractMemoryRequest
    touch: TouchRequest
    promote: PromoteRequest
    configure: ConfigureRequest
    link: LinkRequest
    unlink: UnlinkRequest
    supersede: SupersedeRequest
    resolve_invalidation: ResolveInvalidationRequest
    store_transcript: StoreTranscriptRequest
    link_transcript: LinkTranscriptRequest
    assert_fact: AssertFactRequest
    end_fact: EndFactRequest
    retract_fact: RetractFactRequest
    set_cardinality: SetCardinalityRequest
    alias: AliasRequest
    merge_entities: MergeEntitiesRequest
    def __init__(self, write: _Optional[_Union[WriteRequest, _Mapping]] = ..., delete: _Optional[_Union[DeleteRequest, _Mapping]] = ..., remember: _Optional[_Union[RememberRequest, _Mapping]] = ..., reflect: _Optional[_Union[ReflectRequest, _Mapping]] = ..., update_memory: _Optional[_Union[UpdateMemoryRequest, _Mapping]] = ..., retract_memory: _Optional[_Union[RetractMemoryRequest, _Mapping]] = ..., touch: _Optional[_Union[TouchRequest, _Mapping]] = ..., promote: _Optional[_Union[PromoteRequest, _Mapping]] = ..., configure: _Optional[_Union[ConfigureRequest, _Mapping]] = ..., link: _Optional[_Union[LinkRequest, _Mapping]] = ..., unlink: _Optional[_Union[UnlinkRequest, _Mapping]] = ..., supersede: _Optional[_Union[SupersedeRequest, _Mapping]] = ..., resolve_invalidation: _Optional[_Union[ResolveInvalidationRequest, _Mapping]] = ..., store_transcript: _Optional[_Union[StoreTranscriptRequest, _Mapping]] = ..., link_transcript: _Optional[_Union[LinkTranscriptRequest, _Mapping]] = ..., assert_fact: _Optional[_Union[AssertFactRequest, _Mapping]] = ..., end_fact: _Optional[_Union[EndFactRequest, _Mapping]] = ..., retract_fact: _Optional[_Union[RetractFactRequest, _Mapping]] = ..., set_cardinality: _Optional[_Union[SetCardinalityRequest, _Mapping]] = ..., alias: _Optional[_Union[AliasRequest, _Mapping]] = ..., merge_entities: _Optional[_Union[MergeEntitiesRequest, _Mapping]] = ...) -> None: ...

class ReadCall(_message.Message):
    __slots__ = ("get_state", "list_keys", "scan_prefix", "get_memory", "links", "dependents", "timeline", "facts", "refusals", "find_title", "find_event_time")
    GET_STATE_FIELD_NUMBER: _ClassVar[int]
    LIST_KEYS_FIELD_NUMBER: _ClassVar[int]
    SCAN_PREFIX_FIELD_NUMBER: _ClassVar[int]
    GET_MEMORY_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    DEPENDENTS_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    FIND_TITLE_FIELD_NUMBER: _ClassVar[int]
    FIND_EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    get_state: GetStateRequest
    list_keys: ListKeysRequest
    scan_prefix: ScanPrefixRequest
    get_memory: GetMemoryRequest
    links: LinksRequest
    dependents: DependentsRequest
    timeline: TimelineRequest
    facts: FactsRequest
    refusals: RefusalsRequest
    find_title: FindTitleRequest
    find_event_time: FindEventTimeRequest
    def __init__(self, get_state: _Optional[_Union[GetStateRequest, _Mapping]] = ..., list_keys: _Optional[_Union[ListKeysRequest, _Mapping]] = ..., scan_prefix: _Optional[_Union[ScanPrefixRequest, _Mapping]] = ..., get_memory: _Optional[_Union[GetMemoryRequest, _Mapping]] = ..., links: _Optional[_Union[LinksRequest, _Mapping]] = ..., dependents: _Optional[_Union[DependentsRequest, _Mapping]] = ..., timeline: _Optional[_Union[TimelineRequest, _Mapping]] = ..., facts: _Optional[_Union[FactsRequest, _Mapping]] = ..., refusals: _Optional[_Union[RefusalsRequest, _Mapping]] = ..., find_title: _Optional[_Union[FindTitleRequest, _Mapping]] = ..., find_event_time: _Optional[_Union[FindEventTimeRequest, _Mapping]] = ...) -> None: ...

class TranscriptInfo(_message.Message):
    __slots__ = ("id", "namespace", "agent_id", "commit_ts", "position", "created_micros", "occurred_micros", "expires_micros", "original_size", "digest", "compressed_size", "form", "messages_size")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    CREATED_MICROS_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_MICROS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MICROS_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    COMPRESSED_SIZE_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_SIZE_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    agent_id: str
    commit_ts: int
    position: int
    created_micros: int
    occurred_micros: int
    expires_micros: int
    original_size: int
    digest: bytes
    compressed_size: int
    form: int
    messages_size: int
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., commit_ts: _Optional[int] = ..., position: _Optional[int] = ..., created_micros: _Optional[int] = ..., occurred_micros: _Optional[int] = ..., expires_micros: _Optional[int] = ..., original_size: _Optional[int] = ..., digest: _Optional[bytes] = ..., compressed_size: _Optional[int] = ..., form: _Optional[int] = ..., messages_size: _Optional[int] = ...) -> None: ...

class TranscriptLink(_message.Message):
    __slots__ = ("memory_id", "transcript_id", "spans", "erased", "outcome", "commit_ts", "committed_at_micros")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ERASED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    transcript_id: str
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    erased: bool
    outcome: str
    commit_ts: int
    committed_at_micros: int
    def __init__(self, memory_id: _Optional[str] = ..., transcript_id: _Optional[str] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., erased: bool = ..., outcome: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ...) -> None: ...

class ReplayedTranscript(_message.Message):
    __slots__ = ("transcript", "memory_id", "spans", "anchors", "expired", "retracted")
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ANCHORS_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_FIELD_NUMBER: _ClassVar[int]
    transcript: TranscriptInfo
    memory_id: str
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    anchors: _containers.RepeatedCompositeFieldContainer[Anchor]
    expired: bool
    retracted: bool
    def __init__(self, transcript: _Optional[_Union[TranscriptInfo, _Mapping]] = ..., memory_id: _Optional[str] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., anchors: _Optional[_Iterable[_Union[Anchor, _Mapping]]] = ..., expired: bool = ..., retracted: bool = ...) -> None: ...

class OriginTree(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Origin]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Origin, _Mapping]]] = ...) -> None: ...

class Ref(_message.Message):
    __slots__ = ("key", "memory", "fact", "transcript")
    KEY_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    key: KeyRef
    memory: MemoryRef
    fact: FactRef
    transcript: TranscriptRef
    def __init__(self, key: _Optional[_Union[KeyRef, _Mapping]] = ..., memory: _Optional[_Union[MemoryRef, _Mapping]] = ..., fact: _Optional[_Union[FactRef, _Mapping]] = ..., transcript: _Optional[_Union[TranscriptRef, _Mapping]] = ...) -> None: ...

class ReasonTree(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Reason]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Reason, _Mapping]]] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("position", "error")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    position: int
    error: bytes
    def __init__(self, position: _Optional[int] = ..., error: _Optional[bytes] = ...) -> None: ...

class MemoryRef(_message.Message):
    __slots__ = ("memory_id", "version")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    version: int
    def __init__(self, memory_id: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class RequestSignature(_message.Message):
    __slots__ = ("key", "log_id", "salt", "signature")
    KEY_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    key: str
    log_id: str
    salt: bytes
    signature: bytes
    def __init__(self, key: _Optional[str] = ..., log_id: _Optional[str] = ..., salt: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Duration(_message.Message):
    __slots__ = ("seconds", "whole_seconds", "text")
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    seconds: float
    whole_seconds: int
    text: str
    def __init__(self, seconds: _Optional[float] = ..., whole_seconds: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("commit_ts", "committed_at_micros", "outcome", "version", "ref")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    committed_at_micros: int
    outcome: str
    version: int
    ref: KeyRef
    def __init__(self, commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., outcome: _Optional[str] = ..., version: _Optional[int] = ..., ref: _Optional[_Union[KeyRef, _Mapping]] = ...) -> None: ...

class TranscriptRef(_message.Message):
    __slots__ = ("transcript_id", "spans")
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    transcript_id: str
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, transcript_id: _Optional[str] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class SpanList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, items: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class TextEntryList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[TextEntry]
    def __init__(self, items: _Optional[_Iterable[_Union[TextEntry, _Mapping]]] = ...) -> None: ...

class FactSource(_message.Message):
    __slots__ = ("id", "memory", "transcript")
    ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    id: str
    memory: MemoryRef
    transcript: TranscriptRef
    def __init__(self, id: _Optional[str] = ..., memory: _Optional[_Union[MemoryRef, _Mapping]] = ..., transcript: _Optional[_Union[TranscriptRef, _Mapping]] = ...) -> None: ...

class EdgeResolution(_message.Message):
    __slots__ = ("open", "close", "changed", "folded", "reopened", "assertion_id", "outcome", "commit_ts", "committed_at_micros")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    FOLDED_FIELD_NUMBER: _ClassVar[int]
    REOPENED_FIELD_NUMBER: _ClassVar[int]
    ASSERTION_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    open: Edge
    close: _containers.RepeatedCompositeFieldContainer[ExistingEdge]
    changed: _containers.RepeatedCompositeFieldContainer[EdgeChange]
    folded: ExistingEdge
    reopened: _containers.RepeatedCompositeFieldContainer[ExistingEdge]
    assertion_id: str
    outcome: str
    commit_ts: int
    committed_at_micros: int
    def __init__(self, open: _Optional[_Union[Edge, _Mapping]] = ..., close: _Optional[_Iterable[_Union[ExistingEdge, _Mapping]]] = ..., changed: _Optional[_Iterable[_Union[EdgeChange, _Mapping]]] = ..., folded: _Optional[_Union[ExistingEdge, _Mapping]] = ..., reopened: _Optional[_Iterable[_Union[ExistingEdge, _Mapping]]] = ..., assertion_id: _Optional[str] = ..., outcome: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ...) -> None: ...

class CommittedTransaction(_message.Message):
    __slots__ = ("commit_ts", "committed_at_micros", "txn_id", "changed", "ids")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    committed_at_micros: int
    txn_id: str
    changed: bool
    ids: _containers.RepeatedCompositeFieldContainer[OptionalText]
    def __init__(self, commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., txn_id: _Optional[str] = ..., changed: bool = ..., ids: _Optional[_Iterable[_Union[OptionalText, _Mapping]]] = ...) -> None: ...

class NumberedWrite(_message.Message):
    __slots__ = ("id", "forget", "sweep", "write", "delete", "remember", "reflect", "update_memory", "retract_memory", "touch", "promote", "configure", "link", "unlink", "supersede", "resolve_invalidation", "store_transcript", "link_transcript", "assert_fact", "end_fact", "retract_fact", "set_cardinality", "alias", "merge_entities", "commit", "trust_key", "retire_key", "rotate_key", "traceparent")
    ID_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    WRITE_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    REFLECT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MEMORY_FIELD_NUMBER: _ClassVar[int]
    RETRACT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    PROMOTE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    UNLINK_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_INVALIDATION_FIELD_NUMBER: _ClassVar[int]
    STORE_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    LINK_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    ASSERT_FACT_FIELD_NUMBER: _ClassVar[int]
    END_FACT_FIELD_NUMBER: _ClassVar[int]
    RETRACT_FACT_FIELD_NUMBER: _ClassVar[int]
    SET_CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    MERGE_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    TRUST_KEY_FIELD_NUMBER: _ClassVar[int]
    RETIRE_KEY_FIELD_NUMBER: _ClassVar[int]
    ROTATE_KEY_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    id: int
    forget: ForgetRequest
    sweep: SweepRequest
    write: WriteRequest
    delete: DeleteRequest
    remember: RememberRequest
    reflect: ReflectRequest
    update_memory: UpdateMemoryRequest
    retract_memory: RetractMemoryRequest
    touch: TouchRequest
    promote: PromoteRequest
    configure: ConfigureRequest
    link: LinkRequest
    unlink: UnlinkRequest
    supersede: SupersedeRequest
    resolve_invalidation: ResolveInvalidationRequest
    store_transcript: StoreTranscriptRequest
    link_transcript: LinkTranscriptRequest
    assert_fact: AssertFactRequest
    end_fact: EndFactRequest
    retract_fact: RetractFactRequest
    set_cardinality: SetCardinalityRequest
    alias: AliasRequest
    merge_entities: MergeEntitiesRequest
    commit: CommitRequest
    trust_key: TrustKeyRequest
    retire_key: RetireKeyRequest
    rotate_key: RotateKeyRequest
    traceparent: str
    def __init__(self, id: _Optional[int] = ..., forget: _Optional[_Union[ForgetRequest, _Mapping]] = ..., sweep: _Optional[_Union[SweepRequest, _Mapping]] = ..., write: _Optional[_Union[WriteRequest, _Mapping]] = ..., delete: _Optional[_Union[DeleteRequest, _Mapping]] = ..., remember: _Optional[_Union[RememberRequest, _Mapping]] = ..., reflect: _Optional[_Union[ReflectRequest, _Mapping]] = ..., update_memory: _Optional[_Union[UpdateMemoryRequest, _Mapping]] = ..., retract_memory: _Optional[_Union[RetractMemoryRequest, _Mapping]] = ..., touch: _Optional[_Union[TouchRequest, _Mapping]] = ..., promote: _Optional[_Union[PromoteRequest, _Mapping]] = ..., configure: _Optional[_Union[ConfigureRequest, _Mapping]] = ..., link: _Optional[_Union[LinkRequest, _Mapping]] = ..., unlink: _Optional[_Union[UnlinkRequest, _Mapping]] = ..., supersede: _Optional[_Union[SupersedeRequest, _Mapping]] = ..., resolve_invalidation: _Optional[_Union[ResolveInvalidationRequest, _Mapping]] = ..., store_transcript: _Optional[_Union[StoreTranscriptRequest, _Mapping]] = ..., link_transcript: _Optional[_Union[LinkTranscriptRequest, _Mapping]] = ..., assert_fact: _Optional[_Union[AssertFactRequest, _Mapping]] = ..., end_fact: _Optional[_Union[EndFactRequest, _Mapping]] = ..., retract_fact: _Optional[_Union[RetractFactRequest, _Mapping]] = ..., set_cardinality: _Optional[_Union[SetCardinalityRequest, _Mapping]] = ..., alias: _Optional[_Union[AliasRequest, _Mapping]] = ..., merge_entities: _Optional[_Union[MergeEntitiesRequest, _Mapping]] = ..., commit: _Optional[_Union[CommitRequest, _Mapping]] = ..., trust_key: _Optional[_Union[TrustKeyRequest, _Mapping]] = ..., retire_key: _Optional[_Union[RetireKeyRequest, _Mapping]] = ..., rotate_key: _Optional[_Union[RotateKeyRequest, _Mapping]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class WriteOutcome(_message.Message):
    __slots__ = ("id", "error", "forget", "sweep", "write", "delete", "remember", "reflect", "update_memory", "retract_memory", "touch", "promote", "configure", "link", "unlink", "supersede", "resolve_invalidation", "store_transcript", "link_transcript", "assert_fact", "end_fact", "retract_fact", "set_cardinality", "alias", "merge_entities", "commit", "trust_key", "retire_key", "rotate_key")
    ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    WRITE_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    REFLECT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MEMORY_FIELD_NUMBER: _ClassVar[int]
    RETRACT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    PROMOTE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    UNLINK_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_INVALIDATION_FIELD_NUMBER: _ClassVar[int]
    STORE_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    LINK_TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    ASSERT_FACT_FIELD_NUMBER: _ClassVar[int]
    END_FACT_FIELD_NUMBER: _ClassVar[int]
    RETRACT_FACT_FIELD_NUMBER: _ClassVar[int]
    SET_CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    MERGE_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    TRUST_KEY_FIELD_NUMBER: _ClassVar[int]
    RETIRE_KEY_FIELD_NUMBER: _ClassVar[int]
    ROTATE_KEY_FIELD_NUMBER: _ClassVar[int]
    id: int
    error: Error
    forget: ForgetResponse
    sweep: SweepResponse
    write: WriteResponse
    delete: DeleteResponse
    remember: RememberResponse
    reflect: ReflectResponse
    update_memory: UpdateMemoryResponse
    retract_memory: RetractMemoryResponse
    touch: TouchResponse
    promote: PromoteResponse
    configure: ConfigureResponse
    link: LinkResponse
    unlink: UnlinkResponse
    supersede: SupersedeResponse
    resolve_invalidation: ResolveInvalidationResponse
    store_transcript: StoreTranscriptResponse
    link_transcript: LinkTranscriptResponse
    assert_fact: AssertFactResponse
    end_fact: EndFactResponse
    retract_fact: RetractFactResponse
    set_cardinality: SetCardinalityResponse
    alias: AliasResponse
    merge_entities: MergeEntitiesResponse
    commit: CommitResponse
    trust_key: TrustKeyResponse
    retire_key: RetireKeyResponse
    rotate_key: RotateKeyResponse
    def __init__(self, id: _Optional[int] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., forget: _Optional[_Union[ForgetResponse, _Mapping]] = ..., sweep: _Optional[_Union[SweepResponse, _Mapping]] = ..., write: _Optional[_Union[WriteResponse, _Mapping]] = ..., delete: _Optional[_Union[DeleteResponse, _Mapping]] = ..., remember: _Optional[_Union[RememberResponse, _Mapping]] = ..., reflect: _Optional[_Union[ReflectResponse, _Mapping]] = ..., update_memory: _Optional[_Union[UpdateMemoryResponse, _Mapping]] = ..., retract_memory: _Optional[_Union[RetractMemoryResponse, _Mapping]] = ..., touch: _Optional[_Union[TouchResponse, _Mapping]] = ..., promote: _Optional[_Union[PromoteResponse, _Mapping]] = ..., configure: _Optional[_Union[ConfigureResponse, _Mapping]] = ..., link: _Optional[_Union[LinkResponse, _Mapping]] = ..., unlink: _Optional[_Union[UnlinkResponse, _Mapping]] = ..., supersede: _Optional[_Union[SupersedeResponse, _Mapping]] = ..., resolve_invalidation: _Optional[_Union[ResolveInvalidationResponse, _Mapping]] = ..., store_transcript: _Optional[_Union[StoreTranscriptResponse, _Mapping]] = ..., link_transcript: _Optional[_Union[LinkTranscriptResponse, _Mapping]] = ..., assert_fact: _Optional[_Union[AssertFactResponse, _Mapping]] = ..., end_fact: _Optional[_Union[EndFactResponse, _Mapping]] = ..., retract_fact: _Optional[_Union[RetractFactResponse, _Mapping]] = ..., set_cardinality: _Optional[_Union[SetCardinalityResponse, _Mapping]] = ..., alias: _Optional[_Union[AliasResponse, _Mapping]] = ..., merge_entities: _Optional[_Union[MergeEntitiesResponse, _Mapping]] = ..., commit: _Optional[_Union[CommitResponse, _Mapping]] = ..., trust_key: _Optional[_Union[TrustKeyResponse, _Mapping]] = ..., retire_key: _Optional[_Union[RetireKeyResponse, _Mapping]] = ..., rotate_key: _Optional[_Union[RotateKeyResponse, _Mapping]] = ...) -> None: ...

class PublicKey(_message.Message):
    __slots__ = ("name", "key", "valid_from_commit", "valid_until_commit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_COMMIT_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_COMMIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    key: bytes
    valid_from_commit: int
    valid_until_commit: int
    def __init__(self, name: _Optional[str] = ..., key: _Optional[bytes] = ..., valid_from_commit: _Optional[int] = ..., valid_until_commit: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("namespace_segments", "namespace_bytes", "agent_id_characters", "key_bytes", "value_bytes", "value_depth", "txn_id_bytes", "title_characters", "tags", "tag_bytes", "metadata_bytes", "content_bytes", "transcript_bytes", "note_bytes", "name_bytes", "literal_bytes", "query_bytes", "derived_statements", "transaction_operations", "transaction_bytes")
    NAMESPACE_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_BYTES_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    KEY_BYTES_FIELD_NUMBER: _ClassVar[int]
    VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    VALUE_DEPTH_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_BYTES_FIELD_NUMBER: _ClassVar[int]
    TITLE_CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TAG_BYTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONTENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    NOTE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    LITERAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    QUERY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DERIVED_STATEMENTS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_BYTES_FIELD_NUMBER: _ClassVar[int]
    namespace_segments: int
    namespace_bytes: int
    agent_id_characters: int
    key_bytes: int
    value_bytes: int
    value_depth: int
    txn_id_bytes: int
    title_characters: int
    tags: int
    tag_bytes: int
    metadata_bytes: int
    content_bytes: int
    transcript_bytes: int
    note_bytes: int
    name_bytes: int
    literal_bytes: int
    query_bytes: int
    derived_statements: int
    transaction_operations: int
    transaction_bytes: int
    def __init__(self, namespace_segments: _Optional[int] = ..., namespace_bytes: _Optional[int] = ..., agent_id_characters: _Optional[int] = ..., key_bytes: _Optional[int] = ..., value_bytes: _Optional[int] = ..., value_depth: _Optional[int] = ..., txn_id_bytes: _Optional[int] = ..., title_characters: _Optional[int] = ..., tags: _Optional[int] = ..., tag_bytes: _Optional[int] = ..., metadata_bytes: _Optional[int] = ..., content_bytes: _Optional[int] = ..., transcript_bytes: _Optional[int] = ..., note_bytes: _Optional[int] = ..., name_bytes: _Optional[int] = ..., literal_bytes: _Optional[int] = ..., query_bytes: _Optional[int] = ..., derived_statements: _Optional[int] = ..., transaction_operations: _Optional[int] = ..., transaction_bytes: _Optional[int] = ...) -> None: ...

class Preview(_message.Message):
    __slots__ = ("operations", "events", "by_type", "resting", "mentions", "hidden_mentions", "cursors")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    BY_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESTING_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_MENTIONS_FIELD_NUMBER: _ClassVar[int]
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    operations: int
    events: int
    by_type: _containers.RepeatedCompositeFieldContainer[IntegerEntry]
    resting: _containers.RepeatedScalarFieldContainer[str]
    mentions: _containers.RepeatedScalarFieldContainer[str]
    hidden_mentions: int
    cursors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, operations: _Optional[int] = ..., events: _Optional[int] = ..., by_type: _Optional[_Iterable[_Union[IntegerEntry, _Mapping]]] = ..., resting: _Optional[_Iterable[str]] = ..., mentions: _Optional[_Iterable[str]] = ..., hidden_mentions: _Optional[int] = ..., cursors: _Optional[_Iterable[str]] = ...) -> None: ...

class ProvenCertificate(_message.Message):
    __slots__ = ("erasure_id", "target", "commit_ts", "committed_at_micros", "by", "reason", "operations", "events", "digest", "pseudonym")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PSEUDONYM_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    target: str
    commit_ts: int
    committed_at_micros: int
    by: str
    reason: str
    operations: int
    events: int
    digest: str
    pseudonym: str
    def __init__(self, erasure_id: _Optional[str] = ..., target: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ..., operations: _Optional[int] = ..., events: _Optional[int] = ..., digest: _Optional[str] = ..., pseudonym: _Optional[str] = ...) -> None: ...

class ErasedPosition(_message.Message):
    __slots__ = ("commit_ts", "position", "digest")
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    commit_ts: int
    position: int
    digest: str
    def __init__(self, commit_ts: _Optional[int] = ..., position: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class TypedText(_message.Message):
    __slots__ = ("kind", "text")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    text: str
    def __init__(self, kind: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class FactObject(_message.Message):
    __slots__ = ("name", "literal")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    literal: Literal
    def __init__(self, name: _Optional[str] = ..., literal: _Optional[_Union[Literal, _Mapping]] = ...) -> None: ...

class Assertion(_message.Message):
    __slots__ = ("id", "subject", "relation", "object", "valid_from_micros", "confidence", "commit_ts", "committed_at_micros", "actor", "source", "quotes", "agent_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    QUOTES_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    subject: str
    relation: str
    object: FactObject
    valid_from_micros: int
    confidence: float
    commit_ts: int
    committed_at_micros: int
    actor: str
    source: Ref
    quotes: _containers.RepeatedScalarFieldContainer[str]
    agent_id: str
    def __init__(self, id: _Optional[str] = ..., subject: _Optional[str] = ..., relation: _Optional[str] = ..., object: _Optional[_Union[FactObject, _Mapping]] = ..., valid_from_micros: _Optional[int] = ..., confidence: _Optional[float] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., actor: _Optional[str] = ..., source: _Optional[_Union[Ref, _Mapping]] = ..., quotes: _Optional[_Iterable[str]] = ..., agent_id: _Optional[str] = ...) -> None: ...

class Ending(_message.Message):
    __slots__ = ("id", "at_micros", "commit_ts", "committed_at_micros", "actor", "source", "quotes", "agent_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    QUOTES_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    at_micros: int
    commit_ts: int
    committed_at_micros: int
    actor: str
    source: Ref
    quotes: _containers.RepeatedScalarFieldContainer[str]
    agent_id: str
    def __init__(self, id: _Optional[str] = ..., at_micros: _Optional[int] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., actor: _Optional[str] = ..., source: _Optional[_Union[Ref, _Mapping]] = ..., quotes: _Optional[_Iterable[str]] = ..., agent_id: _Optional[str] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("type", "namespace", "agent_id", "key", "value", "version")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    type: str
    namespace: str
    agent_id: str
    key: str
    value: bytes
    version: int
    def __init__(self, type: _Optional[str] = ..., namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[bytes] = ..., version: _Optional[int] = ...) -> None: ...

class IntegerEntry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: int
    def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("name", "every", "is_running", "last_started_at_micros", "last_seconds", "last_outcome", "last_detail", "failures", "next_run_at_micros")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    IS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    LAST_STARTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    LAST_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LAST_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LAST_DETAIL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    name: str
    every: str
    is_running: bool
    last_started_at_micros: int
    last_seconds: float
    last_outcome: str
    last_detail: str
    failures: int
    next_run_at_micros: int
    def __init__(self, name: _Optional[str] = ..., every: _Optional[str] = ..., is_running: bool = ..., last_started_at_micros: _Optional[int] = ..., last_seconds: _Optional[float] = ..., last_outcome: _Optional[str] = ..., last_detail: _Optional[str] = ..., failures: _Optional[int] = ..., next_run_at_micros: _Optional[int] = ...) -> None: ...

class SqlValue(_message.Message):
    __slots__ = ("text", "integer", "number", "blob")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    text: str
    integer: int
    number: float
    blob: bytes
    def __init__(self, text: _Optional[str] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., blob: _Optional[bytes] = ...) -> None: ...

class DroppedCandidate(_message.Message):
    __slots__ = ("id", "kind", "text", "reason", "by")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    text: str
    reason: str
    by: str
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., reason: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class NumberEntry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: float
    def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class TextAround(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: str
    after: str
    def __init__(self, before: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Anchor(_message.Message):
    __slots__ = ("memory_id", "hop", "spans")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    HOP_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    hop: int
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, memory_id: _Optional[str] = ..., hop: _Optional[int] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class Origin(_message.Message):
    __slots__ = ("memory", "relation", "expired", "sources", "origins", "repeated")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    ORIGINS_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    relation: str
    expired: bool
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    origins: _containers.RepeatedScalarFieldContainer[int]
    repeated: bool
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., relation: _Optional[str] = ..., expired: bool = ..., sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., origins: _Optional[_Iterable[int]] = ..., repeated: bool = ...) -> None: ...

class KeyRef(_message.Message):
    __slots__ = ("key", "version", "agent_id", "namespace")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    key: str
    version: int
    agent_id: str
    namespace: str
    def __init__(self, key: _Optional[str] = ..., version: _Optional[int] = ..., agent_id: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...

class FactRef(_message.Message):
    __slots__ = ("assertion_id",)
    ASSERTION_ID_FIELD_NUMBER: _ClassVar[int]
    assertion_id: str
    def __init__(self, assertion_id: _Optional[str] = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("kind", "ref", "summary", "relation", "agent_id", "actor", "commit_ts", "committed_at_micros", "valid_from_micros", "valid_to_micros", "stale", "is_stale", "hidden", "repeated", "unproven", "because")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_MICROS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    IS_STALE_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    ref: Ref
    summary: str
    relation: str
    agent_id: str
    actor: str
    commit_ts: int
    committed_at_micros: int
    valid_from_micros: int
    valid_to_micros: int
    stale: _containers.RepeatedScalarFieldContainer[str]
    is_stale: bool
    hidden: bool
    repeated: bool
    unproven: bool
    because: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kind: _Optional[str] = ..., ref: _Optional[_Union[Ref, _Mapping]] = ..., summary: _Optional[str] = ..., relation: _Optional[str] = ..., agent_id: _Optional[str] = ..., actor: _Optional[str] = ..., commit_ts: _Optional[int] = ..., committed_at_micros: _Optional[int] = ..., valid_from_micros: _Optional[int] = ..., valid_to_micros: _Optional[int] = ..., stale: _Optional[_Iterable[str]] = ..., is_stale: bool = ..., hidden: bool = ..., repeated: bool = ..., unproven: bool = ..., because: _Optional[_Iterable[int]] = ...) -> None: ...

class Edge(_message.Message):
    __slots__ = ("subject_key", "relation", "object_key", "confidence", "valid_from_micros")
    SUBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MICROS_FIELD_NUMBER: _ClassVar[int]
    subject_key: str
    relation: str
    object_key: str
    confidence: float
    valid_from_micros: int
    def __init__(self, subject_key: _Optional[str] = ..., relation: _Optional[str] = ..., object_key: _Optional[str] = ..., confidence: _Optional[float] = ..., valid_from_micros: _Optional[int] = ...) -> None: ...

class EdgeChange(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: ExistingEdge
    after: ExistingEdge
    def __init__(self, before: _Optional[_Union[ExistingEdge, _Mapping]] = ..., after: _Optional[_Union[ExistingEdge, _Mapping]] = ...) -> None: ...

class OptionalText(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: str
    def __init__(self, value: _Optional[str] = ...) -> None: ...

class Literal(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: LiteralValue
    def __init__(self, value: _Optional[_Union[LiteralValue, _Mapping]] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("transcript_id", "occurred_at_micros", "spans", "excerpts", "expired", "erased")
    TRANSCRIPT_ID_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_MICROS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    EXCERPTS_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    ERASED_FIELD_NUMBER: _ClassVar[int]
    transcript_id: str
    occurred_at_micros: int
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    excerpts: _containers.RepeatedScalarFieldContainer[str]
    expired: bool
    erased: bool
    def __init__(self, transcript_id: _Optional[str] = ..., occurred_at_micros: _Optional[int] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., excerpts: _Optional[_Iterable[str]] = ..., expired: bool = ..., erased: bool = ...) -> None: ...

class LiteralValue(_message.Message):
    __slots__ = ("text", "integer", "number", "flag", "time_micros", "day", "big_integer")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    TIME_MICROS_FIELD_NUMBER: _ClassVar[int]
    DAY_FIELD_NUMBER: _ClassVar[int]
    BIG_INTEGER_FIELD_NUMBER: _ClassVar[int]
    text: str
    integer: int
    number: float
    flag: bool
    time_micros: int
    day: str
    big_integer: str
    def __init__(self, text: _Optional[str] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., flag: bool = ..., time_micros: _Optional[int] = ..., day: _Optional[str] = ..., big_integer: _Optional[str] = ...) -> None: ...
