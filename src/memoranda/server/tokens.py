"""Tokens: the credentials of callers, stored as hashes in the control store.

A token's secret has 256 bits that nobody can guess, and its id, which is no secret:
`mmr_<id>_<43 characters>`. The control store has the SHA-256 of it, in the scope of an agent that
is named by the token's id. So the log of that store is the record of every token that was created,
rotated or revoked, and the book below is a fold over it.

`authenticate` runs at every request, in the event loop: it computes one hash and compares it. What
another process commits is read by `refresh`, in a thread of the server's control store; only if
that thread had no chance for `MAX_AGE_SECONDS`, the caller reads for itself, which is one small
query if nothing has changed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from hmac import compare_digest
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Write
from memoranda.calls.log import Replay
from memoranda.calls.registry import handle, stage_write
from memoranda.errors import Corruption, InvalidInput, NotFound, Unauthenticated
from memoranda.model.clock import (
    Duration,
    Instant,
    check_duration,
    to_datetime,
    to_micros,
)
from memoranda.model.limits import check_text, plain_text, short_repr
from memoranda.model.operations import Write as WriteOperation
from memoranda.server.denials import Denials
from memoranda.server.store_catalog import check_name
from memoranda.server.token_grants import ALL, DEFAULT_VERBS, grant_of
from memoranda.server.token_limits import TokenLimits
from memoranda.storage.thread_locks import new_lock

NAMESPACE, KEY = "tokens", "token"
"""The namespace and the key of a token in the control store; the agent is the token's id."""
OPERATOR = "operator"
"""The actor of every change of a token."""
MAX_AGE_SECONDS = 0.75
"""Seconds after which the book is read again: a revocation is effective within a second."""
_PREFIX = "mmr"
_ID_BYTES, _SECRET_BYTES = 10, 32
"""Random bytes of a token: of its unique id, and of its secret, which nobody can guess."""
_MAX_SECRET_CHARACTERS = 128
"""Characters: more than any secret has; a longer text is not hashed."""
_NOTE_BYTES = 4096
"""Bytes of the note of a token."""
_NEVER = 2**63
"""Microseconds since 1970 that no clock reaches."""
_NO_SECRET = (
    "this server asks for a token, and the call has none: give one with `token=…`; `memoranda "
    "token create` makes one"
)
State = Literal["active", "expired", "revoked"]


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret: its grant, its limits, and its expiry."""

    id: str
    store: str | None
    """The only store it reaches; None: every store of the server."""
    grant: Grant
    limits: TokenLimits = TokenLimits()
    created_at: datetime
    expires_at: datetime | None = None
    rotated_at: datetime | None = None
    revoked_at: datetime | None = None
    note: str | None = None

    def covers_store(self, name: str) -> bool:
        """Say whether it reaches a store."""
        return self.store is None or self.store == name

    def state(self, now: datetime) -> State:
        """Return whether it can be used at a time."""
        if self.revoked_at is not None:
            return "revoked"
        is_expired = self.expires_at is not None and self.expires_at <= now
        return "expired" if is_expired else "active"


class _Replaced(msgspec.Struct, frozen=True):
    """The secret before the last rotation, as a hash, and until when it is still accepted."""

    hash: str
    until: datetime


class _Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token in the form of the control store."""

    token: Token
    hash: str
    replaced: _Replaced | None = None


class _Entry:
    """A record, made ready for comparison."""

    __slots__ = (
        "_replaced_token",
        "digest",
        "expires",
        "record",
        "replaced",
        "replaced_until",
        "version",
    )

    def __init__(self, record: _Record, version: int) -> None:
        self.record = record
        self.version = version
        self.digest = bytes.fromhex(record.hash)
        self.expires = _micros(record.token.expires_at)
        replaced = record.replaced
        self.replaced = b"" if replaced is None else bytes.fromhex(replaced.hash)
        self.replaced_until = 0 if replaced is None else _micros(replaced.until)
        self._replaced_token = replace(record.token, rotated_at=None)
        """The token for a caller with the secret from before the last rotation."""

    def token_of(self, digest: bytes, now: int) -> Token | None:
        """Return the token, if its secret has this hash; it takes as long if it has not."""
        is_current = compare_digest(digest, self.digest)
        is_replaced = compare_digest(digest, self.replaced)
        if is_current:
            return self.record.token
        return self._replaced_token if is_replaced and now < self.replaced_until else None

    def has_secret(self, token: Token, now: int) -> bool:
        """Say whether the secret with which a token was accepted still is."""
        return token.rotated_at == self.record.token.rotated_at or now < self.replaced_until


