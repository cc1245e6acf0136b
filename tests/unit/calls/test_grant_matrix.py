"""What a grant does not cover looks like what does not exist, for every call.

`CASES` has a row for each call of the registry: what to ask it. Each question is asked of two
stores. In one of them, what the grant does not cover was never written: both answers must be equal,
errors included. In a third and a fourth, what is covered is linked with what is not, and only the
words of the latter differ. A call whose row is `REFUSED` needs a grant that covers everything.

The questions of a call that writes are asked one after another of stores of its own, so that both
change alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from memoranda import PermissionDenied
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.registry import CALLS, handle, stage_write
from memoranda.calls.transactions import AnsweredWithin
from memoranda.log import pages
from memoranda.search.explanation import RecallExplanation
from memoranda.search.results import Hit
from tests import grant_answers
from tests.cores import core_of
from tests.grant_reads import CASES, NAMING_IDS, REFUSED
from tests.grant_worlds import (
    ELSEWHERE,
    FOREIGN,
    GRANTS,
    LINKS,
    MARK,
    OWN,
    QUICK_GRANTS,
    Step,
    World,
    build,
    finish,
)
from tests.grant_writes import WRITE_CASES
from tests.quick import only

OF_ALL_SCOPES = {"agents", "namespaces", "audit_events", "replay", "timeline_buckets", "cursors",
                 "find_id", "find_ids", "subscribe"}  # fmt: skip
"""Calls that show more without a grant, even where nothing foreign was written: other agents' part
of the log, and the ids of erasures."""
SAME_WITHOUT = {"drop_cursor", "cursors", "begin", "refusals", "find_title", "find_event_time",
                "describe_store"}  # fmt: skip
"""Calls that do not depend on what the steps wrote."""


def asked(world: World, grant: Grant, call: Call[Any]) -> Any:
    """Return all of an answer, page by page, or its error."""
    return grant_answers.asked(core_of(world.store), grant, call)


def without_scores(answer: Any) -> Any:
    """Return an answer with the ids of hits: an inbox that is not searched counts in scores."""
    if isinstance(answer, list) and answer and isinstance(answer[0], Hit):
        return sorted(hit.id for hit in answer)
    if isinstance(answer, RecallExplanation):
        return sorted(hit.id for hit in answer.hits), sorted(item.id for item in answer.dropped)
    return answer


def rows(name: str, world: World) -> list[Call[Any]]:
    row = CASES[name]
    return [] if row is None else row(world.ids)


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that what is not covered would show in their lengths."""
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)
    monkeypatch.setattr(pages.ResumablePages, "rows", 5)


ASKED = [name for name, row in CASES.items() if row is not REFUSED]
READS = [name for name in ASKED if name in CALLS and CALLS[name].verb == "read"]
STEPS = [step for pair in zip(OWN, FOREIGN, strict=True) for step in pair]
"""Every step of an agent's own, each followed by a foreign one."""


@cache
def whole() -> World:
    return finish(build(STEPS))


@cache
def without(grant_name: str) -> World:
    return build_without(grant_name)


def build_without(grant_name: str) -> World:
    """Return a world in which only what a grant covers was written."""
    grant = GRANTS[grant_name]

    def is_foreign(step: Step) -> bool:
        return not step.is_covered(grant)

    return finish(build(STEPS, leave_out=is_foreign, like=whole()), is_foreign, whole())


def worlds(name: str, grant_name: str) -> tuple[World, World]:
    """Return the worlds with and without what is foreign: new ones for a call that writes."""
    if CALLS[name].verb == "read":
        return whole(), without(grant_name)
    return finish(build(STEPS)), build_without(grant_name)


@cache
def linked(words: str) -> World:
    return finish(build([*STEPS, *LINKS], words=words))


def test_every_call_has_a_row() -> None:
    assert CASES.keys() | WRITE_CASES.keys() == CALLS.keys()
    assert CASES.keys().isdisjoint(WRITE_CASES)
    for name, row in (CASES | WRITE_CASES).items():
        for call in [] if row is None else row(linked(MARK).ids):
            assert call_name(type(call)) == name


@pytest.mark.parametrize("grant_name", only(QUICK_GRANTS, GRANTS))
@pytest.mark.parametrize("name", ASKED)
def test_what_is_not_covered_looks_like_what_does_not_exist(name: str, grant_name: str) -> None:
    grant, (world, other) = GRANTS[grant_name], worlds(name, grant_name)
    for call in rows(name, world):
        assert asked(world, grant, call) == asked(other, grant, call), call


@pytest.mark.parametrize("name", [name for name in READS if name not in SAME_WITHOUT])
def test_the_same_questions_show_what_is_foreign_to_whoever_may_see_it(name: str) -> None:
    world, other = whole(), without("one agent in a namespace")
    assert any(
        asked(world, EVERYTHING, call) != asked(other, EVERYTHING, call)
        for call in rows(name, world)
    )


@pytest.mark.parametrize("name", [name for name in READS if name not in OF_ALL_SCOPES])
def test_what_is_covered_is_shown_as_without_a_grant(name: str) -> None:
    world, grant = without("one agent in a namespace"), GRANTS["one agent in a namespace"]
    calls = rows(name, world)
    for call in calls:
        answer, as_embedded = (asked(world, authority, call) for authority in (grant, Grant("a")))
        assert without_scores(answer) == without_scores(as_embedded), call
    assert any(asked(world, grant, call) for call in calls)


@pytest.mark.parametrize("name", READS)
def test_nothing_foreign_shows_through_links(name: str) -> None:
    grant = GRANTS["one agent in a namespace"]
    world, other = linked(MARK), linked(f"{MARK} other words")
    foreign = {world.ids[step.label] for step in (*FOREIGN, *LINKS) if not step.is_covered(grant)}
    for call in rows(name, world):
        answer = asked(world, grant, call)
        assert answer == asked(other, grant, call), call
        if not isinstance(answer, tuple):  # errors and tracked reads repeat what the caller said
            text = repr(answer.answer if isinstance(answer, AnsweredWithin) else answer)
            assert MARK not in text or name == "unused_relations", call
            assert ELSEWHERE not in text, call
            assert name in NAMING_IDS or not [one for one in foreign - {""} if one in text], call


@pytest.mark.parametrize("name", [name for name, row in CASES.items() if row is REFUSED])
def test_a_call_about_the_whole_store_is_refused(name: str) -> None:
    kind = CALLS[name]
    call = kind(**dict.fromkeys(kind.__struct_fields__))
    for grant_name, grant in GRANTS.items():
        ask: Callable[..., Any] = stage_write if isinstance(call, WriteCall) else handle
        with pytest.raises(PermissionDenied, match=f"{name} needs a grant that covers every"):
            ask(core_of(without(grant_name).store), grant, call)
