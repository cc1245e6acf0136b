"""What Statehouse names and promises, what it is here, and the test that holds it.

The lineage page is made from this. A row without a correction means that it holds as Statehouse
says it; what is not built yet says so and names no test.
"""

from __future__ import annotations

from typing import NamedTuple

_BLOCKS = "tests/lineage/test_statehouse.py::test_"
_PROSE = "tests/lineage/test_statehouse_prose.py::test_"
_WIRE = "tests/lineage/test_statehouse_wire.py::test_"
_SERVED = "tests/lineage/test_statehouse_service.py::test_"


class Entry(NamedTuple):
    """One name, field, default or guarantee."""

    theirs: str
    ours: str
    test: str = ""
    """A pytest node."""
    changed: str = ""
    """The id of the correction, where it is not the same."""
    not_yet: str = ""
    """What is missing, where it is not built."""


class Section(NamedTuple):
    """Entries of one kind."""

    title: str
    entries: tuple[Entry, ...]


_CALLS = (
    Entry(
        "`client`",
        "`Store`, from `memoranda.open(url)`; `AsyncStore` for asyncio",
        f"{_BLOCKS}overview_1_replay_tells_what_an_agent_did",
    ),
    Entry(
        "`begin_transaction()`",
        "`store.begin_transaction()`",
        f"{_BLOCKS}completeness_1_what_was_committed_and_nothing_else",
    ),
    Entry(
        "`with client.begin_transaction() as tx`: commits at its end",
        "the same; an exception aborts it",
        f"{_BLOCKS}completeness_1_what_was_committed_and_nothing_else",
    ),
    Entry(
        "BeginTransaction `timeout_ms` = 30000",
        "`begin_transaction(timeout=30.0)`",
        f"{_WIRE}begin_transaction_gives_thirty_seconds",
        changed="timeout-in-seconds",
    ),
    Entry(
        "`tx.write(agent_id, key, value)`",
        "`tx.write(agent_id=, key=, value=)`, `store.write(…)` for one alone",
        f"{_BLOCKS}consistency_1_the_last_event_is_the_state",
    ),
    Entry(
        "`tx.delete(agent_id, key)`",
        "`tx.delete(agent_id=, key=)`, `store.delete(…)` for one alone",
        f"{_BLOCKS}deleted_keys_1_the_deletion_is_an_event",
    ),
    Entry(
        "`tx.commit()` gives the `commit_ts`",
        "`tx.commit()`",
        f"{_WIRE}commit_gives_the_commit_ts",
    ),
    Entry(
        "`tx.abort()`",
        "`tx.abort()`",
        f"{_BLOCKS}completeness_1_what_was_committed_and_nothing_else",
    ),
    Entry(
        "a finished transaction fails every call",
        "`TransactionClosed`",
        f"{_WIRE}a_transaction_that_is_over_takes_no_call",
    ),
    Entry(
        "`get_state(agent_id, key)`: value, version, commit_ts",
        "`store.get_state(…)`: a `StateRecord`",
        f"{_WIRE}get_state_gives_value_version_and_commit",
    ),
    Entry(
        "`get_state` of a deleted key is `None`",
        "the same",
        f"{_BLOCKS}deleted_keys_2_the_state_has_no_such_key",
    ),
    Entry(
        "GetStateAtVersion",
        "`store.get_state(…, version=)`",
        f"{_WIRE}get_state_at_a_version",
    ),
    Entry(
        "ListKeys: one list",
        "`store.list_keys(…)`: an iterator",
        f"{_WIRE}list_keys_gives_the_keys_that_have_a_value",
        changed="answers-are-paged",
    ),
    Entry(
        "ScanPrefix: one list of entries",
        "`store.scan_prefix(…)`: an iterator of `StateRecord`",
        f"{_WIRE}scan_prefix_gives_keys_with_their_values",
        changed="answers-are-paged",
    ),
    Entry(
        "`replay(agent_id)`",
        "`store.replay(agent_id=)`",
        f"{_BLOCKS}overview_1_replay_tells_what_an_agent_did",
    ),
)

