"""Long answers of a server, for threads: pages that are read when they are used."""

from __future__ import annotations

from typing import Generic, TypeVar

from memoranda.calls.call import Call
from memoranda.calls.log import Replay
from memoranda.errors import MemorandaError, Unavailable
from memoranda.model.event import ReplayEvent
from memoranda.sdk.remote.connection import Connection, MessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.events import ReplayProgress
from memoranda.sdk.remote.sending import Sender
from memoranda.wire.codec import items_of
from memoranda.wire.methods import METHOD_OF

Item = TypeVar("Item")


class RemotePages(Generic[Item]):
    """The pages of a listing. Its first message says that the call is checked and its moment set.

    A page that nobody reads stays on its way: the server waits. Dropping the pages ends the call.
    """

    def __init__(self, connection: Connection, sender: Sender, call: Call[Item]) -> None:
        self._connection = connection
        self._kind = type(call)
        self._count = 0
        method, message = METHOD_OF[self._kind], sender.request(call)
        patience = connection.patience()
        while True:
            self._stream = connection.stream(method, message)
            try:
                self._first = self._read()
            except MemorandaError as error:
                connection.rest(patience.pause(error))
            else:
                return

    def next_page(self) -> list[Item]:
        """Return the next items; an empty list at the end."""
        items, self._first = self._first, []
        try:
            while items == []:
                items = self._read()
        except ConnectionLost as error:
            raise lost_list(self._connection.place, self._count) from error
        self._count += len(items or ())
        return items or []

    def _read(self) -> list[Item] | None:
        """Return the items of the next message; None at the end."""
        message = self._stream.read()
        return None if message is None else items_of(self._kind, message)


class ReplayPages:
    """The pages of a replay, which goes on by itself after a lost connection."""

    def __init__(self, connection: Connection, sender: Sender, call: Replay) -> None:
        self._connection = connection
        self._sender = sender
        self._progress = ReplayProgress(call)
        self._patience = connection.patience()
        self._stream: MessageStream | None = None
        self._first = self._read()

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events; an empty list at the end."""
        events, self._first = self._first, []
        while events == []:
            events = self._read()
        return events or []

    def _read(self) -> list[ReplayEvent] | None:
        """Return the events of the next message, perhaps none; None at the end."""
        while True:
            try:
                if self._stream is None:
                    request = self._sender.request(self._progress.call, stored=True)
                    self._stream = self._connection.stream(METHOD_OF[Replay], request)
                page = self._stream.read()
            except MemorandaError as error:
                self._stream = None
                seconds = self._patience.pause(error)
            else:
                self._patience.reset()
                return None if page is None else self._progress.take(page)
            self._connection.rest(seconds)


def lost_list(place: str, count: int) -> Unavailable:
    """Return the error of a listing that cannot go on: another one would be of another moment."""
    return Unavailable(
        f"the connection to {place} was lost after {count} items of a list: ask for it again"
    )
