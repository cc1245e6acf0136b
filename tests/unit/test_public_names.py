"""The public surface: few names, chosen on purpose, and what they promise to a type checker."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import assert_type

import memoranda
import memoranda.testing
from memoranda import (
    AsyncReplayEntry,
    AsyncStore,
    AsyncSubscription,
    AsyncTransaction,
    AsyncTranscript,
    Memory,
    ReplayEntry,
    ReplayEvent,
    StateRecord,
    Store,
    Subscription,
    Transaction,
    Transcript,
)

BY_POSITION = (
    ["self"],
    ["self", "work"],
    ["self", "path"],
    ["self", "query", "parameters"],
    ["self", "query"],
    ["self", "content"],
    ["self", "facts"],
    ["self", "memory_id"],
    ["self", "ref"],
    ["self", "notice_id"],
    ["self", "text"],
    ["self", "transcript_id"],
    ["self", "name"],
    ["self", "fact"],
    ["self", "scope", "subject_key", "relation"],
    ["self", "entity"],
    ["self", "source", "target"],
    ["self", "entities"],
    ["self", "erasure_id"],
    ["self", "commit_ts"],
    ["self", "old", "new"],
    ["self", "key"],
)
"""What a call is about may come first, without its name."""
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_names_are_these() -> None:
    errors = {
        "ChainBroken", "CommitUnknown", "Compacted", "Conflict", "Corruption", "EdgeError",
        "IdempotencyMismatch", "InvalidInput", "LinkCycle", "LogForked", "NotFound",
        "NotProven", "MemorandaError", "ReflectionTooDeep", "StoreBusy", "StoreClosed", "StoreFull",
        "StoreReadOnly", "TitleTaken", "TransactionClosed", "TransactionConflict",
        "TransactionExpired", "Unavailable", "UnsupportedFormat", "VersionMismatch", "ViewsDiffer",
    }  # fmt: skip
    others = {
        "ALL_AGENTS", "ALL_NAMESPACES", "Anchor", "AssertedFacts", "Assertion", "AsyncReplayEntry",
        "AsyncStore",
        "AsyncSubscription", "AsyncTransaction", "AsyncTranscript", "AuditEvent", "Backup",
        "CardinalityPolicy", "ChangedMemory", "DependentRecord", "Edge", "EdgeCatalog",
        "EdgeResolution", "EdgeResolver", "Ending", "Entity", "ExistingEdge", "Explanation", "Fact",
        "FactRef", "Finding", "Fork", "Hit", "Invalidation", "KeyRef", "Limits", "Link", "Literal",
        "Memory", "MemoryRef", "MergeSuggestion", "NaiveAppendResolver", "NamespaceSettings",
        "Neighbor", "NewMemory", "Operation", "OperationType", "Origin", "Reason", "Rebuild",
        "RelationCardinality", "ReplayEntry", "ReplayEvent", "Scope", "Source", "StateChange",
        "StateEntry", "StateRecord", "StateVersion", "Stats", "Store", "Subgraph", "Subscription",
        "TemporalEdgeResolver", "Transaction", "Transcript", "TranscriptLink", "TranscriptRef",
        "Verification", "__version__", "diagnose", "open", "open_async", "restore",
    }  # fmt: skip
    signing = {
        "ConsistencyProof", "InclusionProof", "PublicKey", "SignedCheckpoint", "Signer",
        "TrustedKey", "create_signer", "load_signer",
    }  # fmt: skip
    erasing = {"Certificate", "Compaction", "Preview", "RETENTION"}
    travelling = {"ExportedLog", "import_log"}
    searching = {"Embedder", "Reindexed"}
    extracting = {
        "ChatExtractor", "ExtractedFact", "ExtractedMemory", "Extraction", "ExtractionReport",
        "Extractor", "ImportedChat", "Message", "RuleExtractor", "Skipped",
    }  # fmt: skip
    named = errors | others | signing | erasing | travelling | searching | extracting
    assert set(memoranda.__all__) == named
    assert list(memoranda.__all__) == sorted(
        memoranda.__all__, key=lambda name: (not name.isupper(), name)
    )
    assert all(hasattr(memoranda, name) for name in memoranda.__all__)
    for name in errors:
        assert issubclass(getattr(memoranda, name), memoranda.MemorandaError)


def test_every_error_is_public_and_drawn_in_the_tree() -> None:
    from memoranda import errors

    defined = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    assert defined <= set(memoranda.__all__)
    assert errors.__doc__ is not None
    assert all(f" {name} " in errors.__doc__ + " " or name in errors.__doc__ for name in defined)


def public_methods(owner: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }


def test_the_asynchronous_twins_have_the_same_methods_and_parameters() -> None:
    pairs = (
        (Store, AsyncStore),
        (Subscription, AsyncSubscription),
        (Transaction, AsyncTransaction),
        (Transcript, AsyncTranscript),
        (ReplayEntry, AsyncReplayEntry),
    )
    for plain, twin in pairs:
        ours, theirs = public_methods(plain), public_methods(twin)
        assert ours.keys() == theirs.keys()
        for name, signature in ours.items():
            assert [*signature.parameters] == [*theirs[name].parameters]


def test_arguments_are_given_by_name() -> None:
    for owner in (Store, Transaction):
        for name, signature in public_methods(owner).items():
            by_position = [
                parameter.name
                for parameter in signature.parameters.values()
                if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            ]
            assert by_position in BY_POSITION, f"{owner.__name__}.{name}"


def test_types_are_inferred() -> None:
    store = memoranda.testing.memory_store()
    assert_type(store, Store)
    assert_type(store.get_state(agent_id="a", key="k"), StateRecord | None)
    assert_type(store.transact(lambda _: 7), int)
    assert_type(store.get_memory("m"), Memory | None)
    assert_type(list(store.subscribe(agent_id="a", timeout=0)), list[ReplayEvent])
    assert store.transact(lambda _: 7) == 7


def test_importing_touches_nothing_and_loads_no_command_line() -> None:
    code = (
        "import sys; before = set(sys.modules); import memoranda;"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "seen = {'click', 'rich', 'platformdirs', 'rapidfuzz', 'asyncio', 'sqlite3',"
        "'cryptography'};"
        "print(sorted(loaded & seen))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['asyncio']"


def test_the_core_needs_five_packages() -> None:
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    names = sorted(requirement.split(">")[0] for requirement in project["dependencies"])
    assert names == ["apsw", "backports.zstd", "msgspec", "rapidfuzz", "uuid-utils"]


def test_the_package_is_typed_and_says_its_version() -> None:
    assert (Path(inspect.getfile(memoranda)).parent / "py.typed").exists()
    assert memoranda.__version__.count(".") == 2