_FIELDS = (
    Entry(
        "`event.operation.name`, `event.key`, in the opening example",
        "`event.operations`, each with `type.name` and `key`",
        f"{_BLOCKS}overview_1_replay_tells_what_an_agent_did",
        changed="one-event-many-operations",
    ),
    Entry(
        "`ReplayEvent.txn_id`",
        "`ReplayEvent.txn_id`",
        f"{_BLOCKS}event_structure_1_the_fields_of_an_event",
    ),
    Entry(
        "`ReplayEvent.commit_ts`, an integer that grows",
        "the same, from 1 and without gaps",
        f"{_PROSE}ordering_commit_ts_grows_with_every_commit",
    ),
    Entry(
        "`ReplayEvent.timestamp`, ISO text",
        "`ReplayEvent.timestamp`, RFC 3339 text in UTC; `committed_at` is the same as a datetime",
        f"{_BLOCKS}event_structure_1_the_fields_of_an_event",
    ),
    Entry(
        "`ReplayEvent.operations`, a list",
        "`ReplayEvent.operations`, a tuple",
        f"{_BLOCKS}event_structure_1_the_fields_of_an_event",
        changed="frozen-values",
    ),
    Entry(
        "`Operation.type`",
        "`Operation.type`",
        f"{_BLOCKS}event_structure_2_the_fields_of_an_operation",
    ),
    Entry(
        "`OperationType.WRITE`, `OperationType.DELETE`",
        "the same names, among others",
        f"{_BLOCKS}deleted_keys_1_the_deletion_is_an_event",
    ),
    Entry(
        "`Operation.namespace`",
        "`Operation.namespace`",
        f"{_BLOCKS}event_structure_2_the_fields_of_an_operation",
    ),
    Entry(
        "`Operation.agent_id`",
        "`Operation.agent_id`",
        f"{_BLOCKS}isolation_1_an_agent_sees_its_own_events",
    ),
    Entry(
        "`Operation.key`",
        "`Operation.key`",
        f"{_BLOCKS}event_structure_2_the_fields_of_an_operation",
    ),
    Entry(
        "`Operation.value`, `None` for a delete",
        "`Operation.value`",
        f"{_BLOCKS}event_structure_2_the_fields_of_an_operation",
    ),
    Entry(
        "`Operation.version`",
        "`Operation.version`, never used twice for a key",
        f"{_PROSE}storage_versions_never_start_again",
        changed="versions-go-on",
    ),
    Entry(
        "a value: nested lists and objects; every number a double",
        "a JSON object; integers stay integers",
        f"{_WIRE}values_survive_a_round_trip",
        changed="integers-stay-integers",
    ),
)

_FILTERS = (
    Entry(
        "`from_timestamp`, inclusive",
        "`from_timestamp`, inclusive",
        f"{_BLOCKS}by_time_range_1_from_is_in_and_to_is_out",
    ),
    Entry(
        "`to_timestamp`: exclusive in the document, inclusive on its server",
        "`to_timestamp`, exclusive",
        f"{_PROSE}by_time_range_adjoining_ranges_share_and_miss_nothing",
        changed="end-bounds",
    ),
    Entry(
        "`start_ts` and `end_ts`, commit numbers, both inclusive",
        "`after_commit`, exclusive, and `through_commit`, inclusive",
        f"{_PROSE}by_time_range_commit_numbers_have_names_of_their_own",
        changed="end-bounds",
    ),
    Entry(
        "a range counts the commit, not the clock of the client",
        "the same: `committed_at` is read under the commit lock",
        f"{_PROSE}by_time_range_counts_the_commit_not_the_staging",
    ),
    Entry(
        "`namespace`",
        "`namespace`",
        f"{_BLOCKS}by_namespace_1_only_that_namespace",
    ),
    Entry(
        "no namespace given",
        "the client's own, which is `default` unless it is bound to another",
        f"{_WIRE}without_a_namespace_it_is_the_default_one",
    ),
    Entry(
        "all namespaces of an agent, asked for one by one",
        "the same, or `namespace=ALL_NAMESPACES` for all in the order of commits",
        f"{_BLOCKS}by_agent_1_all_namespaces_of_an_agent",
    ),
    Entry(
        "the agent is required",
        "`InvalidInput`, unless the store is bound to one",
        f"{_PROSE}by_agent_the_agent_is_required",
    ),
)

