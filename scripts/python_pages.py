"""The pages of the Python reference: which public names stand on which page, and their errors."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A page of the reference, about one noun."""

    name: str
    title: str
    about: str
    names: tuple[str, ...]
    see: str = ""
    """Other pages about the same noun."""


def names(text: str, owner: str = "") -> tuple[str, ...]:
    """Return the names of a text, as attributes of an owner if there is one."""
    return tuple(f"{owner}.{name}" if owner else name for name in text.split())


INTRODUCTION = """\
Every public name of `memoranda`, with its signature and its errors. The pages are generated from
the source. To learn, begin with the [tutorial](../tutorial.md) and [the concepts](../concepts.md).

- `store` is what `memoranda.open` or `bind` returns, `transaction` what `begin_transaction` returns
  or `transact` passes to your function.
- Without `agent_id` or `namespace`, a call uses those that the handle is bound to.
- In a signature, `UNSET` means *not given*: the call then uses the default that its text names, or
  leaves the field as it is.
- A write returns when it is durable. `txn_id` is an idempotency key: a retry with the same one
  returns the first commit.
- Every call may raise `InvalidInput` for a value it does not accept, `StoreClosed` after `close`,
  `Corruption` for damaged files and `Unavailable` if the disk does not answer. Every write may also
  raise `StoreBusy`, `StoreFull`, `StoreReadOnly`, `CommitUnknown`, and, with a `txn_id` that was
  used for something else, `IdempotencyMismatch`. A read of a moment that was compacted raises
  `Compacted`. A call on a finished transaction raises `TransactionClosed`, on one that is too old
  `TransactionExpired`. The entries name the errors beyond these. [All errors](python/errors.md)
  have one base, `MemorandaError`.
- In asyncio, open with `open_async`. `AsyncStore` and `AsyncTransaction` have the same calls:
  `await` them, or iterate with `async for`. Staging in a transaction waits for nothing, so it is a
  plain call.
"""

