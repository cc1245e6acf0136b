"""Every test of ai-memory's invalidation notices, under its own name, with its calls and claims."""

from __future__ import annotations

from memoranda import ALL_AGENTS, Memory, Store
from memoranda.audit.signers import Signer
from memoranda.model.memory import inbox_of
from tests.lineage.corrections import corrected

NOTIFIED = "reflection.invalidation_notified"


def make_mem(client: Store, title: str, namespace: str, kind: str) -> str:
    """Return the id of a new memory."""
    memory = client.remember(
        f"body {title}", title=title, namespace=namespace, kind=kind, tier="mid",
        source="test", agent_id="ai:tester",
    )  # fmt: skip
    return memory.id


def create_link(client: Store, source: str, target: str, relation: str) -> None:
    """Link two memories."""
    client.link(source=source, target=target, relation=relation)


def propagate(client: Store, invalidated: str, invalidating: str) -> tuple[str, ...]:
    """Supersede, and return the ids of those who were told."""
    tester = client.bind(agent_id="ai:tester")
    return tester.supersede(old=invalidated, new=invalidating).notified


def inbox(client: Store, namespace: str) -> list[Memory]:
    """Return the notices of a namespace."""
    return list(client.list_memories(namespace=f"{namespace}/_invalidations"))


def test_invalidations_namespace_appends_underscore_segment() -> None:
    assert inbox_of("team/alpha") == "team/alpha/_invalidations"
    assert inbox_of("global") == "global/_invalidations"


def test_list_dependents_returns_inbound_reflects_on_only(client: Store) -> None:
    reflection = make_mem(client, "R1", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    second = make_mem(client, "M2", "ns-b", "observation")
    third = make_mem(client, "M3", "ns-a", "observation")
    create_link(client, first, reflection, "reflects_on")
    create_link(client, second, reflection, "reflects_on")
    create_link(client, third, reflection, "related_to")

    ids = [record.id for record in client.dependents(reflection)]

    assert len(ids) == 2
    assert first in ids
    assert second in ids
    assert third not in ids


def test_propagate_writes_one_notification_per_dependent(client: Store) -> None:
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    second = make_mem(client, "M2", "ns-b", "observation")
    create_link(client, first, old, "reflects_on")
    create_link(client, second, old, "reflects_on")

    assert len(propagate(client, old, new)) == 2

    assert len(inbox(client, "ns-a")) == 1
    assert len(inbox(client, "ns-b")) == 1


@corrected("the-audit-is-the-log")
def test_propagate_records_signed_events_row_per_notification(client: Store) -> None:
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")

    propagate(client, old, new)

    (event,) = client.audit_events(event_type=NOTIFIED)
    assert (event.agent_id, event.signature, event.attest_level) == ("ai:tester", None, "unsigned")


def test_who_has_a_signer_signs_its_events(client: Store) -> None:
    """The attest level says whether the agent vouches for it by its own signature."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")

    tester = client.bind(agent_id="ai:tester", signer=Signer("tester", bytes(32)))
    tester.supersede(old=old, new=new)

    (event,) = client.audit_events(event_type=NOTIFIED)
    assert (event.agent_id, event.attest_level) == ("ai:tester", "self-signed")
    assert event.signature is not None
    assert client.verify().signed == 1


def test_propagate_with_no_dependents_is_a_no_op(client: Store) -> None:
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")

    assert propagate(client, old, new) == ()

    assert list(client.invalidations(agent_id=ALL_AGENTS, status="all")) == []


@corrected("who-is-told")
def test_metadata_carries_all_four_required_fields(client: Store) -> None:
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")

    propagate(client, old, new)

    (notice,) = inbox(client, "ns-a")
    assert notice.metadata is not None
    assert notice.metadata["dependent_id"] == first
    assert notice.metadata["invalidated_id"] == old
    assert notice.metadata["invalidating_id"] == new
    assert isinstance(notice.metadata["timestamp"], str)
    assert notice.metadata["notification_kind"] == "reflection_invalidation"


@corrected("told-once")
def test_repeating_tells_nobody_again(client: Store) -> None:
    """Idempotency: the walker run twice tells each dependent once."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")

    assert propagate(client, old, new) == (first,)
    assert propagate(client, old, new) == ()
    assert len(inbox(client, "ns-a")) == 1
    assert len(list(client.audit_events(event_type=NOTIFIED))) == 1


