"""Random use of a store, compared step by step with a model that is too simple to be wrong."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

import memoranda
from memoranda import ALL_NAMESPACES, MemorandaError, ReplayEvent, StateRecord, Transaction
from memoranda.model.clock import to_datetime
from memoranda.testing import FixedClock, FixedIds
from tests.property.model import Address, Draft, Event, Model, Op, Refused, Staged, Value

AGENTS = ("a", "a:b")
NAMESPACES = ("default", "team/eng")
KEYS = ("b:c", "c", "k/1", "k/2", "k0")
PREFIXES = ("", "k", "k/", "b", "zz")
VALUES: tuple[Value, ...] = (None, {}, {"x": 1}, {"x": 2, "list": [1, 2.5, "é"]})

COMMON = ("default", "a", "c")
"""An address that every other step is about: histories grow where steps meet."""

anywhere = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(AGENTS), st.sampled_from(KEYS))
addresses = st.one_of(st.just(COMMON), anywhere)
values = st.sampled_from(VALUES)
expectations = st.one_of(st.none(), st.none(), st.integers(0, 4))
names = st.one_of(st.none(), st.none(), st.sampled_from(["t1", "t2", "t3", "t4", "t5", "t6"]))
requests = st.builds(Staged, addresses, values, expectations)
prefixes = st.sampled_from(PREFIXES)
any_number = st.integers(0, 10**6)


def named(address: Address) -> dict[str, Any]:
    namespace, agent, key = address
    return {"namespace": namespace, "agent_id": agent, "key": key}


class StoreMachine(RuleBasedStateMachine):
    """Drives a store on disk and the model with the same steps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memoranda-"))
        self.clock = FixedClock()
        self.ids = FixedIds()
        self.model = Model()
        self.open: list[tuple[Draft, Transaction]] = []
        self.tokens: list[tuple[str, int]] = []
        self.start()

    def start(self) -> None:
        self.store = memoranda.open(
            self.folder / "store.db", clock=self.clock, ids=self.ids, durability="relaxed"
        )

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # Writing

    @rule(name=names)
    def begin(self, name: str | None) -> None:
        if len(self.open) < 4:
            transaction = self.store.begin_transaction(txn_id=name)
            self.open.append((Draft(name, self.model.head), transaction))

    def stage(self, draft: Draft, transaction: Transaction, staged: Staged) -> None:
        draft.staged.append(staged)
        call = named(staged.address)
        if staged.value is None:
            transaction.delete(**call, expect_version=staged.expect_version)
        else:
            transaction.write(**call, value=staged.value, expect_version=staged.expect_version)

    @precondition(lambda self: self.open)
    @rule(which=any_number, address=addresses, value=values, expected=expectations)
    def stage_one(self, which: int, address: Address, value: Value, expected: int | None) -> None:
        draft, transaction = self.open[which % len(self.open)]
        self.stage(draft, transaction, Staged(address, value, expected))

    @rule(address=addresses, value=values, prefix=st.one_of(st.none(), prefixes))
    def begin_and_use(self, address: Address, value: Value, prefix: str | None) -> None:
        """Read, write and read again in a new transaction, which is left open."""
        self.open = self.open[-3:]
        self.begin(None)
        which = len(self.open) - 1
        for _ in range(2):
            if prefix is None:
                self.read_in_transaction(which, address)
            else:
                self.scan_in_transaction(which, address, prefix)
            self.stage_one(which, address, value, None)

    @precondition(lambda self: self.open)
    @rule(which=any_number, address=addresses)
    def read_in_transaction(self, which: int, address: Address) -> None:
        draft, transaction = self.open[which % len(self.open)]
        draft.keys_read.add(address)
        record = transaction.get_state(**named(address))
        assert (record and (record.version, record.value)) == self.model.seen(draft, address)

    @precondition(lambda self: self.open)
    @rule(which=any_number, address=addresses, prefix=prefixes)
    def scan_in_transaction(self, which: int, address: Address, prefix: str) -> None:
        draft, transaction = self.open[which % len(self.open)]
        namespace, agent, _ = address
        draft.prefixes_read.add((namespace, agent, prefix))
        scope = {"namespace": namespace, "agent_id": agent}
        keys = self.model.keys_seen(draft, namespace, agent, prefix)
        assert list(transaction.list_keys(**scope, prefix=prefix)) == keys
        entries = list(transaction.scan_prefix(**scope, prefix=prefix))
        assert [(entry.version, entry.value) for entry in entries] == [
            self.model.seen(draft, (namespace, agent, key)) for key in keys
        ]

    @precondition(lambda self: self.open)
    @rule(which=any_number)
    def commit(self, which: int) -> None:
        self.finish(*self.open.pop(which % len(self.open)))

    def finish(self, draft: Draft, transaction: Transaction) -> None:
        refused = ""
        try:
            expected = self.model.commit(draft, self.clock.now(), transaction.txn_id)
        except Refused as error:
            refused, expected = str(error), -1
        if not refused:
            assert transaction.commit() == expected
            return
        with pytest.raises(MemorandaError) as caught:
            transaction.commit()
        assert type(caught.value).__name__ == refused

    @precondition(lambda self: self.open)
    @rule(which=any_number)
    def abort(self, which: int) -> None:
        self.open.pop(which % len(self.open))[1].abort()

    @precondition(lambda self: self.open)
    @rule(which=any_number)
    def expire(self, which: int) -> None:
        _, transaction = self.open.pop(which % len(self.open))
        self.clock.advance(31)
        with pytest.raises(memoranda.TransactionExpired):
            transaction.commit()
        self.open.clear()

    @rule(staged=st.lists(requests, min_size=1, max_size=4), name=names)
    def write(self, staged: list[Staged], name: str | None) -> None:
        draft = Draft(name, self.model.head)
        transaction = self.store.begin_transaction(txn_id=name)
        for request in staged:
            self.stage(draft, transaction, request)
        self.finish(draft, transaction)

    @precondition(lambda self: any(self.was_read(draft) for draft, _ in self.open))
    @rule(which=any_number, value=values)
    def write_what_a_transaction_read(self, which: int, value: Value) -> None:
        """Conflicts are rare where everybody picks at random: bring some about."""
        read = [address for draft, _ in self.open for address in self.was_read(draft)]
        self.write([Staged(read[which % len(read)], value, None)], None)

    @staticmethod
    def was_read(draft: Draft) -> list[Address]:
        under = [
            (namespace, agent, f"{prefix}k") for namespace, agent, prefix in draft.prefixes_read
        ]
        return sorted({*draft.keys_read, *under})

    @precondition(lambda self: self.model.named)
    @rule(which=any_number, address=addresses, same=st.booleans())
    def retry_by_txn_id(self, which: int, address: Address, *, same: bool) -> None:
        name = sorted(self.model.named)[which % len(self.model.named)]
        draft = Draft(name, self.model.head)
        transaction = self.store.begin_transaction(txn_id=name)
        for staged in self.model.named[name][1]:
            self.stage(draft, transaction, staged)
        if not same:
            self.stage(draft, transaction, Staged(address, {"another": True}, None))
        self.finish(draft, transaction)

    # What must change nothing

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open.clear()
        self.start()

    @rule()
    def rebuild(self) -> None:
        result = self.store.rebuild()
        assert result.identical
        assert result.events == self.model.head

    @rule()
    def verify(self) -> None:
        assert self.store.verify().commits == self.model.head

    @rule(seconds=st.sampled_from([-7200, -1, 0.5, 60, 7200]))
    def set_clock(self, seconds: float) -> None:
        self.clock.step(seconds)

    # Reading

    def same(self, record: StateRecord | None, address: Address, at: int | None) -> None:
        result = self.model.current(address, at)
        if result is None:
            assert record is None
            return
        event, op = result
        assert record == StateRecord(
            **named(address),
            value=op.value or {},
            version=op.version,
            commit_ts=event.commit_ts,
            committed_at=to_datetime(event.committed_at),
        )

    @rule(address=addresses, at=st.integers(0, 40))
    def read(self, address: Address, at: int) -> None:
        self.same(self.store.get_state(**named(address)), address, None)
        self.same(self.store.get_state(**named(address), at=at), address, at)
        versions = self.model.versions(address)
        for event, op in versions:
            record = self.store.get_state(**named(address), version=op.version)
            assert (record and (record.value, record.commit_ts)) == (
                None if op.value is None else (op.value, event.commit_ts)
            )
        history = list(self.store.history(**named(address)))
        assert [(entry.version, entry.value, entry.commit_ts) for entry in history] == [
            (op.version, op.value, event.commit_ts) for event, op in versions
        ]

    @precondition(lambda self: self.model.events)
    @rule(address=addresses, which=any_number, shift=st.sampled_from([-1, 0, 1]))
    def read_at_a_time(self, address: Address, which: int, shift: int) -> None:
        moment = self.model.events[which % self.model.head].committed_at + shift
        at = sum(event.committed_at <= moment for event in self.model.events)
        self.same(self.store.get_state(**named(address), at=to_datetime(moment)), address, at)

    @rule(address=addresses, prefix=prefixes, at=st.integers(0, 40))
    def scan(self, address: Address, prefix: str, at: int) -> None:
        namespace, agent, _ = address
        scope = {"namespace": namespace, "agent_id": agent}
        keys = self.model.keys(namespace, agent, prefix, at)
        assert list(self.store.list_keys(**scope, prefix=prefix, at=at)) == keys
        entries = list(self.store.scan_prefix(**scope, prefix=prefix, at=at))
        assert [entry.key for entry in entries] == keys
        for entry in entries:
            result = self.model.current((namespace, agent, entry.key), at)
            assert result is not None
            assert (entry.version, entry.value) == (result[1].version, result[1].value)

    @rule(address=addresses, a=st.integers(0, 40), b=st.integers(0, 40))
    def diff(self, address: Address, a: int, b: int) -> None:
        namespace, agent, _ = address

        def values(at: int) -> dict[str, Any]:
            keys = self.model.keys(namespace, agent, "", at)
            result = {key: self.model.current((namespace, agent, key), at) for key in keys}
            return {key: pair[1].value for key, pair in result.items() if pair}

        old, new = values(a), values(b)
        target = [
            (key, old.get(key), new.get(key))
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
        changes = self.store.diff(namespace=namespace, agent_id=agent, old=a, new=b)
        assert [
            (change.key, change.before and change.before.value, change.after and change.after.value)
            for change in changes
        ] == target

    @rule(
        agent=st.sampled_from(AGENTS),
        namespace=st.sampled_from([*NAMESPACES, ALL_NAMESPACES]),
        after=st.integers(0, 40),
        through=st.one_of(st.none(), st.integers(0, 40)),
    )
    def replay(self, agent: str, namespace: Any, after: int, through: int | None) -> None:
        namespaces = set(NAMESPACES) if namespace is ALL_NAMESPACES else {namespace}
        end = self.model.head if through is None else through
        target = self.model.replay(agent, namespaces, after, max(after, end))
        events = self.store.replay(
            agent_id=agent, namespace=namespace, after_commit=after, through_commit=through
        )
        result = list(events)
        assert [as_model(event) for event in result] == target
        self.tokens += [(event.token, event.commit_ts) for event in result[:1]]

    @precondition(lambda self: self.tokens)
    @rule(which=any_number, agent=st.sampled_from(AGENTS))
    def resume(self, which: int, agent: str) -> None:
        token, commit_ts = self.tokens[which % len(self.tokens)]
        target = self.model.replay(agent, set(NAMESPACES), commit_ts, self.model.head)
        events = self.store.replay(agent_id=agent, namespace=ALL_NAMESPACES, after_commit=token)
        assert [as_model(event) for event in events] == target

    @precondition(lambda self: self.model.events)
    @rule(agent=st.sampled_from(AGENTS), first=any_number, last=any_number)
    def replay_between_times(self, agent: str, first: int, last: int) -> None:
        times = [event.committed_at for event in self.model.events]
        begin, end = times[first % len(times)], times[last % len(times)]
        events = self.store.replay(
            agent_id=agent,
            namespace=ALL_NAMESPACES,
            from_timestamp=to_datetime(begin),
            to_timestamp=to_datetime(end),
        )
        everything = self.model.replay(agent, set(NAMESPACES), 0, self.model.head)
        target = [event for event in everything if begin <= event.committed_at < end]
        assert [as_model(event) for event in events] == target

    @invariant()
    def nothing_was_added_or_lost(self) -> None:
        assert self.store.stats().commits == self.model.head


def as_model(event: ReplayEvent) -> Event:
    """Return a replayed event as the model would say it."""
    ops = tuple(
        Op((op.namespace, op.agent_id, op.key), op.version, op.value) for op in event.operations
    )
    return Event(event.commit_ts, event.committed_micros, event.txn_id, ops)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=20,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
