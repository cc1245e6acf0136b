"""Memoranda: a state-and-memory engine for AI agents, on a log that can be replayed and proven."""

from memoranda.audit.events import AuditEvent
from memoranda.audit.export import ExportedLog
from memoranda.audit.keys import PublicKey
from memoranda.audit.proofs import ConsistencyProof, InclusionProof
from memoranda.audit.signers import Signer
from memoranda.audit.stored import SignedCheckpoint
from memoranda.audit.trust import TrustedKey
from memoranda.errors import (
    ChainBroken,
    CommitUnknown,
    Compacted,
    Conflict,
    Corruption,
    EdgeError,
    IdempotencyMismatch,
    InvalidInput,
    LinkCycle,
    LogForked,
    NotFound,
    NotProven,
    MemorandaError,
    ReflectionTooDeep,
    StoreBusy,
    StoreClosed,
    StoreFull,
    StoreReadOnly,
    TitleTaken,
    TransactionClosed,
    TransactionConflict,
    TransactionExpired,
    Unavailable,
    UnsupportedFormat,
    VersionMismatch,
    ViewsDiffer,
)
from memoranda.extract.chat_endpoint import ChatExtractor
from memoranda.extract.protocol import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Extractor,
    Message,
    Skipped,
)
from memoranda.extract.rules import RuleExtractor
from memoranda.graph.literal import Literal
from memoranda.graph.records import (
    Assertion,
    Ending,
    Entity,
    Explanation,
    Fact,
    MergeSuggestion,
    Neighbor,
    Subgraph,
)
from memoranda.graph.resolution import (
    CardinalityPolicy,
    Edge,
    EdgeCatalog,
    EdgeResolution,
    EdgeResolver,
    ExistingEdge,
    NaiveAppendResolver,
    RelationCardinality,
    TemporalEdgeResolver,
)
from memoranda.log.certificates import Certificate
from memoranda.log.compaction import Compaction
from memoranda.log.forking import Fork
from memoranda.log.previewing import Preview
from memoranda.log.verification import Verification
from memoranda.log.views import Rebuild
from memoranda.memory.inputs import ChangedMemory, NamespaceSettings, NewMemory
from memoranda.memory.records import (
    Anchor,
    DependentRecord,
    Invalidation,
    Link,
    Memory,
    Origin,
    Source,
    TranscriptLink,
)
from memoranda.model.event import ReplayEvent
from memoranda.model.finding import Finding
from memoranda.model.limits import Limits
from memoranda.model.operations import Operation, OperationType
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.model.retention import RETENTION
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, Scope
from memoranda.sdk.aio import (
    AsyncReplayEntry,
    AsyncStore,
    AsyncSubscription,
    AsyncTransaction,
    AsyncTranscript,
)
from memoranda.sdk.backup import Backup
from memoranda.sdk.bulk import AssertedFacts
from memoranda.sdk.doctor import diagnose
from memoranda.sdk.extraction import ExtractionReport, ImportedChat
from memoranda.sdk.log_import import import_log
from memoranda.sdk.open import open, open_async
from memoranda.sdk.restore import restore
from memoranda.sdk.signing import create_signer, load_signer
from memoranda.sdk.stats import Stats
from memoranda.sdk.store import Store
from memoranda.sdk.subscription import Subscription
from memoranda.sdk.transaction import Transaction
from memoranda.sdk.transcript import ReplayEntry, Transcript
from memoranda.search.embedding import Embedder
from memoranda.search.hits import Hit
from memoranda.search.reindexing import Reindexed
from memoranda.state.records import StateChange, StateEntry, StateRecord, StateVersion
from memoranda.why.reason import Reason

__version__ = "0.6.0"

__all__ = [
    "ALL_AGENTS",
    "ALL_NAMESPACES",
    "RETENTION",
    "Anchor",
    "AssertedFacts",
    "Assertion",
    "AsyncReplayEntry",
    "AsyncStore",
    "AsyncSubscription",
    "AsyncTransaction",
    "AsyncTranscript",
    "AuditEvent",
    "Backup",
    "CardinalityPolicy",
    "Certificate",
    "ChainBroken",
    "ChangedMemory",
    "ChatExtractor",
    "CommitUnknown",
    "Compacted",
    "Compaction",
    "Conflict",
    "ConsistencyProof",
    "Corruption",
    "DependentRecord",
    "Edge",
    "EdgeCatalog",
    "EdgeError",
    "EdgeResolution",
    "EdgeResolver",
    "Embedder",
    "Ending",
    "Entity",
    "ExistingEdge",
    "Explanation",
    "ExportedLog",
    "ExtractedFact",
    "ExtractedMemory",
    "Extraction",
    "ExtractionReport",
    "Extractor",
    "Fact",
    "FactRef",
    "Finding",
    "Fork",
    "Hit",
    "IdempotencyMismatch",
    "ImportedChat",
    "InclusionProof",
    "InvalidInput",
    "Invalidation",
    "KeyRef",
    "Limits",
    "Link",
    "LinkCycle",
    "Literal",
    "LogForked",
    "Memory",
    "MemoryRef",
    "MergeSuggestion",
    "Message",
    "NaiveAppendResolver",
    "NamespaceSettings",
    "Neighbor",
    "NewMemory",
    "NotFound",
    "NotProven",
    "Operation",
    "OperationType",
    "Origin",
    "Preview",
    "PublicKey",
    "Reason",
    "Rebuild",
    "MemorandaError",
    "ReflectionTooDeep",
    "Reindexed",
    "RelationCardinality",
    "ReplayEntry",
    "ReplayEvent",
    "RuleExtractor",
    "Scope",
    "SignedCheckpoint",
    "Signer",
    "Skipped",
    "Source",
    "StateChange",
    "StateEntry",
    "StateRecord",
    "StateVersion",
    "Stats",
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreFull",
    "StoreReadOnly",
    "Subgraph",
    "Subscription",
    "TemporalEdgeResolver",
    "TitleTaken",
    "Transaction",
    "TransactionClosed",
    "TransactionConflict",
    "TransactionExpired",
    "Transcript",
    "TranscriptLink",
    "TranscriptRef",
    "TrustedKey",
    "Unavailable",
    "UnsupportedFormat",
    "Verification",
    "VersionMismatch",
    "ViewsDiffer",
    "__version__",
    "create_signer",
    "diagnose",
    "import_log",
    "load_signer",
    "open",
    "open_async",
    "restore",
]
