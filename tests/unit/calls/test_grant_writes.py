"""What a grant does not cover looks like what does not exist, for every call that writes.

Each row of `WRITE_CASES` is asked of copies of two stores. In one of them, what the grant does not
cover was never written, nor linked with what is covered. Every answer must be the same, errors
included, and what is covered must be the same afterwards. Nothing is written where an error is
raised, and nothing where the grant does not reach.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoranda import PermissionDenied
from memoranda.calls.call import WriteCall
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.log import Replay
from memoranda.calls.registry import handle
from memoranda.log.erasure.certificate import Certificate
from memoranda.model.operations import Delete, Notify, NotifyStale, Refuse, Write
from tests.cores import core_of
from tests.grant_copies import answered, linked, opened, whole, without
from tests.grant_worlds import (
    ELSEWHERE,
    FOREIGN,
    GRANTS,
    LINKS,
    MARK,
    QUICK_GRANTS,
    World,
    comparable,
)
from tests.grant_writes import WRITE_CASES
from tests.quick import only

ONE_AGENT = GRANTS["one agent in a namespace"]
SAME_WITHOUT = {"alias", "configure", "store_transcript"}
"""Calls that do not depend on what the steps wrote."""


def rows(name: str, world: World) -> list[tuple[int, WriteCall[Any]]]:
    return [*enumerate(WRITE_CASES[name](world.ids))]


def covered_log(world: World, grant: Grant) -> list[Any]:
    pages: Any = handle(core_of(world.store), grant, Replay(None, None))
    return [comparable(page) for page in iter(pages.next_page, [])]


@pytest.mark.parametrize("grant_name", only(QUICK_GRANTS, GRANTS))
@pytest.mark.parametrize("name", WRITE_CASES)
def test_what_is_not_covered_looks_like_what_does_not_exist(
    name: str, grant_name: str, tmp_path: Path
) -> None:
    grant = GRANTS[grant_name]
    with opened(whole(), tmp_path) as world, opened(without(grant), tmp_path) as other:
        for number, call in rows(name, world):
            answer = answered(world, grant, call, number)
            assert answer == answered(other, grant, call, number), call
        assert covered_log(world, grant) == covered_log(other, grant)
        _assert_nothing_written_elsewhere(world, grant)


def _assert_nothing_written_elsewhere(world: World, grant: Grant) -> None:
    replay = Replay(None, None, after_commit=whole().head)
    pages: Any = handle(core_of(world.store), EVERYTHING, replay)
    events = [event for page in iter(pages.next_page, []) for event in page]
    for operation in (part for event in events for part in event.operations):
        assert (
            isinstance(operation, (Notify, NotifyStale, Refuse))  # the engine's own
            or grant.covers(operation.namespace, operation.agent_id)
            or (
                not isinstance(operation, (Write, Delete))
                and grant.coverage.covers_namespace(operation.namespace)
            )
        ), operation


@pytest.mark.parametrize("name", [name for name in WRITE_CASES if name not in SAME_WITHOUT])
def test_the_same_calls_reach_what_is_foreign_for_whoever_may(name: str, tmp_path: Path) -> None:
    with opened(whole(), tmp_path) as world, opened(without(ONE_AGENT), tmp_path) as other:
        assert any(
            answered(world, EVERYTHING, call, number) != answered(other, EVERYTHING, call, number)
            for number, call in rows(name, world)
        )


@pytest.mark.parametrize("name", WRITE_CASES)
def test_what_is_covered_is_written_as_without_a_grant(name: str, tmp_path: Path) -> None:
    done = 0
    with (
        opened(without(ONE_AGENT), tmp_path) as world,
        opened(without(ONE_AGENT), tmp_path) as other,
    ):
        for number, call in rows(name, world):
            answer = answered(world, ONE_AGENT, call, number)
            if isinstance(answer, tuple) and answer[0] is PermissionDenied:
                continue
            as_embedded = answered(other, Grant("a"), call, number)
            if isinstance(answer, Certificate):  # it counts less under a grant
                answer, as_embedded = answer.erasure_id, as_embedded.erasure_id
            assert answer == as_embedded, call
            done += not isinstance(answer, tuple)
        assert covered_log(world, ONE_AGENT) == covered_log(other, ONE_AGENT)
    assert done


@pytest.mark.parametrize("name", WRITE_CASES)
def test_nothing_foreign_shows_through_links(name: str, tmp_path: Path) -> None:
    words, other_words = linked(MARK), linked(f"{MARK} other words")
    foreign = {
        words.ids[step.label] for step in (*FOREIGN, *LINKS) if not step.is_covered(ONE_AGENT)
    }
    with opened(words, tmp_path) as world, opened(other_words, tmp_path) as other:
        for number, call in rows(name, world):
            answer = answered(world, ONE_AGENT, call, number)
            assert answer == answered(other, ONE_AGENT, call, number), call
            call_text, text = repr(call), repr(answer)
            for secret in (MARK, ELSEWHERE, *(foreign - {""})):
                assert secret not in text or secret in call_text, call