_GUARANTEES = (
    Entry(
        "Completeness: all committed operations, no others",
        "the same",
        f"{_BLOCKS}completeness_1_what_was_committed_and_nothing_else",
    ),
    Entry(
        "Completeness: every successful commit is recorded",
        "the same, also for who opens the store later",
        f"{_PROSE}completeness_every_commit_is_recorded",
    ),
    Entry(
        "Completeness: aborted transactions are not included",
        "the same",
        f"{_PROSE}completeness_aborted_transactions_are_not_included",
    ),
    Entry(
        "Ordering: by `commit_ts`; its loop has only comments",
        "by `commit_ts`, asserted",
        f"{_BLOCKS}ordering_1_the_order_of_commits_not_of_beginnings",
        changed="comments-are-no-body",
    ),
    Entry(
        "Ordering: not by staging",
        "the same",
        f"{_PROSE}ordering_is_not_that_of_staging",
    ),
    Entry(
        "Ordering: not by the client's clock",
        "the same",
        f"{_PROSE}ordering_is_not_that_of_the_clients_clock",
    ),
    Entry(
        "Atomicity: a transaction is one event",
        "the same",
        f"{_BLOCKS}atomicity_1_one_event_with_three_operations",
    ),
    Entry(
        "Atomicity: the same `commit_ts` and `txn_id` for all its operations",
        "the same",
        f"{_PROSE}atomicity_one_number_and_one_name_for_all_operations",
    ),
    Entry(
        "Atomicity: all operations appear together",
        "all or none",
        f"{_PROSE}atomicity_all_or_nothing",
    ),
    Entry(
        "Isolation: no events of other agents",
        "the same",
        f"{_BLOCKS}isolation_1_an_agent_sees_its_own_events",
    ),
    Entry(
        "Isolation: its server shows both agents of a shared transaction to each",
        "each sees its own part",
        f"{_PROSE}isolation_of_agents_that_share_a_transaction",
        changed="only-the-agents-own-part",
    ),
    Entry(
        "Isolation: of namespaces alike",
        "the same",
        f"{_PROSE}isolation_of_namespaces_works_the_same_way",
    ),
    Entry(
        "Consistency: the last replayed write is the state",
        "the same",
        f"{_BLOCKS}consistency_1_the_last_event_is_the_state",
    ),
    Entry(
        "Consistency: applying all events gives the current state",
        "the same, with versions and commits",
        f"{_PROSE}consistency_applying_all_events_gives_the_state",
    ),
)

