"""Taking statements back: those of one commit together.

A few are taken out of their timeline one by one, as each changes what holds around it only. Where
many of a timeline go, what is left is derived once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memoranda.graph.derive import Statement
from memoranda.graph.saying import Saying
from memoranda.graph.timelines import Timeline, Which, statement_of
from memoranda.model.operations import Withdraw
from memoranda.storage.port import Reader

IsSingle = Callable[[Reader, int], bool]
"""Says whether a relation, by its number, has one object at a time."""
_FEW = 64
"""How many statements of a timeline are always taken back one by one."""
_SHARE = 32
"""One by one costs about so many times what deriving a statement anew does."""


def withdraw(
    saying: Saying, commit_ts: int, operations: Sequence[Withdraw], is_single: IsSingle
) -> None:
    """Take back what was said under some ids: assertions, and the ends that belong to them."""
    writer = saying.settled()
    gone: dict[Which, list[tuple[int, Statement[int], str | None]]] = {}
    for operation in operations:
        for row in writer.rows("graph_statements_live", assertion_id=operation.assertion_id):
            number, subject, relation, *statement = row
            said = statement_of(tuple(statement))
            gone.setdefault((subject, relation), []).append((number, said, operation.reason))
    for which, statements in gone.items():
        timeline, single = Timeline(writer, *which), is_single(writer, which[1])
        whole = len(statements) > _FEW and len(statements) * _SHARE >= timeline.size()
        for number, said, reason in statements:
            writer.run("graph_statement_withdraw", id=number, commit_ts=commit_ts, reason=reason)
            if not whole:
                saying.note(which, timeline.update(said, stands=False, single=single))
        if whole:
            timeline.rebuild(single=single)
