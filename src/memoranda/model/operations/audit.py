"""The vocabulary of the log, where it speaks of itself: what was erased, summed up or refused."""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.operation import Operation, OperationType


class Erase(Operation, frozen=True, tag=21, gc=False):
    """Content was erased from earlier events; what stands there now is known by its hash.

    The places are kept beside the log, a row each; `digest` covers them all.
    """

    type = OperationType.ERASE
    address = "erasure:{0.erasure_id}"
    told = ("target", "by", "reason", "count", "pseudonym")

    erasure_id: str
    target: str
    by: str
    reason: str | None
    count: int
    digest: bytes
    pseudonym: str | None = None
    """What stands wherever the name stood of the agent or namespace that was forgotten."""
    pseudonyms: tuple[str, ...] = ()
    """Those of earlier erasures, where a fork vouches for what they left."""


class Summary(Operation, frozen=True, tag=22, gc=False):
    """A namespace is known only from a commit on: what it held then stays, the way there does not.

    It stands in that namespace, beside the erasure of what is gone. A compaction in several slices
    says so twice: with the first one, from which on nothing is told of what was before, and with
    the last one.
    """

    type = OperationType.SUMMARY
    address = "summary:{0.horizon}"
    told = ("horizon", "count")

    horizon: int
    count: int
    """How many operations went, by now."""
    unfinished: bool = False
    """Whether some of what is to go is still there."""


class TrustKey(Operation, frozen=True, tag=23, gc=False):
    """From here on a public key signs for a signer: an agent, or the log itself."""

    type = OperationType.TRUST
    address = "key:{0.name}"
    told = ("name", "agent")

    name: str
    public_key: bytes
    agent: str | None = None


class RetireKey(Operation, frozen=True, tag=24, gc=False):
    """From here on a public key signs nothing any more."""

    type = OperationType.RETIRE
    address = "key:{0.name}"
    told = ("name", "reason")

    name: str
    public_key: bytes
    reason: str | None = None


class Refuse(Operation, frozen=True, tag=25, gc=False):
    """Somebody asked for what is not allowed: what was refused, and the ids it was about.

    `what` is the type of its audit event. Those of one kind and one agent that came too fast to be
    noted are counted in the next one; one that is about nothing only counts.
    """

    type = OperationType.REFUSED
    address = "refusal:{0.what}"

    what: str
    by: str
    about: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def value(self) -> document.Document:
        """The refusal as plain JSON."""
        return {
            "what": self.what,
            "by": self.by,
            "about": list(self.about),
            "left_out": self.left_out,
        }
