"""A witness: follows the log while its chain is verified, and compares it with what was signed.

It hashes the tree from the events themselves and learns the keys from the log, so it believes
nothing that stands beside the log: neither the nodes the store keeps, nor its table of keys, nor
its checkpoints. A checkpoint whose signature does not count is refused, never skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memoranda.audit import stored, tree, trust
from memoranda.audit.keys import PublicKey
from memoranda.audit.merkle import Frontier
from memoranda.errors import ChainBroken, Corruption, NotProven
from memoranda.log import pages
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import ENGINE_SCOPE, RetireKey, TrustKey
from memoranda.storage.port import Engine

_OF_THE_LOG = msgspec.msgpack.encode(ENGINE_SCOPE.namespace)
"""What stands in the bytes of an event that says something of keys."""


class Claim(msgspec.Struct, frozen=True):
    """A note that says what the log was at a size."""

    size: int
    note: str
    kept: bool
    """Whether the store keeps it; else somebody brought it."""

    @property
    def told(self) -> str:
        """The note in words."""
        return f"{'the' if self.kept else 'your'} checkpoint of {self.size} commits"


class Witness:
    """Takes every event of a log in order, and says whether all that was signed fits it."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        *,
        checkpoint: str | None = None,
        keys: Sequence[PublicKey] | None = None,
    ) -> None:
        self._engine = engine
        self._origin = stored.origin_of(log_id)
        self._outside = None if keys is None else [*keys]
        self._keys: dict[tuple[str, bytes], PublicKey] = {}
        self._frontier = Frontier()
        self._waiting: list[bytes] = []
        """Leaves that are not in the tree yet: many at a time cost less."""
        self._wrong: Corruption | None = None
        self._alike = 0
        """How many commits, from the first on, are below nodes that are what the store keeps."""
        self.last_good: int | None = None
        """The size of the last checkpoint that holds, as far as the log was followed."""
        self._filled = self._look_at_tree()
        self._claims = _gather(engine, checkpoint)
        self.brought = next((claim.size for claim in self._claims if not claim.kept), None)
        """The size of the checkpoint from outside, if there is one."""
        self._judged = 0
        self.idle = not self._claims and not self._filled
        """Whether there is nothing to compare the log with."""
        self._judge()

    def follow(self, events: Sequence[SealedEvent]) -> None:
        """Take the next events, whose chain holds."""
        if self.idle:
            return
        for event in events:
            if _OF_THE_LOG in event.operations:
                self._learn(event)
            self._waiting.append(event.hash)
            if event.commit_ts == self._due():
                self._hash()
                self._judge()
        self._hash()

    def finish(self) -> int:
        """Return how many checkpoints fit, once the log has ended; raise if anything does not."""
        for claim in self._claims[self._judged :]:
            self._check_signed(claim)
            raise ChainBroken(
                self._frontier.size + 1,
                f"it is missing: {claim.told} is signed, so the log was truncated",
                last_checkpoint=self.last_good,
            )
        if self._wrong is not None:
            raise self._wrong
        return len({claim.note for claim in self._claims})

    def explained(self, error: ChainBroken) -> ChainBroken:
        """Return an error about the chain that also names the last checkpoint before it."""
        if not self._claims:
            return error
        try:
            self._follow_up_to(error.commit_ts - 1)
        except ChainBroken as sooner:
            return sooner
        except NotProven:  # the log is changed, whatever was signed of it
            return error
        return ChainBroken(error.commit_ts, error.problem, last_checkpoint=self.last_good or 0)

    def _follow_up_to(self, commit_ts: int) -> None:
        """Take the events that stand before a bad one, and were read together with it."""
        with self._engine.reading() as reader:
            events = pages.page(reader, after=self._frontier.size, through=commit_ts)
        self.follow(events)

    def _look_at_tree(self) -> int:
        with self._engine.snapshot() as reader:
            (rows,) = reader.row("tree_node_count") or (0,)
            try:
                filled = tree.size(reader)
            except Corruption as error:
                self._wrong = error
                return 0
        if rows > tree.expected_rows(filled):
            self._wrong = Corruption(
                f"the tree has {rows} nodes, more than its {filled} events give: "
                "`memoranda rebuild` makes it anew"
            )
        return filled

    def _due(self) -> int | None:
        return self._claims[self._judged].size if self._judged < len(self._claims) else None

    def _learn(self, event: SealedEvent) -> None:
        for operation in codec.decode_operations(event.operations):
            if isinstance(operation, TrustKey) and operation.agent is None:
                key = trust.trusted(operation.name, operation.public_key, event.commit_ts)
                self._keys[key.name, key.key] = key
            elif isinstance(operation, RetireKey):
                known = self._keys.get((operation.name, operation.public_key))
                if known is not None:
                    self._keys[known.name, known.key] = trust.trusted(
                        known.name, known.key, known.valid_from_commit, event.commit_ts
                    )

    def _hash(self) -> None:
        """Bring the tree up to date, and compare what it completes with what the store keeps."""
        completed = tree.extend(self._frontier, self._waiting)
        self._waiting.clear()
        nodes = [node for node in completed if (node.index + 1) << node.level <= self._filled]
        for level in sorted({node.level for node in nodes}):
            mine = {node.index: node.hash for node in nodes if node.level == level}
            with self._engine.reading() as reader:
                rows = reader.rows("tree_nodes", level=level, first=min(mine), beyond=max(mine) + 1)
            theirs: dict[int, bytes] = dict(rows)
            for place, found in mine.items():
                if self._wrong is not None:
                    return
                if theirs.get(place) == found:
                    self._alike = max(self._alike, (place + 1) << level)
                else:
                    what = "is not what the log gives" if place in theirs else "is missing"
                    self._wrong = tree.damaged(level, place, what)

    def _judge(self) -> None:
        """Hold the checkpoints of this size to the tree."""
        while self._due() == self._frontier.size:
            claim = self._claims[self._judged]
            if self._check_signed(claim) != self._frontier.root():
                good = self.last_good or 0
                raise ChainBroken(
                    good + 1,
                    f"here or behind it, up to commit {claim.size}, history is not what was "
                    f"signed: {claim.told} has another root, so the log was chained anew"
                    f"{self._hint()}",
                    last_checkpoint=good,
                )
            self.last_good = claim.size
            self._judged += 1

    def _hint(self) -> str:
        """Say where it begins, as far as the nodes tell that nobody vouches for."""
        if self._wrong is None or self._alike <= (self.last_good or 0):
            return ""
        return f" (the tree beside it fits up to commit {self._alike})"

    def _check_signed(self, claim: Claim) -> bytes:
        """Return the root that a trusted key signed, or raise `NotProven`."""
        keys = [*self._keys.values()] if self._outside is None else self._outside
        found = stored.checked(claim.note, keys, self._origin)
        if found.size != claim.size:
            raise NotProven(
                f"a checkpoint is kept as one of {claim.size} commits and says {found.size}"
            )
        return found.root


def _gather(engine: Engine, checkpoint: str | None) -> list[Claim]:
    claims = [Claim(size, note, kept=True) for size, note in stored.every(engine)]
    if checkpoint is not None:
        claims.append(Claim(stored.read(checkpoint).size, checkpoint, kept=False))
    if any(claim.size < 0 for claim in claims):
        raise NotProven(f"a checkpoint is kept as one of {claims[0].size} commits")
    return sorted(claims, key=lambda claim: claim.size)
