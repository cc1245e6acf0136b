"""Operations on the log itself: erasures, compactions, keys and refusals."""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.operations.base import Operation, OperationType


class Erase(Operation, frozen=True, tag=21, gc=False):
    """An erasure of content from earlier events, and a digest over what it left there.

    The positions are rows of a table beside the log; `digest` covers all of them.
    """

    type = OperationType.ERASE
    address = "erasure:{0.erasure_id}"
    value_fields = ("target", "by", "reason", "count", "pseudonym")

    erasure_id: str
    target: str
    by: str
    reason: str | None
    count: int
    digest: bytes
    pseudonym: str | None = None
    """The pseudonym that replaces the name of an erased agent or namespace."""
    pseudonyms: tuple[str, ...] = ()
    """The pseudonyms of earlier erasures, where a fork attests what they left."""


class Summary(Operation, frozen=True, tag=22, gc=False):
    """A compaction of a namespace up to a horizon: the state there stays, the history before goes.

    It is in that namespace, in the event of the erasure. A compaction in several slices writes it
    twice: with the first slice, after which no read before the horizon is answered, and with the
    last.
    """

    type = OperationType.SUMMARY
    address = "summary:{0.horizon}"
    value_fields = ("horizon", "count")

    horizon: int
    count: int
    """The number of operations erased so far."""
    unfinished: bool = False
    """Whether more slices follow."""


class TrustKey(Operation, frozen=True, tag=23, gc=False):
    """Trust in a public key of a signer, an agent or the log itself, from here on."""

    type = OperationType.TRUST
    address = "key:{0.name}"
    value_fields = ("name", "agent")

    name: str
    public_key: bytes
    agent: str | None = None


class RetireKey(Operation, frozen=True, tag=24, gc=False):
    """The retirement of a public key: signatures by it after this are refused."""

    type = OperationType.RETIRE
    address = "key:{0.name}"
    value_fields = ("name", "reason")

    name: str
    public_key: bytes
    reason: str | None = None


class Refuse(Operation, frozen=True, tag=25, gc=False):
    """A refused request, with the ids it was about.

    `what` is the type of its audit event. Refusals of one type and one agent that come too fast are
    not recorded but counted, in `left_out` of the next one. One without ids only has the count.
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