_PERFORMANCE = (
    Entry(
        "Streaming: events one by one, the history is not held in memory",
        "iterators that read a page at a time",
        f"{_BLOCKS}streaming_1_memory_does_not_grow_with_the_history",
        changed="names-left-open",
    ),
    Entry(
        "Streaming: from the server, over gRPC",
        "the same, one event a message; our own clients get many in one",
        f"{_SERVED}streaming_sends_one_event_a_message",
    ),
    Entry(
        "Scan efficiency: quick for small and recent ranges",
        "the cost follows the events returned",
        f"{_PROSE}scan_efficiency_a_recent_range_costs_what_it_returns",
    ),
    Entry(
        "Scan efficiency: replay from the last known checkpoint",
        "`after_commit=event.token`",
        f"{_PROSE}scan_efficiency_resume_from_the_last_known_checkpoint",
    ),
    Entry(
        "Scan efficiency: make snapshots for old agents",
        "nothing to make: `get_state(…, at=)` reads any moment",
        f"{_PROSE}snapshots_every_moment_can_be_read",
        changed="nothing-to-snapshot",
    ),
    Entry(
        "Backpressure: a slow reader loses nothing, memory is bounded",
        "a paused iterator holds a page and no lock",
        f"{_PROSE}backpressure_a_slow_reader_stops_nobody_and_misses_nothing",
    ),
    Entry(
        "Backpressure: gRPC makes the server pause",
        "the same",
        f"{_SERVED}backpressure_makes_the_server_pause",
    ),
)

_USES = (
    Entry("Debugging", "the same calls", f"{_BLOCKS}debugging_1_find_the_wrong_decision"),
    Entry(
        "Auditing: export as lines of JSON",
        "the same calls",
        f"{_BLOCKS}auditing_1_export_what_an_agent_did",
    ),
    Entry(
        "State reconstruction",
        "the same calls",
        f"{_BLOCKS}state_reconstruction_1_from_nothing_to_now",
    ),
    Entry(
        "Testing: `events_1 == events_2`, for two runs in one log",
        "`memoranda.testing.same_behaviour(events_1, events_2)`",
        f"{_BLOCKS}testing_1_two_runs_that_do_the_same",
        changed="determinism",
    ),
    Entry(
        "Testing: replays are identical",
        "`==`, for two stores with equal clocks and ids",
        f"{_BLOCKS}testing_1_two_stores_are_equal_to_the_last_byte",
        changed="determinism",
    ),
    Entry(
        "Provenance tracking",
        "the same calls",
        f"{_BLOCKS}provenance_tracking_1_from_the_answer_to_its_sources",
    ),
    Entry(
        "Structured keys, with `value={...}`",
        "the same calls, with values",
        f"{_BLOCKS}structure_keys_1_find_by_prefix",
        changed="placeholder-values",
    ),
    Entry(
        "Metadata in values",
        "the same calls",
        f"{_BLOCKS}include_metadata_1_the_reason_is_kept_with_the_decision",
    ),
    Entry(
        "Periodic summaries",
        "the same calls",
        f"{_BLOCKS}periodic_summaries_1_every_hundred_steps",
    ),
    Entry(
        "Replay in the tests of an agent",
        "the same calls; `memoranda.testing.memory_store()` is a store for it",
        f"{_BLOCKS}test_replay_1_an_agent_is_tested_by_its_replay",
    ),
)

_EDGES = (
    Entry(
        "Empty replay: an empty list, no error",
        "the same",
        f"{_BLOCKS}empty_replay_1_is_empty_and_no_error",
    ),
    Entry(
        "Concurrent replay: the same events in the same order",
        "the same, for threads and for handles on one file",
        f"{_BLOCKS}concurrent_replay_1_two_threads_see_the_same",
    ),
    Entry(
        "Replay during writes: what is committed later is not in it",
        "the same: the end is fixed when `replay()` is called",
        f"{_BLOCKS}replay_during_writes_1_ends_where_it_began",
    ),
    Entry(
        "Replay during writes: a new replay has it",
        "the same",
        f"{_BLOCKS}replay_during_writes_2_a_new_replay_has_the_new_write",
    ),
    Entry(
        "Deleted keys: the deletion is replayed",
        "the same",
        f"{_BLOCKS}deleted_keys_1_the_deletion_is_an_event",
    ),
    Entry(
        "Deleted keys: the state does not have them",
        "the same",
        f"{_BLOCKS}deleted_keys_2_the_state_has_no_such_key",
    ),
)

