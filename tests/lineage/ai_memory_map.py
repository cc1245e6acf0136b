"""What ai-memory names and promises, what it is here, and the test that holds it.

The lineage page is made from this, as from `statehouse_map.py`.
"""

from __future__ import annotations

from tests.lineage.statehouse_map import Entry, Section

_REPLAY = "tests/lineage/test_ai_memory_replay.py::test_"
_NOTICES = "tests/lineage/test_ai_memory_invalidation.py::test_"

_UNION = (
    Entry(
        "`replay_transcript_union(memory_id, depth)`, `memory_replay(depth=)`",
        "`store.replay_transcripts(memory_id, depth=)`",
        f"{_REPLAY}reflection_returns_union_of_self_plus_three_sources",
    ),
    Entry(
        "`depth = None`: the full chain",
        "the same",
        f"{_REPLAY}depth_cap_bounds_chain_walk",
    ),
    Entry("`Some(0)`: self only", "`depth=0`", f"{_REPLAY}depth_cap_bounds_chain_walk"),
    Entry("`Some(n)`: self plus n hops", "`depth=n`", f"{_REPLAY}depth_cap_bounds_chain_walk"),
    Entry(
        "an observation has its own transcripts alone, whatever the depth",
        "the same, for every kind but a reflection",
        f"{_REPLAY}observation_returns_only_its_own_transcripts",
    ),
    Entry(
        "a missing root",
        "an empty list",
        f"{_REPLAY}missing_root_returns_empty_union",
        changed="an-unloadable-root-is-empty",
    ),
    Entry(
        "an orphan reflection has its own transcripts",
        "the same",
        f"{_REPLAY}orphan_reflection_returns_only_self",
    ),
    Entry(
        "breadth first, `visited` ends a cycle written by hand",
        "the same",
        f"{_REPLAY}cycle_in_reflects_on_does_not_loop_forever",
    ),
    Entry(
        "each transcript once, first seen wins",
        "each once, anchored where it was met first, with all who cite it",
        f"{_REPLAY}shared_transcript_deduplicates_to_one_entry",
        changed="every-anchor-is-listed",
    ),
    Entry(
        "ordered by `created_at`, then by transcript id",
        "ordered by when it was said, else stored, as instants, then by id",
        f"{_REPLAY}ordering_is_by_instant_then_id",
        changed="instants-not-text",
    ),
    Entry(
        "a transcript that was pruned is dropped, with a warning",
        "the same",
        f"{_REPLAY}dangling_transcript_id_is_silently_dropped",
    ),
    Entry(
        "an ancestor that was collected is dropped",
        "one whose time is over is walked and marked",
        f"{_REPLAY}expired_ancestors_are_walked",
        changed="times-over-is-not-gone",
    ),
)

_ENTRY = (
    Entry(
        "`ReplayEntry.memory_id`, the anchor",
        "`ReplayEntry.memory_id`",
        f"{_REPLAY}shared_transcript_deduplicates_to_one_entry",
        changed="every-anchor-is-listed",
    ),
    Entry(
        "`ReplayEntry.link`, a `TranscriptLink` with a span",
        "`ReplayEntry.spans`; `store.transcripts_for` gives a `TranscriptLink`",
        f"{_REPLAY}an_entry_has_these_fields",
        changed="text-when-asked-for",
    ),
    Entry(
        "`ReplayEntry.meta`, a `Transcript` without its blob",
        "`ReplayEntry.transcript`; its `text()` is read when asked for",
        f"{_REPLAY}an_entry_has_these_fields",
        changed="text-when-asked-for",
    ),
    Entry(
        "`Transcript`: namespace, created_at, compressed and original size",
        "the same, and agent_id, occurred_at, expires_at",
        f"{_REPLAY}an_entry_has_these_fields",
        changed="text-when-asked-for",
    ),
    Entry(
        "`transcripts_for_memory`, `fetch_metadata`",
        "`store.transcripts_for(memory_id)`, `store.get_transcript(transcript_id)`",
        "tests/lineage/test_ai_memory_calls.py::test_transcripts_of_a_memory",
    ),
    Entry(
        "`store(namespace, body, ttl)`",
        "`store.store_transcript(text, namespace=, ttl=)`",
        "tests/lineage/test_ai_memory_calls.py::test_transcripts_of_a_memory",
    ),
    Entry(
        "`link_transcript(memory_id, transcript_id, start, end)`",
        "`store.link_transcript(memory_id=, transcript_id=, spans=)`",
        "tests/lineage/test_ai_memory_calls.py::test_transcripts_of_a_memory",
    ),
)

