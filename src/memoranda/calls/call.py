"""The definition of a call: a frozen struct of its arguments and of its properties.

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
"""The permission that a call needs. `forget` erases; `admin` maintains the store as a whole."""
Reach = Literal["scope", "id", "walk", "scopes", "store"]
"""The data that a call can read: one scope, one record by its id, the records linked to it, every
scope that the grant covers, or the whole store, which needs a grant that covers everything."""
Shape = Literal["value", "pages", "stream"]
"""The form of the answer: one value, a long result in pages, or an endless stream."""
Lane = Literal["short", "search", "long"]
"""The group of threads that runs an asynchronous caller's call. Long calls have threads of their
own, so reads do not wait for them."""

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
    """For a call that changes data: whether its handler checks the grant itself. Otherwise only a
    grant that covers everything is accepted. A read always obeys, because it sees covered rows
    only."""
    idempotent: ClassVar[bool] = True
    """Whether sending it twice has the effect of sending it once."""
    local_only: ClassVar[str | None] = None
    """The reason why the call cannot be sent to another process; None if it can."""
    needs_primary: ClassVar[bool] = False
    """For a read: whether a replica must not answer it. Proofs, subscriptions and reads inside
    transactions need the newest log."""
    signs: ClassVar[bool] = False
    """Whether its handler commits events that the caller's agent signs."""
    added_in: ClassVar[str] = "0.10.0"
    """The first version that has it."""

    def plain(self) -> Self:
        """Return the call with plain data only; the caller's objects become JSON."""
        return self


class WriteCall(Call[Answer], Generic[Answer], frozen=True, kw_only=True):
    """A call that can be committed alone, or staged in a transaction with others.

    Committed alone, it answers with its effect. Staged, it answers with the id of the new item, if
    there is one.
    """

    verb: ClassVar[Verb] = "write"
    obeys_grants = True
    idempotent = False

    txn_id: str | None = None
    """The idempotency key, if the call is its own transaction: sending it twice has one effect."""
    signature: RequestSignature | None = None
    """The signature of the acting agent, if its client signs calls."""

    @property
    def looks_up(self) -> bool:
        """Whether staging it reads the store, or takes long."""
        return False

    def signed_part(self) -> Self:
        """Return the part that an agent's client signs: every argument that decides the effect."""
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
"""The handler of each kind of call: `handle(core, grant, call)`. The handler of a long call has a
fourth argument, a function that receives its progress."""
