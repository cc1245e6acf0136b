"""Forgetting: find everything in the log that belongs to a target, and erase it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from memoranda.errors import Corruption, NotFound
from memoranda.log import pages
from memoranda.log.erasure.log_search import LogSearch
from memoranda.log.erasure.redact_operations import (
    Names,
    Replacement,
    replacement_if_changed,
    without_content,
)
from memoranda.log.erasure.rewrite_events import Erasure
from memoranda.log.read.cursors import drop_cursors_of
from memoranda.log.views import CitedNames, Views
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
    LogPosition,
    Target,
)
from memoranda.model.event import TOKEN_SIZE, ErasedEnvelope
from memoranda.model.ids import IdSource, is_derived_id
from memoranda.model.memory import inbox_of
from memoranda.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    Assert,
    Erase,
    KeepTranscript,
    NamesResidue,
    Redacted,
    Remember,
    Residue,
)
from memoranda.model.operations.graph import ENTITY as NAMED
from memoranda.model.operations.redacted import HiddenName, PseudonymSlot
from memoranda.model.scope import DEFAULT_ACTOR
from memoranda.storage.port import Reader, Writer

# Pseudonyms: where residues have them, and which commit must name them.
#
# A pseudonym opens no commitment, so anybody could have written it. It is valid only if it has the
# form of a generated one, and the erasing commit names it in its `Erase` operation.

_PSEUDONYM_FORM = re.compile(re.escape(PSEUDONYM_PREFIX) + r"[0-9a-f]{16}")
_RETRY_SIZES = (0, TOKEN_SIZE, 2 * TOKEN_SIZE)
"""Nothing, a token, or a token and a fingerprint: hashes, which carry no content."""

Claim = tuple[int, str]
"""A commit, and the pseudonym that its `Erase` operation must name."""


def pseudonym_claims(residue: AnyOperation | ErasedEnvelope) -> Iterator[Claim]:
    """Yield each pseudonym of a residue, with the commit that must name it."""
    if isinstance(residue, ErasedEnvelope):
        if len(residue.retry) not in _RETRY_SIZES:
            raise Corruption("the retry token of an erased envelope has a wrong size")
        if residue.actor:
            yield residue.erasure, _check_pseudonym(residue.actor)
    elif isinstance(residue, Redacted):
        first, second = residue.scope_slots
        if isinstance(first, HiddenName):
            yield first.erasure, _namespace_pseudonym(residue.namespace)
        if isinstance(second, HiddenName):
            yield second.erasure, _check_pseudonym(residue.agent_id)
        for slot in residue.slots:
            if isinstance(slot, PseudonymSlot):
                yield slot.erasure, _check_pseudonym(slot.name)


def named_pseudonyms(erase: Erase) -> frozenset[str]:
    """Return the pseudonyms that an erasing commit names."""
    own = () if erase.pseudonym is None else (erase.pseudonym,)
    return frozenset((*own, *erase.pseudonyms))


def _namespace_pseudonym(namespace: str) -> str:
    """Return the pseudonym of a namespace or of its inbox."""
    first = namespace.split("/")[0]
    if namespace not in (first, inbox_of(first)):
        raise Corruption(f"{namespace!r} stands for a forgotten namespace, and is no pseudonym")
    return _check_pseudonym(first)


def _check_pseudonym(name: str) -> str:
    if not _PSEUDONYM_FORM.fullmatch(name):
        raise Corruption(f"{name!r} stands for a forgotten name, and is no pseudonym")
    return name


# Forgetting: find everything that belongs to a target, and erase it.

_PSEUDONYM_BYTES = 8
"""Random bytes of a pseudonym: two of one log do not collide by chance."""


class Findings(msgspec.Struct, frozen=True):
    """What an erasure covers: positions whose content goes, and a name that goes everywhere."""

    places: frozenset[LogPosition]
    names: Names | None = None
    mentioning: frozenset[int] = frozenset()
    """The commits in which the name may occur."""
    entity: frozenset[str] = frozenset()
    """The name keys of an erased entity."""

    @property
    def commits(self) -> set[int]:
        """Every commit that has to be examined."""
        return {commit for commit, _ in self.places} | self.mentioning

    def replacement_of(self, place: LogPosition, operation: AnyOperation) -> Replacement | None:
        """Return the replacement of an operation; None: it stays as it is."""
        names = self.names
        if place in self.places and (names is None or not names.owns(operation)):
            residue = self._without_content(operation)
            return replacement_if_changed(
                operation, residue, (operation.namespace, operation.agent_id)
            )
        return None if names is None else names.replacement_of(operation)

    def _without_content(self, operation: AnyOperation) -> Residue | None:
        if self.entity and isinstance(operation, NamesResidue):
            names = tuple(
                name
                for name in operation.names
                if name.kind != NAMED or name.key not in self.entity
            )
            return replace(operation, names=names) if names else None
        return without_content(operation)


def forget(
    writer: Writer,
    views: Views,
    request: Forget,
    *,
    by: str,
    commit_ts: int,
    ids: IdSource,
    search: LogSearch | None = None,
) -> Erase:
    """Erase a target, and return the `Erase` operation that records it, or raise `NotFound`.

    `search` has what `search_ahead` found before the write lock was taken.
    """
    pseudonym = new_pseudonym(ids) if request.target.kind in (AGENT, NAMESPACE) else None
    findings = find(writer, views, request.target, request.viewer, pseudonym, search)
    actor = None
    if request.target.kind == AGENT and pseudonym is not None:
        actor = (request.target.name, pseudonym)
    erasure = Erasure(writer, views, commit_ts, ids)
    erasure.erase(findings.commits, findings.replacement_of, actor, envelopes=True)
    if not erasure.tally.count:
        raise not_found_error(request.target)
    erasure.forget_requests()
    if request.target.kind == AGENT:
        writer.run("scope_drop_agent", agent_id=request.target.name)
        drop_cursors_of(writer, request.target.name)
    if findings.names is not None and request.target.kind == NAMESPACE:
        for namespace in findings.names.namespaces:
            writer.run("scope_drop_namespace", namespace=namespace)
        if request.target.children:
            name = request.target.name
            writer.run("scope_drop_below", first=f"{name}/", end=f"{name}0")
    return Erase(
        ENGINE_SCOPE.namespace,
        ENGINE_SCOPE.agent_id,
        request.erasure_id,
        request.target.kind,
        pseudonym if pseudonym and actor and by == actor[0] else by,
        request.reason,
        erasure.tally.count,
        erasure.tally.digest,
        pseudonym,
    )


def search_ahead(reader: Reader, views: Views, request: Forget) -> LogSearch:
    """Search the log for what no index has, before an erasure takes the write lock."""
    search = LogSearch(is_open=True)
    if (request.target.kind, request.target.name) == (AGENT, DEFAULT_ACTOR):
        _commits_naming_agent(reader, views, request.target.name, search)
    search.close()
    return search


def was_forgotten_after(reader: Reader, after: int) -> bool:
    """Return whether anything readable was erased after a commit.

    A compaction does not count: it erases nothing that can be read from its horizon on.
    """
    while (row := reader.row("next_erasure", after=after)) is not None:
        (after,) = row
        (event,) = pages.events_of(reader, [after])
        erases = (
            erase for erase in codec.decode_effective(event.operations) if isinstance(erase, Erase)
        )
        if any(erase.target != COMPACTION for erase in erases):
            return True
    return False


def would_erase(reader: Reader, views: Views, request: Forget) -> bool:
    """Return whether there is anything to erase for a request."""
    try:
        findings = find(reader, views, request.target, request.viewer, PSEUDONYM_PREFIX)
    except NotFound:
        return False
    actor = request.target.name if request.target.kind == AGENT else None
    return any(
        codec.decode_envelope(event.envelope).actor == actor
        or any(
            findings.replacement_of((event.commit_ts, position), operation) is not None
            for position, operation in enumerate(codec.decode_effective(event.operations))
        )
        for event in pages.events_of(reader, sorted(findings.commits))
    )


def find(
    reader: Reader,
    views: Views,
    target: Target,
    viewer: str | None,
    pseudonym: str | None = None,
    search: LogSearch | None = None,
) -> Findings:
    """Return everything that belongs to a target, or raise `NotFound`."""
    search = search or LogSearch()
    findings = _find(reader, views, target, viewer, pseudonym, search)
    facts = frozenset(_derived_facts(reader, findings))
    if not facts:
        return findings
    names = replace(findings.names or Names(), facts=facts)
    citing = views.commits_citing(reader, CitedNames(assertion_ids=sorted(facts)))
    return replace(findings, names=names, mentioning=findings.mentioning | citing)


def _derived_facts(reader: Reader, findings: Findings) -> Iterator[str]:
    """Yield the ids of erased assertions that are derived from their content."""
    for event in pages.events_of(reader, sorted(findings.commits)):
        for position, operation in enumerate(codec.decode_effective(event.operations)):
            if isinstance(operation, Assert) and is_derived_id(operation.assertion_id):
                replacement = findings.replacement_of((event.commit_ts, position), operation)
                if replacement is not None and replacement.residue is None:
                    yield operation.assertion_id


def _find(
    reader: Reader,
    views: Views,
    target: Target,
    viewer: str | None,
    pseudonym: str | None,
    search: LogSearch,
) -> Findings:
    """Return the positions and the name of a target, without derived assertion ids."""
    if target.kind == SWEEP:
        return _find_expired(reader, views, target)
    if target.kind in (AGENT, NAMESPACE):
        return _find_named(reader, views, target, pseudonym, search)
    if target.kind == FACTS:
        return _find_facts(reader, views, target, viewer)
    places = views.places(reader, target, viewer)
    if not places:
        raise not_found_error(target)
    if target.kind == ENTITY:
        keys = frozenset(name.key for name in views.names(reader, target))
        return Findings(frozenset(places), entity=keys)
    if target.kind != KEY:
        sources = [target.name]
        for memory_id in views.citing_memories(reader, target.name) if target.derived else ():
            places |= views.places(reader, Target(MEMORY, memory_id), None)
            sources.append(memory_id)
        places |= views.places_from(reader, sources)
        return Findings(frozenset(places))
    assert target.scope is not None, "a key has a scope"
    key = (target.scope, target.name)
    citing = views.commits_citing(reader, CitedNames(key=key))
    return Findings(frozenset(places), Names(key=key), citing)


def _find_facts(reader: Reader, views: Views, target: Target, viewer: str | None) -> Findings:
    """Return the facts whose source is a memory or transcript that the viewer may see."""
    sources: tuple[Target, ...] = (Target(MEMORY, target.name), Target(TRANSCRIPT, target.name))
    places = views.places_from(reader, [target.name])
    if not places or not any(views.places(reader, source, viewer) for source in sources):
        raise not_found_error(target)
    return Findings(frozenset(places))


def _find_expired(reader: Reader, views: Views, sweep: Target) -> Findings:
    """Return what has expired and nothing needs; facts and keys need what they rest on."""
    targets = views.expired_targets(reader, sweep, frozenset())
    names = {target.name for target in targets}
    spared = set[str]()
    if views.places_from(reader, names):
        spared = {name for name in names if views.places_from(reader, [name])}
    spared |= views.needed(reader, names)
    if spared:
        targets = views.expired_targets(reader, sweep, spared)
    if not targets:
        raise not_found_error(sweep)
    return Findings(frozenset().union(*(views.places(reader, target, None) for target in targets)))


def _find_named(
    reader: Reader,
    views: Views,
    target: Target,
    pseudonym: str | None,
    search: LogSearch,
) -> Findings:
    """Return an agent's or namespace's operations, and the facts that others took from them."""
    if target.kind == AGENT:
        names = Names(agent_id=target.name, pseudonym=pseudonym)
        mentioning = _commits_naming_agent(reader, views, target.name, search)
    else:
        names = Names(namespace=target.name, pseudonym=pseudonym, children=target.children)
        mentioning = _commits_naming_namespace(reader, views, names)
    places = views.places_from(reader, _sources(reader, names, mentioning))
    return Findings(frozenset(places), names, mentioning)


def _commits_naming_agent(
    reader: Reader, views: Views, agent_id: str, search: LogSearch
) -> frozenset[int]:
    """Return the commits in which an agent's name may stand.

    The index of scopes has what it did and what was done in its scopes, and the table of public
    keys those that it signs with. Others name it only where a value of theirs cites one of its
    keys. What handles without an agent did is not indexed: the log is searched for their name.
    """
    if agent_id == DEFAULT_ACTOR:
        return frozenset(search.commits_with(reader, msgspec.msgpack.encode(agent_id)))
    scope_ids = [scope_id for (scope_id,) in reader.rows("scopes_of_agent", agent_id=agent_id)]
    rows = reader.rows("public_keys_of_agent", agent_id=agent_id)
    commits = frozenset(commit_ts for (commit_ts,) in rows)
    return commits | _commits_naming_scopes(reader, views, scope_ids)


def _commits_naming_namespace(reader: Reader, views: Views, names: Names) -> frozenset[int]:
    """Return the commits in which a namespace's name stands, or that of one below it."""
    first, end = (f"{names.namespace}/", f"{names.namespace}0") if names.children else ("", "")
    rows = reader.rows("scopes_of_namespaces", namespaces=names.namespaces, first=first, end=end)
    return _commits_naming_scopes(reader, views, [scope_id for (scope_id,) in rows])