class TokenBook:
    """The tokens of a server, in memory, as its control store has them. Threads can share it."""

    def __init__(self, core: Core, denials: Denials) -> None:
        self._core = core
        self._denials = denials
        self._operator = Grant(OPERATOR)
        self._entries: dict[str, _Entry] = {}
        """By the token's id; expired and revoked ones are kept, so that their use is audited."""
        self._head = 0
        """The last commit that was read."""
        self._read_at = 0.0
        """When it was read, on the monotonic clock."""
        self._mutex = new_lock()
        self.refresh()

    def authenticate(self, secret: str | None) -> Token:
        """Return the token of a secret, or raise `Unauthenticated`.

        The error is the same for an unknown, expired or revoked secret.
        """
        self._refresh_if_old()
        if secret is None:
            raise Unauthenticated(_NO_SECRET)
        entry = self._entries.get(_id_in(secret))
        if entry is None or len(secret) > _MAX_SECRET_CHARACTERS:
            self._denials.unauthenticated(None, "unknown")
            raise Unauthenticated
        now = self._core.clock.now()
        token = entry.token_of(_hash(secret), now)
        if token is None:
            self._denials.unauthenticated(None, "unknown")
            raise Unauthenticated
        if token.revoked_at is not None:
            self._denials.unauthenticated(token.id, "revoked")
            raise Unauthenticated
        if entry.expires <= now:
            self._denials.unauthenticated(token.id, "expired")
            raise Unauthenticated
        return token

    @property
    def has_any(self) -> bool:
        """Whether there is any token, also an expired or revoked one: then callers need one."""
        self._refresh_if_old()
        return bool(self._entries)

    def is_current(self, token: Token) -> bool:
        """Say whether a token that was accepted earlier is still valid, for long streams.

        A token whose store was renamed is not: a new store may have the old name.
        """
        self._refresh_if_old()
        entry, now = self._entries.get(token.id), self._core.clock.now()
        return (
            entry is not None
            and entry.record.token.revoked_at is None
            and entry.record.token.store == token.store
            and entry.has_secret(token, now)
            and now < entry.expires
        )

    def _refresh_if_old(self) -> None:
        if self._core.clock.monotonic() - self._read_at > MAX_AGE_SECONDS:
            self.refresh()

    def refresh(self) -> None:
        """Read the changes of the control store since the last read."""
        core = self._core
        with self._mutex:
            now, head = core.clock.monotonic(), core.head()
            if head < self._head:  # the store was restored from a backup
                # Filled before it is used: while there are no tokens, nobody needs one.
                self._entries = self._read({}, 0, head)
            elif head > self._head:
                self._read(self._entries, self._head, head)
            self._head, self._read_at = head, now

    def _read(self, entries: dict[str, _Entry], after: int, through: int) -> dict[str, _Entry]:
        """Add the tokens of some commits to the entries, and return them."""
        call = Replay(None, NAMESPACE, after_commit=after, through_commit=through)
        pages: Any = handle(self._core, EVERYTHING, call)
        while events := pages.next_page():
            for operation in (part for event in events for part in event.operations):
                if isinstance(operation, WriteOperation) and operation.key == KEY:
                    entry = _Entry(_decode(operation.value), operation.version)
                    entries[operation.agent_id] = entry
        return entries

    # Changes.

    def create(
        self,
        *,
        store: str | None,
        agent: str | None = None,
        covers: Iterable[str] = (),
        namespaces: Iterable[str] = (ALL,),
        verbs: Iterable[str] = DEFAULT_VERBS,
        expires: Duration | Instant | None = None,
        limits: TokenLimits | None = None,
        note: str | None = None,
    ) -> tuple[str, Token]:
        """Create a token, and return it with its secret, which is not stored.

        `store` is the only store it reaches; None: all. `expires` is a length of time, or a time.
        `grant_of` says what the others mean.
        """
        grant = grant_of(agent=agent, covers=covers, namespaces=namespaces, verbs=verbs)
        return self.issue(grant, store=store, expires=expires, limits=limits, note=note)

    def issue(
        self,
        grant: Grant,
        *,
        store: str | None,
        expires: Duration | Instant | None = None,
        limits: TokenLimits | None = None,
        note: str | None = None,
    ) -> tuple[str, Token]:
        """Create a token with any grant, for programs."""
        now = self._core.clock.now()
        token = Token(
            id=base64.b32encode(self._core.ids.entropy(_ID_BYTES)).decode().lower(),
            store=None if store is None else check_name("store", store),
            grant=grant,
            limits=limits or TokenLimits(),
            created_at=to_datetime(now),
            expires_at=_end("expires", expires, now),
            note=None if note is None else check_text("note", note, max_bytes=_NOTE_BYTES),
        )
        secret = self._new_secret(token.id)
        self._write(_Record(token, _hash(secret).hex()), 0)
        return secret, token

    def list(self) -> list[Token]:
        """Return every token, oldest first, also expired and revoked ones."""
        self.refresh()
        entries = [*self._entries.values()]  # at once: others may add some
        tokens = [entry.record.token for entry in entries]
        return sorted(tokens, key=lambda token: (token.created_at, token.id))

    def now(self) -> datetime:
        """Return the time by which tokens expire."""
        return to_datetime(self._core.clock.now())

    def get(self, token_id: str) -> Token:
        """Return a token by its id, or raise `NotFound`."""
        return self._find(token_id).record.token

    def rotate(
        self,
        token_id: str,
        *,
        grace: Duration | None = None,
        expires: Duration | Instant | None = None,
    ) -> tuple[str, Token]:
        """Give a token another secret, and return it; the old one is accepted for `grace` more.

        `expires` replaces the time at which the token expires; None keeps it.
        """
        entry = self._find(token_id)
        record, now = entry.record, self._core.clock.now()
        moment = to_datetime(now)
        if (state := record.token.state(moment)) != "active":
            raise InvalidInput("token_id", f"{record.token.id!r} is {state}: create a new token")
        wait = check_duration("grace", grace)
        token = replace(
            record.token,
            rotated_at=moment,
            expires_at=_end("expires", expires, now) or record.token.expires_at,
        )
        secret = self._new_secret(token.id)
        replaced = None if wait is None else _Replaced(record.hash, to_datetime(now + wait))
        self._write(_Record(token, _hash(secret).hex(), replaced), entry.version)
        return secret, token

    def revoke(self, token_id: str) -> Token:
        """Let a token be refused from now on, for good, and return it. Twice is fine."""
        entry = self._find(token_id)
        record = entry.record
        if record.token.revoked_at is not None:
            return record.token
        token = replace(record.token, revoked_at=to_datetime(self._core.clock.now()))
        self._write(replace(record, token=token), entry.version)
        return token

    def revoke_store(self, name: str) -> Sequence[Token]:
        """Revoke the tokens of one store, which is dropped: a new one may get its name."""
        return [self.revoke(token.id) for token in self._of_store(name)]

    def rename_store(self, old: str, new: str) -> Sequence[Token]:
        """Let the tokens of a store reach it under its new name, and return them."""
        check_name("new", new)
        renamed = []
        for token in self._of_store(old):
            entry = self._find(token.id)
            record = replace(entry.record, token=replace(entry.record.token, store=new))
            self._write(record, entry.version)
            renamed.append(record.token)
        return renamed

    def _of_store(self, name: str) -> Sequence[Token]:
        """Return the tokens that reach this store only, and are not revoked."""
        return [token for token in self.list() if token.store == name and token.revoked_at is None]

    def _find(self, token_id: str) -> _Entry:
        """Return the entry of a token by its id, or by its secret."""
        name = plain_text("token_id", token_id)
        name = _id_in(name) or name
        self.refresh()
        entry = self._entries.get(name)
        if entry is None:
            raise NotFound(
                f"there is no token {short_repr(name)}: `memoranda token list` has their ids",
                field="token_id",
            )
        return entry

    def _new_secret(self, token_id: str) -> str:
        tail = base64.urlsafe_b64encode(self._core.ids.entropy(_SECRET_BYTES)).rstrip(b"=")
        return f"{_PREFIX}_{token_id}_{tail.decode()}"

    def _write(self, record: _Record, version: int) -> None:
        """Commit a record, if the token is still at a version, and read it back."""
        value = msgspec.to_builtins(record, order="sorted")
        token_id = record.token.id
        call = Write(token_id, NAMESPACE, KEY, value, expect_version=version)
        staged = stage_write(self._core, self._operator, call)
        self._core.committer.commit(staged.request)
        self.refresh()


