"""Ways to a store under a grant, for the matrix of grants: in this process, or through a server."""

from __future__ import annotations

from typing import Any, Protocol

from memoranda import MemorandaError
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.registry import handle
from memoranda.log.read.feed import Feed
from memoranda.model.event import ReplayEvent
from memoranda.sdk.local.calls import LocalCalls
from tests.grant_worlds import StepIds, comparable


class Reach(Protocol):
    """A way to one store, for callers with any grant."""

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        """Return all of an answer: its value, its pages, or its events up to the end of the log."""
        ...


class InProcess:
    """The handlers themselves."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        if isinstance(call, WriteCall):
            return LocalCalls(self._core, grant).write(call)
        answer: Any = handle(self._core, grant, call)
        if call.shape == "stream":
            return _followed(answer)
        return [*iter(answer.next_page, [])] if call.shape == "pages" else answer


def _followed(feed: Feed) -> list[ReplayEvent]:
    """Return the events of a feed up to the end of the log."""
    events = feed.next_page()
    while not feed.caught_up:
        events += feed.next_page()
    return events


def asked(core: Core, grant: Grant, call: Call[Any], reach: Reach | None = None) -> Any:
    """Return all of an answer, or its error; the same ids are drawn whenever it is asked."""
    assert isinstance(core.ids, StepIds)
    core.ids.begin(10_000)
    try:
        return comparable((reach or InProcess(core)).answer(grant, call))
    except MemorandaError as error:
        return type(error), str(error)
