"""The keys that a log trusts: requests to trust and retire keys, their rules, and the view.

A key may sign checkpoints whose last commit is at or after the commit that trusts it, and before
the commit that retires it. Retirement is permanent, so that a stolen key cannot return. Trust is
recorded in the log and is as tamper-evident as the log. An outside verifier still needs the first
key from another source: a forged log would name its own keys.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.audit.keys import PublicKey, check_strong
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.views import Commit, Eraser, LookUp, RewrittenEvent, View
from memoranda.model.intervals import OPEN_END
from memoranda.model.operations import ENGINE_SCOPE, AnyOperation, RetireKey, TrustKey
from memoranda.storage.port import Reader, Writer


class TrustRequest(msgspec.Struct, frozen=True, array_like=True, tag=51, gc=False):
    """Trust a key, for checkpoints or for an agent; `first` requires that none is trusted yet."""

    name: str
    public_key: bytes
    agent: str | None = None
    first: bool = False


class RetireRequest(msgspec.Struct, frozen=True, array_like=True, tag=52, gc=False):
    """Retire a key permanently."""

    name: str
    public_key: bytes
    reason: str | None = None


class TrustedKey(msgspec.Struct, frozen=True):
    """A key that the log trusts or trusted, with its validity; `agent_id` None: for checkpoints."""

    key: PublicKey
    agent_id: str | None

    @property
    def retired(self) -> bool:
        """Whether the key was retired."""
        return self.key.valid_until_commit is not None


def all_keys(reader: Reader) -> list[TrustedKey]:
    """Return every key that was ever trusted, in commit order."""
    return [
        TrustedKey(key_with_validity(name, key, first, until), agent)
        for name, key, agent, first, until in reader.rows("public_key_rows")
    ]


def log_keys(reader: Reader) -> list[PublicKey]:
    """Return the keys that may or could sign checkpoints of the log."""
    return [trusted.key for trusted in all_keys(reader) if trusted.agent_id is None]


def key_with_validity(name: str, key: bytes, commit_ts: int, until: int = OPEN_END) -> PublicKey:
    """Return a public key valid from one commit up to, not including, another."""
    return PublicKey(name, key, commit_ts, None if until == OPEN_END else until - 1)


class KeyRules:
    """The rules for key requests of one transaction."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._decided: set[tuple[str, bytes]] = set()

    def decide(self, staged: TrustRequest | RetireRequest, /) -> Iterable[AnyOperation]:
        """Return the operation to record; none if the key is in the requested state already."""
        key = PublicKey(staged.name, staged.public_key)
        if isinstance(staged, TrustRequest):
            check_strong("key", key.key)
        if (key.name, key.key) in self._decided:
            raise InvalidInput(
                "key", f"{key.text} is requested twice in one transaction: once is enough"
            )
        self._decided.add((key.name, key.key))
        row = self._reader.row("public_key_find", name=key.name, public_key=key.key)
        if isinstance(staged, TrustRequest):
            return self._trust(staged, key, row)
        return self._retire(staged, key, row)

    def _trust(
        self, staged: TrustRequest, key: PublicKey, row: tuple[str | None, int, int] | None
    ) -> Iterable[AnyOperation]:
        if row is None:
            if staged.first and log_keys(self._reader):
                raise not_trusted(key)
            yield TrustKey(
                ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id, key.name, key.key, staged.agent
            )
            return
        agent, _, until = row
        if until != OPEN_END:
            raise InvalidInput(
                "key", f"{key.text} was retired at commit {until}, permanently: create a new signer"
            )
        if agent != staged.agent:
            owner = "the log" if agent is None else f"agent {agent!r}"
            raise InvalidInput("key", f"{key.text} signs for {owner} already: create another")

    def _retire(
        self, staged: RetireRequest, key: PublicKey, row: tuple[str | None, int, int] | None
    ) -> Iterable[AnyOperation]:
        if row is None:
            raise NotFound(f"{key.text} is not a key that this log trusts", field="key")
        if row[2] == OPEN_END:
            yield RetireKey(
                ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id, key.name, key.key, staged.reason
            )


def not_trusted(key: PublicKey) -> InvalidInput:
    """Return the error for a signer that the log does not trust."""
    return InvalidInput(
        "signer",
        f"{key.text} is not trusted by this log, which trusts another key: run `memoranda signer "
        "trust` to add this one, or `memoranda signer rotate` to replace the other",
    )


class KeysEraser(Eraser):
    """Replaces the name of a forgotten agent by its pseudonym in the rows of its keys."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Replace the agent's name in the rows of its keys."""
        for _, _, residue in rewritten.changes():
            if isinstance(residue, TrustKey):
                self._writer.put(
                    "public_key_set_agent", residue.agent, residue.name, residue.public_key
                )


class KeysView(View):
    """The view of trusted and retired keys."""

    name = "keys"
    version = 1
    request_types = (TrustRequest, RetireRequest)
    applied_types = frozenset((TrustKey, RetireKey))
    tables = ("public_key",)
    clear_queries = ("public_key_clear",)
    row_queries = ("public_key_rows",)

    def rules(self, reader: Reader, look_up: LookUp, /) -> KeyRules:  # noqa: ARG002
        """Return the rules for one transaction."""
        return KeyRules(reader)

    def eraser(self, writer: Writer, /) -> KeysEraser:
        """Return the eraser of this view."""
        return KeysEraser(writer)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Add the keys that a commit trusts, and retire those that it retires."""
        for operation in commit.operations:
            if isinstance(operation, TrustKey):
                writer.put(
                    "public_key_add",
                    operation.name,
                    operation.public_key,
                    operation.agent,
                    commit.commit_ts,
                )
            elif isinstance(operation, RetireKey):
                writer.put(
                    "public_key_retire", commit.commit_ts, operation.name, operation.public_key
                )
