"""What the matrices of grants share that go over a wire: their questions, and a search of bytes."""

from __future__ import annotations

from typing import Any

from memoranda.calls.call import Call, call_name
from tests.grant_reads import CASES, NAMING_IDS
from tests.grant_worlds import ELSEWHERE, FOREIGN, GRANTS, LINKS, MARK, World
from tests.grant_writes import WRITE_CASES

ONE_AGENT = "one agent in a namespace"
"""The grant whose answers are searched for words that it does not cover."""


def example(kind: type[Call[Any]], world: World) -> Call[Any]:
    """Return a call of a kind: the first of its row, or one without arguments."""
    row = CASES.get(call_name(kind)) or WRITE_CASES.get(call_name(kind))
    if row is None:
        return kind(**dict.fromkeys(kind.__struct_fields__))
    return row(world.ids)[0]


def flat(call: Call[Any], answer: Any) -> Any:
    """Return the items of pages: a server's pages need not be the handler's."""
    if call.shape != "pages" or isinstance(answer, tuple):
        return answer
    return [item for page in answer for item in page]


def assert_nothing_foreign(call: Call[Any], world: World, received: list[bytes]) -> None:
    """Search the bytes of an answer for words that the grant of one agent does not cover."""
    question, grant = repr(call), GRANTS[ONE_AGENT]
    words = {MARK, ELSEWHERE}
    if call_name(type(call)) not in NAMING_IDS:
        labels = [step.label for step in (*FOREIGN, *LINKS) if not step.is_covered(grant)]
        words |= {world.ids.get(label, "") for label in labels}
    for word in words - {""}:
        if word not in question:
            assert not any(word.encode() in data for data in received), (word, call)
