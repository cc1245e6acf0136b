"""Importing an exported log into a new store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import IO

from memoranda.audit.log_import import fill
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.verification import Verification
from memoranda.model.clock import SystemClock
from memoranda.model.limits import check_callable, shown
from memoranda.sdk.arrival import check_arrived
from memoranda.sdk.open import check_vacant, open_engine, place_file
from memoranda.sdk.registry import all_views
from memoranda.sdk.urls import Url, file_of
from memoranda.storage.newfiles import appearing, keep_private
from memoranda.storage.port import Progress

_BUFFER = 1024 * 1024


def import_log(
    path: Url | IO[bytes], url: Url, *, progress: Progress | None = None
) -> Verification:
    """Make a new store from an exported log: a file's path, or what is open for reading bytes.

    It has the same id, chain and answers. Each line is checked on the way; however it ends, there
    is the whole store or none. The first write in it begins a new epoch.
    """
    check_callable("progress", progress)
    target = file_of("url", url)
    check_vacant("url", target)
    put = partial(place_file, "url")
    with _opened(path) as file, appearing("url", target, put=put) as draft:
        engine = open_engine(draft, durability="relaxed", allow_network_file_system=True)
        with closing(engine):
            found = fill(engine, file, all_views(), SystemClock(), progress)
        if isinstance(path, (str, os.PathLike)):
            keep_private(draft, file_of("path", path))
    copy = open_engine(target, create=False, allow_network_file_system=True)
    check_arrived(copy, target, found.log_id, found.commits, found.head_hash)
    return found


@contextmanager
def _opened(path: Url | IO[bytes]) -> Iterator[IO[bytes]]:
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "readline"):
            raise InvalidInput("path", f"{shown(path)} is neither a path nor an open file")
        yield path
        return
    source = file_of("path", path)
    try:
        opened = source.open("rb", buffering=_BUFFER)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {source}: check the path") from error
    except OSError as error:
        raise InvalidInput("path", f"{source} cannot be read: {error.strerror}") from error
    with opened:
        yield opened
