"""The rows of the matrix of grants for the tools of MCP: with which arguments each is called.

A row names what is covered and what is not: by id, by title, by key, by reference and for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.grant_reads import FACTS, MEMORIES, TALKS
from tests.grant_worlds import MARK

Ids: TypeAlias = Mapping[str, str]
Row: TypeAlias = Callable[[Ids], list[dict[str, Any]]]
TITLES = ("home", "diary", "below", "of b", "x", "nobody's")
KEYS = ("plan", "resting", MARK, "nothing")
NEW = {"content": "Ann moved to Ulm"}


def _by_memory(**more: Any) -> Row:
    return lambda ids: [{"memory_id": ids[name], **more} for name in MEMORIES]


def _always(*rows: dict[str, Any]) -> Row:
    return lambda _: [*rows]


def _refs(ids: Ids) -> list[str]:
    return [
        *(f"memory:{ids[name]}" for name in MEMORIES),
        *(f"fact:{ids[name]}" for name in FACTS),
        *(f"transcript:{ids[name]}" for name in TALKS),
    ]


def _pairs(first: str, second: str, **more: Any) -> Row:
    """Return calls about two memories, one of which is always covered."""
    return lambda ids: [
        {first: ids[one], second: ids[other], **more}
        for name in MEMORIES
        for one, other in ((name, "home"), ("home", name))
    ]


def _notices(ids: Ids) -> list[dict[str, Any]]:
    names = [name for label, name in ids.items() if label.startswith("notice ")]
    return [{"notice_id": name, "decision": "keep"} for name in (*names, ids["x_home"])]


READS: Mapping[str, Row] = {
    "memory_recall": _always(
        {"query": "Ann lives in Bonn"},
        {"query": "Bonn", "known_as_of": 30},
        {"query": MARK, "budget": 20_000},
        {"query": "Ann", "as_of": "2026-01-01"},
    ),
    "memory_replay": lambda ids: [
        *_by_memory()(ids),
        *_by_memory(depth=1, verbose=True)(ids),
    ],
    "memory_dependents_of_invalidated": _by_memory(depth=3),
    "memory_why": lambda ids: [{"ref": ref} for ref in (*_refs(ids), *KEYS)],
    "memory_inbox": _always({}, {"status": "all"}, {"limit": 1}),
    "memory_get": lambda ids: [*_by_memory()(ids), *({"title": title} for title in TITLES)],
    "memory_list": _always({}, {"mine": True}, {"kind": "reflection"}, {"limit": 2}),
    "memory_origins": _by_memory(),
    "memory_history": _by_memory(),
    "memory_verify": _always({}, {"deep": True}),
    "state_get": _always(*({"key": key} for key in KEYS), {"key": "plan", "version": 1}),
    "state_replay": _always({}, {"limit": 1}, {"kinds": ["write"]}),
    "fact_query": _always({}, {"subject": "Ann", "include_closed": True}, {"object": "Rome"}),
    "fact_timeline": _always(
        {"subject": "Ann", "relation": "lives in"}, {"subject": MARK, "relation": "lives in"}
    ),
    "fact_explain": lambda ids: [{"fact": ids[name]} for name in FACTS],
}
WRITES: Mapping[str, Row] = {
    "memory_store": lambda ids: [
        *({**NEW, "title": title} for title in TITLES),
        *({**NEW, "transcript_id": ids[name]} for name in TALKS),
        *({**NEW, "transcript_id": ids[name], "quote": "I live"} for name in TALKS),
        {**NEW, "private": True, "idempotency_key": "one"},
    ],
    "memory_reflect": lambda ids: [{**NEW, "on": [ids[name]]} for name in MEMORIES],
    "memory_link": _pairs("source", "target", relation="derived_from"),
    "memory_supersede": _pairs("old", "new"),
    "memory_update": _by_memory(title="home"),
    "memory_retract": _by_memory(reason="wrong"),
    "memory_promote": _by_memory(),
    "memory_resolve_invalidation": _notices,
    "memory_forget": lambda ids: [
        *_by_memory(reason="asked to")(ids),
        *({"transcript_id": ids[name]} for name in TALKS),
    ],
    "transcript_store": _always({"text": "Ann: hello"}),
    "state_set": lambda ids: [
        *({"key": "new", "value": {"n": 1}, "because": [ref]} for ref in _refs(ids)),
        *({"key": key, "value": {"n": 2}, "expect_version": 1} for key in KEYS),
    ],
    "fact_assert": lambda ids: [
        *(
            {"subject": "Ann", "relation": "lives in", "object": "Ulm", "source": ref}
            for ref in _refs(ids)
            if not ref.startswith("fact:")
        ),
        {"subject": "Ann", "relation": f"{MARK} lives in", "object": "Ulm"},
    ],
    "fact_end": _always(
        {"subject": "Ann", "relation": "lives in"},
        {"subject": "Ann", "relation": "lives in", "object": f"{MARK} Bonn"},
    ),
}
