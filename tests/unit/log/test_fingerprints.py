"""A fingerprint tells what was asked for, and nothing of its content."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from memoranda.graph.requests import GraphRequest, RetractAssertion
from memoranda.log.commit import idempotency
from memoranda.memory.requests import LinkMemories, MemoryChanges, MemoryRequest, TouchMemory
from memoranda.model.erasure import Forget, Target
from memoranda.model.ids import FixedIds, derive_id
from memoranda.model.memory import Content, Details
from memoranda.model.operations.graph import Name
from memoranda.model.refs import MemoryRef
from memoranda.model.scope import Scope
from memoranda.state.requests import DeleteKey, WriteKey

ids = FixedIds()
M1, M2, M3 = (ids.unique() for _ in range(3))
SAID = derive_id("once", "Ann", "is", "ill")
KINDS = (WriteKey, DeleteKey, *get_args(MemoryRequest), *get_args(GraphRequest))
IDS = ("memory_id", "transcript_id", "notice_id", "replacement", "target")


def _value(field: str, kind: type, word: str) -> Any:
    """Return a value for a field, in which all that is content is made of one word."""
    of_links = kind.__name__ in ("LinkMemories", "UnlinkMemories")
    if field in IDS or (field == "source" and of_links):
        return M1
    values: dict[str, Any] = {
        "scope": Scope(word, word),
        "subject": Name(word, word),
        "object": Name(word, word),
        "entity": Name(word, word),
        "alias": Name(word, word),
        "into": Name(word, word),
        "relation": "supersedes" if of_links else Name(word, word),
        "source": Name(word, word) if kind.__name__ == "MergeEntities" else MemoryRef(M1, 1),
        "content": Content(word),
        "details": Details(source=word),
        "changes": MemoryChanges(content=Content(word)),
        "because": (MemoryRef(M1, len(word)),),
        "spans": ((0, len(word)),),
        "settings": {word: len(word)},
        "encoded": word.encode(),
        "digest": word.encode(),
        "assertion_id": derive_id(word),
        "decision": "keep",
    }
    return values.get(field, len(word) if field in ("size", "ttl", "valid_from") else word)


def request(kind: type[msgspec.Struct], word: str) -> msgspec.Struct:
    return kind(*(_value(field, kind, word) for field in kind.__struct_fields__))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_content_makes_no_difference(kind: type[msgspec.Struct]) -> None:
    first, second = request(kind, "Ann"), request(kind, "Bernadette")
    assert first != second
    assert idempotency.fingerprint_of([first]) == idempotency.fingerprint_of([second])


def test_no_two_kinds_are_alike() -> None:
    assert len({idempotency.fingerprint_of([request(kind, "Ann")]) for kind in KINDS}) == len(KINDS)


def test_number_and_order_make_a_difference() -> None:
    write, touch = request(WriteKey, "k"), TouchMemory("ann", M1)
    shapes = [[write], [write, write], [write, touch], [touch, write]]
    assert len({idempotency.fingerprint_of(shape) for shape in shapes}) == len(shapes)


def test_ids_make_a_difference() -> None:
    links = [LinkMemories("ann", M1, target, "supersedes") for target in (M2, M3)]
    assert idempotency.fingerprint_of(links[:1]) != idempotency.fingerprint_of(links[1:])
    assertions = [RetractAssertion(Scope("n", "a"), item, None) for item in (M1, M2)]
    assert idempotency.fingerprint_of(assertions[:1]) != idempotency.fingerprint_of(assertions[1:])


def test_an_id_that_follows_from_content_makes_none() -> None:
    text = [RetractAssertion(Scope("n", "a"), item, None) for item in (SAID, derive_id("other"))]
    assert idempotency.fingerprint_of(text[:1]) == idempotency.fingerprint_of(text[1:])


def test_a_target_makes_a_difference_by_its_kind_and_its_id() -> None:
    def of(kind: Any, name: str) -> bytes:
        return idempotency.fingerprint_of([Forget(Target(kind, name), "ann", ids.unique(), name)])

    assert of("memory", M1) == of("memory", M1) != of("memory", M2)
    assert of("memory", M1) != of("transcript", M1)
    assert of("key", "a") == of("key", "b") != of("agent", "a")
