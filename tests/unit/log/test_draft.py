"""Drafts: transactions before they are committed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from memoranda.log.commit.staged_transaction import Beginning, Draft
from memoranda.model.limits import Limits
from memoranda.testing import FixedClock


def test_threads_that_read_at_a_time_begin_at_the_same_commit() -> None:
    heads, others = iter((1, 2)), []

    def begin() -> Beginning:
        """Return a head that is old by then: another thread has read one, too."""
        head = next(heads)
        if head == 1:
            others.append(thread.submit(lambda: draft.beginning).result())
        return Beginning(head)

    draft = Draft(
        txn_id="t",
        idempotent=False,
        actor="a",
        begin=begin,
        timeout=30,
        clock=FixedClock(),
        limits=Limits(),
    )
    with ThreadPoolExecutor(1) as thread:
        assert [draft.beginning] == others
    assert draft.base_commit == others[0].commit_ts