@corrected("a-notice-per-superseder")
def test_each_superseder_has_its_own_notice(client: Store) -> None:
    """The title names who superseded, so a second superseder's notice is another one."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")
    newer = [make_mem(client, name, "ns-a", "reflection") for name in ("R2", "R3")]
    for new in newer:
        assert propagate(client, old, new) == (first,)

    assert [memory.title for memory in inbox(client, "ns-a")] == [
        f"invalidation: {old} -> {first} by {new}" for new in newer
    ]


@corrected("all-or-none-are-told", "open-notices-stay")
def test_a_notice_has_these_fields(client: Store) -> None:
    """The notification memory, field by field, in the same event as the link that caused it."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")
    propagate(client, old, new)

    (result,) = inbox(client, "ns-a")
    notice = client.get_memory(result.id)
    assert notice is not None
    assert (notice.tier, notice.kind, notice.tags) == ("mid", "observation", ("_invalidation",))
    assert (notice.priority, notice.confidence, notice.source) == (7, 1.0, "notification")
    assert (notice.access_count, notice.last_accessed_at, notice.version) == (0, None, 1)
    assert (notice.reflection_depth, notice.entity_id, notice.citations) == (0, None, ())
    assert (notice.source_uri, notice.expires_at) == (None, None)
    assert notice.created_at == notice.updated_at
    assert notice.content is not None
    for part in (old, new, first, "re-evaluation"):
        assert part in notice.content
    linked = client.links(old, relation="supersedes")[0]
    assert linked.valid_from == notice.created_at


def test_dependents_are_not_superseded(client: Store) -> None:
    """Notification, not cascade: the dependent stays as it is until somebody decides."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")
    before = client.get_memory(first)
    propagate(client, old, new)

    assert client.get_memory(first) == before
    assert [link.relation for link in client.links(first)] == ["reflects_on"]


@corrected("every-stale-belief-is-announced")
def test_only_two_reflections_trigger_it(client: Store) -> None:
    """Wire contract: both ends of the edge are reflections, or the notice is of another kind."""
    for kinds in (("observation", "reflection"), ("reflection", "observation")):
        old = make_mem(client, f"old {kinds}", "ns-a", kinds[0])
        new = make_mem(client, f"new {kinds}", "ns-a", kinds[1])
        first = make_mem(client, f"m {kinds}", "ns-a", "observation")
        create_link(client, first, old, "reflects_on")
        assert propagate(client, old, new) == (first,)
    notices = client.invalidations(agent_id=ALL_AGENTS)
    assert [notice.kind for notice in notices] == ["stale_memory", "stale_memory"]


@corrected("reads-count-nothing")
def test_reading_a_notice_does_not_count(client: Store) -> None:
    """`access_count` moves when a memory is touched, not when it is read."""
    mem = make_mem(client, "M1", "ns-a", "observation")
    client.get_memory(mem)
    memory = client.get_memory(mem)
    assert memory is not None
    assert memory.access_count == 0
    assert client.touch(mem).access_count == 1


def test_a_notice_can_be_promoted(client: Store) -> None:
    """Operators who want to keep a notification promote it."""
    old = make_mem(client, "R1", "ns-a", "reflection")
    new = make_mem(client, "R2", "ns-a", "reflection")
    first = make_mem(client, "M1", "ns-a", "observation")
    create_link(client, first, old, "reflects_on")
    propagate(client, old, new)

    (notice,) = inbox(client, "ns-a")
    assert client.promote(notice.id).tier == "long"
