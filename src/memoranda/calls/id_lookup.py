"""Ids by prefix: the ids that begin with a text, and the shortest text that is enough for one.

Memories, notices, transcripts and assertions are found by the index of their ids. Erasures have no
such index: there are few, and their certificates are read one after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec

from memoranda.errors import InvalidInput, NotFound
from memoranda.log.erasure import certificate
from memoranda.memory.requests import check_choice
from memoranda.model.limits import check_items, plain_text, short_repr
from memoranda.storage.port import Reader

IdKind = Literal["memory", "notice", "transcript", "fact", "erasure"]
KINDS: tuple[str, ...] = get_args(IdKind)
_RANGES = {
    "memory": "memory_ids",
    "notice": "notice_ids",
    "transcript": "transcript_ids",
    "fact": "assertion_ids",
}
"""Kind -> the query that lists the ids of a range."""
_NEIGHBOURS = {
    "memory": "memory_neighbours",
    "notice": "memory_neighbours",
    "transcript": "transcript_neighbours",
    "fact": "assertion_neighbours",
}
"""Kind -> the query that returns the ids around an id. Notices share the ids of memories."""
_NOUNS = {"fact": "assertion"}
_LAST_CHARACTER = "\U0010ffff"
MIN_PREFIX = 4
"""Characters; a shorter prefix would be ambiguous in all but the smallest stores."""
_MIN_SHORT_ID = 8
"""Characters of a short id, at least, so that it stays unique for a while."""
_MAX_CANDIDATES = 10
"""Ids that the error about an ambiguous prefix lists."""


class IdMatch(msgspec.Struct, frozen=True):
    """An id that begins with a prefix, and its kind."""

    id: str
    kind: IdKind


def check_kinds(kinds: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the kinds to look among; None means all."""
    if kinds is None:
        return KINDS
    names = (kinds,) if isinstance(kinds, str) else check_items("kinds", kinds)
    return tuple(check_choice("kinds", name, KINDS) for name in names)


def matches(
    reader: Reader, prefix: str, kinds: Sequence[str], viewer: str, limit: int
) -> list[IdMatch]:
    """Return the ids that begin with a prefix and that the viewer may see, in order."""
    result: dict[str, IdMatch] = {}
    for kind in kinds:
        for name in _ids(reader, prefix, kind, viewer, limit):
            match = result.get(name)
            if match is None or match.kind == "memory":  # a notice is also a memory
                result[name] = IdMatch(name, kind)  # type: ignore[arg-type] # one of KINDS
    return [result[name] for name in sorted(result)][:limit]


def _ids(reader: Reader, prefix: str, kind: str, viewer: str, limit: int) -> Iterable[str]:
    if kind == "erasure":
        return certificate.ids_with_prefix(reader, prefix)[:limit]
    last = prefix + _LAST_CHARACTER
    rows = reader.rows(_RANGES[kind], first=prefix, last=last, viewer=viewer, limit=limit)
    return [str(row[0]) for row in rows]


def find(reader: Reader, prefix: str, kinds: Sequence[str], viewer: str) -> str:
    """Return the only id that begins with a prefix; an id that equals it comes first.

    Raises `NotFound` if there is none, and `InvalidInput` with the candidates if there are several.
    """
    text = plain_text("prefix", prefix).lower()
    if not text:
        raise InvalidInput("prefix", "is empty: give an id, or its first characters")
    candidates = matches(reader, text, kinds, viewer, _MAX_CANDIDATES + 1)
    nouns = " or ".join(_NOUNS.get(kind, kind) for kind in kinds)
    if any(match.id == text for match in candidates):
        return text
    if not candidates:
        raise NotFound(f"not found: {nouns} {short_repr(prefix)}")
    if len(text) < MIN_PREFIX:
        raise InvalidInput(
            "prefix", f"{short_repr(text)} is too short: give at least {MIN_PREFIX} characters"
        )
    if len(candidates) > 1:
        lines = [f"\n  {match.kind} {match.id}" for match in candidates[:_MAX_CANDIDATES]]
        ellipsis = "\n  …" if len(candidates) > _MAX_CANDIDATES else ""
        raise InvalidInput(
            "prefix",
            f"{short_repr(prefix)} is ambiguous, give more characters:{''.join(lines)}{ellipsis}",
        )
    return candidates[0].id


def shorten(reader: Reader, ids: Iterable[str], kind: str) -> dict[str, str]:
    """Map each id to its shortest prefix that no other id of the kind begins with."""
    query = _NEIGHBOURS.get(kind)
    if query is None:
        raise InvalidInput("kind", f"{kind!r} has no short ids: give one of {', '.join(_RANGES)}")
    result = {}
    for name, before, after in reader.rows(query, ids=json.dumps(list(ids))):
        shared = max(_shared_length(name, neighbour or "") for neighbour in (before, after))
        result[str(name)] = str(name)[: max(shared + 1, _MIN_SHORT_ID)].rstrip("-")
    return result


def _shared_length(text: str, second: str) -> int:
    """Return the number of characters that two texts share from their beginning on."""
    pairs = enumerate(zip(text, second, strict=False))
    shortest = min(len(text), len(second))
    return next((number for number, (left, right) in pairs if left != right), shortest)