PAGES = (
    Page(
        "stores",
        "Stores",
        "Open a store, bind a handle to an agent and a namespace, close it.",
        (
            *names("open open_async"),
            *names("bind close", "Store"),
            *names(
                "Store AsyncStore Scope ALL_AGENTS ALL_NAMESPACES Limits MemoryBudget Tls "
                "__version__"
            ),
        ),
        "[concepts](../../concepts.md).",
    ),
    Page(
        "keys",
        "Keys",
        "Write, read and compare the values of keys, now and at any moment.",
        (
            *names("write delete get_state list_keys scan_prefix history diff", "Store"),
            *names("write delete get_state list_keys scan_prefix", "Transaction"),
            *names("Receipt StateRecord StateVersion StateChange KeyRef"),
        ),
    ),
    Page(
        "transactions",
        "Transactions",
        "Commit several operations as one event, or none of them.",
        (
            *names("begin_transaction transact", "Store"),
            *names("commit abort commit_ts txn_id", "Transaction"),
            *names("Transaction AsyncTransaction"),
        ),
        "[use transactions](../../howto/transactions.md). The other calls of a transaction are on "
        "the pages of their nouns.",
    ),
    Page(
        "memories",
        "Memories",
        "Remember, reflect, revise and read memories.",
        (
            *names(
                "remember reflect update_memory retract_memory touch promote get_memory "
                "memory_history list_memories configure",
                "Store",
            ),
            *names(
                "remember reflect update_memory retract_memory touch promote get_memory configure",
                "Transaction",
            ),
            *names("Memory MemoryRef NewMemory ChangedMemory NamespaceSettings"),
        ),
        "[keep memories](../../howto/keep-memories.md).",
    ),
    Page(
        "links",
        "Links and notices",
        "Link memories, let one supersede another, and resolve the notices that follow.",
        (
            *names(
                "link unlink supersede links dependents invalidations resolve_invalidation",
                "Store",
            ),
            *names("link unlink supersede links dependents resolve_invalidation", "Transaction"),
            *names("Link DependentRecord Invalidation"),
        ),
        "[keep memories](../../howto/keep-memories.md).",
    ),
    Page(
        "transcripts",
        "Transcripts and extraction",
        "Store conversations, cite their words, and extract memories and facts from them.",
        (
            *names(
                "store_transcript get_transcript list_transcripts link_transcript memories_for "
                "transcripts_for replay_transcripts origins import_chat extract",
                "Store",
            ),
            *names("store_transcript link_transcript", "Transaction"),
            *names(
                "Transcript AsyncTranscript TranscriptRef TranscriptLink ReplayEntry "
                "AsyncReplayEntry Anchor Origin Source ImportedChat ExtractionReport Skipped "
                "Extractor RuleExtractor ChatExtractor Message Extraction ExtractedMemory "
                "ExtractedFact"
            ),
        ),
        "[keep memories](../../howto/keep-memories.md), [extract](../../howto/extract.md).",
    ),
    Page(
        "facts",
        "Facts",
        "Assert, end and retract facts, and read what held when.",
        (
            *names(
                "assert_fact assert_facts end_fact retract_fact facts iter_facts "
                "iter_shared_facts timeline set_cardinality cardinalities",
                "Store",
            ),
            *names(
                "assert_fact end_fact retract_fact facts timeline set_cardinality refusals",
                "Transaction",
            ),
            *names("Fact FactRef Literal AssertedFacts RelationCardinality"),
        ),
        "[keep facts](../../howto/keep-facts.md), [load in bulk](../../howto/load-in-bulk.md).",
    ),
    Page(
        "graph",
        "Graph",
        "Name and merge entities, and follow facts from one entity to the next.",
        (
            *names(
                "entity entities alias merge_entities suggest_merges neighbors path subgraph "
                "current_edges",
                "Store",
            ),
            *names("alias merge_entities", "Transaction"),
            *names(
                "Entity MergeSuggestion Neighbor Subgraph Edge ExistingEdge EdgeResolution "
                "EdgeCatalog EdgeResolver TemporalEdgeResolver NaiveAppendResolver "
                "CardinalityPolicy"
            ),
        ),
        "[keep facts](../../howto/keep-facts.md).",
    ),
    Page(
        "recall",
        "Recall",
        "Search memories, facts and transcripts.",
        (
            *names("recall explain_recall recall_context", "Store"),
            *names("Hit RecallExplanation DroppedCandidate Embedder"),
        ),
        "[recall](../../howto/recall.md), [embeddings](../../howto/embeddings.md), "
        "[how a score is computed](../../explanation/recall.md).",
    ),
    Page(
        "why",
        "Why",
        "Explain a value, a memory or a fact by what it rests on.",
        (
            *names("why stale_keys explain", "Store"),
            *names("Reason Explanation Assertion Ending"),
        ),
        "[ask why](../../howto/ask-why.md).",
    ),
    Page(
        "log",
        "Log",
        "Replay events, follow new ones, and query the log with SQL.",
        (
            *names("replay timeline_buckets subscribe cursors drop_cursor sql", "Store"),
            *names(
                "ReplayEvent Operation OperationType TimelineBucket Subscription AsyncSubscription"
            ),
        ),
        "[follow the log](../../howto/follow-the-log.md), [SQL views](../sql.md).",
    ),
    Page(
        "audit",
        "Audit",
        "Verify the log, sign it, and prove to others what it holds.",
        (
            *names(
                "verify audit_events checkpoint checkpoints prove prove_growth trusted_keys "
                "trust_key retire_key rotate_key export_log",
                "Store",
            ),
            *names("create_signer load_signer import_log"),
            *names(
                "Verification AuditEvent SignedCheckpoint InclusionProof ConsistencyProof "
                "PublicKey Signer TrustedKey ExportedLog"
            ),
        ),
        "[prove the log](../../howto/prove-the-log.md), "
        "[sign as an agent](../../howto/sign-as-an-agent.md).",
    ),
    Page(
        "erasure",
        "Erasure",
        "Forget for good, sweep what has expired, and compact old history.",
        (
            *names("forget sweep purge certificate erasures prove_erasure compact", "Store"),
            *names("Certificate ErasureProof Preview Compaction RETENTION"),
        ),
        "[forget](../../howto/forget.md), [compact](../../howto/compact.md).",
    ),
    Page(
        "maintenance",
        "Maintenance",
        "Back up, restore, fork, check and repair a store.",
        (
            *names("stats backup fork rebuild reindex", "Store"),
            *names("copy restore diagnose"),
            *names("Stats Finding Backup Fork Rebuild Reindexed"),
        ),
    ),
    Page(
        "directory",
        "Agents, namespaces and ids",
        "List agents and namespaces, and find an id by its first characters.",
        (
            *names("agents namespaces find_id find_ids short_ids sql_views", "Store"),
            *names("AgentSummary NamespaceSummary IdMatch SqlView"),
        ),
    ),
    Page(
        "errors",
        "Errors",
        "Every error that Memoranda raises on purpose; each message names the remedy.",
        names(
            "MemorandaError InvalidInput NotFound Compacted Conflict TransactionConflict "
            "VersionMismatch TitleTaken IdempotencyMismatch TransactionClosed TransactionExpired "
            "CommitUnknown LinkCycle ReflectionTooDeep EdgeError LogForked NotProven StoreBusy "
            "TooManyRequests StoreFull StoreReadOnly StoreClosed UnsupportedFormat Corruption "
            "ChainBroken ViewsDiffer Unauthenticated PermissionDenied Unavailable "
            "ReplicaBehind"
        ),
    ),
    Page(
        "testing",
        "Testing",
        "`memoranda.testing`: stores in memory, a fixed clock, and the comparison of two runs.",
        names(
            "memory_store memory_store_async same_behaviour Behaviour FixedClock FixedIds",
            "testing",
        ),
        "[test your agent](../../howto/test-your-agent.md).",
    ),
)

