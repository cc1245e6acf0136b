"""What a call is: one frozen struct of its arguments, and what every surface needs to know of it.

A handler answers a call: `handle(core, grant, call)`. It checks every argument, since a caller in
another process sends structs of its own. The Python SDK, the command line and the servers build
these structs and send them by a carrier: one that runs the handler here (`sdk/local/`), or one
that sends the call to a server.

Arguments are plain data that can be encoded. The caller's side has already resolved what only it
knows: the agent and the namespace of its handle, and the ids of the records it was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from memoranda.log.commit.request_signature import RequestSignature

Answer = TypeVar("Answer", covariant=True)

Verb = Literal["read", "write", "forget", "admin"]
"""What a grant allows or denies. `forget` erases; `admin` serves the store as a whole."""
Reach = Literal["scope", "id", "walk", "scopes", "store"]
"""What a call can see: one scope, a record by its id, what is reached from there by links, every
scope that the grant covers, or the store as a whole, which needs a grant that covers everything."""
Shape = Literal["value", "pages", "stream"]
"""What a call answers: one value, a long result in pages, or a stream that does not end."""
Lane = Literal["short", "search", "long"]
"""The threads in which an asynchronous caller's call runs: a verification keeps no read waiting."""

VERBS: tuple[Verb, ...] = get_args(Verb)

AnyMoment: TypeAlias = Annotated[Any, "moment"]
"""A commit number, or a time as datetime, date or text; None is now. The handler checks it."""
AnyInstant: TypeAlias = Annotated[Any, "instant"]
"""A time as datetime, date or text. The handler checks it."""
AnyDuration: TypeAlias = Annotated[Any, "duration"]
"""A length of time as seconds or text. The handler checks it."""


def _tag(name: str) -> str:
    """Return the name of a call: `GetState` is `get_state`, as in the Python SDK."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Call(
    msgspec.Struct,
    Generic[Answer],
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="call",
    tag=_tag,
):
    """The arguments of a call. `Answer` is the type of its answer, or of one item of it."""

    verb: ClassVar[Verb] = "read"
    reach: ClassVar[Reach] = "scope"
    shape: ClassVar[Shape] = "value"
    lane: ClassVar[Lane] = "short"
    obeys_grants: ClassVar[bool] = False
    """Of a call that changes something: whether its handler checks that the grant covers it; else
    it refuses a grant that does not cover everything. A read sees covered rows only, and obeys."""
    idempotent: ClassVar[bool] = True
    """Whether sending it twice has the effect of sending it once."""
    local_only: ClassVar[str | None] = None
    """Why it cannot leave the process; None: it can."""
    needs_primary: ClassVar[bool] = False
    """Of a call that reads: whether it is never answered from a replica. Proofs are of the log that
    is written; subscriptions and reads inside transactions follow it closely."""
    signs: ClassVar[bool] = False
    """Whether its handler commits events that carry the signature of the caller's agent."""
    added_in: ClassVar[str] = "0.10.0"
    """The first version that has it."""

    def plain(self) -> Self:
        """Return it with plain data only, to send it; objects of the caller's become JSON."""
        return self


class WriteCall(Call[Answer], Generic[Answer], frozen=True, kw_only=True):
    """A call that can be committed alone, or staged in a transaction with others.

    Alone it answers with what it did; staged, with the id of what it makes, if that has one.
    """

    verb: ClassVar[Verb] = "write"
    obeys_grants = True
    idempotent = False

    txn_id: str | None = None
    """The idempotency key of a transaction of its own: sent twice, the call has one effect."""
    signature: RequestSignature | None = None
    """The signature of the agent that acts, if its client signs what it sends."""

    @property
    def looks_up(self) -> bool:
        """Whether staging it reads the store, or takes long."""
        return False

    def signed_part(self) -> Self:
        """Return what of it an agent's client signs: all that says what is to be done."""
        return replace(self, signature=None)


def call_name(kind: type[Call[Any]]) -> str:
    """Return the name of a kind of call."""
    name = kind.__struct_config__.tag
    assert isinstance(name, str), "every call has a tag"
    return name


def answer_type(kind: type[Call[Any]]) -> Any:
    """Return the type of a call's answer, or of one item of it."""
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]
    (answer,) = get_args(base)
    return answer


Handlers: TypeAlias = Mapping[type[Call[Any]], Callable[..., Any]]
"""The handler of each kind of call: `handle(core, grant, call)`. One that takes long has a fourth
argument, the function that is told of its progress."""