_INSIDE = (
    Entry(
        "Storage: the log is append-only",
        "the same, and hash-chained: `store.verify()`",
        f"{_PROSE}storage_the_log_is_append_only",
    ),
    Entry(
        "Storage: state is derived, each key with version and commit",
        "the same",
        f"{_PROSE}storage_the_state_that_follows_from_the_log",
    ),
    Entry(
        "Storage: a deleted key stands at version 1",
        "a deletion takes the key's next version",
        f"{_PROSE}storage_a_deletion_behind_a_write_has_the_next_version",
        changed="delete-takes-a-version",
    ),
    Entry(
        "Snapshots: state can be rebuilt from the log alone",
        "`store.rebuild()`, which also compares",
        f"{_PROSE}snapshots_state_comes_from_the_log_alone",
    ),
    Entry(
        "Snapshots: replay always reads the log",
        "the same",
        f"{_PROSE}snapshots_replay_reads_the_log",
    ),
    Entry(
        "Compaction, a future feature there",
        "`store.compact()`; without it, the whole log is kept",
        f"{_PROSE}compaction_keeps_the_state_at_its_horizon",
    ),
    Entry(
        "State-first, with a log for replay",
        "log-first, with state reads as fast",
        f"{_PROSE}event_sourcing_state_reads_are_fast",
        changed="log-first",
    ),
    Entry(
        "Linear history: no branches, no merges",
        "the same",
        f"{_PROSE}git_history_is_linear",
    ),
)

_SERVICE = (
    Entry(
        "`statehouse.v1.StatehouseService`, all its calls over gRPC",
        "the same, from `memoranda serve`, for clients of Statehouse as they are",
        f"{_SERVED}every_call_of_the_service_is_answered",
    ),
    Entry("Health, Version", "the same; the version is ours", f"{_SERVED}health_and_version"),
    Entry(
        "on the wire, `start_ts` and `end_ts` are both inclusive",
        "the same there",
        f"{_SERVED}bounds_of_a_replay_are_both_inclusive",
    ),
    Entry(
        "on the wire, every number is a double",
        "the same there; whole numbers are stored as integers",
        f"{_SERVED}numbers_are_doubles_on_the_wire",
    ),
    Entry(
        "on the wire, a deleted key is `exists=false`",
        "the same there",
        f"{_SERVED}what_is_not_there_does_not_exist",
    ),
    Entry(
        "INVALID_REQUEST",
        "`InvalidInput`, which names the field",
        f"{_WIRE}a_bad_request_is_refused",
    ),
    Entry(
        "TXN_EXPIRED",
        "`TransactionExpired`",
        f"{_WIRE}begin_transaction_takes_another_timeout",
    ),
    Entry(
        "TXN_ALREADY_COMMITTED",
        "`TransactionClosed`",
        f"{_WIRE}a_transaction_that_is_over_takes_no_call",
    ),
    Entry(
        "TXN_NOT_FOUND",
        "`NotFound`, on the wire only: a transaction of the library is an object",
        f"{_SERVED}a_transaction_that_was_never_begun_is_not_found",
    ),
    Entry(
        "KEY_NOT_FOUND, VERSION_NOT_FOUND",
        "`None`",
        f"{_WIRE}get_state_of_what_is_not_there_is_none",
        changed="missing-is-none",
    ),
    Entry(
        "STORAGE_ERROR, INTERNAL_ERROR, UNKNOWN",
        "`MemorandaError` and its kinds; the code comes in the metadata `statehouse-error-bin`",
        f"{_SERVED}errors_have_their_codes",
    ),
)

SECTIONS: tuple[Section, ...] = (
    Section("Calls", _CALLS),
    Section("Events and operations", _FIELDS),
    Section("Filters", _FILTERS),
    Section("The five guarantees", _GUARANTEES),
    Section("Performance", _PERFORMANCE),
    Section("Uses and practices", _USES),
    Section("Edge cases", _EDGES),
    Section("Inside", _INSIDE),
    Section("The service", _SERVICE),
)
