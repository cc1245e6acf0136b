"""Feeds: replay that goes on, from history into what is committed from now on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from memoranda.errors import InvalidInput
from memoranda.log import moments, pages
from memoranda.log.cursors import Cursor
from memoranda.log.replay import Bounds, Replay
from memoranda.log.selection import Selection
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import shown
from memoranda.storage.port import Engine, Reader

_MOST_COMMIT = 2**63 - 1


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Where a feed begins, as the caller says it. A cursor that has a place knows better."""

    after_commit: int | str | None = None
    last: int | None = None
    cursor: Cursor | None = None

    def check(self) -> None:
        """Refuse what makes no sense, alone or together."""
        if self.last is None:
            return
        _check_count("last", self.last)
        for other in ("after_commit", "cursor"):
            if getattr(self, other) is not None:
                raise InvalidInput("last", f"cannot stand beside {other}: each says where to begin")

    def resolve(self, reader: Reader, log_id: str) -> int:
        """Return the commit to begin behind: the log's end, if nothing else is said."""
        if self.after_commit is None:
            return pages.head_commit(reader)
        commit = moments.commit_of_token(reader, "after_commit", log_id, self.after_commit)
        return min(commit, _MOST_COMMIT)


class Feed:
    """The log behind a commit, page by page, as far as it goes; and more when it has grown.

    It never waits, and trusts no wake-up: it replays from where it is to the log's end, over and
    over. So it sees scopes that come into being meanwhile, gives nothing twice and leaves nothing
    out. After an error it goes on behind the last page it gave.
    """

    def __init__(self, engine: Engine, log_id: str, selection: Selection, start: Start) -> None:
        start.check()
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        self._cursor = start.cursor
        with engine.reading() as reader:
            kept = start.cursor.find(reader) if start.cursor else None
            self.position = start.resolve(reader, log_id) if kept is None else kept
            """The commit up to which everything asked for has been given."""
        self._new_cursor = start.cursor if kept is None else None
        self._last = start.last or 0
        self._search: Iterator[int | None] | None = None
        self._window: Replay | None = None

    @property
    def caught_up(self) -> bool:
        """Whether the last page reached the log's end, where it was then."""
        return self._window is None and not self._last

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events, after a short while: perhaps none, though not `caught_up`."""
        if self._new_cursor is not None:
            self._new_cursor.begin(self.position)
            self._new_cursor = None
        if self._last and not self._set_back():
            return []
        window, self._window = self._window, None  # an error in it is its end
        if window is None:
            window = self._replay(after=self.position)
        page = window.next_stretch()
        self.position = window.at
        if window.at < window.through:
            self._window = window
        return page

    def acknowledge(self, event: ReplayEvent) -> None:
        """Move the cursor behind an event, durably."""
        if self._cursor is None:
            raise InvalidInput("cursor", "is missing: subscribe(cursor=…) keeps what is done")
        self._cursor.advance(event)

    def _set_back(self) -> bool:
        """Search for the first of the last events for a while, and say whether it is found."""
        search, self._search = self._search, None
        if search is None:
            search = self._look_back()
        found = next(search)
        if found is None:
            self._search = search
            return False
        self.position, self._last = found, 0
        return True

    def _look_back(self) -> Iterator[int | None]:
        """Yield the commit to begin behind, looking ever farther back; None: not found yet."""
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


def _check_count(field: str, count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidInput(field, f"{shown(count)} is not a number of events, 0 or more")
