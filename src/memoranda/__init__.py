"""Memoranda: a state-and-memory engine for AI agents, on a log that can be replayed and proven.

Public names are loaded when they are first used (PEP 562), so that importing the package costs
little and a program loads only the parts it uses.
"""

TYPE_CHECKING = False  # type checkers read it as True; importing typing takes milliseconds

if TYPE_CHECKING:
    from memoranda.audit.checkpoints import SignedCheckpoint
    from memoranda.audit.erasure_proofs import ErasureProof
    from memoranda.audit.events import AuditEvent
    from memoranda.audit.keys import PublicKey
    from memoranda.audit.log_file.exporter import ExportedLog
    from memoranda.audit.proofs import ConsistencyProof, InclusionProof
    from memoranda.audit.signers import Signer
    from memoranda.audit.trusted_keys import TrustedKey
    from memoranda.calls.copies import Backup
    from memoranda.calls.id_lookup import IdMatch
    from memoranda.calls.maintenance import Stats
    from memoranda.calls.results import AssertedFacts, ExtractionReport, ImportedChat
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
        MemorandaError,
        NotFound,
        NotProven,
        PermissionDenied,
        ReflectionTooDeep,
        ReplicaBehind,
        StoreBusy,
        StoreClosed,
        StoreFull,
        StoreReadOnly,
        TitleTaken,
        TooManyRequests,
        TransactionClosed,
        TransactionConflict,
        TransactionExpired,
        Unauthenticated,
        Unavailable,
        UnsupportedFormat,
        VersionMismatch,
        ViewsDiffer,
    )
    from memoranda.extract.chat_model import ChatExtractor
    from memoranda.extract.protocol import (
        ExtractedFact,
        ExtractedMemory,
        Extraction,
        Extractor,
        Message,
        Skipped,
    )
    from memoranda.extract.rules.extractor import RuleExtractor
    from memoranda.graph.edge_resolver import (
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
    from memoranda.graph.entities import Literal
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
    from memoranda.log.compaction.compactor import Compaction
    from memoranda.log.erasure.certificate import Certificate
    from memoranda.log.erasure.preview import Preview
    from memoranda.log.fork import Fork
    from memoranda.log.read.directory import AgentSummary, NamespaceSummary
    from memoranda.log.read.timeline_buckets import TimelineBucket
    from memoranda.log.rebuild import Rebuild
    from memoranda.log.verify.verifier import Verification
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
    from memoranda.memory.requests import ChangedMemory, NamespaceSettings, NewMemory
    from memoranda.model.erasure import RETENTION
    from memoranda.model.event import ReplayEvent
    from memoranda.model.limits import Limits
    from memoranda.model.operations import Operation, OperationType
    from memoranda.model.receipt import Receipt
    from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
    from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, Scope
    from memoranda.sdk.aio.store.store import AsyncStore
    from memoranda.sdk.aio.store.subscriptions import AsyncSubscription
    from memoranda.sdk.aio.store.transcripts import AsyncReplayEntry, AsyncTranscript
    from memoranda.sdk.aio.transaction.transaction import AsyncTransaction
    from memoranda.sdk.copy_store import copy
    from memoranda.sdk.doctor import diagnose
    from memoranda.sdk.open import open
    from memoranda.sdk.open_async import open_async
    from memoranda.sdk.remote.options import Tls
    from memoranda.sdk.restore import import_log, restore
    from memoranda.sdk.signers import create_signer, load_signer
    from memoranda.sdk.store.store import Store
    from memoranda.sdk.store.subscriptions import Subscription
    from memoranda.sdk.store.transcripts import ReplayEntry, Transcript
    from memoranda.sdk.transaction.transaction import Transaction
    from memoranda.search.explanation import DroppedCandidate, RecallExplanation
    from memoranda.search.index.background_indexer import Reindexed
    from memoranda.search.results import Hit
    from memoranda.search.vectors.embedder import Embedder
    from memoranda.state.reads import StateChange, StateRecord, StateVersion
    from memoranda.storage.memory_budget import MemoryBudget
    from memoranda.storage.port import Finding, SqlView
    from memoranda.why.reason import Reason

__version__ = "0.14.0"

__all__ = [
    "ALL_AGENTS",
    "ALL_NAMESPACES",
    "RETENTION",
    "AgentSummary",
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
    "DroppedCandidate",
    "Edge",
    "EdgeCatalog",
    "EdgeError",
    "EdgeResolution",
    "EdgeResolver",
    "Embedder",
    "Ending",
    "Entity",
    "ErasureProof",
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
    "IdMatch",
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
    "MemorandaError",
    "Memory",
    "MemoryBudget",
    "MemoryRef",
    "MergeSuggestion",
    "Message",
    "NaiveAppendResolver",
    "NamespaceSettings",
    "NamespaceSummary",
    "Neighbor",
    "NewMemory",
    "NotFound",
    "NotProven",
    "Operation",
    "OperationType",
    "Origin",
    "PermissionDenied",
    "Preview",
    "PublicKey",
    "Reason",
    "Rebuild",
    "RecallExplanation",
    "Receipt",
    "ReflectionTooDeep",
    "Reindexed",
    "RelationCardinality",
    "ReplayEntry",
    "ReplayEvent",
    "ReplicaBehind",
    "RuleExtractor",
    "Scope",
    "SignedCheckpoint",
    "Signer",
    "Skipped",
    "Source",
    "SqlView",
    "StateChange",
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
    "TimelineBucket",
    "TitleTaken",
    "Tls",
    "TooManyRequests",
    "Transaction",
    "TransactionClosed",
    "TransactionConflict",
    "TransactionExpired",
    "Transcript",
    "TranscriptLink",
    "TranscriptRef",
    "TrustedKey",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedFormat",
    "Verification",
    "VersionMismatch",
    "ViewsDiffer",
    "__version__",
    "copy",
    "create_signer",
    "diagnose",
    "import_log",
    "load_signer",
    "open",
    "open_async",
    "restore",
]

_MODULE_OF = {
    "ALL_AGENTS": "model.scope",
    "ALL_NAMESPACES": "model.scope",
    "RETENTION": "model.erasure",
    "AgentSummary": "log.read.directory",
    "Anchor": "memory.records",
    "AssertedFacts": "calls.results",
    "Assertion": "graph.records",
    "AsyncReplayEntry": "sdk.aio.store.transcripts",
    "AsyncStore": "sdk.aio.store.store",
    "AsyncSubscription": "sdk.aio.store.subscriptions",
    "AsyncTransaction": "sdk.aio.transaction.transaction",
    "AsyncTranscript": "sdk.aio.store.transcripts",
    "AuditEvent": "audit.events",
    "Backup": "calls.copies",
    "CardinalityPolicy": "graph.edge_resolver",
    "Certificate": "log.erasure.certificate",
    "ChainBroken": "errors",
    "ChangedMemory": "memory.requests",
    "ChatExtractor": "extract.chat_model",
    "CommitUnknown": "errors",
    "Compacted": "errors",
    "Compaction": "log.compaction.compactor",
    "Conflict": "errors",
    "ConsistencyProof": "audit.proofs",
    "Corruption": "errors",
    "DependentRecord": "memory.records",
    "DroppedCandidate": "search.explanation",
    "Edge": "graph.edge_resolver",
    "EdgeCatalog": "graph.edge_resolver",
    "EdgeError": "errors",
    "EdgeResolution": "graph.edge_resolver",
    "EdgeResolver": "graph.edge_resolver",
    "Embedder": "search.vectors.embedder",
    "Ending": "graph.records",
    "Entity": "graph.records",
    "ErasureProof": "audit.erasure_proofs",
    "ExistingEdge": "graph.edge_resolver",
    "Explanation": "graph.records",
    "ExportedLog": "audit.log_file.exporter",
    "ExtractedFact": "extract.protocol",
    "ExtractedMemory": "extract.protocol",
    "Extraction": "extract.protocol",
    "ExtractionReport": "calls.results",
    "Extractor": "extract.protocol",
    "Fact": "graph.records",
    "FactRef": "model.refs",
    "Finding": "storage.port",
    "Fork": "log.fork",
    "Hit": "search.results",
    "IdMatch": "calls.id_lookup",
    "IdempotencyMismatch": "errors",
    "ImportedChat": "calls.results",
    "InclusionProof": "audit.proofs",
    "InvalidInput": "errors",
    "Invalidation": "memory.records",
    "KeyRef": "model.refs",
    "Limits": "model.limits",
    "Link": "memory.records",
    "LinkCycle": "errors",
    "Literal": "graph.entities",
    "LogForked": "errors",
    "MemorandaError": "errors",
    "Memory": "memory.records",
    "MemoryBudget": "storage.memory_budget",
    "MemoryRef": "model.refs",
    "MergeSuggestion": "graph.records",
    "Message": "extract.protocol",
    "NaiveAppendResolver": "graph.edge_resolver",
    "NamespaceSettings": "memory.requests",
    "NamespaceSummary": "log.read.directory",
    "Neighbor": "graph.records",
    "NewMemory": "memory.requests",
    "NotFound": "errors",
    "NotProven": "errors",
    "Operation": "model.operations",
    "OperationType": "model.operations",
    "Origin": "memory.records",
    "PermissionDenied": "errors",
    "Preview": "log.erasure.preview",
    "PublicKey": "audit.keys",
    "Reason": "why.reason",
    "Rebuild": "log.rebuild",
    "RecallExplanation": "search.explanation",
    "Receipt": "model.receipt",
    "ReflectionTooDeep": "errors",
    "ReplicaBehind": "errors",
    "Reindexed": "search.index.background_indexer",
    "RelationCardinality": "graph.edge_resolver",
    "ReplayEntry": "sdk.store.transcripts",
    "ReplayEvent": "model.event",
    "RuleExtractor": "extract.rules.extractor",
    "Scope": "model.scope",
    "SignedCheckpoint": "audit.checkpoints",
    "Signer": "audit.signers",
    "Skipped": "extract.protocol",
    "Source": "memory.records",
    "SqlView": "storage.port",
    "StateChange": "state.reads",
    "StateRecord": "state.reads",
    "StateVersion": "state.reads",
    "Stats": "calls.maintenance",
    "Store": "sdk.store.store",
    "StoreBusy": "errors",
    "StoreClosed": "errors",
    "StoreFull": "errors",
    "StoreReadOnly": "errors",
    "Subgraph": "graph.records",
    "Subscription": "sdk.store.subscriptions",
    "TemporalEdgeResolver": "graph.edge_resolver",
    "TimelineBucket": "log.read.timeline_buckets",
    "TitleTaken": "errors",
    "Tls": "sdk.remote.options",
    "TooManyRequests": "errors",
    "Transaction": "sdk.transaction.transaction",
    "TransactionClosed": "errors",
    "TransactionConflict": "errors",
    "TransactionExpired": "errors",
    "Transcript": "sdk.store.transcripts",
    "TranscriptLink": "memory.records",
    "TranscriptRef": "model.refs",
    "TrustedKey": "audit.trusted_keys",
    "Unauthenticated": "errors",
    "Unavailable": "errors",
    "UnsupportedFormat": "errors",
    "Verification": "log.verify.verifier",
    "VersionMismatch": "errors",
    "ViewsDiffer": "errors",
    "copy": "sdk.copy_store",
    "create_signer": "sdk.signers",
    "diagnose": "sdk.doctor",
    "import_log": "sdk.restore",
    "load_signer": "sdk.signers",
    "open": "sdk.open",
    "open_async": "sdk.open_async",
    "restore": "sdk.restore",
}
"""The module below this package that defines a public name."""


if not TYPE_CHECKING:  # else a type checker would take every name for defined

    def __getattr__(name: str) -> object:
        """Import the module that defines a public name, and keep the name for the next use."""
        from importlib import import_module

        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
