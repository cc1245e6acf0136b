"""Stores behind a server, for the contract: what only the file's owner can do is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import memoranda
from memoranda import Store
from memoranda.server.stores import StoreOptions
from memoranda.testing import FixedClock, FixedIds
from tests.contract.blocking import Blocking, Loop
from tests.cores import serve_core
from tests.server_process import ServerThread

_FILES = "it copies the log to a file, or opens one, where the server has the store"
_SIGNS = "it signs the log with a key of the caller's own, beside the store"
_CLOSES = "its store ends with its handle; that of a server goes on"
_INSIDE = "it is about a store of this process"
NOT_REMOTE: Mapping[str, str] = {
    "test_checkpoints::test_a_checkpoint_is_of_all_that_is_committed": _SIGNS,
    "test_checkpoints::test_one_there_is_already_is_given_again": _SIGNS,
    "test_checkpoints::test_of_an_empty_log": _SIGNS,
    "test_checkpoints::test_stats_tell_of_the_last_one": _SIGNS,
    "test_checkpoints::test_trusting_is_in_the_log": _SIGNS,
    "test_checkpoints::test_a_second_signer_has_to_be_trusted": _SIGNS,
    "test_checkpoints::test_a_key_that_takes_the_place_of_another": _SIGNS,
    "test_checkpoints::test_who_is_retired_never_comes_back": _SIGNS,
    "test_checkpoints::test_an_agents_key_does_not_sign_for_the_log": _SIGNS,
    "test_checkpoints::test_every_commit_can_be_proven": _SIGNS,
    "test_checkpoints::test_growth_between_all_checkpoints": _SIGNS,
    "test_checkpoints::test_a_checkpoint_of_another_log_is_refused": _SIGNS,
    "test_checkpoints::test_a_checkpoint_that_was_altered_is_refused": _SIGNS,
    "test_checkpoints::test_keys_from_outside_are_the_only_ones_that_count": _SIGNS,
    "test_checkpoints::test_a_signer_is_given_as_its_file": _SIGNS,
    "test_checkpoints::test_what_is_open_with_a_signer_is_signed_when_it_is_closed": _SIGNS,
    "test_checkpoints::test_nothing_is_signed_where_nothing_was_written": _SIGNS,
    "test_checkpoints::test_what_was_forgotten_breaks_no_checkpoint_and_no_proof": _SIGNS,
    "test_checkpoints::test_what_was_summed_up_breaks_no_checkpoint_and_no_proof": _SIGNS,
    "test_citing::test_exported_logs_are_verified_without_the_store": _FILES,
    "test_compaction::test_a_fork_takes_all_of_it": _FILES,
    "test_copies::test_a_backup_holds_everything": _FILES,
    "test_copies::test_a_fork_ends_where_it_is_told_to": _FILES,
    "test_copies::test_an_exported_log_is_imported_as_it_was": _FILES,
    "test_facts_shared_by_agents::test_copies_share_what_the_log_shares": _FILES,
    "test_forget_targets::test_an_export_of_it_can_be_verified_and_imported": _FILES,
    "test_memory_transactions::test_a_fork_takes_long_content_along": _FILES,
    "test_refusals::test_what_was_only_counted_is_said_when_the_store_closes": _CLOSES,
    "test_refusals::test_a_count_does_not_bring_back_who_was_forgotten": _CLOSES,
    "test_signatures::test_copies_and_forks_hold": _FILES,
    "test_subscribe::test_one_look_tells_all_of_them": _INSIDE,
    "test_answers::test_a_handle_names_its_file_and_its_scope": _INSIDE,
}
"""The tests that cannot hold for a store of a server, and why; all others do."""
OF_THE_SERVER = ("durability", "limits", "embedder", "memory_budget")
"""Options of `open` that the server has."""


def remote_opener(
    way: str, scheme: str, path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Callable[..., Store]]:
    """Yield what opens a store of a server, which starts with the first one.

    The server and its clients share a clock and ids.
    """
    opened: list[Store] = []
    servers: list[ServerThread] = []
    with ExitStack() as ends, Loop() as loop:

        def start(options: dict[str, Any]) -> ServerThread:
            settings = {"durability": "relaxed", **options}
            server = ServerThread(
                file=path / "store.db",
                clock=clock,
                ids=ids,
                tokens=False,
                stores=StoreOptions(**settings),
            )
            ends.enter_context(server)
            ends.enter_context(serve_core(server))
            return server

        def open_store(**options: Any) -> Store:
            own = {name: options.pop(name) for name in OF_THE_SERVER if name in options}
            if not servers:
                servers.append(start(own))
            url = servers[0].url(scheme, "")
            options = {"clock": clock, "ids": ids, **options}
            if way == "sync":
                store = memoranda.open(url, **options)
            else:
                target = loop.run(memoranda.open_async(url, **options))
                store = cast(Store, Blocking(target, loop))
            opened.append(store)
            return store

        yield open_store
        for store in opened:
            store.close()