def _commits_naming_scopes(
    reader: Reader, views: Views, scope_ids: Sequence[int]
) -> frozenset[int]:
    """Return the commits that touched some scopes, or whose values cite a key in them."""
    rows = reader.rows("commits_of_scopes", scope_ids=scope_ids)
    commits = frozenset(commit_ts for (commit_ts,) in rows)
    return commits | views.commits_citing(reader, CitedNames(scope_ids=scope_ids))


def _sources(reader: Reader, names: Names, commits: Iterable[int]) -> Iterator[str]:
    """Yield the memories and transcripts that belong to an agent or a namespace."""
    for event in pages.events_of(reader, sorted(commits)):
        for operation in codec.decode_effective(event.operations):
            if names.owns(operation):
                if isinstance(operation, Remember):
                    yield operation.memory_id
                elif isinstance(operation, KeepTranscript):
                    yield operation.transcript_id


def new_pseudonym(ids: IdSource) -> str:
    """Return a new, meaningless name for an erased agent or namespace."""
    return f"{PSEUDONYM_PREFIX}{ids.entropy(_PSEUDONYM_BYTES).hex()}"


def not_found_error(target: Target) -> NotFound:
    """Return the error that there is nothing to forget."""
    if target.kind == SWEEP:
        return NotFound("there is nothing to sweep")
    if target.kind == FACTS:
        return NotFound(f"not found: a fact with {target.name!r} as its source")
    return NotFound(f"not found: {target}")
