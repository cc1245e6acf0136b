"""The connection of a store to its server, for threads: the part that every transport shares."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.clock import SystemClock
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.patience import Patience
from memoranda.storage.thread_locks import check_process
from memoranda.wire.methods import Method


class MessageStream(ABC):
    """An answer of several messages. Dropping it cancels the call."""

    @abstractmethod
    def read(self) -> Any:
        """Return the next message; None at the end. Raise errors of ours."""

    @abstractmethod
    def cancel(self) -> None:
        """End the call, whatever comes of it; any thread may do that, also while another reads."""


class Connection(ABC):
    """Sends messages to a server, and repeats those that a lost connection left unanswered.

    All handles of a store share it, in any thread. A forked process must open the store itself.
    """

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        self.options = options
        self.place = str(options.url)
        self.is_closed = False
        self._ids = ids
        self._time = SystemClock()
        self._owner = os.getpid()

    def check_open(self) -> None:
        """Raise `StoreClosed` if it is closed, or if this is a fork of the process that made it."""
        check_process(self._owner)
        if self.is_closed:
            raise StoreClosed

    @property
    def is_forked(self) -> bool:
        """Whether this process is a fork of the one that made it."""
        return self._owner != os.getpid()

    def patience(self) -> Patience:
        """Return the patience of a new call."""
        return Patience(self.options.timeout, self._ids)

    def rest(self, seconds: float) -> None:
        """Wait before another attempt."""
        self._time.sleep(seconds)

    def ask(self, method: Method, message: Any, timeout: float | None = None) -> Any:
        """Return the one answer of a call; try again if the connection was lost meanwhile."""
        patience: Patience | None = None
        while True:
            self.check_open()
            try:
                return self._ask(method, message, timeout)
            except MemorandaError as error:
                patience = patience or self.patience()
                seconds = patience.pause(error)
            self.rest(seconds)

    def close(self) -> None:
        """End the calls that are under way, and the connection. A second call does nothing."""
        if self.is_closed or self.is_forked:
            return
        self.is_closed = True
        self._close()

    @abstractmethod
    def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        """Return the one answer of a call, which is sent once; `timeout` seconds is a deadline."""

    @abstractmethod
    def stream(self, method: Method, message: Any) -> MessageStream:
        """Return the messages of an answer; the call is sent with the first that is read."""

    @abstractmethod
    def _close(self) -> None:
        """End running calls."""
