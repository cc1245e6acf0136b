"""Names never meet: agents, namespaces and keys are apart whatever characters they have."""

from __future__ import annotations

import itertools

import pytest

from memoranda import ALL_NAMESPACES, Store

ODD = [
    "a",
    "a:b",
    "a/b",
    "%",
    "a%b",
    "a'b",
    'a"b',
    "a\uffffb",
    "e\u0301",
    "\u00e9",
    "\u202ea",
    "א",
    "A",
    " a",
]
ODD_KEYS = [*ODD, "a\x01b", "\x01", "a\nb", "k" * 1024]


def test_no_two_addresses_meet(store: Store) -> None:
    addresses = [
        (namespace, agent_id, key)
        for namespace in ODD
        for agent_id, key in itertools.product([*ODD[::3], "a:b"], [*ODD_KEYS[::2], "b:c", "c"])
    ]
    with store.begin_transaction() as transaction:
        for namespace, agent_id, key in addresses:
            address = [namespace, agent_id, key]
            transaction.write(
                namespace=namespace, agent_id=agent_id, key=key, value={"is": address}
            )
    for namespace, agent_id, key in addresses:
        record = store.get_state(namespace=namespace, agent_id=agent_id, key=key)
        assert record is not None
        assert record.value == {"is": [namespace, agent_id, key]}
    for namespace, agent_id in {(namespace, agent_id) for namespace, agent_id, _ in addresses}:
        (event,) = store.replay(namespace=namespace, agent_id=agent_id)
        for operation in event.operations:
            assert operation.value == {"is": [namespace, agent_id, operation.key]}
            assert (operation.namespace, operation.agent_id) == (namespace, agent_id)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a", "b:c"), ("a:b", "c")), (("a/b", "c"), ("a", "b/c")), (("A", "k"), ("a", "k"))],
)
def test_joined_names_are_apart(store: Store, one: tuple[str, str], other: tuple[str, str]) -> None:
    store.write(agent_id=one[0], key=one[1], value={"n": 1})
    assert store.get_state(agent_id=other[0], key=other[1]) is None
    assert list(store.list_keys(agent_id=other[0])) == []
    assert list(store.replay(agent_id=other[0], namespace=ALL_NAMESPACES)) == []
    store.write(agent_id=other[0], key=other[1], value={"n": 2}, expect_version=0)
    assert [op.version for event in store.replay(agent_id=other[0]) for op in event.operations] == [
        1
    ]


def test_binding_gives_defaults_and_shares_the_store(store: Store) -> None:
    agent = store.bind(agent_id="a", namespace="team/eng")
    agent.write(key="k", value={"x": 1})
    assert store.get_state(agent_id="a", namespace="team/eng", key="k") is not None
    assert store.get_state(agent_id="a", key="k") is None
    other = agent.bind(namespace="team/ops")
    other.write(key="k", value={"x": 2})
    assert [
        op.namespace for event in agent.replay(namespace=ALL_NAMESPACES) for op in event.operations
    ] == [
        "team/eng",
        "team/ops",
    ]


def test_the_actor_is_the_bound_agent_or_local(store: Store) -> None:
    store.write(agent_id="a", key="k", value={})
    store.bind(agent_id="boss").write(agent_id="a", key="k", value={})
    assert [event.actor for event in store.replay(agent_id="a")] == ["local", "boss"]
