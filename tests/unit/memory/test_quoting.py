"""Quotes: the words something comes from, not those that have taken their place since."""

from __future__ import annotations

from memoranda.testing import memory_store


def test_a_fact_quotes_the_version_of_a_memory_that_it_comes_from() -> None:
    store = memory_store().bind(agent_id="a")
    memory = store.remember("Alice lives in Rome.", title="where Alice lives")
    store.assert_fact(subject="Alice", relation="lives in", object="Rome", source=memory)
    store.update_memory(memory.id, content="Alice lives in Paris.")
    (fact,) = store.facts()
    assert store.explain(fact).assertions[0].quotes == ("Alice lives in Rome.",)
    store.retract_memory(memory.id)
    assert store.explain(fact).assertions[0].quotes == ("Alice lives in Rome.",)


def test_what_is_private_is_quoted_to_nobody_else() -> None:
    store = memory_store()
    a = store.bind(agent_id="a")
    memory = a.remember("Alice lives in Rome.", title="her home", visibility="private")
    a.assert_fact(
        subject="Alice",
        relation="lives in",
        object="Rome",
        source=memory,
        visibility="namespace",
    )
    (fact,) = a.facts()
    assert store.bind(agent_id="b").explain(fact).assertions[0].quotes == ()
    assert a.explain(fact).assertions[0].quotes == ("Alice lives in Rome.",)
