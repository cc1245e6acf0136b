"""One run of a hook: show a digest to the assistant, then store new messages."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from memoranda.cli.assistants.conversation import SessionState, load_state, save
from memoranda.cli.assistants.digest import Digest, overview, recalled, save_seen
from memoranda.cli.assistants.hook_events import HookEvent, answer
from memoranda.cli.assistants.transcript_files import NewMessages, Position, read_new
from memoranda.cli.options import NO_EMBEDDER, Target
from memoranda.cli.progress import search_notes

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store

DEFAULT_AGENT = "assistant"
"""The agent if none is named, as in `memoranda mcp`."""
_LAST_EVENTS = ("pre-compact", "session-end")
"""Events that may be a session's last: the hook stores as many messages as it has time for."""
_SKIPPED_BYTES = 2**20
"""How far a position may lag behind lines without messages."""


class HookRun:
    """A hook that runs for an event of a client."""

    def __init__(self, kind: str, client: str | None, event: HookEvent) -> None:
        self._kind = kind
        self._event = event
        self._form = partial(answer, client, kind, event.name)

    def run(self, target: Target) -> None:
        """Write the answer, and store the new messages of the session."""
        event = self._event
        is_missing = _is_missing(target)
        if is_missing and (event.session is None or event.transcript is None):
            self._write(self._form(""))
            return
        with self._open(target, is_missing=is_missing) as store:
            self._run(_acting(store, target))

    def _open(self, target: Target, *, is_missing: bool) -> AbstractContextManager[Store]:
        """Open a store without an embedder; at the end of a session, with the indexer.

        Only the last hook has time to start threads. It indexes the stored messages, if no other
        program does.
        """
        if is_missing or self._kind in _LAST_EVENTS:
            return target.store(create=is_missing, embedder=NO_EMBEDDER)
        return target.reader()

    def _run(self, store: Store) -> None:
        session = self._event.session
        state = None if session is None else load_state(store, session)
        digest = self._digest(store, state)
        self._write(digest.answer)
        if session is None:
            return
        self._store(store, session, state, digest.refs if self._kind == "prompt" else ())
        if self._kind == "session-start":
            save_seen(store, session)

    def _digest(self, store: Store, state: SessionState | None) -> Digest:
        if self._kind == "session-start":
            return overview(store, self._form)
        if self._kind == "prompt":
            state = state or SessionState()
            with search_notes(_ignore):
                return recalled(
                    store,
                    self._event.prompt,
                    self._form,
                    known_refs=state.refs,
                    first_commit=state.first_commit,
                )
        return Digest(self._form(""))

    def _store(
        self, store: Store, session: str, state: SessionState | None, refs: tuple[str, ...]
    ) -> None:
        """Store new messages, a part of a long file at a time, and the hits that were shown."""
        while True:
            before = state or SessionState()
            read = self._read_new(before.position)
            advanced = read.position.offset - before.position.offset
            if not (read.messages or refs or advanced > _SKIPPED_BYTES):
                return
            after = msgspec.structs.replace(before.with_refs(refs), position=read.position)
            is_saved = save(store, session, state, after, read.messages)
            if not is_saved or self._kind not in _LAST_EVENTS:
                return
            state, refs = load_state(store, session), ()

    def _read_new(self, position: Position) -> NewMessages:
        if self._event.transcript is None:
            return NewMessages((), position)
        try:
            return read_new(self._event.transcript, position)
        except FileNotFoundError:  # nothing was said yet
            return NewMessages((), position)

    def _write(self, text: str) -> None:
        """Write an answer at once: a client that stops waiting gets all of it, or nothing."""
        if text:
            sys.stdout.buffer.write(f"{text}\n".encode())
            sys.stdout.buffer.flush()


def _ignore(_: str) -> None:
    """Drop a warning that there are no vectors: a hook has no time for them."""


def _is_missing(target: Target) -> bool:
    from memoranda.storage.store_url import file_of

    return not target.is_remote and not file_of("url", target.location).exists()


def _acting(store: Store, target: Target) -> Store:
    """Return a handle of the named agent, or else of the token's agent."""
    if target.agent is not None:
        return store
    from memoranda.calls.directory import DescribeStore

    calls = store._calls  # noqa: SLF001  # the SDK has no name for it
    actor = calls.ask(DescribeStore()).actor if target.is_remote else None
    return store.bind(agent_id=actor or DEFAULT_AGENT)
