"""What the store answers about facts, as the JSON a program reads."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.cli.shapes import time_text

if TYPE_CHECKING:
    from memoranda.graph.inputs import Object
    from memoranda.graph.records import (
        Assertion,
        Ending,
        Entity,
        Explanation,
        Fact,
        MergeSuggestion,
        Neighbor,
    )
    from memoranda.graph.resolution import Edge, EdgeResolution, ExistingEdge
    from memoranda.model.refs import Evidence

Shape = dict[str, Any]


def fact(found: Fact) -> Shape:
    """Return a fact; a value that is no name has its kind beside it."""
    return {
        "subject": found.subject,
        "relation": found.relation,
        **_object(found.object),
        "valid_from": time_text(found.valid_from),
        "valid_to": found.valid_to and time_text(found.valid_to),
        "confidence": found.confidence,
        "sources": [source(each) for each in found.sources],
        "known_from": found.known_from and time_text(found.known_from),
        "assertions": found.assertions,
        "namespace": found.namespace,
        "agent_id": found.agent_id,
    }


def row(found: Fact) -> Shape:
    """Return a fact as a file of facts has it: what can be asserted anywhere."""
    return {
        "subject": found.subject,
        "relation": found.relation,
        **_object(found.object),
        "valid_from": time_text(found.valid_from),
        "valid_to": found.valid_to and time_text(found.valid_to),
        "confidence": found.confidence,
    }


def source(found: Evidence) -> Shape:
    """Return what a fact comes from."""
    return msgspec.structs.asdict(found)


def resolution(found: EdgeResolution) -> Shape:
    """Return what became of a timeline; names are in the form by which they are compared."""
    return {
        "open": found.open and _plain(found.open),
        "close": [_plain(each) for each in found.close],
        "changed": [
            {"before": _plain(before), "after": _plain(after)} for before, after in found.changed
        ],
        "folded": found.folded and _plain(found.folded),
        "reopened": [_plain(each) for each in found.reopened],
        "assertion_id": found.assertion_id,
        "commit_ts": found.commit_ts,
    }


def entity(found: Entity) -> Shape:
    """Return somebody or something that facts are about."""
    return _plain(found)


def neighbor(found: Neighbor) -> Shape:
    """Return what is near something, how far, and by which fact."""
    near = _object(found.node)
    return {
        "node": near["object"],
        "node_kind": near["object_kind"],
        "hop": found.hop,
        "via": fact(found.via),
    }


def suggestion(found: MergeSuggestion) -> Shape:
    """Return two names that are alike."""
    return msgspec.structs.asdict(found)


def explanation(found: Explanation) -> Shape:
    """Return a fact and everything that was said for it."""
    return {
        "fact": fact(found.fact),
        "assertions": [_assertion(each) for each in found.assertions],
        "end": None if found.end is None else _ending(found.end),
    }


def _ending(found: Ending) -> Shape:
    return {**_plain(found), "source": None if found.source is None else source(found.source)}


def _assertion(found: Assertion) -> Shape:
    shape = _plain(found)
    del shape["object"]
    return {
        **shape,
        **_object(found.object),
        "source": None if found.source is None else source(found.source),
    }


def _object(value: Object) -> Shape:
    from memoranda.graph.literal import Literal, kind_of

    kind = kind_of(value) if isinstance(value, Literal) else None
    return {"object": str(value), "object_kind": kind}


def _plain(record: Edge | ExistingEdge | Entity | Assertion | Ending) -> Shape:
    return {
        name: time_text(value) if isinstance(value, datetime) else value
        for name, value in msgspec.structs.asdict(record).items()
    }
