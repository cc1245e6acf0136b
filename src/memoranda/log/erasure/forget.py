"""Forgetting: finding everything in the log that goes with a target, and erasing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from memoranda.errors import NotFound
from memoranda.log import pages
from memoranda.log.cursors import drop_cursors_of
from memoranda.log.erasing import Erasure
from memoranda.log.redaction import Left
from memoranda.log.reducing import Names, left_if_changed, without_content
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import (
    AGENT,
    COMPACTION,
    ENTITY,
    FACTS,
    KEY,
    MEMORY,
    NAMESPACE,
    PSEUDONYM_PREFIX,
    SWEEP,
    TRANSCRIPT,
    Forget,
    Place,
    Target,
)
from memoranda.model.graph_operations import ENTITY as NAMED
from memoranda.model.ids import IdSource, is_derived
from memoranda.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    Assert,
    Cite,
    Erase,
    KeepTranscript,
    Mentioned,
    Remember,
    Rest,
)
from memoranda.storage.port import Reader, Writer

_PSEUDONYM_BYTES = 8


class Findings(msgspec.Struct, frozen=True):
    """What goes with a target: places whose content does, and a name that does everywhere."""

    places: frozenset[Place]
    names: Names | None = None
    mentioning: frozenset[int] = frozenset()
    """The commits in which the name may stand."""
    entity: frozenset[str] = frozenset()
    """The keys of the names of an entity that goes."""

    @property
    def commits(self) -> set[int]:
        """Every commit that has to be looked at."""
        return {commit for commit, _ in self.places} | self.mentioning

    def left_of(self, place: Place, operation: AnyOperation) -> Left | None:
        """Return what stays of an operation; None: all of it."""
        names = self.names
        if place in self.places and (names is None or not names.owns(operation)):
            left = self._without_content(operation)
            return left_if_changed(operation, left, (operation.namespace, operation.agent_id))
        return None if names is None else names.left_of(operation)

    def _without_content(self, operation: AnyOperation) -> Rest | None:
        if self.entity and isinstance(operation, Mentioned):
            gone = [each.kind == NAMED and each.key in self.entity for each in operation.names]
            stays = tuple(
                name for name, goes in zip(operation.names, gone, strict=True) if not goes
            )
            return replace(operation, names=stays) if stays else None
        return without_content(operation)


def forget(
    writer: Writer, views: Views, asked: Forget, *, by: str, commit_ts: int, ids: IdSource
) -> Erase:
    """Erase what goes with a target, or raise `NotFound`, and return what is to be said of it."""
    pseudonym = new_pseudonym(ids) if asked.target.kind in (AGENT, NAMESPACE) else None
    found = find(writer, views, asked.target, asked.viewer, pseudonym)
    actor = None
    if asked.target.kind == AGENT and pseudonym is not None:
        actor = (asked.target.name, pseudonym)
    erasure = Erasure(writer, views, commit_ts, ids)
    erasure.erase(found.commits, found.left_of, actor, envelopes=True)
    if not erasure.tally.count:
        raise not_found(asked.target)
    erasure.forget_requests()
    if asked.target.kind == AGENT:
        writer.run("scope_drop_agent", agent_id=asked.target.name)
        drop_cursors_of(writer, asked.target.name)
    if found.names is not None and asked.target.kind == NAMESPACE:
        for namespace in found.names.spaces:
            writer.run("scope_drop_namespace", namespace=namespace)
        if asked.target.children:
            name = asked.target.name
            writer.run("scope_drop_below", first=f"{name}/", beyond=f"{name}0")
    return Erase(
        ENGINE_SCOPE.namespace,
        ENGINE_SCOPE.agent_id,
        asked.erasure_id,
        asked.target.kind,
        pseudonym if pseudonym and actor and by == actor[0] else by,
        asked.reason,
        erasure.tally.count,
        erasure.tally.digest,
        pseudonym,
    )


def was_forgotten_since(reader: Reader, since: int) -> bool:
    """Say whether anything was erased after a commit that could be asked for then.

    A compaction erases nothing that could be, from its horizon on.
    """
    while (row := reader.row("erasure_behind", after=since)) is not None:
        (since,) = row
        (event,) = pages.events_of(reader, [since])
        said = (each for each in codec.decode_standing(event.operations) if isinstance(each, Erase))
        if any(each.target != COMPACTION for each in said):
            return True
    return False


def would_erase(reader: Reader, views: Views, asked: Forget) -> bool:
    """Say whether there is anything that goes with a target."""
    try:
        found = find(reader, views, asked.target, asked.viewer, PSEUDONYM_PREFIX)
    except NotFound:
        return False
    actor = asked.target.name if asked.target.kind == AGENT else None
    return any(
        codec.decode_envelope(event.envelope).actor == actor
        or any(
            found.left_of((event.commit_ts, position), operation) is not None
            for position, operation in enumerate(codec.decode_standing(event.operations))
        )
        for event in pages.events_of(reader, sorted(found.commits))
    )


def find(
    reader: Reader, views: Views, target: Target, viewer: str | None, pseudonym: str | None = None
) -> Findings:
    """Return everything that goes with a target, or raise `NotFound`."""
    found = _find(reader, views, target, viewer, pseudonym)
    facts = frozenset(_derived_facts(reader, found))
    if not facts:
        return found
    names = replace(found.names or Names(), facts=facts)
    return replace(found, names=names, mentioning=_mentioning(reader, names))


def _derived_facts(reader: Reader, found: Findings) -> Iterator[str]:
    """Yield the assertions that go, and whose ids tell what they said to who guesses it."""
    for event in pages.events_of(reader, sorted(found.commits)):
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            if isinstance(operation, Assert) and is_derived(operation.assertion_id):
                left = found.left_of((event.commit_ts, position), operation)
                if left is not None and left.rest is None:
                    yield operation.assertion_id


def _find(
    reader: Reader, views: Views, target: Target, viewer: str | None, pseudonym: str | None
) -> Findings:
    """Return the operations and the name that go with a target."""
    if target.kind == SWEEP:
        return _find_overdue(reader, views, target)
    if target.kind in (AGENT, NAMESPACE):
        return _find_named(reader, views, target, viewer, pseudonym)
    if target.kind == FACTS:
        return _find_facts(reader, views, target, viewer)
    places = views.places(reader, target, viewer)
    if not places:
        raise not_found(target)
    if target.kind == ENTITY:
        keys = frozenset(name.key for name in views.names(reader, target))
        return Findings(frozenset(places), entity=keys)
    if target.kind != KEY:
        places |= _facts_from(reader, views, target.name, viewer)
        for memory_id in _citing(reader, target) if target.derived else ():
            places |= views.places(reader, Target(MEMORY, memory_id), None)
            places |= _facts_from(reader, views, memory_id, None)
        return Findings(frozenset(places))
    assert target.scope is not None, "a key has a scope"
    names = Names(key=(target.scope, target.name))
    return Findings(frozenset(places), names, _mentioning(reader, names))


def _find_facts(reader: Reader, views: Views, target: Target, viewer: str | None) -> Findings:
    """Return what was said on the ground of a memory or a transcript that somebody may see."""
    sources: tuple[Target, ...] = (Target(MEMORY, target.name), Target(TRANSCRIPT, target.name))
    places = _facts_from(reader, views, target.name, viewer)
    if not places or not any(views.places(reader, source, viewer) for source in sources):
        raise not_found(target)
    return Findings(frozenset(places))


def _find_overdue(reader: Reader, views: Views, sweep: Target) -> Findings:
    """Return what nothing needs any more; what facts come from is needed, with its own ground."""
    due = views.overdue(reader, sweep, frozenset())
    spared = {each.name for each in due if _facts_from(reader, views, each.name, None)}
    if spared:
        due = views.overdue(reader, sweep, spared)
    if not due:
        raise not_found(sweep)
    return Findings(frozenset().union(*(views.places(reader, each, None) for each in due)))


def _find_named(
    reader: Reader, views: Views, target: Target, viewer: str | None, pseudonym: str | None
) -> Findings:
    """Return what an agent or a namespace has, and what others said on the ground of that."""
    if target.kind == AGENT:
        names = Names(agent_id=target.name, pseudonym=pseudonym)
    else:
        names = Names(namespace=target.name, pseudonym=pseudonym, children=target.children)
    mentioning = _mentioning(reader, names)
    places: set[Place] = set()
    for source in _sources(reader, names, mentioning):
        places |= _facts_from(reader, views, source, viewer)
    return Findings(frozenset(places), names, mentioning)


def _citing(reader: Reader, transcript: Target) -> set[str]:
    """Return the memories that ever cited a transcript, whoever's they are."""
    needle = msgspec.msgpack.encode(transcript.name)
    commits = [row[0] for row in reader.rows("events_with", needle=needle)]
    return {
        operation.memory_id
        for event in pages.events_of(reader, sorted(commits))
        for operation in codec.decode_standing(event.operations)
        if isinstance(operation, Cite) and operation.transcript_id == transcript.name
    }


