"""Calls that read keys: now, at a version, at a moment, and how they changed."""

from __future__ import annotations

from memoranda.calls.call import AnyMoment, Call, Handlers
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.log import pages
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import commit_at
from memoranda.model.limits import check_text, plain_text
from memoranda.state import reads
from memoranda.state.reads import StateChange, StateRecord, StateVersion


class GetState(Call[StateRecord | None], frozen=True):
    """Read the value of a key: now, at a version, or at a moment."""

    agent_id: str
    namespace: str
    key: str
    version: int | None = None
    at: AnyMoment = None


class ListKeys(Call[str], frozen=True):
    """List the keys that have a value, in the order of their UTF-8 bytes."""

    shape = "pages"

    agent_id: str
    namespace: str
    prefix: str = ""
    at: AnyMoment = None


class ScanPrefix(Call[StateRecord], frozen=True):
    """List the keys under a prefix with their values, in the order of their UTF-8 bytes."""

    shape = "pages"

    agent_id: str
    namespace: str
    prefix: str
    at: AnyMoment = None


class History(Call[StateVersion], frozen=True):
    """List every version of a key, deletions included, oldest first."""

    shape = "pages"

    agent_id: str
    namespace: str
    key: str
    since: AnyMoment = None


class Diff(Call[StateChange], frozen=True):
    """List the keys whose values differ between two moments, in order."""

    shape = "pages"

    agent_id: str
    namespace: str
    old: AnyMoment
    new: AnyMoment = None


def get_state(core: Core, grant: Grant, call: GetState) -> StateRecord | None:
    """Return the value, or None if the key had none."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    key = check_text("key", call.key, max_bytes=core.limits.key_bytes)
    if call.version is None and call.at is None:
        with core.engine.reading() as reader:
            return reads.get(reader, scope, key)
    version = check_optional_integer("version", call.version, minimum=1)
    with core.engine.snapshot() as reader:
        through = pages.head_commit(reader)
        if call.at is not None:
            through = commit_at(reader, "at", call.at)
        return reads.get_at(reader, scope, key, through, version)


def list_keys(core: Core, grant: Grant, call: ListKeys) -> Pages[str]:
    """Return the keys as of the moment."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    prefix = plain_text("prefix", call.prefix)
    return reads.Keys(core.engine, scope, prefix=prefix, at=core.commit_at("at", call.at))


def scan_prefix(core: Core, grant: Grant, call: ScanPrefix) -> Pages[StateRecord]:
    """Return the keys and values as of the moment."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    prefix = plain_text("prefix", call.prefix)
    return reads.Scan(core.engine, scope, prefix=prefix, at=core.commit_at("at", call.at))


def history(core: Core, grant: Grant, call: History) -> Pages[StateVersion]:
    """Return the versions; with `since`, from the one that the key had at that moment."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    key = check_text("key", call.key, max_bytes=core.limits.key_bytes)
    head = core.head()
    first = None if call.since is None else core.commit_at("since", call.since)
    return reads.History(core.engine, scope, key, through=head, since=first)


def diff(core: Core, grant: Grant, call: Diff) -> Pages[StateChange]:
    """Return the changes."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    first, last = core.commit_at("old", call.old), core.commit_at("new", call.new)
    return reads.Diff(core.engine, scope, old=first, new=last)


HANDLERS: Handlers = {
    GetState: get_state,
    ListKeys: list_keys,
    ScanPrefix: scan_prefix,
    History: history,
    Diff: diff,
}
