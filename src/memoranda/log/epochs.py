"""Identity and epochs: which log this is, and the places it has lived in.

A log keeps its id when its file is copied or restored. The first event written in a new place
carries an epoch, so that a reader of the log sees where a history went on from a copy.
"""

from __future__ import annotations

from functools import partial

from memoranda.errors import Corruption
from memoranda.log import pages
from memoranda.model.event import Head, ResumeToken
from memoranda.model.ids import IdSource
from memoranda.model.operations import ENGINE_SCOPE, Epoch
from memoranda.storage.port import Engine, Reader, Row, Writer


def known_log_id(reader: Reader) -> str | None:
    """Return the log's id, if it has one yet."""
    row = reader.row("meta_get", name="log_id")
    return str(row[0]) if row else None


def log_id_of(engine: Engine, ids: IdSource) -> str:
    """Return the log's id; a new log gets one."""
    with engine.reading() as reader:
        known = reader.row("meta_get", name="log_id")
    if known is None:
        known = engine.write(partial(_keep_log_id, ids=ids))
    return str(known[0])


def _keep_log_id(writer: Writer, ids: IdSource) -> Row:
    """Give the log an id, unless another process was first; a log with events must have one."""
    if (known := writer.row("meta_get", name="log_id")) is not None:
        return known
    if pages.head_commit(writer):
        raise Corruption("the log's id is missing from the store: restore a backup")
    log_id = ids.unique()
    writer.run("meta_set", name="log_id", value=log_id)
    return (log_id,)


def begin_if_moved(
    writer: Writer, home: str, log_id: str, head: Head, ids: IdSource
) -> list[Epoch]:
    """Return the epoch to log if these bytes were last written in another place, or never."""
    last_home = writer.row("meta_get", name="home")
    if last_home == (home,):
        return []
    writer.run("meta_set", name="home", value=home)
    last_epoch = writer.row("meta_get", name="epoch")
    origin = ResumeToken(log_id, head.commit_ts, head.hash) if head.commit_ts else None
    return [
        Epoch(
            namespace=ENGINE_SCOPE.namespace,
            agent_id=ENGINE_SCOPE.agent_id,
            version=int(last_epoch[0]) + 1 if last_epoch else 1,
            epoch_id=ids.unique(),
            cause="copied" if origin else "created",
            origin=str(origin) if origin else None,
        )
    ]
