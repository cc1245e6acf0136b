"""The callers on the wire of Statehouse: holders of a token, or programs on this machine.

Public clients of Statehouse send no token. So a call without one is answered if it comes from this
machine, or from anywhere if the server is told so; it may do everything in the one store that the
wire is for. A call with a token may do what the token's grant covers. A server that is told to ask
every caller for a token asks these too.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.grant import Grant
from memoranda.errors import Unauthenticated
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.grpc.gate import secret_in
from memoranda.server.metering import Admission
from memoranda.server.page_streams import PageStream
from memoranda.server.stores import OpenStore
from memoranda.server.traffic import Traffic

Answer = TypeVar("Answer")
Item = TypeVar("Item")

_FORWARDED = frozenset(("forwarded", "via", "x-forwarded-for", "x-real-ip"))
"""Metadata by which a proxy tells that it calls for somebody else, who may be anywhere."""
_LOOPBACK = ("ipv4:127.", "ipv6:[::1]:", "ipv6:[::ffff:127.", "unix:")
"""How gRPC names peers on this machine, before the port."""
_HERE = "this machine"


class StatehouseCaller:
    """One call: its caller, and its access to the store of the wire."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: str,
        caller: Caller,
        owner: str,
        size: int,
        seconds: float | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._store = store
        self._caller = caller
        self.owner = owner
        """Whose transactions it sees: those of the same token, or of the same host."""
        self._size = size
        """Bytes of the request."""
        self._seconds = seconds
        """How long its client waits for the answer; None: however long it takes."""

    @property
    def grant(self) -> Grant:
        """What it may do."""
        return self._caller.grant

    def admit(self) -> Admission:
        """Count a request that needs no answer of the store, or raise `TooManyRequests`."""
        return self._dispatcher.admit(self._caller, size=self._size)

    def count_answer(self, size: int) -> None:
        """Count the bytes of an answer."""
        self._dispatcher.count_answer(self._caller, size)

    def use(self, about: str) -> AbstractAsyncContextManager[OpenStore]:
        """Open the store for the length of a block; what is denied there is noted."""
        return self._dispatcher.use(self._caller, self._store, about)

    async def ask(self, call: Call[Answer]) -> Answer:
        """Return the answer of a call."""
        return await self._dispatcher.ask(self._caller, self._store, call, size=self._size)

    async def write(self, call: WriteCall[Answer]) -> Answer:
        """Commit a call that writes, and return its answer."""
        return await self._dispatcher.write(
            self._caller, self._store, call, seconds=self._seconds, size=self._size
        )

    def pages(self, call: Call[Item]) -> AbstractAsyncContextManager[PageStream[list[Item]]]:
        """Open a long answer."""
        return self._dispatcher.pages(self._caller, self._store, call, size=self._size)


class Callers:
    """Authenticates the calls of this wire."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: str,
        *,
        anywhere: bool = False,
        needs_token: bool = False,
    ) -> None:
        self._dispatcher = dispatcher
        self._store = store
        self._anywhere = anywhere
        self._needs_token = needs_token

    @property
    def traffic(self) -> Traffic:
        """What was answered on this wire."""
        return self._dispatcher.traffic

    def identify(self, context: Any, size: int) -> StatehouseCaller:
        """Return who makes a call of so many bytes, or raise `Unauthenticated`."""
        peer = unquote(context.peer())
        secret = secret_in(context.invocation_metadata() or ())
        if secret is None and not self._needs_token:
            caller = Caller(is_exempt=True)
        else:
            caller = self._dispatcher.caller(secret)
        if caller.token is not None:
            owner = f"token:{caller.token.id}"
        elif peer.startswith(_LOOPBACK) and not _is_forwarded(context):
            owner = _HERE  # whichever of its addresses a connection comes from
        elif self._anywhere:
            owner = peer.rpartition(":")[0] or peer
        else:
            raise Unauthenticated(
                "this server answers clients of Statehouse without a token on its own machine "
                "only: send the metadata `authorization: Bearer <token>`, or let the server be "
                "started with --statehouse-anywhere"
            )
        seconds = context.time_remaining()
        return StatehouseCaller(self._dispatcher, self._store, caller, owner, size, seconds)


def _is_forwarded(context: grpc.aio.ServicerContext) -> bool:
    return any(name in _FORWARDED for name, _ in context.invocation_metadata() or ())
