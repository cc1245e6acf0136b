"""Conversations of a client: their new messages become transcripts, each message once.

The position up to which a session is stored is a key of the agent, written in the transaction that
stores the messages. So two hooks at a time neither lose nor repeat a message, and nor does a killed
one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.cli.assistants.transcript_files import Message, Position
from memoranda.errors import InvalidInput, TransactionConflict
from memoranda.model.clock import to_micros

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store
    from memoranda.sdk.transaction.transaction import Transaction

SESSIONS = "hooks/sessions/"
"""Prefix of the keys with the state of sessions."""
_KEY_CHARACTERS = 200
"""Characters of a session's name up to which it is part of the key as it is."""
_MAX_REFS = 64
"""References that a session remembers: they are in every version of its key."""


class SessionState(msgspec.Struct, frozen=True):
    """The state of a session that hooks store."""

    position: Position = Position()
    first_commit: int | None = None
    """The commit that began it; None in that commit itself."""
    refs: tuple[str, ...] = msgspec.field(default=(), name="shown")
    """References of hits that were shown to the assistant, the newest last."""

    def with_refs(self, refs: tuple[str, ...]) -> SessionState:
        """Return the state after hits were shown to the assistant."""
        return msgspec.structs.replace(self, refs=(*self.refs, *refs)[-_MAX_REFS:])


def session_key(session: str) -> str:
    """Return the key of a session; a name that is too long for one is hashed."""
    is_plain = len(session) <= _KEY_CHARACTERS and session.isascii() and session.isprintable()
    return SESSIONS + (
        session if is_plain else sha256(session.encode(errors="replace")).hexdigest()
    )


def load_state(source: Store | Transaction, session: str) -> SessionState | None:
    """Return the state of a session; None if it is new, or was written by another version."""
    record = source.get_state(key=session_key(session))
    if record is None:
        return None
    try:
        state = msgspec.convert(record.value, SessionState)
    except msgspec.ValidationError:
        return None
    if state.first_commit is None:
        return msgspec.structs.replace(state, first_commit=record.commit_ts)
    return state


def save(
    store: Store,
    session: str,
    before: SessionState | None,
    after: SessionState,
    messages: tuple[Message, ...],
) -> bool:
    """Store messages and the new state of a session; return False if another hook was first."""
    try:
        with store.begin_transaction() as transaction:
            if load_state(transaction, session) != before:
                transaction.abort()
                return False
            if messages:
                transaction.store_transcript(
                    [_stored(message) for message in messages], occurred_at=_first_time(messages)
                )
            transaction.write(key=session_key(session), value=_document(after))
    except TransactionConflict:
        return False
    return True


def _document(state: SessionState) -> dict[str, Any]:
    """Return a state as JSON has it."""
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(state))
    return value


def _stored(message: Message) -> dict[str, Any]:
    members: dict[str, Any] = {"role": message.role, "content": message.content}
    return members if message.timestamp is None else members | {"timestamp": message.timestamp}


def _first_time(messages: tuple[Message, ...]) -> str | None:
    for message in messages:
        if message.timestamp is not None:
            try:
                to_micros("timestamp", message.timestamp)
            except InvalidInput:
                continue
            return message.timestamp
    return None
