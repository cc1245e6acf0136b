"""Which keys a log trusts: requests to trust and to retire one, their rules, and the view.

A key is for the checkpoints that end with the commit that trusts it, or a later one, and before the
commit that retires it. Retiring is for good: whoever got hold of a key must not be able to come
back with it. All of this is in the log, so it is as hard to change as the log is; a person outside
has to have a key from somewhere else all the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.audit.keys import PublicKey, check_strong
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.views import Commit, Eraser, LookUp, Rewritten, View
from memoranda.model.operations import ENGINE_SCOPE, AnyOperation, RetireKey, TrustKey
from memoranda.storage.port import Reader, Writer

FOR_EVER = 2**63 - 1


class TrustRequest(msgspec.Struct, frozen=True, array_like=True, tag=51, gc=False):
    """Let a key sign: for the log, or for an agent. The first may be the first of a log only."""

    name: str
    public_key: bytes
    agent: str | None = None
    first: bool = False


class RetireRequest(msgspec.Struct, frozen=True, array_like=True, tag=52, gc=False):
    """Let a key sign nothing any more."""

    name: str
    public_key: bytes
    reason: str | None = None


class TrustedKey(msgspec.Struct, frozen=True):
    """A key that a log trusts or did, for itself or for an agent, and for which commits."""

    key: PublicKey
    agent_id: str | None

    @property
    def retired(self) -> bool:
        """Whether it signs nothing any more."""
        return self.key.valid_until_commit is not None


def known(reader: Reader) -> list[TrustedKey]:
    """Return every key that was ever trusted, in the order in which they were."""
    return [
        TrustedKey(trusted(name, key, first, until), agent)
        for name, key, agent, first, until in reader.rows("public_key_rows")
    ]


def of_the_log(reader: Reader) -> list[PublicKey]:
    """Return the keys that sign, or did, for the log itself."""
    return [each.key for each in known(reader) if each.agent_id is None]


def trusted(name: str, key: bytes, commit_ts: int, until: int = FOR_EVER) -> PublicKey:
    """Return a key with the checkpoints it is for."""
    return PublicKey(name, key, commit_ts, None if until == FOR_EVER else until - 1)


class KeyRules:
    """What becomes of one transaction's requests about keys."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._decided: set[tuple[str, bytes]] = set()

    def decide(self, staged: TrustRequest | RetireRequest, /) -> Iterable[AnyOperation]:
        """Return the operation that is asked for; none, if it is so already."""
        key = PublicKey(staged.name, staged.public_key)
        if isinstance(staged, TrustRequest):
            check_strong("key", key.key)
        if (key.name, key.key) in self._decided:
            raise InvalidInput("key", f"{key.text} stands twice in one transaction: once is enough")
        self._decided.add((key.name, key.key))
        row = self._reader.row("public_key_find", name=key.name, public_key=key.key)
        if isinstance(staged, TrustRequest):
            return self._trust(staged, key, row)
        return self._retire(staged, key, row)

    def _trust(
        self, staged: TrustRequest, key: PublicKey, row: tuple[str | None, int, int] | None
    ) -> Iterable[AnyOperation]:
        if row is None:
            if staged.first and of_the_log(self._reader):
                raise not_trusted(key)
            yield TrustKey(
                ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id, key.name, key.key, staged.agent
            )
            return
        agent, _, until = row
        if until != FOR_EVER:
            raise InvalidInput(
                "key", f"{key.text} was retired at commit {until}, for good: create a new signer"
            )
        if agent != staged.agent:
            whose = "the log" if agent is None else f"agent {agent!r}"
            raise InvalidInput("key", f"{key.text} signs for {whose} already: create another")

    def _retire(
        self, staged: RetireRequest, key: PublicKey, row: tuple[str | None, int, int] | None
    ) -> Iterable[AnyOperation]:
        if row is None:
            raise NotFound(f"key: {key.text} is not a key that this log trusts")
        if row[2] == FOR_EVER:
            yield RetireKey(
                ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id, key.name, key.key, staged.reason
            )


def not_trusted(key: PublicKey) -> InvalidInput:
    """Return the error about a signer that would sign for a log without its trust."""
    return InvalidInput(
        "signer",
        f"{key.text} is not trusted by this log, which trusts another one: "
        "`memoranda signer trust` lets it sign too, `memoranda signer rotate` in the other's place",
    )


class KeysEraser(Eraser):
    """Lets a key be a pseudonym's whose agent was forgotten."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def take(self, rewritten: Rewritten, /) -> None:
        """Take the agent's name out of the rows of its keys."""
        for _, _, left in rewritten.changes():
            if isinstance(left, TrustKey):
                self._writer.put("public_key_of", left.agent, left.name, left.public_key)


class KeysView(View):
    """The keys that a log trusts, or did."""

    name = "keys"
    version = 1
    staged = (TrustRequest, RetireRequest)
    applied = frozenset((TrustKey, RetireKey))
    clear = ("public_key_clear",)
    rows = ("public_key_rows",)

    def rules(self, reader: Reader, look_up: LookUp, /) -> KeyRules:  # noqa: ARG002
        """Return the rules for one transaction."""
        return KeyRules(reader)

    def eraser(self, writer: Writer, /) -> KeysEraser:
        """Return what takes names out of the table that were erased from the log."""
        return KeysEraser(writer)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Note who is trusted from this commit on, and who is not any more."""
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
                writer.put("public_key_end", commit.commit_ts, operation.name, operation.public_key)
