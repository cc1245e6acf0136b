"""What a store does with facts: saying many of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from operator import length_hint

import msgspec

from memoranda.model.limits import check_callable
from memoranda.sdk.bulk import (
    REFUSALS,
    AssertedFacts,
    Batch,
    Refusal,
    Reject,
    Row,
    check_batch,
    check_facts,
)
from memoranda.sdk.handle import Handle
from memoranda.sdk.transaction import Transaction
from memoranda.storage.port import Progress


class BulkCalls(Handle):
    """Asserting facts by the thousand."""

    def assert_facts(
        self,
        facts: Iterable[Row],
        *,
        batch: int = 500,
        once: str | None = None,
        reject: Reject | None = None,
        progress: Progress | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> AssertedFacts:
        """Say what each row says, in transactions of so many rows, and return how many.

        A row is a mapping with the arguments of `assert_fact`; only one batch is held at a time. A
        row that cannot be taken ends it with an error that names the row, and batches before its
        own stay; with `reject`, that is told of such rows and the others go on. `once` names an
        occasion: tried again, in whatever batches, each row is still said once. `progress` is told
        how many rows are done, and of how many (0: not known).
        """
        check_callable("progress", progress)
        check_callable("reject", reject)
        size = check_batch(batch, self._core.limits.transaction_operations)
        rows = enumerate(check_facts(facts), start=1)
        common = {"agent_id": agent_id, "namespace": namespace, "once": once}
        whole, told = length_hint(facts), AssertedFacts()
        while taken := list(islice(rows, size)):
            loading = Batch(taken, common)
            told += self._load(loading, strict=reject is None)
            if loading.refused and reject is None:
                raise loading.located()
            if reject is not None:
                for each in loading.told():
                    reject(*each)
            if progress is not None:
                progress(loading.last, whole)
        return told

    def _load(self, batch: Batch, *, strict: bool) -> AssertedFacts:
        """Commit what of a batch can be; if `strict`, all of it or nothing."""

        def work(transaction: Transaction) -> list[str]:
            ids = batch.stage(transaction.assert_fact)
            if not ids or (strict and batch.refused):
                transaction.abort()
            return ids

        try:
            transaction, ids = self._commit(work, None)
        except REFUSALS:
            found = self._refusals(batch)
            if not found:
                raise
            batch.refuse(found)
            return self._load(batch, strict=strict)
        counted = AssertedFacts(rejected=len(batch.refused))
        if transaction.commit_ts is None:
            return counted
        return counted + self._calls.run(self._counted, transaction, ids)

    def _refusals(self, batch: Batch) -> dict[int, Refusal]:
        """Return which rows are to blame that a batch was refused."""
        with self.begin_transaction() as transaction:
            batch.stage(transaction.assert_fact)
            found = transaction.refusals()
            transaction.abort()
        return found

    def _counted(self, transaction: Transaction, ids: list[str]) -> AssertedFacts:
        """Return how many assertions are of this commit, and of those before it how many stand."""
        with self._core.engine.reading() as reader:
            row = reader.row("txn_find", txn_id=transaction.txn_id, actor=self._defaults.actor)
            commit = None if row is None else row[0]
            listed = msgspec.json.encode(ids).decode()
            rows = reader.rows("graph_assertions_by_id", ids=listed)
        made = sum(1 for committed, _ in rows if committed == commit)
        retracted = sum(1 for committed, gone in rows if committed != commit and gone)
        return AssertedFacts(
            asserted=made, unchanged=len(ids) - made - retracted, retracted=retracted
        )
