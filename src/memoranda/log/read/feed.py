"""Feeds: replay that continues from history into new commits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from memoranda.errors import InvalidInput
from memoranda.log import pages
from memoranda.log.read import as_of
from memoranda.log.read.cursors import Cursor
from memoranda.log.read.replay import Bounds, Replay
from memoranda.log.read.visibility import Selection
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.model.limits import check_integer
from memoranda.model.receipt import HasCommit
from memoranda.storage.port import Engine, Reader

_MAX_COMMIT = 2**63 - 1
"""The largest commit number: databases store no larger integer."""

Shown = TypeVar("Shown", ReplayEvent, StoredEvent | ReplayEvent)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Where a feed begins, as the caller states it; a stored cursor takes precedence."""

    after_commit: int | str | HasCommit | None = None
    last: int | None = None
    cursor: Cursor | None = None

    def check(self) -> None:
        """Raise `InvalidInput` for a combination that is not allowed."""
        if self.last is None:
            return
        check_integer("last", self.last, minimum=0, noun="a number of events")
        for field in ("after_commit", "cursor"):
            if getattr(self, field) is not None:
                raise InvalidInput(
                    "last", f"cannot be combined with {field}: each says where to begin"
                )

    def resolve(self, reader: Reader, log_id: str) -> int:
        """Return the commit to begin after: by default the log's end."""
        if self.after_commit is None:
            return pages.head_commit(reader)
        commit = as_of.commit_of_token(reader, "after_commit", log_id, self.after_commit)
        return min(commit, _MAX_COMMIT)


class Feed:
    """The log after a commit, page by page, including commits made since.

    It never waits, and does not depend on wake-ups: it replays from its position to the log's end
    again and again. So it sees scopes that are created meanwhile, returns nothing twice and leaves
    nothing out. After an error it continues behind the last page it returned.
    """

    def __init__(self, engine: Engine, log_id: str, selection: Selection, start: Start) -> None:
        start.check()
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        with engine.reading() as reader:
            cursor_commit = start.cursor.find(reader) if start.cursor else None
            self.position = (
                start.resolve(reader, log_id) if cursor_commit is None else cursor_commit
            )
            """The commit through which all selected events were returned."""
        self._new_cursor = start.cursor if cursor_commit is None else None
        self._last = start.last or 0
        self._search: Iterator[int | None] | None = None
        self._window: Replay | None = None

    @property
    def caught_up(self) -> bool:
        """Whether the last page reached the log's end at that time."""
        return self._window is None and not self._last

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events soon; an empty page does not mean `caught_up`."""
        return self._next_page(Replay.next_stretch)

    def next_stored_page(self) -> list[StoredEvent | ReplayEvent]:
        """As `next_page`, with the stored bytes of events that the viewer sees unchanged."""
        return self._next_page(Replay.next_stored_stretch)

    def _next_page(self, read_stretch: Callable[[Replay], list[Shown]]) -> list[Shown]:
        if self._new_cursor is not None:
            self._new_cursor.begin(self.position)
            self._new_cursor = None
        if self._last and not self._find_start():
            return []
        window, self._window = self._window, None  # dropped if it raises
        if window is None:
            window = self._replay(after=self.position)
        page = read_stretch(window)
        self.position = window.at
        if window.at < window.through:
            self._window = window
        return page

    def _find_start(self) -> bool:
        """Search for the first of the last events for a while; return whether it was found."""
        search, self._search = self._search, None
        if search is None:
            search = self._search_back()
        commit = next(search)
        if commit is None:
            self._search = search
            return False
        self.position, self._last = commit, 0
        return True

    def _search_back(self) -> Iterator[int | None]:
        """Yield the commit to begin after, searching ever farther back; None: not found yet."""
        head = after = self.position
        width = last = min(self._last, head)
        while after > 0:
            after = max(head - width, 0)
            commits: deque[int] = deque(maxlen=last)
            window = self._replay(after=after, through=head)
            while window.at < window.through:
                commits.extend(event.commit_ts for event in window.next_stretch())
                yield None
            if len(commits) == last:
                yield commits[0] - 1
            width *= 4
        yield 0

    def _replay(self, *, after: int, through: int | None = None) -> Replay:
        bounds = Bounds(after_commit=after, through_commit=through)
        return Replay(self._engine, self._log_id, self._selection, bounds)
