"""What tests about events share: short forms, and work beside the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from memoranda import ReplayEvent, Store
from tests.patience import HANG_SECONDS


def keys_of(events: Iterable[ReplayEvent]) -> list[str]:
    return [operation.key for event in events for operation in event.operations]


def commits_of(events: Iterable[ReplayEvent]) -> list[int]:
    return [event.commit_ts for event in events]


def write_all(store: Store, *keys: str, **scope: Any) -> None:
    for key in keys:
        store.write(key=key, value={}, **scope)


class Background(threading.Thread):
    """Work beside the test; what it raises is raised where its answer is asked for."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._answer: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._answer = self._work()
        except BaseException as error:  # noqa: BLE001
            self._error = error

    def answer(self) -> Any:
        self.join(HANG_SECONDS)
        assert not self.is_alive(), "it hangs"
        if self._error is not None:
            raise self._error
        return self._answer
