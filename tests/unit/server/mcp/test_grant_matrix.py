"""The matrix of grants over every tool: what a token does not cover looks like what is not there.

Each tool is called on a real server, with a token for the grant, on two stores: one has what the
grant does not cover, and in the other it was never written. The answers must be equal, errors and
questions to the user included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.log import pages
from memoranda.server.http.settings import HttpSettings
from memoranda.server.mcp.catalog import BY_NAME, TOOLS
from tests.grant_copies import FIRST_STEP, linked, whole, without
from tests.grant_servers import GrantServer
from tests.grant_worlds import (
    ELSEWHERE,
    FOREIGN,
    GRANTS,
    LINKS,
    MARK,
    SECONDS_A_STEP,
    TEAM,
    World,
)
from tests.mcp_grant_cases import READS, WRITES, Row
from tests.mcp_messages import modern_request
from tests.patience import HANG_SECONDS
from tests.quick import only

PER_STORE = ("hash", "digest", "head_hash", "log_id", "requestState")
"""Members that depend on the whole chain of a store, or on chance."""
NAMING_IDS = {"state_replay"}
"""Tools that show what the agent wrote itself, with the ids that it named."""
ONE_AGENT = "one agent in a namespace"


def test_every_tool_has_a_row() -> None:
    assert READS.keys() | WRITES.keys() == {tool.name for tool in TOOLS}
    assert {BY_NAME[name].is_read_only for name in READS} == {True}
    assert {BY_NAME[name].is_read_only for name in WRITES} == {False}


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that what is not covered would show in their lengths."""
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)
    monkeypatch.setattr(pages.ResumablePages, "rows", 5)


class Tokens:
    """Calls tools on stores of a server, with the token of a grant."""

    def __init__(self, server: GrantServer) -> None:
        self.server = server
        self._url = f"http://127.0.0.1:{server.thread.server.http_port}/v1/stores"
        self._client = httpx2.Client(timeout=HANG_SECONDS)
        self.received = b""
        """What came back last, as it was sent."""

    def call(
        self, store: str, grant: Grant, tool: str, arguments: dict[str, Any], namespace: str
    ) -> Any:
        """Return what comes back; a question to the user is answered with yes."""
        acting = "" if grant.actor else "&agent=a"
        url = f"{self._url}/{store}/mcp?tools=full&namespace={namespace}{acting}"
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        answers, self.received = [], b""
        while True:
            request = modern_request("tools/call", params, self.server.secrets[grant])
            reply = self._client.post(url, **request)
            self.received += reply.content
            answers.append(_stripped(reply.json()))
            state = reply.json().get("result", {}).get("requestState")
            if state is None:
                return answers
            yes = {"confirm": {"action": "accept", "content": {"erase": True}}}
            params = {**params, "requestState": state, "inputResponses": yes}

    def begin(self, number: int) -> None:
        """Draw the ids of a step from now on."""
        self.server.ids.begin(FIRST_STEP + number)

    def close(self) -> None:
        self._client.close()


def _stripped(value: Any) -> Any:
    """Return an answer without what depends on the whole chain, also in its text.

    A write without effect names the head, and the last refusal is logged before that or behind it.
    """
    if isinstance(value, dict):
        is_unchanged = value.get("outcome") == "unchanged"
        left_out = {*PER_STORE, "commit"} if is_unchanged else PER_STORE
        return {name: _stripped(part) for name, part in value.items() if name not in left_out}
    if isinstance(value, list):
        return [_stripped(part) for part in value]
    if isinstance(value, str):
        without_head = re.sub(r'"outcome":"unchanged","commit":\d+', "", value)
        return re.sub(r'"(hash|digest)":"\w+"', "", without_head)
    return value


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    folder = tmp_path_factory.mktemp("stores")
    grants = (*GRANTS.values(), EVERYTHING)
    with GrantServer(folder, grants, http=HttpSettings(port=0)) as server:
        tokens = Tokens(server)
        yield tokens
        tokens.close()


@contextmanager
def _two_worlds(tokens: Tokens, grant_name: str, about: str) -> Iterator[tuple[str, str, World]]:
    """Serve the stores with and without what a grant does not cover."""
    names = [f"{about}-{grant_name}-{kind}".replace(" ", "-") for kind in ("whole", "without")]
    with (
        tokens.server.serving(names[0], whole()) as world,
        tokens.server.serving(names[1], without(GRANTS[grant_name])),
    ):
        yield names[0], names[1], world


def _compare(tokens: Tokens, grant_name: str, tool: str, row: Row, about: str) -> None:
    grant = GRANTS[grant_name]
    with _two_worlds(tokens, grant_name, about) as (first, second, world):
        calls = [
            (arguments, namespace)
            for namespace in (TEAM, ELSEWHERE)
            for arguments in row(world.ids)
        ]
        for number, (arguments, namespace) in enumerate(calls):
            answers = []
            tokens.server.clock.step(SECONDS_A_STEP)
            for store in (first, second):
                tokens.begin(number)
                answers.append(tokens.call(store, grant, tool, arguments, namespace))
            assert answers[0] == answers[1], (tool, arguments, namespace)


@pytest.mark.parametrize("grant_name", only((ONE_AGENT,), GRANTS))
@pytest.mark.parametrize("tool", READS)
def test_a_tool_that_reads(tool: str, grant_name: str, tokens: Tokens) -> None:
    _compare(tokens, grant_name, tool, READS[tool], "reads")


@pytest.mark.slow
@pytest.mark.parametrize("grant_name", only((ONE_AGENT,), GRANTS))
@pytest.mark.parametrize("tool", WRITES)
def test_a_tool_that_writes(tool: str, grant_name: str, tokens: Tokens) -> None:
    _compare(tokens, grant_name, tool, WRITES[tool], tool)


@pytest.mark.parametrize("tool", READS)
def test_no_word_of_what_is_not_covered_is_sent(tool: str, tokens: Tokens) -> None:
    """What is covered rests on what is not: its words and names must not come through."""
    grant = GRANTS[ONE_AGENT]
    steps = () if tool in NAMING_IDS else (*FOREIGN, *LINKS)
    foreign = [step.label for step in steps if not step.is_covered(grant)]
    with tokens.server.serving(f"linked-{tool}", linked()) as world:
        words = {MARK, ELSEWHERE, *(world.ids.get(label, "") for label in foreign)} - {""}
        for arguments in READS[tool](world.ids):
            tokens.call(f"linked-{tool}", grant, tool, arguments, TEAM)
            for word in words:
                if word not in str(arguments):
                    assert word.encode() not in tokens.received, (tool, arguments, word)


def test_the_comparison_sees_what_is_not_covered(tokens: Tokens) -> None:
    """With a token for everything, the two worlds differ: the matrix can fail."""
    with _two_worlds(tokens, ONE_AGENT, "differ") as (first, second, _):
        for tool in ("memory_list", "memory_recall", "fact_query"):
            arguments = READS[tool]({})[0]
            answers = [
                tokens.call(store, EVERYTHING, tool, arguments, ELSEWHERE)
                for store in (first, second)
            ]
            assert answers[0] != answers[1], tool
