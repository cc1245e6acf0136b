"""What memoir names and promises about edges, what it is here, and the test that holds it.

The lineage page is made from this, as from `statehouse_map.py`.
"""

from __future__ import annotations

from tests.lineage.statehouse_map import Entry, Section

_TESTS = "tests/lineage/test_memoir.py::test_"
_STORES = "tests/lineage/test_memoir_store.py::test_"

_CARDINALITY = (
    Entry(
        "`RelationCardinality::SingleValued`, `MultiValued`",
        "`RelationCardinality.SINGLE_VALUED`, `MULTI_VALUED`; in the log `single`, `multi`",
        f"{_TESTS}two_cardinalities",
    ),
    Entry(
        "it counts what holds at one moment: two deployments are two true events",
        "the same",
        f"{_TESTS}should_not_close_multi_valued_edges",
    ),
    Entry(
        "`CardinalityPolicy::with_single_valued(relations)`",
        "`CardinalityPolicy.with_single_valued(relations)`",
        f"{_TESTS}should_default_unknown_relations_to_multi_valued",
    ),
    Entry(
        "`CardinalityPolicy::default()`: all multi-valued",
        "`CardinalityPolicy()`",
        f"{_TESTS}should_treat_empty_policy_as_all_multi_valued",
    ),
    Entry(
        "`policy.cardinality(relation)`",
        "the same",
        f"{_TESTS}should_default_unknown_relations_to_multi_valued",
    ),
    Entry(
        "an unknown relation is multi-valued: the safe default is to append",
        "the same",
        f"{_TESTS}should_default_unknown_relations_to_multi_valued",
    ),
    Entry(
        "a policy ignores case",
        "and how spaces, underscores and look-alikes are written",
        f"{_TESTS}should_classify_cardinality_case_insensitively",
    ),
    Entry(
        "subjects, relations and objects are matched letter by letter",
        "by the same form as in the policy",
        f"{_TESTS}policy_and_matching_compare_alike",
        changed="both-sides-are-compared-by-form",
    ),
)

_EDGES = (
    Entry(
        "`Edge`: subject_key, relation, object_key",
        "the same",
        f"{_TESTS}an_edge_has_these_fields",
    ),
    Entry("`Edge.confidence`, 0.0 to 1.0", "the same", f"{_TESTS}an_edge_has_these_fields"),
    Entry(
        "`Edge.valid_from`: when the fact became true, with an offset",
        "`Edge.valid_from`, an aware datetime; two offsets of one instant are equal",
        f"{_TESTS}should_carry_event_time_as_valid_from",
    ),
    Entry(
        "`ExistingEdge`: subject_key, relation, object_key, valid_from are its identity",
        "the same",
        f"{_TESTS}an_existing_edge_is_its_own_identity",
    ),
    Entry(
        "`ExistingEdge.valid_to`: none while it is current",
        "the same, and the default",
        f"{_TESTS}an_existing_edge_is_its_own_identity",
    ),
    Entry(
        "`EdgeResolution.open`, the edge to open",
        "the same; none where a store opens nothing",
        f"{_TESTS}a_resolution_has_these_fields",
        changed="an-answer-says-more",
    ),
    Entry(
        "`EdgeResolution.close`, the edges to close, fully described",
        "the same, a tuple; also `changed`, `folded`, `reopened`",
        f"{_TESTS}a_resolution_has_these_fields",
        changed="an-answer-says-more",
    ),
    Entry(
        "`Scope`: agent_id, org_id, user_id",
        "`Scope.of(agent_id=, org_id=, user_id=)`: namespace and agent_id",
        f"{_TESTS}a_scope_of_organisation_user_and_agent",
        changed="a-scope-is-a-path",
    ),
)

