"""What a token does not cover looks like what does not exist, for every method of the service.

`CASES` has a row for each method of the service's descriptor: requests about what is covered and
what is not. They are sent to servers of two stores. In one of them, what the token's grant does not
cover was never written: all answers must be equal, statuses included.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.model.clock import FixedClock
from memoranda.server.control_store import ControlStore
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.stores import StoreOptions
from tests.grant_copies import Saved, whole, without
from tests.grant_worlds import ELSEWHERE, GRANTS, MARK, QUICK_GRANTS, TEAM, StepIds
from tests.quick import only
from tests.unit.server.statehouse.serving import Client, Refusal, serve

METHODS = pb.DESCRIPTOR.services_by_name["StatehouseService"].methods_by_name
ONE_AGENT = GRANTS["one agent in a namespace"]
SCOPES: list[dict[str, Any]] = [
    {"agent_id": agent, "namespace": place}
    for agent, place in product(
        ("a", "b", "nobody"), (TEAM, ELSEWHERE, f"{TEAM}/sub", "nowhere", "")
    )
]
KEYS = ("plan", "resting", MARK, "none")
Ask = Callable[..., Awaitable[Any]]
"""Sends a request, and returns its answer, or its error."""
Row = Callable[[Ask], Awaitable[None]]
Answers = list[tuple[str, str]]
"""Requests, and what came back."""


def reads(name: str, *requests: dict[str, Any]) -> Row:
    async def row(ask: Ask) -> None:
        for scope in SCOPES:
            for request in requests:
                await ask(name, **scope, **request)

    return row


async def _transactions(ask: Ask) -> None:
    """Write and delete keys in each scope, in transactions of their own, and in one."""
    for scope in SCOPES:
        for change in ({"value": {"v": 1}}, {}):
            txn_id = (await ask("BeginTransaction", timeout_ms=60_000)).txn_id
            name = "Write" if change else "Delete"
            await ask(name, txn_id=txn_id, key="plan", **scope, **change)
            await ask("Commit", txn_id=txn_id)
            await ask("Commit", txn_id=txn_id)
            await ask("GetState", key="plan", **scope)
    txn_id = (await ask("BeginTransaction")).txn_id
    for scope in SCOPES:
        await ask("Write", txn_id=txn_id, key="other", value={"v": 1}, **scope)
    await ask("Commit", txn_id=txn_id)
    for scope in SCOPES:
        await ask("ListKeys", **scope)


async def _abandoned(ask: Ask) -> None:
    """End transactions that are one's own, over, or those of nobody."""
    txn_id = (await ask("BeginTransaction")).txn_id
    for name in (txn_id, txn_id, "none", MARK):
        await ask("Abort", txn_id=name)
        await ask("Commit", txn_id=name)


async def _about_the_server(ask: Ask) -> None:
    await ask("Health")
    await ask("Version")


BOUNDS: list[dict[str, Any]] = [{}, {"start_ts": 20}, {"end_ts": 30}, {"start_ts": 5, "end_ts": 50}]
CASES: dict[str, Row] = {
    "Health": _about_the_server,
    "Version": _about_the_server,
    "GetState": reads("GetState", *({"key": key} for key in KEYS)),
    "GetStateAtVersion": reads(
        "GetStateAtVersion",
        *({"key": key, "version": number} for key in KEYS for number in (0, 1, 2, 9)),
    ),
    "ListKeys": reads("ListKeys", {}),
    "ScanPrefix": reads("ScanPrefix", *({"prefix": prefix} for prefix in ("", "p", MARK))),
    "Replay": reads("Replay", *BOUNDS),
    "BeginTransaction": _transactions,
    "Write": _transactions,
    "Delete": _transactions,
    "Commit": _transactions,
    "Abort": _abandoned,
}
"""What is asked of each method. Those that write come last, since stores are asked once for all."""
SHOWING = ("GetState", "GetStateAtVersion", "ListKeys", "ScanPrefix", "Replay", "Write")
"""Methods whose answers depend on what was written elsewhere, for whoever may see it."""


def asked(saved: Saved, grant: Grant, folder: Path) -> dict[str, Answers]:
    """Ask everything of a server of a world, with a token, and return all answers as text."""
    path = folder / f"{len([*folder.iterdir()])}.db"
    path.write_bytes(saved.file)
    ids, answers = StepIds(), dict[str, Answers]()
    options = StoreOptions(
        embedder=None, durability="relaxed", clock=FixedClock(saved.now), ids=ids
    )
    with ControlStore(path.with_name(f"{path.name}-control")) as control:
        secret, _ = control.tokens.issue(grant, store=None)

        async def work(everybody: Client) -> None:
            for row in dict.fromkeys(CASES.values()):
                pairs = await _conversation(everybody.with_token(secret), ids, row)
                answers.update({name: pairs for name, case in CASES.items() if case is row})

        serve(work, path, control=control, options=options)
    return answers


async def _conversation(client: Client, ids: StepIds, row: Row) -> Answers:
    pairs: Answers = []

    async def ask(name: str, **fields: Any) -> Any:
        ids.begin(10_000 + len(pairs))
        answer, text = await _answer(client, name, fields)
        pairs.append((f"{name} {fields}", text))
        return answer

    await row(ask)
    return pairs


async def _answer(client: Client, name: str, fields: dict[str, Any]) -> tuple[Any, str]:
    """Return an answer, and its text; for an error, an empty answer and everything it says."""
    try:
        if name == "Replay":
            events = await client.replay(**fields)
            return None, str(events)
        answer = await client.call(name, **fields)
    except Refusal as refusal:
        return None, f"{refusal.status} {refusal.words} {refusal.error}"
    return answer, str(answer)


def test_every_method_has_a_row() -> None:
    assert set(CASES) == set(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("grant_name", only(QUICK_GRANTS, GRANTS))
def test_what_is_not_covered_looks_like_what_does_not_exist(
    grant_name: str, tmp_path: Path
) -> None:
    grant = GRANTS[grant_name]
    answers = asked(whole(), grant, tmp_path)
    assert answers == asked(without(grant), grant, tmp_path)
    if grant is ONE_AGENT:
        for request, text in (pair for pairs in answers.values() for pair in pairs):
            for word in (MARK, ELSEWHERE):
                assert word not in text or word in request, request


@pytest.mark.slow
def test_the_same_questions_show_what_is_foreign_to_whoever_may_see_it(tmp_path: Path) -> None:
    answers, others = (
        asked(saved, EVERYTHING, tmp_path) for saved in (whole(), without(ONE_AGENT))
    )
    assert [name for name in METHODS if answers[name] != others[name]] == [
        name for name in METHODS if name in SHOWING or CASES[name] is _transactions
    ]
    assert MARK in str(answers)


@pytest.mark.slow
def test_what_is_covered_is_shown_as_without_a_grant(tmp_path: Path) -> None:
    saved = without(ONE_AGENT)
    answers, others = (asked(saved, grant, tmp_path) for grant in (ONE_AGENT, Grant("a")))
    for name in ("GetState", "GetStateAtVersion", "ListKeys", "ScanPrefix", "Replay", "Abort"):
        assert answers[name] == others[name], name
        assert any(answers[name]), name
    commits = [
        mine
        for mine, theirs in zip(answers["Commit"], others["Commit"], strict=True)
        if mine == theirs and mine[1].startswith("commit_ts")
    ]
    assert commits
