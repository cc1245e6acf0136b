"""Facts that the agents of a namespace share: one history, each assertion with who made it."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memoranda
import memoranda_verify
from memoranda import (
    ALL_AGENTS,
    Fact,
    FactRef,
    InvalidInput,
    Limits,
    NotFound,
    Scope,
    Store,
    TransactionConflict,
)

OpenStore = Callable[..., Store]
Y2020, Y2021, Y2022, Y2023 = (f"{year}-01-01T00:00:00Z" for year in range(2020, 2024))
HOME: dict[str, Any] = {"subject": "Ada", "relation": "lives in"}
Row = tuple[str, int, int | None, str | None, tuple[str, ...]]


def row(fact: Fact) -> Row:
    """Return the object of a fact, the years it holds, and who believes and who asserted it."""
    until = None if fact.valid_to is None else fact.valid_to.year
    return str(fact.object), fact.valid_from.year, until, fact.agent_id, fact.asserted_by


def homes(store: Store, **options: Any) -> list[Row]:
    return [row(fact) for fact in store.timeline(**HOME, **options)]


@pytest.fixture
def ann(store: Store) -> Store:
    return store.bind(agent_id="ann", namespace="team")


@pytest.fixture
def bob(store: Store) -> Store:
    return store.bind(agent_id="bob", namespace="team")


def settle(ann: Store, bob: Store) -> None:
    """Let both say where Ada lives, each for itself."""
    ann.set_cardinality(relation="lives in", cardinality="single")
    ann.assert_fact(**HOME, object="Paris", valid_from=Y2020)
    bob.assert_fact(**HOME, object="Rome", valid_from=Y2021)


SHARED: list[Row] = [
    ("Paris", 2020, 2021, None, ("ann",)),
    ("Rome", 2021, None, None, ("bob",)),
]


def test_agents_that_share_facts_have_one_history(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    assert homes(ann) == [("Paris", 2020, None, "ann", ("ann",))]
    assert homes(bob) == [("Rome", 2021, None, "bob", ("bob",))]
    ann.configure(facts="shared")
    assert homes(ann) == homes(bob) == SHARED
    resolution = ann.assert_fact(**HOME, object="Oslo", valid_from=Y2022)
    assert [edge.object_key for edge in resolution.close] == ["rome"]
    bob.assert_fact(**HOME, object="oslo", valid_from=Y2023)
    assert homes(bob)[-1] == ("Oslo", 2022, None, None, ("ann", "bob"))


def test_what_was_known_before_stays_as_it_was_configured(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    shared = ann.configure(facts="shared").commit_ts
    own = bob.configure(facts="own").commit_ts
    assert homes(ann) == homes(ann, known_at=shared - 1) == [("Paris", 2020, None, "ann", ("ann",))]
    assert homes(ann, known_at=shared) == homes(bob, known_at=own - 1) == SHARED
    assert homes(bob) == homes(bob, known_at=own) == [("Rome", 2021, None, "bob", ("bob",))]
    ann.configure(facts="shared")
    assert homes(ann) == SHARED


def test_the_setting_is_inherited_and_the_nearest_wins(store: Store) -> None:
    ann = store.bind(agent_id="ann", namespace="team/eng")
    bob = store.bind(agent_id="bob", namespace="team/eng")
    settle(ann, bob)
    store.configure(namespace="team", facts="shared", agent_id="ann")
    assert homes(ann) == SHARED
    store.configure(namespace="team/eng", facts="own", agent_id="ann")
    assert homes(ann) == [("Paris", 2020, None, "ann", ("ann",))]
    late = store.bind(agent_id="cy", namespace="team/ops")
    late.assert_fact(**HOME, object="Bern", valid_from=Y2020)
    other = store.bind(agent_id="dan", namespace="team/ops")
    assert homes(other) == [("Bern", 2020, None, None, ("cy",))]
    assert homes(store.bind(agent_id="dan", namespace="teams")) == []


def test_saying_it_again_changes_nothing(ann: Store, bob: Store) -> None:
    ann.configure(facts="shared", max_reflection_depth=5)
    before = ann.stats().commits
    bob.configure(facts="shared")
    assert ann.stats().commits == before
    with pytest.raises(InvalidInput, match="'ours' is not 'own' or 'shared'"):
        ann.configure(facts="ours")
    with pytest.raises(InvalidInput, match=r"facts: .* is int, not text"):
        ann.configure(facts=1)  # type: ignore[arg-type]


def test_many_facts_are_shared_only_on_request(open_store: OpenStore) -> None:
    store = open_store(limits=Limits(derived_statements=1))
    ann, bob = (store.bind(agent_id=name, namespace="team") for name in ("ann", "bob"))
    settle(ann, bob)
    with pytest.raises(InvalidInput, match=r"allow_large: 2 statements would be derived again"):
        ann.configure(facts="shared")
    assert homes(ann) == [("Paris", 2020, None, "ann", ("ann",))]
    ann.configure(facts="shared", allow_large=True)
    with pytest.raises(InvalidInput, match="allow_large"):
        ann.configure(facts="own")
    ann.configure(facts="own", allow_large=True)


def test_sharing_comes_alone_in_a_transaction(ann: Store) -> None:
    tx = ann.begin_transaction()
    tx.assert_fact(**HOME, object="Paris")
    tx.configure(facts="shared")
    with pytest.raises(InvalidInput, match="facts: decides whose facts are whose"):
        tx.commit()
    with ann.begin_transaction() as tx:
        tx.write(key="plan", value={})
        tx.configure(facts="shared", tiers={"short": "1h"})
    ann.assert_fact(**HOME, object="Paris", valid_from=Y2020)
    assert homes(ann) == [("Paris", 2020, None, None, ("ann",))]


def test_names_are_the_namespaces(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    bob.alias(entity="Ada", alias="Countess")
    assert [row(fact) for fact in ann.timeline(subject="countess", relation="lives in")] == SHARED
    ann.assert_fact(subject="Roma", relation="is in", object="Italy")
    ann.merge_entities(source="Roma", into="Rome")
    entity = bob.entity("roma")
    assert entity is not None
    assert (entity.name, entity.aliases, entity.agent_id) == ("Rome", ("Roma",), None)
    assert {item.name for item in bob.entities()} == {"Ada", "Paris", "Rome", "Italy"}
    with pytest.raises(InvalidInput, match="already means"):
        ann.alias(entity="Paris", alias="Countess")
    bob.configure(facts="own")
    assert ann.entity("Countess") is None
    assert bob.entity("Countess") is not None


def test_every_agent_may_retract(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    (fact,) = ann.timeline(**HOME)
    with pytest.raises(NotFound, match="has no assertion"):
        bob.retract_fact(assertion_id=fact.assertions[0])
    ann.configure(facts="shared")
    bob.retract_fact(assertion_id=fact.assertions[0], reason="wrong")
    assert homes(ann) == SHARED[1:]
    ann.retract_fact(**HOME)
    assert homes(bob) == []
    ann.verify(deep=True)
    bob.configure(facts="own")
    assert homes(bob) == []


def test_a_shared_timeline_is_a_conflict_between_agents(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    with ann.begin_transaction() as tx:  # their own timelines do not meet
        tx.timeline(**HOME)
        bob.assert_fact(**HOME, object="Oslo", valid_from=Y2022)
        tx.write(key="home", value={})
    ann.configure(facts="shared")
    tx = ann.begin_transaction()
    assert len(tx.timeline(**HOME)) == 3
    bob.assert_fact(**HOME, object="Bern", valid_from=Y2023)
    tx.write(key="home", value={})
    with pytest.raises(TransactionConflict):
        tx.commit()
    tx = ann.begin_transaction()
    tx.timeline(**HOME)
    bob.configure(facts="own")
    tx.write(key="home", value={})
    with pytest.raises(TransactionConflict):
        tx.commit()


def test_a_transaction_sees_what_it_says_among_what_others_said(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    with ann.begin_transaction() as tx:
        tx.assert_fact(**HOME, object="Oslo", valid_from=Y2022)
        staged = [row(fact) for fact in tx.timeline(**HOME)]
    assert staged == homes(bob)
    assert staged[-1] == ("Oslo", 2022, None, None, ("ann",))


def test_a_forgotten_agent_leaves_the_history_as_if_it_had_said_nothing(
    store: Store, ann: Store, bob: Store
) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    bob.assert_fact(**HOME, object="Oslo", valid_from=Y2022)
    store.forget(whole_agent="bob", reason="asked to")
    assert homes(ann) == [("Paris", 2020, None, None, ("ann",))]
    assert {entity.name for entity in ann.entities()} == {"Ada", "Paris"}
    store.verify(deep=True)
    assert store.rebuild().identical


def test_a_forgotten_entity_goes_from_what_all_said(store: Store, ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    bob.alias(entity="Rome", alias="Roma")
    ann.forget(entity="Roma", reason="asked to")
    assert homes(bob) == [("Paris", 2020, None, None, ("ann",))]
    store.verify(deep=True)


def test_a_forgotten_namespace_takes_its_setting_along(store: Store, ann: Store) -> None:
    child = store.bind(agent_id="cy", namespace="team/ops")
    child.assert_fact(**HOME, object="Bern", valid_from=Y2020)
    ann.configure(facts="shared")
    assert homes(child) == [("Bern", 2020, None, None, ("cy",))]
    ann.assert_fact(**HOME, object="Paris", valid_from=Y2020)
    store.forget(whole_namespace="team", reason="asked to")
    assert homes(child) == [("Bern", 2020, None, "cy", ("cy",))]
    store.verify(deep=True)
    assert store.rebuild().identical


def test_a_compaction_leaves_what_is_shared(store: Store, ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    bob.assert_fact(subject="Ada", relation="knows", object="Hidden", visibility="private")
    bob.retract_fact(subject="Ada", relation="knows")
    bob.assert_fact(subject="Ada", relation="likes", object="Tea")
    ann.retract_fact(subject="Ada", relation="likes")
    ann.write(key="now", value={})
    before = homes(ann), [entity.name for entity in ann.entities()]
    store.compact(namespace="team", before=store.stats().commits)
    assert (homes(ann), [entity.name for entity in ann.entities()]) == before
    assert "Hidden" not in {entity.name for entity in ann.entities()}
    assert "Hidden" in {entity.name for entity in bob.entities()}
    store.verify(deep=True)
    assert store.rebuild().identical


def test_copies_share_what_the_log_shares(
    store: Store, ann: Store, bob: Store, tmp_path: Path
) -> None:
    settle(ann, bob)
    shared = ann.configure(facts="shared").commit_ts
    bob.assert_fact(**HOME, object="Malta", valid_from=Y2022, visibility="private")
    store.export_log(tmp_path / "log.jsonl")
    memoranda_verify.check_log(io.BytesIO((tmp_path / "log.jsonl").read_bytes()), [])
    memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "imported.db")
    store.fork(tmp_path / "forked.db", at=shared + 1)
    store.fork(tmp_path / "earlier.db", at=shared - 1)
    for name in ("imported", "forked"):
        with memoranda.open(tmp_path / f"{name}.db") as copy:
            copy.verify(deep=True)
            assert homes(copy.bind(agent_id="ann", namespace="team")) == SHARED
            assert homes(copy.bind(agent_id="bob", namespace="team")) == homes(bob)
    with memoranda.open(tmp_path / "earlier.db") as copy:
        assert homes(copy.bind(agent_id="ann", namespace="team")) == [
            ("Paris", 2020, None, "ann", ("ann",))
        ]


def test_sql_shows_the_graph_that_is_read(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    query = "SELECT agent_id, object, valid_to IS NULL FROM facts ORDER BY valid_from"
    assert [tuple(item.values()) for item in ann.sql(query)] == [
        ("ann", "Paris", 1),
        ("bob", "Rome", 1),
    ]
    ann.configure(facts="shared")
    assert [tuple(item.values()) for item in ann.sql(query)] == [
        (None, "Paris", 0),
        (None, "Rome", 1),
    ]
    names = "SELECT DISTINCT agent_id FROM entities"
    assert [tuple(item.values()) for item in ann.sql(names)] == [(None,)]


# Private facts beside shared ones.


@pytest.fixture
def secret(ann: Store, bob: Store) -> str:
    """Let bob say privately where Ada lives now; ann must never notice."""
    settle(ann, bob)
    ann.configure(facts="shared")
    resolution = bob.assert_fact(**HOME, object="Malta", valid_from=Y2022, visibility="private")
    assert resolution.assertion_id is not None
    return resolution.assertion_id


def test_a_private_fact_is_in_its_agents_view_alone(ann: Store, bob: Store, secret: str) -> None:
    assert homes(ann) == SHARED
    assert homes(bob) == [
        SHARED[0],
        ("Rome", 2021, 2022, None, ("bob",)),
        ("Malta", 2022, None, "bob", ("bob",)),
    ]
    assert homes(ann, agent_id="bob") == SHARED
    assert [str(fact.object) for fact in bob.facts()] == ["Malta"]
    assert [str(fact.object) for fact in bob.facts(object="Malta")] == ["Malta"]
    assert [neighbor.node for neighbor in bob.neighbors("Ada")] == ["Malta"]
    assert bob.explain(secret).assertions[0].agent_id == "bob"
    assert bob.why(FactRef(secret)).stale == ()


@pytest.mark.parametrize("way", ["facts", "object", "entity", "entities", "walk", "path", "recall"])
def test_no_read_of_another_agent_finds_it(ann: Store, bob: Store, secret: str, way: str) -> None:
    assert secret
    if way == "facts":
        assert "Malta" not in repr(ann.facts(include_closed=True))
        assert "Malta" not in repr(list(ann.iter_shared_facts(include_closed=True)))
        assert [
            edge.object_key for edge in ann.current_edges(Scope("team", "bob"), "Ada", "lives in")
        ] == ["rome"]
    elif way == "object":
        assert ann.facts(object="Malta", include_closed=True) == []
    elif way == "entity":
        assert ann.entity("Malta") is None
        assert bob.entity("Malta") is not None
    elif way == "entities":
        assert "Malta" not in [entity.name for entity in ann.entities()]
        assert "Malta" in [entity.name for entity in bob.entities()]
    elif way == "walk":
        assert [neighbor.node for neighbor in ann.neighbors("Ada")] == ["Rome"]
        assert "Malta" not in repr(ann.subgraph("Ada"))
        with pytest.raises(NotFound):
            ann.neighbors("Malta")
    elif way == "path":
        with pytest.raises(NotFound):
            ann.path("Ada", "Malta")
        path = bob.path("Ada", "Malta")
        assert path is not None
    else:
        assert [hit.text for hit in ann.recall("Where does Ada live? Malta?")] == [
            "Ada lives in Rome"
        ]
        assert [hit.text for hit in bob.recall("Where does Ada live?")] == ["Ada lives in Malta"]


def test_it_is_not_found_by_its_id_either(ann: Store, secret: str) -> None:
    with pytest.raises(NotFound):
        ann.explain(secret)
    with pytest.raises(NotFound):
        ann.why(FactRef(secret))
    with pytest.raises(NotFound):
        ann.retract_fact(assertion_id=secret)
    with pytest.raises(NotFound):
        ann.write(key="k", value={}, because=[FactRef(secret)])
    with pytest.raises(NotFound):
        ann.forget(fact=secret)


def test_what_others_retract_and_forget_leaves_it(
    store: Store, ann: Store, bob: Store, secret: str
) -> None:
    ann.retract_fact(**HOME)
    assert homes(bob) == [("Malta", 2022, None, "bob", ("bob",))]
    with pytest.raises(NotFound):
        ann.retract_fact(**HOME)
    ann.forget(entity="Ada", reason="asked to")
    assert homes(bob) == [("Malta", 2022, None, "bob", ("bob",))]
    bob.retract_fact(**HOME)
    assert homes(bob) == []
    assert secret
    store.verify(deep=True)


def test_private_statements_follow_the_names_of_the_shared_graph(
    ann: Store, bob: Store, secret: str
) -> None:
    ann.alias(entity="Ada", alias="Countess")
    bob.end_fact(subject="Countess", relation="lives in", at=Y2023, visibility="private")
    assert homes(bob)[-1] == ("Malta", 2022, 2023, "bob", ("bob",))
    assert homes(ann) == SHARED
    tx = bob.begin_transaction()
    assert len(tx.timeline(subject="Ada", relation="lives in")) == 3
    bob.assert_fact(subject="Countess", relation="lives in", object="Cyprus", visibility="private")
    tx.write(key="k", value={})
    with pytest.raises(TransactionConflict):
        tx.commit()
    assert secret


def test_a_source_that_is_private_is_not_shown(ann: Store, bob: Store) -> None:
    ann.configure(facts="shared")
    note = bob.remember("bob's diary", visibility="private")
    bob.assert_fact(**HOME, object="Rome", source=note.id, visibility="namespace")
    assert [fact.sources for fact in ann.timeline(**HOME)] == [()]
    (fact,) = bob.timeline(**HOME)
    assert len(fact.sources) == 1


def test_reasons_follow_the_shared_history(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    (paris,) = ann.timeline(**HOME)
    ann.write(key="trip", value={}, because=[paris.ref])
    assert not ann.why("trip").is_stale
    ann.configure(facts="shared")
    assert ann.why("trip").is_stale
    assert [reason.ref for reason in ann.stale_keys()]
    ann.configure(facts="own")
    assert not ann.why("trip").is_stale


def test_valid_time_is_now_by_default(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    assert [str(fact.object) for fact in ann.facts()] == ["Rome"]
    before = datetime(2020, 6, 1, tzinfo=UTC)
    assert [str(fact.object) for fact in bob.facts(valid_at=before)] == ["Paris"]


# The beliefs of all agents.


def test_all_agents_are_listed_one_after_another(store: Store, ann: Store, bob: Store) -> None:
    settle(ann, bob)
    bob.assert_fact(**HOME, object="Malta", valid_from=Y2022, visibility="private")
    public = [("Paris", 2020, None, "ann", ("ann",)), ("Rome", 2021, None, "bob", ("bob",))]
    assert [row(fact) for fact in ann.facts(agent_id=ALL_AGENTS)] == public
    assert homes(ann, agent_id=ALL_AGENTS) == public
    assert [row(fact) for fact in ann.iter_facts(agent_id=ALL_AGENTS)] == public
    assert [row(fact) for fact in store.facts(agent_id=ALL_AGENTS, namespace="team")] == public
    assert [row(fact) for fact in bob.facts(agent_id=ALL_AGENTS)] == [
        public[0],
        ("Malta", 2022, None, "bob", ("bob",)),
    ]
    assert ann.facts(agent_id=ALL_AGENTS, namespace="elsewhere") == []
    assert [row(fact) for fact in ann.facts(agent_id=ALL_AGENTS, object="Rome")] == public[1:]
    ann.configure(facts="shared")
    assert homes(ann, agent_id=ALL_AGENTS) == SHARED
    assert len(homes(bob, agent_id=ALL_AGENTS)) == 3


def test_many_pages_of_many_agents_are_as_of_one_commit(store: Store) -> None:
    agents = [store.bind(agent_id=f"agent-{number}", namespace="team") for number in range(3)]
    for agent in agents:
        agent.assert_facts(
            {"subject": f"p{number}", "relation": "knows", "object": "Ada", "valid_from": Y2020}
            for number in range(300)
        )
    before = agents[0].facts(agent_id=ALL_AGENTS)
    listing = agents[0].iter_facts(agent_id=ALL_AGENTS)
    first = next(iter(listing))
    agents[1].configure(facts="shared")
    agents[2].retract_fact(subject="p299", relation="knows")
    assert [first, *listing] == before
    assert len(before) == 900
    assert len(agents[0].facts()) == 299  # what is shared is retracted for all


# Whose belief a hit is, and who believes something else.


def test_a_hit_says_whose_belief_it_is_and_who_contradicts_it(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.assert_fact(subject="Ada", relation="knows", object="Charles", valid_from=Y2020)
    bob.assert_fact(subject="Ada", relation="knows", object="Mary", valid_from=Y2020)
    hits = {hit.text: hit for hit in ann.recall("where does Ada live, whom does Ada know")}
    disputed = {
        text: [(fact.agent_id, fact.object) for fact in hit.conflicting]
        for text, hit in hits.items()
    }
    assert disputed == {
        "Ada lives in Paris": [("bob", "Rome")],
        "Ada lives in Rome": [("ann", "Paris")],
        "Ada knows Charles": [],
        "Ada knows Mary": [],
    }
    facts = {hit.text: hit.fact.agent_id for hit in hits.values() if hit.fact is not None}
    assert facts["Ada lives in Paris"] == facts["Ada knows Charles"] == "ann"
    text = ann.recall_context("where does Ada live")
    assert "(since 2020-01-01, believed by ann; disputed: bob believes Rome)" in text
    assert "(since 2021-01-01, believed by bob; disputed: ann believes Paris)" in text


def test_beliefs_that_agree_or_are_over_are_no_dispute(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    bob.alias(entity="Rome", alias="Roma")
    ann.end_fact(**HOME, at=Y2021)
    (hit,) = ann.recall("where does Ada live", k=1)
    assert (hit.text, hit.conflicting) == ("Ada lives in Rome", ())
    ann.assert_fact(**HOME, object="ROME", valid_from=Y2021)
    assert {hit.conflicting for hit in ann.recall("where does Ada live")} == {()}
    past = ann.recall("where does Ada live", valid_at=Y2021, known_at=3)
    assert {(hit.text, len(hit.conflicting)) for hit in past} == {
        ("Ada lives in Paris", 1),
        ("Ada lives in Rome", 1),
    }


def test_a_private_belief_disputes_only_for_its_own_agent(ann: Store, bob: Store) -> None:
    ann.set_cardinality(relation="lives in", cardinality="single")
    ann.assert_fact(**HOME, object="Paris", valid_from=Y2020)
    bob.assert_fact(**HOME, object="Malta", valid_from=Y2021, visibility="private")
    (hit,) = ann.recall("where does Ada live")
    assert (hit.text, hit.conflicting) == ("Ada lives in Paris", ())
    assert "Malta" not in ann.recall_context("where does Ada live")
    assert {hit.text: len(hit.conflicting) for hit in bob.recall("where does Ada live")} == {
        "Ada lives in Paris": 1,
        "Ada lives in Malta": 1,
    }


def test_shared_facts_are_not_disputed(ann: Store, bob: Store) -> None:
    settle(ann, bob)
    ann.configure(facts="shared")
    (hit,) = ann.recall("where does Ada live")
    assert (hit.text, hit.conflicting) == ("Ada lives in Rome", ())
    assert "(since 2021-01-01, shared by its agents)" in ann.recall_context("where does Ada live")