def _facts_from(reader: Reader, views: Views, source: str, viewer: str | None) -> set[Place]:
    return views.places(reader, Target(FACTS, source), viewer)


def _mentioning(reader: Reader, names: Names) -> frozenset[int]:
    """Return the commits in which a name stands, somewhere: one look at the whole log."""
    return frozenset(
        row[0] for needle in names.needles for row in reader.rows("events_with", needle=needle)
    )


def _sources(reader: Reader, names: Names, commits: Iterable[int]) -> Iterator[str]:
    """Yield the memories and transcripts that are an agent's, or in a namespace."""
    for event in pages.events_of(reader, sorted(commits)):
        for operation in codec.decode_standing(event.operations):
            if names.owns(operation):
                if isinstance(operation, Remember):
                    yield operation.memory_id
                elif isinstance(operation, KeepTranscript):
                    yield operation.transcript_id


def new_pseudonym(ids: IdSource) -> str:
    """Return a name that says nothing, for an agent or a namespace that is forgotten."""
    return f"{PSEUDONYM_PREFIX}{ids.entropy(_PSEUDONYM_BYTES).hex()}"


def not_found(target: Target) -> NotFound:
    """Return the error that there is nothing to forget."""
    if target.kind == SWEEP:
        return NotFound("there is nothing to sweep")
    if target.kind == FACTS:
        return NotFound(f"no fact has {target.name!r} as its source")
    return NotFound(f"there is no {target} to forget")