ERRORS = {
    "Store.write": ("NotFound", "VersionMismatch"),
    "Store.delete": ("VersionMismatch",),
    "Store.find_id": ("NotFound",),
    "Store.remember": ("NotFound", "TitleTaken", "ReflectionTooDeep"),
    "Store.reflect": ("NotFound", "TitleTaken", "ReflectionTooDeep"),
    "Store.update_memory": ("NotFound", "TitleTaken", "VersionMismatch"),
    "Store.retract_memory": ("NotFound",),
    "Store.touch": ("NotFound",),
    "Store.promote": ("NotFound",),
    "Store.link": ("NotFound", "LinkCycle", "ReflectionTooDeep"),
    "Store.unlink": ("NotFound",),
    "Store.supersede": ("NotFound", "LinkCycle"),
    "Store.resolve_invalidation": ("NotFound", "Conflict"),
    "Store.link_transcript": ("NotFound",),
    "Store.extract": ("NotFound",),
    "Store.assert_fact": ("NotFound",),
    "Store.assert_facts": ("NotFound",),
    "Store.end_fact": ("NotFound",),
    "Store.retract_fact": ("NotFound",),
    "Store.merge_entities": ("NotFound",),
    "Store.neighbors": ("NotFound",),
    "Store.why": ("NotFound",),
    "Store.explain": ("NotFound",),
    "Store.replay": ("LogForked",),
    "Store.subscribe": ("LogForked",),
    "Store.audit_events": ("LogForked",),
    "Store.verify": ("ChainBroken", "ViewsDiffer", "NotProven"),
    "Store.checkpoint": ("NotFound",),
    "Store.prove": ("NotFound",),
    "Store.prove_growth": ("NotFound",),
    "Store.retire_key": ("NotFound",),
    "Store.forget": ("NotFound",),
    "Store.certificate": ("NotFound",),
    "Store.prove_erasure": ("NotFound",),
    "Transaction.commit": (
        "TransactionConflict",
        "TransactionExpired",
        "TransactionClosed",
        "NotFound",
        "VersionMismatch",
        "TitleTaken",
        "LinkCycle",
        "ReflectionTooDeep",
    ),
    "Transaction.abort": ("TransactionClosed",),
    "Store.transact": ("TransactionConflict", "TransactionExpired"),
    "open": ("NotFound", "UnsupportedFormat", "StoreReadOnly"),
    "copy": ("NotFound", "LogForked"),
    "restore": ("NotFound",),
}
"""The errors of a call beyond those that every call can raise; tests provoke each of them."""

INTERNAL = {"MemoryBudget.share", "Transaction.last_title"}
"""Attributes without an underscore that only the package itself reads."""
