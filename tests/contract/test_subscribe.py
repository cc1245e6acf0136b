"""Subscribe: history and then what comes, without a gap and without a repeat."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    InvalidInput,
    LogForked,
    OperationType,
    Store,
    StoreClosed,
    Subscription,
)
from memoranda.sdk.local.feed import LocalFeed
from tests.contract.events import Background, commits_of, keys_of, write_all
from tests.contract.opener import Opener
from tests.cores import core_of
from tests.patience import HANG_SECONDS, wait_until


class TestWhereItBegins:
    def test_with_the_first_event(self, agent: Store) -> None:
        write_all(agent, "a", "b", "c")
        events = list(agent.subscribe(after_commit=0, timeout=0))
        assert events == list(agent.replay())
        assert keys_of(events) == ["a", "b", "c"]

    def test_from_now_on_means_from_the_call_on(self, agent: Store) -> None:
        write_all(agent, "before")
        subscription = agent.subscribe(timeout=0)
        write_all(agent, "behind the call", "and another")
        assert keys_of(subscription) == ["behind the call", "and another"]

    def test_behind_a_commit_or_a_token(self, agent: Store) -> None:
        write_all(agent, "a", "b", "c")
        token = next(agent.replay()).token
        for place in (1, "1", token):
            assert keys_of(agent.subscribe(after_commit=place, timeout=0)) == ["b", "c"]

    def test_behind_a_commit_that_is_yet_to_come(self, agent: Store) -> None:
        subscription = agent.subscribe(after_commit=2, timeout=0)
        endless = agent.subscribe(after_commit=2**70, timeout=0)
        write_all(agent, "a", "b", "c")
        assert keys_of(subscription) == ["c"]
        assert keys_of(endless) == []

    @pytest.mark.parametrize("last", [0, 1, 2, 5, 6, 7, 2**70])
    def test_with_the_last_events(self, agent: Store, last: int) -> None:
        for number in range(20):
            agent.write(key=f"k{number}", value={}, agent_id="a1" if number % 3 == 0 else "a2")
        subscription = agent.subscribe(last=last, timeout=0)
        write_all(agent, "new")
        mine = [f"k{number}" for number in range(0, 20, 3)]
        assert keys_of(subscription) == [*mine[len(mine) - min(last, 7) :], "new"]

    def test_with_the_last_events_asked_for(self, agent: Store) -> None:
        write_all(agent, "x1", "x2", "y1", "x3", "y2", "y3", "y4", "y5")
        assert keys_of(agent.subscribe(last=2, prefix="x", timeout=0)) == ["x2", "x3"]
        assert keys_of(agent.subscribe(last=4, prefix="x", timeout=0)) == ["x1", "x2", "x3"]
        assert keys_of(agent.subscribe(last=4, prefix="z", timeout=0)) == []

    def test_in_another_history_it_does_not(self, agent: Store) -> None:
        write_all(agent, "a")
        log_id, commit_ts, event_hash = next(agent.replay()).token.split(".")
        for forged in (
            f"{log_id[::-1]}.{commit_ts}.{event_hash}",
            f"{log_id}.{commit_ts}.{event_hash[::-1]}",
            f"{log_id}.9.{event_hash}",
            f"{log_id}.-{2**70}.{event_hash}",
        ):
            with pytest.raises(LogForked, match="start again"):
                agent.subscribe(after_commit=forged)

    @pytest.mark.parametrize(
        ("field", "bad"),
        [
            ("after_commit", -1),
            ("after_commit", 1.5),
            ("after_commit", "nonsense"),
            ("last", -1),
            ("last", True),
            ("last", 1.5),
            ("kinds", ["SCRIBBLE"]),
            ("prefix", 7),
            ("prefix", "\0"),
            ("namespace", "a//b"),
            ("agent_id", ""),
            ("agent_id", ALL_NAMESPACES),
            ("cursor", ""),
            ("cursor", 7),
            ("cursor", "x" * 513),
            ("cursor", "\0"),
            ("timeout", -1),
            ("timeout", float("inf")),
            ("timeout", float("nan")),
            ("timeout", "soon"),
        ],
    )
    def test_what_it_cannot_take_is_refused_at_the_call(
        self, agent: Store, field: str, bad: Any
    ) -> None:
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            agent.subscribe(**{field: bad})

    @pytest.mark.parametrize("other", [{"after_commit": 0}, {"cursor": "c"}])
    def test_it_begins_in_one_place(self, agent: Store, other: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput, match=r"^last: cannot be combined with"):
            agent.subscribe(last=3, **other)

    def test_an_agent_must_be_named(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match=r"^agent_id: is missing"):
            store.subscribe()


class TestWhatItGives:
    def test_only_the_agents_own_part(self, store: Store) -> None:
        with store.begin_transaction() as transaction:
            for number in range(6):
                transaction.write(agent_id=f"a{number % 3}", key=f"k{number}", value={})
        (event,) = store.subscribe(agent_id="a1", after_commit=0, timeout=0)
        assert keys_of([event]) == ["k1", "k4"]

    def test_only_some_kinds(self, agent: Store) -> None:
        write_all(agent, "a", "b")
        agent.delete(key="a")
        for kinds in ("delete", [OperationType.DELETE]):
            (event,) = agent.subscribe(after_commit=0, kinds=kinds, timeout=0)
            assert (event.commit_ts, event.operations[0].key) == (3, "a")
        assert commits_of(agent.subscribe(after_commit=0, kinds=(), timeout=0)) == []

    def test_only_keys_under_a_prefix(self, agent: Store) -> None:
        write_all(agent, "task:1", "note", "task:2", "tas", "täsk")
        with agent.begin_transaction() as transaction:
            transaction.write(key="other", value={})
            transaction.write(key="task:3", value={})
        subscription = list(agent.subscribe(after_commit=0, prefix="task:", timeout=0))
        assert commits_of(subscription) == [1, 3, 6]
        assert keys_of(subscription) == ["task:1", "task:2", "task:3"]

    def test_a_namespace_or_all_of_them(self, agent: Store) -> None:
        write_all(agent, "here")
        write_all(agent, "there", namespace="team/eng")
        write_all(agent, "not mine", agent_id="other", namespace="team/eng")

        def seen(**where: Any) -> list[str]:
            return keys_of(agent.subscribe(after_commit=0, timeout=0, **where))

        assert seen() == ["here"]
        assert seen(namespace="team/eng") == ["there"]
        assert seen(namespace=ALL_NAMESPACES) == ["here", "there"]
        assert keys_of(agent.bind(namespace="team/eng").subscribe(last=9, timeout=0)) == ["there"]

    def test_all_agents_but_not_the_engine(self, store: Store) -> None:
        write_all(store, "a", agent_id="a1")
        write_all(store, "b", agent_id="a2", namespace="team")
        with store.begin_transaction() as transaction:
            transaction.write(key="c", value={}, agent_id="a1")
            transaction.write(key="d", value={}, agent_id="a2", namespace="team")

        def seen(**which: Any) -> list[str]:
            return keys_of(store.subscribe(agent_id=ALL_AGENTS, after_commit=0, timeout=0, **which))

        assert seen(namespace=ALL_NAMESPACES) == ["a", "b", "c", "d"]
        assert seen(namespace="team") == ["b", "d"]
        assert seen() == ["a", "c"]
        assert seen(namespace=ALL_NAMESPACES, prefix="c") == ["c"]
        assert seen(namespace="_log") == ["epoch:1"], "whoever names the engine's scope may look"
        assert seen(namespace=ALL_NAMESPACES, kinds="epoch") == []

    def test_agents_and_namespaces_that_come_later(self, store: Store) -> None:
        everything = store.subscribe(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, timeout=0)
        of_one = store.subscribe(agent_id="new", namespace=ALL_NAMESPACES, timeout=0)
        in_one = store.subscribe(agent_id="new", namespace="n3", timeout=0)
        for subscription in (everything, of_one, in_one):
            assert commits_of(subscription) == []
        for number in range(5):
            write_all(store, f"k{number}", agent_id="new", namespace=f"n{number}")
            write_all(store, "x", agent_id="newer", namespace=f"n{number}")
            assert keys_of(everything) == [f"k{number}", "x"]
            assert keys_of(of_one) == [f"k{number}"]
        assert keys_of(in_one) == ["k3"]

    def test_many_namespaces_stay_in_commit_order(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(600):
            agent.write(key=f"k{number}", value={}, namespace=f"n{number * 7 % 40}")
        subscription = agent.subscribe(namespace=ALL_NAMESPACES, after_commit=0, timeout=0)
        assert commits_of(subscription) == [*range(1, 601)]

    def test_large_events_and_many_pages(self, agent: Store) -> None:
        for number in range(4):
            agent.write(key="large", value={"n": number, "text": "x" * 900_000})
        write_all(agent, *(f"k{number}" for number in range(600)))
        subscription = agent.subscribe(after_commit=0, timeout=0)
        assert commits_of(subscription) == [*range(1, 605)]


class TestWhileItIsWritten:
    def test_it_is_woken_by_a_commit(self, agent: Store) -> None:
        subscription = agent.subscribe(timeout=HANG_SECONDS)
        waiting = Background(lambda: next(subscription))
        time.sleep(0.2)
        agent.write(key="k", value={"n": 1})
        assert keys_of([waiting.answer()]) == ["k"]

    def test_from_history_into_what_comes(self, agent: Store) -> None:
        write_all(agent, *(f"k{number}" for number in range(300)))
        subscription = agent.subscribe(after_commit=0, timeout=HANG_SECONDS)
        writing = Background(
            lambda: write_all(agent, *(f"k{number}" for number in range(300, 600)))
        )
        result = [next(subscription) for _ in range(600)]
        writing.answer()
        assert commits_of(result) == [*range(1, 601)]
        assert keys_of(result) == [f"k{number}" for number in range(600)]

    def test_several_writers_and_several_readers(self, store: Store) -> None:
        def read(subscription: Subscription, count: int) -> list[int]:
            return [next(subscription).commit_ts for _ in range(count)]

        readers = []
        for which in ("a0", "a1", ALL_AGENTS):
            subscription = store.subscribe(agent_id=which, after_commit=0, timeout=HANG_SECONDS)
            count = 200 if which is ALL_AGENTS else 50
            readers.append(Background(lambda s=subscription, c=count: read(s, c)))  # type: ignore[misc]
        writers = [
            Background(
                lambda agent=f"a{number}": write_all(  # type: ignore[misc]
                    store, *(f"k{step}" for step in range(50)), agent_id=agent
                )
            )
            for number in range(4)
        ]
        for writer in writers:
            writer.answer()
        one, other, everybody = (reader.answer() for reader in readers)
        assert everybody == [*range(1, 201)]
        assert one == commits_of(store.replay(agent_id="a0"))
        assert other == commits_of(store.replay(agent_id="a1"))

    def test_another_handle_on_the_file_is_found_by_looking(self, reopen: Opener) -> None:
        subscription = reopen().subscribe(agent_id="a", after_commit=0, timeout=HANG_SECONDS)
        waiting = Background(lambda: next(subscription))
        time.sleep(0.2)
        reopen().write(agent_id="a", key="k", value={})
        assert keys_of([waiting.answer()]) == ["k"]

    def test_every_waiting_reader_learns_what_one_of_them_found(self, reopen: Opener) -> None:
        store, other = reopen(), reopen()
        early = [store.subscribe(agent_id="a", timeout=HANG_SECONDS) for _ in range(5)]
        waiting = [Background(lambda s=s: next(s)) for s in early]  # type: ignore[misc]
        time.sleep(0.1)
        other.write(agent_id="a", key="k", value={})
        late = store.subscribe(
            agent_id="a", timeout=HANG_SECONDS
        )  # it has seen this commit, and may look for all
        background = Background(lambda: next(late))
        for thread in waiting:
            assert keys_of([thread.answer()]) == ["k"]
        other.write(agent_id="a", key="j", value={})
        assert keys_of([background.answer()]) == ["j"]


class TestHowItEnds:
    def test_when_nothing_came_for_a_while(self, agent: Store) -> None:
        write_all(agent, "a")
        start = time.monotonic()
        waiting = Background(lambda: keys_of(agent.subscribe(after_commit=0, timeout=0.2)))
        assert waiting.answer() == ["a"]
        assert time.monotonic() - start >= 0.2

    def test_what_others_do_does_not_prolong_it(self, agent: Store) -> None:
        done = threading.Event()

        def write() -> None:
            while not done.is_set():
                agent.write(key="k", value={}, agent_id="other")

        writing = Background(write)
        try:
            waiting = Background(lambda: list(agent.subscribe(timeout=0.3)))
            assert waiting.answer() == []
        finally:
            done.set()
        writing.answer()

    def test_and_then_it_can_go_on(self, agent: Store) -> None:
        subscription = agent.subscribe(timeout=0)
        for key in ("a", "b"):
            assert keys_of(subscription) == []
            write_all(agent, key)
            assert keys_of(subscription) == [key]

    def test_when_it_is_closed_by_another_thread(self, agent: Store) -> None:
        subscription = agent.subscribe()
        waiting = Background(lambda: list(subscription))
        time.sleep(0.1)
        subscription.close()
        assert waiting.answer() == []
        write_all(agent, "a")
        subscription.close()
        assert list(subscription) == []

    def test_when_it_is_left(self, agent: Store) -> None:
        write_all(agent, "a", "b")
        with agent.subscribe(after_commit=0) as subscription:
            assert next(subscription).commit_ts == 1
        assert list(subscription) == []

    def test_when_the_store_is_closed(self, agent: Store) -> None:
        subscriptions = [agent.subscribe() for _ in range(40)]
        waiting = [Background(lambda s=s: list(s)) for s in subscriptions]  # type: ignore[misc]
        time.sleep(0.2)
        agent.close()
        assert [thread.answer() for thread in waiting] == [[]] * 40
        with pytest.raises(StoreClosed):
            agent.subscribe()

    def test_one_look_tells_all_of_them(
        self, agent: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Only a wake-up ends a wait in time.
        monkeypatch.setattr(LocalFeed, "poll_seconds", 2 * HANG_SECONDS)
        looking = agent.subscribe()
        waiting = [Background(lambda: list(agent.subscribe())) for _ in range(40)]
        wait_until(lambda: len(core_of(agent).signal._watchers) == 40)
        agent.close()
        feed = getattr(looking, "_target", looking)._feed
        assert isinstance(feed, LocalFeed)
        feed.poll()
        assert [thread.answer() for thread in waiting] == [[]] * 40
