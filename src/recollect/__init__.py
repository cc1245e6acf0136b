"""Recollect: a state-and-memory engine for AI agents, on a log that can be replayed and proven."""

from recollect.audit.events import AuditEvent
from recollect.audit.export import ExportedLog
from recollect.audit.keys import PublicKey
from recollect.audit.proofs import ConsistencyProof, InclusionProof
from recollect.audit.signers import Signer
from recollect.audit.stored import SignedCheckpoint
from recollect.audit.trust import TrustedKey
from recollect.errors import (
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
    RecollectError,
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
from recollect.extract.chat_endpoint import ChatExtractor
from recollect.extract.protocol import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Extractor,
    Message,
    Skipped,
)
from recollect.extract.rules import RuleExtractor
from recollect.graph.literal import Literal
from recollect.graph.records import (
    Assertion,
    Ending,
    Entity,
    Explanation,
    Fact,
    MergeSuggestion,
    Neighbor,
    Subgraph,
)
from recollect.graph.resolution import (
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
from recollect.log.certificates import Certificate
from recollect.log.compaction import Compaction
from recollect.log.forking import Fork
from recollect.log.previewing import Preview
from recollect.log.verification import Verification
from recollect.log.views import Rebuild
from recollect.memory.inputs import ChangedMemory, NamespaceSettings, NewMemory
from recollect.memory.records import (
    Anchor,
    DependentRecord,
    Invalidation,
    Link,
    Memory,
    Origin,
    Source,
    TranscriptLink,
)
from recollect.model.event import ReplayEvent
from recollect.model.finding import Finding
from recollect.model.limits import Limits
from recollect.model.operations import Operation, OperationType
from recollect.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from recollect.model.retention import RETENTION
from recollect.model.scope import ALL_AGENTS, ALL_NAMESPACES, Scope
from recollect.sdk.aio import (
    AsyncReplayEntry,
    AsyncStore,
    AsyncSubscription,
    AsyncTransaction,
    AsyncTranscript,
)
from recollect.sdk.backup import Backup
from recollect.sdk.bulk import AssertedFacts
from recollect.sdk.doctor import diagnose
from recollect.sdk.extraction import ExtractionReport, ImportedChat
from recollect.sdk.log_import import import_log
from recollect.sdk.open import open, open_async
from recollect.sdk.restore import restore
from recollect.sdk.signing import create_signer, load_signer
from recollect.sdk.stats import Stats
from recollect.sdk.store import Store
from recollect.sdk.subscription import Subscription
from recollect.sdk.transaction import Transaction
from recollect.sdk.transcript import ReplayEntry, Transcript
from recollect.search.embedding import Embedder
from recollect.search.hits import Hit
from recollect.search.reindexing import Reindexed
from recollect.state.records import StateChange, StateEntry, StateRecord, StateVersion
from recollect.why.reason import Reason

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
    "RecollectError",
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
