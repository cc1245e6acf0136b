"""Recall requests, checked, and resolved against a log."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph.reads import current_time_at
from memoranda.log import pages
from memoranda.log.read.as_of import Moment, resolve_as_of
from memoranda.model.clock import Clock, Instant, check_time
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_integer, plain_text, short_repr
from memoranda.model.memory import KINDS
from memoranda.model.suggestions import did_you_mean
from memoranda.search.index.partitions import KINDS as HIT_KINDS
from memoranda.search.index.partitions import MEMORY, namespaces_below
from memoranda.storage.port import Reader

MAX_HITS: Final = 1_000
"""Hits of one request at most."""


class Kinds(msgspec.Struct, frozen=True):
    """The kinds of hits of a request."""

    hits: tuple[str, ...] = HIT_KINDS
    memories: frozenset[str] | None = None
    """Restricts memories to these kinds; None: all."""


class RecallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request, independent of a log."""

    text: str
    k: int
    namespace: str | None
    """None: all namespaces."""
    children: bool
    """Whether the namespaces below it are searched too."""
    viewer: str
    """The agent that must be allowed to see a hit."""
    agent_id: str | None
    """Restricts hits to those of one agent; None: of all."""
    kinds: Kinds
    tags: frozenset[str]
    metadata: Document
    valid_at: int | None
    """The instant of valid time; None: now, and later events are included."""
    known_at: Moment | None
    since: int | None = None
    until: int | None = None
    """Bounds of the time of a hit in microseconds, half-open; None: without a bound."""
    speaker: str | None = None
    """Restricts hits to what somebody said, case folded; None: to nobody."""
    min_score: float = 0.0
    """The least score of a hit."""
    include_superseded: bool
    include_expired: bool


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A request resolved against a log."""

    request: RecallRequest
    namespaces: frozenset[str]
    commit: int
    """The last commit that is read."""
    as_of_commit: int | None
    """The same, if it is a past commit; None: it is the head."""
    now: int
    """The current time as of the commit, in microseconds: it decides about expiry."""

    @property
    def valid_at(self) -> int:
        """The instant at which facts must hold, and from which ages are counted."""
        return self.now if self.request.valid_at is None else self.request.valid_at


def resolve_query(reader: Reader, clock: Clock, request: RecallRequest) -> SearchQuery:
    """Resolve a request against the log as it is now."""
    moment = resolve_as_of(reader, clock, request.known_at, "known_at")
    head = moment.commit if request.known_at is None else pages.head_commit(reader)
    return SearchQuery(
        request=request,
        namespaces=frozenset(_namespaces(reader, request)),
        commit=moment.commit,
        as_of_commit=None if moment.commit >= head else moment.commit,
        now=current_time_at(reader, moment),
    )


def _namespaces(reader: Reader, request: RecallRequest) -> Iterable[str]:
    """Return the searched namespaces; the engine's own only if the request names one.

    An inbox has notices of all agents in one partition: it is searched by whoever covers them all.
    """
    name, coverage = request.namespace, reader.coverage
    if name is not None and _is_of_engine(name) and coverage and coverage.agents is not None:
        return ()
    if name is not None and not request.children:
        return (name,)
    if name is not None:
        namespaces = namespaces_below(reader, name)
        if _is_of_engine(name):
            return namespaces
    else:
        namespaces = [row[0] for row in reader.rows("namespaces_written")]
    return [namespace for namespace in namespaces if not _is_of_engine(namespace)]


def _is_of_engine(namespace: str) -> bool:
    return any(part.startswith("_") for part in namespace.split("/"))


def check_query(query: object, limits: Limits) -> str:
    """Return the text of a query if it is neither blank nor too long."""
    text = plain_text("query", query)
    if not text.strip():
        raise InvalidInput("query", "is blank: describe in a few words what to find")
    size = len(text.encode())
    if size > limits.query_bytes:
        raise InvalidInput(
            "query",
            f"has {size} bytes of UTF-8, and the limit is {limits.query_bytes}: "
            "shorten it to what matters",
        )
    return text


def check_limit(k: object) -> int:
    """Return the number of hits if it is in range."""
    return check_integer("k", k, minimum=1, maximum=MAX_HITS)


def check_window(since: Instant | None, until: Instant | None) -> tuple[int | None, int | None]:
    """Return the bounds of a half-open range of time."""
    start, end = check_time("since", since), check_time("until", until)
    if start is not None and end is not None and end <= start:
        raise InvalidInput(
            "until",
            f"{short_repr(until)} is not after since, {short_repr(since)}: give a later time",
        )
    return start, end


def check_speaker(speaker: object) -> str | None:
    """Return the name of a speaker, case folded."""
    if speaker is None:
        return None
    name = plain_text("speaker", speaker).strip().casefold()
    if not name:
        raise InvalidInput("speaker", "is blank: give a name or a role, or omit it")
    return name


def check_score(min_score: object) -> float:
    """Return the least score of a hit."""
    is_number = isinstance(min_score, int | float) and not isinstance(min_score, bool)
    if not is_number or not 0 <= min_score < inf:  # type: ignore[operator]
        raise InvalidInput("min_score", f"{short_repr(min_score)} is not a number from 0 on")
    return float(min_score)  # type: ignore[arg-type]


def check_kinds(kinds: object) -> Kinds:
    """Return the kinds of a request: of hits, of memories, or both."""
    if kinds is None:
        return Kinds()
    if not isinstance(kinds, str) and not isinstance(kinds, Iterable):
        raise InvalidInput("kinds", f"{short_repr(kinds)} is not a list of kinds")
    names = [_check_kind(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if not names:
        raise InvalidInput("kinds", "is empty: omit it to search all kinds")
    memories = frozenset(names) - frozenset(HIT_KINDS)
    if not memories or MEMORY in names:
        return Kinds(tuple(kind for kind in HIT_KINDS if kind in names))
    return Kinds(tuple(kind for kind in HIT_KINDS if kind in names or kind == MEMORY), memories)


def _check_kind(kind: object) -> str:
    text = plain_text("kinds", kind)
    if text not in (*HIT_KINDS, *KINDS):
        raise InvalidInput(
            "kinds",
            f"{short_repr(text)} is not one of {', '.join((*HIT_KINDS, *KINDS))}"
            + did_you_mean(text, (*HIT_KINDS, *KINDS)),
        )
    return text
