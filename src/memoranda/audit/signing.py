"""Signing: how a log's checkpoint comes about.

What is signed is durable first, and goes on from what the signer has signed before. The order is
what makes it safe to die anywhere: the note is remembered beside the key, then kept in the store,
then given to whoever asked. What was remembered and not kept is kept the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memoranda.audit import checkpoints, stored, tree, trust
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.keys import PublicKey
from memoranda.audit.ledger import Ledger
from memoranda.audit.merkle import Tree
from memoranda.audit.signers import Signer
from memoranda.audit.stored import SignedCheckpoint, origin_of
from memoranda.audit.trust import TrustRequest
from memoranda.errors import InvalidInput, NotProven
from memoranda.log import pages
from memoranda.log.failpoints import Failpoint, pass_by
from memoranda.storage.port import Engine, Reader, Writer

Commit = Callable[[TrustRequest], int]
"""Commits a request and returns when it is durable."""


class LogSigner:
    """Signs for one log with one key."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        signer: Signer,
        commit: Commit,
        failpoint: Failpoint = pass_by,
    ) -> None:
        self.signer = signer
        self._engine = engine
        self._origin = origin_of(log_id)
        self._ledger = Ledger(signer, self._origin)
        self._commit = commit
        self._failpoint = failpoint

    def check(self) -> None:
        """Raise if the signer could not sign for this log as it is now."""
        with self._engine.snapshot() as reader:
            self._trusted(reader)
        with self._ledger.lock():
            self._goes_on(self._grown())

    def sign(self) -> SignedCheckpoint:
        """Return a checkpoint of all that is committed; one there is already is given again."""
        self._see_to_trust()
        with self._ledger.lock():
            self._engine.sync()
            size = self._grown()
            note = self._goes_on(size)
            if note is None:
                note = self._sign(size)
                self._failpoint("signed")
                self._ledger.remember(note)
                self._failpoint("remembered")
            self._engine.write(partial(_keep, size=size, note=note))
            self._failpoint("kept")
        with self._engine.reading() as reader:
            return stored.described(reader, note)

    def _see_to_trust(self) -> None:
        """Let the first signer of a log be trusted by it; any other one has to be already."""
        with self._engine.snapshot() as reader:
            known = self._trusted(reader)
        if not known:
            public = self.signer.public
            self._commit(TrustRequest(public.name, public.key, first=True))

    def _trusted(self, reader: Reader) -> bool:
        """Say whether the log trusts the signer; False: it trusts nobody yet."""
        keys, public = trust.of_the_log(reader), self.signer.public
        found = _same(keys, public)
        if found is None:
            if keys:
                raise trust.not_trusted(public)
            return False
        if found.valid_until_commit is not None:
            raise InvalidInput(
                "signer",
                f"{public.text} was retired at commit {found.valid_until_commit + 1}: "
                "use the signer that took its place",
            )
        return True

    def _grown(self) -> int:
        """Fill the tree up to the log's end, and return how long the log is."""
        with self._engine.reading() as reader:
            size = pages.head_commit(reader)
        tree.grow(self._engine, size)
        return size

    def _goes_on(self, size: int) -> str | None:
        """Raise if the log does not go on from what was signed; return a note of this very size."""
        remembered = self._ledger.last()
        with self._engine.snapshot() as reader:
            found, kept = tree.at(reader), stored.last(reader)
            if kept is not None:
                last = stored.checked(kept[1], trust.of_the_log(reader), self._origin)
                _check_growth(found, last, "somebody")
            if remembered is None:
                return None
            note, last = remembered
            _check_growth(found, last, self.signer.public.text)
        if last.size == size:
            return note
        if kept is None or kept[0] < last.size:  # it was remembered, and then somebody died
            self._engine.write(partial(_keep, size=last.size, note=note))
        return None

    def _sign(self, size: int) -> str:
        with self._engine.snapshot() as reader:
            key = _same(trust.of_the_log(reader), self.signer.public)
            root = tree.at(reader).root(size)
        if key is None or not key.may_sign(size):
            raise NotProven(
                f"{self.signer.public.text} is not for a checkpoint of {size} commits: "
                "it was retired meanwhile"
            )
        return checkpoints.sign(Checkpoint(self._origin, size, root), [self.signer])


def _keep(writer: Writer, size: int, note: str) -> None:
    writer.run("checkpoint_add", size=size, note=note)


def _same(keys: list[PublicKey], key: PublicKey) -> PublicKey | None:
    return next((each for each in keys if (each.name, each.key) == (key.name, key.key)), None)


def _check_growth(found: Tree, last: Checkpoint, who: str) -> None:
    """Refuse to sign for a log that does not begin with what was signed of it."""
    if found.size < last.size:
        raise NotProven(
            f"nothing is signed: {who} has signed {last.size} commits, and the store has "
            f"{found.size}. It was rolled back, perhaps to a backup: restore it as it was, or "
            "fork it, which makes a log of its own that can be signed"
        )
    if found.root(last.size) != last.root:
        raise NotProven(
            f"nothing is signed: the first {last.size} commits are not those that {who} has "
            "signed. This is another history under the same name: restore the log as it was, or "
            "fork it, which makes a log of its own that can be signed"
        )
