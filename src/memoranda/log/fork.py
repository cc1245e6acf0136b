"""Forks: a new log that begins with another one's events and goes its own way from there.

The events keep their times, envelopes, operations and salts, to the byte. Their hashes are new,
since a log's id is part of its first hash. The epoch in the first event says where the fork comes
from; resume tokens of the one log do not fit the other. Where something was erased by a later
commit than the fork has, one more event of the fork's own vouches for that.
"""

from __future__ import annotations

import msgspec

from memoranda.errors import ChainBroken
from memoranda.log import blobs, chain, epochs, lineage
from memoranda.log.inheriting import Inheritance
from memoranda.log.verification import checked_pages
from memoranda.log.views import Commit, Views
from memoranda.model import codec
from memoranda.model.event import Head, ResumeToken, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.storage.port import Engine, Progress


class Fork(msgspec.Struct, frozen=True):
    """A new log, and the place in another one's history where it begins."""

    log_id: str
    commits: int
    origin: str


def fork(
    source: Engine,
    log_id: str,
    target: Engine,
    *,
    through: int,
    views: Views,
    ids: IdSource,
    progress: Progress | None = None,
) -> Fork:
    """Fill an empty target with the source's events up to a commit, and build its views.

    The source's chain is checked on the way: a fork would otherwise lend a changed log a new one.
    """
    token = _token(source, log_id, through)
    origin = str(token)
    new_id = epochs.log_id_of(target, ids)
    last, inherited = chain.genesis(new_id), Inheritance(through)
    for page in checked_pages(source, log_id, through):
        if not last.commit_ts:
            page[0] = _begin_as_fork(page[0], token, ids)
        with source.reading() as reader, target.writing() as writer:
            for event in page:
                sealed = chain.seal_again(last, inherited.take(event))
                writer.put("event_append", *msgspec.structs.astuple(sealed))
                blobs.copy(reader, writer, sealed.commit_ts)
                views.apply(writer, Commit.of(sealed))
                last = Head(sealed.commit_ts, sealed.committed_at, sealed.hash)
        if progress is not None:
            progress(last.commit_ts, through)
    with source.snapshot() as reader, target.writing() as writer:
        inherited.copy_rows(reader, writer)
        vouching = inherited.vouch(writer, last, ids)
        if vouching is not None:
            writer.put("event_append", *msgspec.structs.astuple(vouching))
            views.apply(writer, Commit.of(vouching))
            last = Head(vouching.commit_ts, vouching.committed_at, vouching.hash)
        writer.run("meta_set", name="home", value=target.home())
        views.stamp(writer)
    return Fork(log_id=new_id, commits=last.commit_ts, origin=origin)


def _token(engine: Engine, log_id: str, commit_ts: int) -> ResumeToken:
    with engine.reading() as reader:
        row = reader.row("event_get", commit_ts=commit_ts)
    if row is None:
        raise ChainBroken(commit_ts, "it is missing")
    return ResumeToken(log_id, commit_ts, SealedEvent(*row).hash)


def _begin_as_fork(event: SealedEvent, token: ResumeToken, ids: IdSource) -> SealedEvent:
    """Return a log's first event with an epoch that says where the log comes from."""
    parts = codec.split(event.operations)
    position, epoch = lineage.epoch_in(event)
    parts[position] = codec.encode(
        msgspec.structs.replace(
            epoch,
            epoch_id=ids.unique(),
            cause="forked",
            origin=str(token),
            lineage=lineage.of_fork(event, token.log_id, token.commit_ts, token.hash),
        )
    )
    return msgspec.structs.replace(event, operations=codec.join(parts))
