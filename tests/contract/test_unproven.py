"""What erasures and compactions leave in new events opens its commitments, so no read marks it."""

from __future__ import annotations

from memoranda import KeyRef, Store


def test_nothing_of_new_events_is_marked(agent: Store) -> None:
    agent.write(key="goal", value={"n": 1})
    agent.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
    note = agent.remember("first words", title="note").id
    agent.update_memory(note, content="second words")
    agent.touch(note)
    for place in ("Oslo", "Rome"):
        agent.assert_fact(subject="Ann", relation="likes", object=place)
    agent.end_fact(subject="Ann", relation="likes", object="Oslo")
    agent.forget(key="goal")
    head = agent.stats().commits
    agent.compact(before=head, confirm=True)
    records = [
        agent.get_state(key="step"),
        *agent.scan_prefix(prefix=""),
        *agent.history(key="step", since=head),
    ]
    memories = [
        agent.get_memory(note),
        *agent.list_memories(),
        *agent.memory_history(note, since=head),
    ]
    facts = [
        *agent.facts(include_closed=True),
        *agent.timeline(subject="Ann", relation="likes", known_at=head + 1),
    ]
    assert len(records) == 3
    assert len(memories) >= 3
    assert len(facts) >= 2
    marks = [item and item.unproven for item in (*records, *memories, *facts)]
    assert set(marks) == {False}
    assert not agent.why(KeyRef("step")).unproven
    assert agent.verify().unproven == 0


def test_what_is_staged_is_not_marked(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        transaction.write(key="k", value={})
        note = transaction.remember("words")
        transaction.assert_fact(subject="Ann", relation="likes", object="Oslo")
        staged = [
            transaction.get_state(key="k"),
            *transaction.scan_prefix(prefix=""),
            transaction.get_memory(note),
            *transaction.timeline(subject="Ann", relation="likes"),
        ]
    assert [item and item.unproven for item in staged] == [False] * 4