_INVALIDATION = (
    Entry(
        "a `supersedes` edge between two reflections triggers it",
        "the same, whichever call wrote the link",
        f"{_NOTICES}only_two_reflections_trigger_it",
        changed="every-stale-belief-is-announced",
    ),
    Entry(
        "`propagate_reflection_invalidation(…)`: the ids of the dependents notified",
        "`store.supersede(old=, new=).notified`, also of `store.link(…)`",
        f"{_NOTICES}propagate_writes_one_notification_per_dependent",
    ),
    Entry(
        "no dependents: nothing is written",
        "the same",
        f"{_NOTICES}propagate_with_no_dependents_is_a_no_op",
    ),
    Entry(
        "`list_dependents_of_invalidated`, `memory_dependents_of_invalidated`",
        "`store.dependents(memory_id, depth=1)`",
        f"{_NOTICES}list_dependents_returns_inbound_reflects_on_only",
    ),
    Entry(
        "`DependentRecord`: id, namespace",
        "the same, and agent_id, hop",
        "tests/lineage/test_ai_memory_calls.py::test_a_dependent_record",
    ),
    Entry(
        "notification, not cascade: dependents stay as they are",
        "the same; `store.resolve_invalidation` decides",
        f"{_NOTICES}dependents_are_not_superseded",
    ),
    Entry(
        "not idempotent",
        "repeating it writes nothing",
        f"{_NOTICES}repeating_tells_nobody_again",
        changed="told-once",
    ),
    Entry(
        "an error leaves a prefix of the notices",
        "one event, all or nothing",
        f"{_NOTICES}a_notice_has_these_fields",
        changed="all-or-none-are-told",
    ),
    Entry(
        "`signed_events`: one `reflection.invalidation_notified` row a notice",
        "`store.audit_events(event_type=…)`: an `AuditEvent` each",
        f"{_NOTICES}propagate_records_signed_events_row_per_notification",
        changed="the-audit-is-the-log",
    ),
    Entry(
        "`SignedEvent`: id, agent_id, event_type, payload_hash, signature, attest_level, timestamp",
        "`AuditEvent`: the same, and commit_ts",
        f"{_NOTICES}propagate_records_signed_events_row_per_notification",
        changed="the-audit-is-the-log",
    ),
    Entry(
        "`attest_level`: `unsigned`, and no signature",
        "the same, or `self-signed` where the agent is bound with a signer",
        f"{_NOTICES}who_has_a_signer_signs_its_events",
    ),
)

_NOTICE = (
    Entry(
        "namespace `<dependent's namespace>/_invalidations`",
        "the same, and never one inside another",
        f"{_NOTICES}invalidations_namespace_appends_underscore_segment",
    ),
    Entry(
        "title `invalidation: <invalidated> -> <dependent>`",
        "`invalidation: <invalidated> -> <dependent> by <invalidating>`",
        f"{_NOTICES}each_superseder_has_its_own_notice",
        changed="a-notice-per-superseder",
    ),
    Entry(
        "content: what was superseded by what, and that the dependent may need re-evaluation",
        "the same",
        f"{_NOTICES}a_notice_has_these_fields",
        changed="all-or-none-are-told",
    ),
    Entry(
        "metadata: notification_kind, dependent_id, invalidated_id, invalidating_id, timestamp",
        "the same",
        f"{_NOTICES}metadata_carries_all_four_required_fields",
        changed="who-is-told",
    ),
    Entry(
        "metadata: agent_id, who superseded",
        "the same, and target_agent_id, whose notice it is",
        f"{_NOTICES}metadata_carries_all_four_required_fields",
        changed="who-is-told",
    ),
    Entry(
        "tier mid, priority 7, confidence 1.0, tag `_invalidation`, source `notification`",
        "the same",
        f"{_NOTICES}a_notice_has_these_fields",
        changed="all-or-none-are-told",
    ),
    Entry(
        "access_count 0, last_accessed_at none, reflection_depth 0, kind observation, version 1, "
        "entity_id none, citations empty, source_uri none",
        "the same",
        f"{_NOTICES}a_notice_has_these_fields",
        changed="all-or-none-are-told",
    ),
    Entry(
        "expires_at: seven days on",
        "none while it is open; seven days from its resolution",
        f"{_NOTICES}a_notice_has_these_fields",
        changed="open-notices-stay",
    ),
    Entry(
        "access_count moves on reads",
        "`store.touch`",
        f"{_NOTICES}reading_a_notice_does_not_count",
        changed="reads-count-nothing",
    ),
    Entry(
        "`memory_promote` keeps a notification",
        "`store.promote(memory_id)`",
        f"{_NOTICES}a_notice_can_be_promoted",
    ),
    Entry(
        "persona_version, confidence_signals, confidence_decayed_at",
        "",
        not_yet="a memory has one version and one confidence, which nothing lowers by itself",
    ),
    Entry(
        "source_span",
        "`store.link_transcript(…, spans=)`",
        "tests/lineage/test_ai_memory_calls.py::test_transcripts_of_a_memory",
    ),
    Entry(
        "confidence_source `caller_provided`",
        "`confidence_source`, none unless it is said",
        "tests/lineage/test_ai_memory_calls.py::test_where_a_confidence_comes_from",
    ),
)

_STORE = (
    Entry(
        "a memory's kinds: observation, reflection",
        "these, and decision, event, conversation, claim, concept, persona",
        "tests/lineage/test_ai_memory_calls.py::test_kinds_and_tiers",
    ),
    Entry(
        "tiers: short, mid, long",
        "the same",
        "tests/lineage/test_ai_memory_calls.py::test_kinds_and_tiers",
    ),
    Entry(
        "`insert` updates the memory with the same title and namespace",
        "`store.remember(…, title=)`",
        "tests/lineage/test_ai_memory_calls.py::test_a_title_is_an_identity",
    ),
    Entry(
        "`create_link(source, target, relation)`",
        "`store.link(source=, target=, relation=)`",
        f"{_NOTICES}list_dependents_returns_inbound_reflects_on_only",
    ),
    Entry(
        "a `reflects_on` edge that would close a cycle is refused",
        "`LinkCycle`",
        "tests/lineage/test_ai_memory_calls.py::test_a_cycle_is_refused",
    ),
    Entry(
        "`reflection_depth`",
        "the same",
        "tests/lineage/test_ai_memory_calls.py::test_a_reflection_has_a_depth",
    ),
)

SECTIONS: tuple[Section, ...] = (
    Section("The union replay", _UNION),
    Section("An entry of it, and transcripts", _ENTRY),
    Section("Invalidation", _INVALIDATION),
    Section("A notice", _NOTICE),
    Section("What both stand on", _STORE),
)
