"""What an agent's replay of all its namespaces decodes: its own part of what many share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memoranda import ALL_NAMESPACES, Store
from memoranda.model.event import ReplayEvent
from memoranda.storage.port import Writer
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.work import counted

AGENTS, TURNS = 40, 3
SPACES = ("first", "other", "third")


def shared(turns: int = TURNS) -> Store:
    """Return a store with transactions of which each of many agents has a part in namespaces."""
    store = memory_store()
    for turn in range(turns):
        with store.begin_transaction() as tx:
            for namespace in SPACES:
                for number in range(AGENTS):
                    place: dict[str, Any] = {"agent_id": f"a{number}", "namespace": namespace}
                    tx.write(**place, key="k", value={"n": turn})
    return store


def shown(events: Iterable[ReplayEvent]) -> list[list[tuple[str, str, object]]]:
    return [
        [(part.agent_id, part.namespace, part.value) for part in event.operations]
        for event in events
    ]


def parts(turns: Iterable[int], agent_id: str = "a7") -> list[list[tuple[str, str, object]]]:
    return [[(agent_id, namespace, {"n": turn}) for namespace in SPACES] for turn in turns]


def test_a_replay_of_all_namespaces_decodes_what_it_shows() -> None:
    with shared() as store:
        with counted(store) as work:
            events = list(store.replay(agent_id="a7", namespace=ALL_NAMESPACES))
        assert shown(events) == parts(range(TURNS)), "in the order they were made"
        assert work.decoded == TURNS * len(SPACES)
        assert work.split == 0


def test_a_subscription_to_all_namespaces_decodes_what_it_shows() -> None:
    with shared() as store, counted(store) as work:
        feed = store.subscribe(agent_id="a7", namespace=ALL_NAMESPACES, after_commit=0, timeout=0)
        assert shown(feed) == parts(range(TURNS))
        assert work.decoded == TURNS * len(SPACES)


def test_what_is_erased_of_one_namespace_is_shown_in_none() -> None:
    with shared() as store:
        store.bind(agent_id="a7", namespace="other").forget(key="k")
        events = list(store.replay(agent_id="a7", namespace=ALL_NAMESPACES))
        for event, turn in zip(shown(events[:TURNS]), range(TURNS), strict=True):
            assert [value for _, _, value in event] == [{"n": turn}, None, {"n": turn}]
        assert shown(store.replay(agent_id="a8", namespace=ALL_NAMESPACES)) == parts(
            range(TURNS), "a8"
        )


def test_where_most_of_a_transaction_is_its_own_all_of_it_is_read() -> None:
    with memory_store() as store:
        with store.begin_transaction() as tx:
            for number in range(40):
                tx.write(agent_id="a", namespace="large", key=f"k{number}", value={})
            tx.write(agent_id="a", namespace="small", key="k", value={})
            tx.write(agent_id="b", namespace="small", key="k", value={})
        (event,) = store.replay(agent_id="a", namespace=ALL_NAMESPACES)
        assert len(event.operations) == 41
        assert {part.agent_id for part in event.operations} == {"a"}


def test_what_is_summed_up_is_decoded_where_it_stands() -> None:
    with shared() as store:
        store.compact(before=2, namespace="first", confirm=True)
        with counted(store) as work:
            events = list(store.replay(agent_id="a7", namespace="first"))
        assert shown(events) == [[("a7", "first", {"n": turn})] for turn in (1, 2)]
        assert events[0].summary
        whole = AGENTS * len(SPACES)
        assert work.decoded <= whole + 3, "only the event that something was erased of as a whole"


def test_places_that_cannot_be_read_are_not_followed() -> None:
    with shared(1) as store:

        def damage(writer: Writer) -> None:
            row = writer.row("scope_find", agent_id="a7", namespace="other")
            assert row is not None
            writer.put("event_scope_add", row[0], 1, b"\xc1", None)

        core_of(store).engine.write(damage)
        events = store.replay(agent_id="a7", namespace=ALL_NAMESPACES)
        assert shown(events) == parts(range(1))