def _decode(value: object) -> _Record:
    try:
        return msgspec.convert(value, _Record)
    except msgspec.ValidationError as error:
        raise Corruption(
            f"a record of the control store is no token ({error}): if a newer Memoranda wrote it, "
            "upgrade; else restore a backup of the control store"
        ) from error


def _id_in(secret: str) -> str:
    """Return the token id in a secret; empty, if the text has another form."""
    prefix, _, body = secret.partition("_")
    token_id, separator, _ = body.partition("_")
    return token_id if prefix == _PREFIX and separator else ""


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _micros(time: datetime | None) -> int:
    return _NEVER if time is None else to_micros("time", time)


def _end(field: str, end: Duration | Instant | None, now: int) -> datetime | None:
    """Return a time that is given as an instant or as a length of time from now."""
    if end is None:
        return None
    try:
        length = check_duration(field, end)  # type: ignore[arg-type]
    except InvalidInput as not_a_duration:
        if isinstance(end, (int, float)):
            raise
        try:
            micros = to_micros(field, end)  # type: ignore[arg-type]
        except InvalidInput as error:
            problem = (
                f"{short_repr(end)} is neither a length of time, such as 30d, nor a time, such as "
                "2030-01-01"
            )
            raise InvalidInput(field, problem) from error
        if micros <= now:
            raise InvalidInput(field, f"{short_repr(end)} is past") from not_a_duration
        return to_datetime(micros)
    return None if length is None else to_datetime(now + length)
