"""The public surface: few names, chosen on purpose, and what they promise to a type checker."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import assert_type, get_type_hints

import pytest

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
    ["self", "prefix"],
    ["self", "ids"],
)
"""What a call is about may come first, without its name."""
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_names_are_these() -> None:
    errors = {
        "ChainBroken", "CommitUnknown", "Compacted", "Conflict", "Corruption", "EdgeError",
        "IdempotencyMismatch", "InvalidInput", "LinkCycle", "LogForked", "MemorandaError",
        "NotFound", "NotProven", "PermissionDenied", "ReflectionTooDeep", "ReplicaBehind",
        "StoreBusy", "StoreClosed", "StoreFull", "StoreReadOnly", "TitleTaken", "TooManyRequests",
        "TransactionClosed", "TransactionConflict", "TransactionExpired",
        "Unauthenticated", "Unavailable", "UnsupportedFormat", "VersionMismatch", "ViewsDiffer",
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
        "Receipt", "RelationCardinality", "ReplayEntry", "ReplayEvent", "Scope", "Source",
        "StateChange", "StateRecord", "StateVersion", "Stats", "Store", "Subgraph", "Subscription",
        "TemporalEdgeResolver", "Tls", "Transaction", "Transcript", "TranscriptLink",
        "TranscriptRef",
        "Verification", "__version__", "diagnose", "open", "open_async", "restore",
    }  # fmt: skip
    signing = {
        "ConsistencyProof", "InclusionProof", "PublicKey", "SignedCheckpoint", "Signer",
        "TrustedKey", "create_signer", "load_signer",
    }  # fmt: skip
    erasing = {"Certificate", "Compaction", "ErasureProof", "Preview", "RETENTION"}
    travelling = {"ExportedLog", "copy", "import_log"}
    searching = {"DroppedCandidate", "Embedder", "MemoryBudget", "RecallExplanation", "Reindexed"}
    listing = {"AgentSummary", "IdMatch", "NamespaceSummary", "SqlView", "TimelineBucket"}
    extracting = {
        "ChatExtractor", "ExtractedFact", "ExtractedMemory", "Extraction", "ExtractionReport",
        "Extractor", "ImportedChat", "Message", "RuleExtractor", "Skipped",
    }  # fmt: skip
    by_name = errors | others | signing | erasing | travelling | searching | extracting | listing
    assert set(memoranda.__all__) == by_name
    assert list(memoranda.__all__) == sorted(
        memoranda.__all__, key=lambda name: (not name.isupper(), name)
    )
    assert all(hasattr(memoranda, name) for name in memoranda.__all__)
    for name in errors:
        assert issubclass(getattr(memoranda, name), memoranda.MemorandaError)


def test_every_error_is_public_and_drawn_in_the_tree() -> None:
    from memoranda import errors

    defined = {kind.__name__ for kind in errors.ERROR_TABLE}
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


def loaded_by(code: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after some code."""
    script = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_annotations_of_public_methods_can_be_evaluated() -> None:
    for owner in (Store, AsyncStore, Transaction, AsyncTransaction, Transcript, Subscription):
        for name in public_methods(owner):
            assert get_type_hints(getattr(owner, name)), f"{owner.__name__}.{name}"


def test_importing_loads_nothing_else() -> None:
    ours = {name for name in loaded_by("import memoranda") if name.startswith("memoranda")}
    assert ours == {"memoranda"}


def test_a_store_loads_what_its_calls_need() -> None:
    loaded = loaded_by(
        "import memoranda; store = memoranda.open(':memory:').bind(agent_id='ada');"
        "store.write(key='k', value={'n': 1}); store.get_state(key='k'); store.close()"
    )
    command_line = {"click", "rich", "platformdirs"}
    others = {"asyncio", "ssl", "sqlite3", "rapidfuzz", "cryptography", "apsw.ext", "psycopg"}
    parts = {f"memoranda.{part}" for part in ("cli", "net", "sdk.aio", "testing")}
    extractors = {f"memoranda.extract.{part}" for part in ("chat_model", "extractors", "messages")}
    models = {f"memoranda.search.vectors.{part}" for part in ("onnx_model", "openai_endpoint")}
    ours = parts | extractors | models
    assert all(find_spec(name) for name in ours), "a module was renamed"
    embedders = {"numpy", "wordllama", "onnxruntime", "tokenizers", "httpx2"}
    assert "memoranda.sdk.store.store" in loaded
    assert loaded & (command_line | others | embedders | ours) == set()


RULES = "memoranda.extract.rules"


@pytest.mark.parametrize(
    "call",
    [
        "store.remember('Ann works at Acme'); store.recall('Ann')",
        "store.import_chat('Ann: I work at Acme.')",
        "store.import_chat('Ann: I work at Acme.', extractor=Own()); memoranda.ChatExtractor",
        "store.import_chat('Ann: I work at Acme.', extractor='rules')",
        "memoranda.RuleExtractor",
    ],
)
def test_the_rules_of_extraction_are_loaded_only_when_they_are_named(call: str) -> None:
    own = "dict(name='own/1', extract=lambda *_, **__: memoranda.Extraction())"
    loaded = loaded_by(
        f"import memoranda; Own = type('Own', (), {own});"
        "store = memoranda.open(':memory:', embedder=None).bind(agent_id='ada');"
        f"{call}; store.close()"
    )
    assert find_spec(RULES), "a module was renamed"
    assert any(name.startswith(RULES) for name in loaded) == ("ule" in call)


def test_every_public_name_is_loaded_from_where_it_is_defined() -> None:
    """A type checker reads the imports, Python the table: they have to say the same."""
    source = ast.parse(Path(inspect.getfile(memoranda)).read_text("utf-8"))
    typed = next(node for node in source.body if isinstance(node, ast.If))
    imported = {
        alias.name: str(node.module).removeprefix("memoranda.")
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == memoranda._MODULE_OF
    assert {*imported, "__version__"} == set(memoranda.__all__)
    assert set(memoranda.__all__) <= set(dir(memoranda))
    for name, module in imported.items():
        value = getattr(memoranda, name)
        assert value is getattr(sys.modules[f"memoranda.{module}"], name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__.startswith(f"memoranda.{module}"), name


def test_errors_are_pickled() -> None:
    error = pickle.loads(pickle.dumps(memoranda.InvalidInput("key", "is empty")))
    assert isinstance(error, memoranda.InvalidInput)
    assert str(error) == "key: is empty"


def test_the_core_needs_six_packages() -> None:
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    names = sorted(requirement.split(">")[0] for requirement in project["dependencies"])
    assert names == ["PyStemmer", "apsw", "backports.zstd", "msgspec", "rapidfuzz", "uuid-utils"]


def test_the_package_is_typed_and_says_its_version() -> None:
    assert (Path(inspect.getfile(memoranda)).parent / "py.typed").exists()
    assert memoranda.__version__.count(".") == 2
