"""Questions: what is asked of a search, checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph.queries import instant_of
from memoranda.log import pages
from memoranda.log.moments import Moment, asked_at
from memoranda.model.clock import Clock
from memoranda.model.document import Document
from memoranda.model.limits import Limits, plain_text, shown
from memoranda.model.memory import KINDS
from memoranda.search.shelves import KINDS as HIT_KINDS
from memoranda.search.shelves import MEMORY, namespaces_below
from memoranda.storage.port import Reader

MOST_HITS: Final = 1_000
"""How many hits can be asked for."""


class Kinds(msgspec.Struct, frozen=True):
    """Which kinds of things are looked for."""

    hits: tuple[str, ...] = HIT_KINDS
    memories: frozenset[str] | None = None
    """Of memories, only these kinds; None: all."""


class RecallQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks, checked, but not yet held against a log."""

    query: str
    k: int
    namespace: str | None
    """None: every one."""
    children: bool
    """Whether the namespaces below it are meant too."""
    viewer: str
    """Whose eyes count."""
    agent_id: str | None
    """Whose memories, facts and transcripts alone are meant; None: everybody's."""
    kinds: Kinds
    tags: frozenset[str]
    metadata: Document
    valid: int | None
    """The instant that is asked about; None: now, and what is dated later too."""
    known_at: Moment | None
    superseded: bool
    """Whether what was replaced is shown as well."""
    expired: bool


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A query, and what it means in a log as it is."""

    asked: RecallQuery
    namespaces: frozenset[str]
    commit: int
    """The last commit that counts."""
    known: int | None
    """The same, if it is one of the past; None: all that is known."""
    now: int
    """The time it is taken to be: what is over then is not shown."""

    @property
    def instant(self) -> int:
        """When facts have to hold, and from when on ages are counted."""
        return self.now if self.asked.valid is None else self.asked.valid


def question_of(reader: Reader, clock: Clock, asked: RecallQuery) -> Question:
    """Return what a query means now."""
    moment = asked_at(reader, clock, asked.known_at, "known_at")
    head = pages.head_commit(reader)
    return Question(
        asked=asked,
        namespaces=frozenset(_namespaces(reader, asked)),
        commit=moment.commit,
        known=None if moment.commit >= head else moment.commit,
        now=instant_of(reader, moment),
    )


def _namespaces(reader: Reader, asked: RecallQuery) -> Iterable[str]:
    """Return the namespaces that are meant; the engine's own only where one is named."""
    name = asked.namespace
    if name is not None and not asked.children:
        return (name,)
    if name is not None:
        found = namespaces_below(reader, name)
        return found if _is_engines(name) else [each for each in found if not _is_engines(each)]
    rows = reader.rows("namespaces_written")
    return [row[0] for row in rows if not _is_engines(row[0])]


def _is_engines(namespace: str) -> bool:
    return any(part.startswith("_") for part in namespace.split("/"))


def check_query(query: object, limits: Limits) -> str:
    """Return what is looked for: some text, and not too much of it."""
    text = plain_text("query", query)
    if not text.strip():
        raise InvalidInput("query", "is blank: say in a few words what to look for")
    size = len(text.encode())
    if size > limits.query_bytes:
        raise InvalidInput(
            "query",
            f"has {size} bytes of UTF-8, and the limit is {limits.query_bytes}: "
            "ask for what matters in it",
        )
    return text


def check_hits(k: object) -> int:
    """Return how many hits are wanted."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_HITS:
        raise InvalidInput("k", f"{shown(k)} is not a number from 1 to {MOST_HITS}")
    return int(k)


def check_kinds(kinds: object) -> Kinds:
    """Return which kinds are wanted: of hits, of memories, or both."""
    if kinds is None:
        return Kinds()
    if not isinstance(kinds, str) and not isinstance(kinds, Iterable):
        raise InvalidInput("kinds", f"{shown(kinds)} is not a list of kinds")
    wanted = [_check_kind(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if not wanted:
        raise InvalidInput("kinds", "is empty: leave it out to look for all")
    memories = frozenset(wanted) - frozenset(HIT_KINDS)
    if not memories or MEMORY in wanted:
        return Kinds(tuple(kind for kind in HIT_KINDS if kind in wanted))
    return Kinds(tuple(kind for kind in HIT_KINDS if kind in wanted or kind == MEMORY), memories)


def _check_kind(kind: object) -> str:
    text = plain_text("kinds", kind)
    if text not in (*HIT_KINDS, *KINDS):
        raise InvalidInput(
            "kinds", f"{shown(text)} is not one of {', '.join((*HIT_KINDS, *KINDS))}"
        )
    return text
