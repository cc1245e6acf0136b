"""Readers that go on while their server is killed: a subscription, and replays one after another.

Each writes what it has received to a file of its own, one line an event: its commit and its hash.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from memoranda import ALL_AGENTS, ALL_NAMESPACES, Store, Unavailable
from memoranda.model.event import ReplayEvent
from tests.crash.server.lanes import Stop

REPLAYED = 2_000
"""Events of one replay."""


class Watcher:
    """A subscription to all events, from the first one on."""

    def __init__(self, store: Store, path: Path) -> None:
        self._subscription = store.subscribe(
            agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, after_commit=0
        )
        self._path = path
        self.last = 0
        """The last commit that was received."""

    def run(self) -> None:
        """Receive until the subscription is closed; where it gives up, it is asked again."""
        with self._path.open("w") as file:
            while True:
                try:
                    for event in self._subscription:
                        file.write(line_of(event))
                        self.last = event.commit_ts
                except Unavailable:
                    continue
                return

    def close(self) -> None:
        self._subscription.close()


class Replayer:
    """Replays the last events again and again, so slowly that servers end meanwhile."""

    def __init__(self, store: Store, watcher: Watcher, path: Path) -> None:
        self._store = store
        self._watcher = watcher
        self._path = path

    def run(self, stopped: Stop) -> None:
        """Replay until it is time to stop."""
        with self._path.open("w") as file:
            while not stopped():
                after = max(0, self._watcher.last - REPLAYED)
                try:
                    events = self._store.replay(
                        agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, after_commit=after
                    )
                    file.writelines(self._lines(events))
                except Unavailable:
                    file.write("interrupted\n")
                else:
                    file.write("complete\n")
                time.sleep(0.05)

    @staticmethod
    def _lines(events: Iterable[ReplayEvent]) -> Iterable[str]:
        for number, event in enumerate(events):
            if number % 100 == 0:
                time.sleep(0.02)
            yield line_of(event)


def line_of(event: ReplayEvent) -> str:
    """Return the line of an event."""
    return f"{event.commit_ts} {event.hash.hex()}\n"