_RESOLVERS = (
    Entry(
        "`EdgeCatalog::current_edges(scope, subject_key, relation)`, a future",
        "`EdgeCatalog.current_edges(scope, subject_key, relation)`",
        f"{_TESTS}a_catalog_gives_current_edges",
        changed="nothing-is-awaited",
    ),
    Entry(
        "it gives edges that have not ended, of one scope",
        "the same; others are passed over",
        f"{_TESTS}a_catalog_gives_current_edges",
    ),
    Entry(
        "`EdgeResolver::resolve(scope, edge)`, a future",
        "`EdgeResolver.resolve(scope, edge)`",
        f"{_TESTS}one_resolver_stands_for_another",
        changed="nothing-is-awaited",
    ),
    Entry(
        "one resolver can be swapped for another",
        "the same",
        f"{_TESTS}one_resolver_stands_for_another",
    ),
    Entry(
        "`EdgeError::Catalog`: edge catalog read failed",
        "`EdgeError`, with its cause",
        f"{_TESTS}an_unreadable_catalog_is_an_edge_error",
        changed="the-cause-is-kept",
    ),
    Entry(
        "`NaiveAppendResolver`: opens every edge, closes none, reads nothing",
        "the same",
        f"{_TESTS}should_append_without_closing_under_naive_resolver",
    ),
    Entry(
        "`TemporalEdgeResolver::new(catalog, policy)`",
        "`TemporalEdgeResolver(catalog, policy)`",
        f"{_TESTS}should_close_conflicting_single_valued_edge",
    ),
    Entry(
        "a contradiction closes the edge and opens the new one",
        "the same",
        f"{_TESTS}should_close_conflicting_single_valued_edge",
    ),
    Entry(
        "multi-valued edges never conflict, and the catalog is not read",
        "the same",
        f"{_TESTS}should_not_close_multi_valued_edges",
    ),
    Entry(
        "confidence never decides: a newer fact wins",
        "the same",
        f"{_TESTS}should_close_low_confidence_new_edge_over_high_confidence_old",
    ),
    Entry(
        "a restatement is not closed against itself",
        "the same",
        f"{_TESTS}should_not_close_when_same_object_restated",
    ),
    Entry(
        "a restatement takes over `valid_from`, when the fact first became true",
        "all that the edge is known by, also its spelling",
        f"{_TESTS}should_fold_restated_fact_by_adopting_existing_valid_from",
    ),
    Entry(
        "a restatement closes what else is current",
        "the same",
        f"{_TESTS}a_restatement_closes_nothing_and_what_differs_is_closed",
    ),
    Entry(
        "`SupersessionInfo`: of two memories the newer one wins, which is no error",
        "`store.supersede(old=, new=)`, `Memory.superseded_by`",
        f"{_TESTS}a_newer_memory_wins_over_an_older_one",
    ),
)

_STORE = (
    Entry(
        "a backdated edge closes the current one, which then ends before it begins",
        "it takes its place in history: timelines follow from all assertions",
        f"{_STORES}a_backdated_edge_takes_its_place_in_history",
        changed="timelines-from-all-assertions",
    ),
    Entry(
        "closed edges are history and never reconsidered",
        "a timeline is derived again whenever an assertion comes or goes",
        f"{_STORES}an_edge_that_has_ended_is_reconsidered",
        changed="timelines-from-all-assertions",
    ),
    Entry(
        "`valid_from` is the event time of the source memory",
        "the default of `store.assert_fact(valid_from=)`",
        f"{_STORES}valid_from_is_the_event_time_of_the_source_memory",
    ),
    Entry(
        "closing sets `valid_to` to the new edge's `valid_from`, and keeps the edge",
        "the same, in `store.timeline(…)`",
        f"{_STORES}closing_keeps_the_edge_and_ends_it_where_the_next_begins",
    ),
    Entry(
        "a restatement appends the id of its source to the edge",
        "`Fact.sources`",
        f"{_STORES}a_restatement_gains_a_source",
    ),
    Entry(
        "contradiction is not forgetting: deletion is another path",
        "nor are `store.end_fact` and `store.retract_fact`: what was said stays known",
        f"{_STORES}contradicting_ending_and_retracting_are_different_and_none_forgets",
    ),
    Entry(
        "edges are reconciled within one scope",
        "a timeline is one agent's belief in one namespace",
        f"{_STORES}edges_are_reconciled_within_one_scope",
    ),
    Entry(
        "a store of edges can stand behind `EdgeCatalog`",
        "the store is an `EdgeCatalog`",
        f"{_STORES}the_store_is_a_catalog_of_edges",
    ),
    Entry(
        "`Resolution`, `EntityCatalog`: names are resolved to nodes before edges are",
        "names bind by their form or by an alias, in the same call",
        f"{_STORES}names_bind_by_their_form_or_by_an_alias",
    ),
)

SECTIONS: tuple[Section, ...] = (
    Section("Cardinality and names", _CARDINALITY),
    Section("Edges", _EDGES),
    Section("Catalogs and resolvers", _RESOLVERS),
    Section("In the store", _STORE),
)
