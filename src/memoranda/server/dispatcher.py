"""The dispatcher: it answers calls on the stores of a server.

Every protocol of the server translates to and from these methods. The dispatcher alone decides
which stores a caller may reach, and how much it may do. A caller has a grant, from its token; on a
server that asks for none, it may do everything. A store that its token does not cover looks as if
it did not exist: it raises the error for a missing store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from copy import copy
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from msgspec.structs import replace

from memoranda.calls.arguments import check_agent
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit
from memoranda.errors import InvalidInput, MemorandaError, PermissionDenied, Unauthenticated
from memoranda.log.pages import Position
from memoranda.model.clock import SystemClock
from memoranda.model.limits import short_repr
from memoranda.sdk.async_calls import AsyncPages
from memoranda.server.control_store import ControlStore
from memoranda.server.event_streams import EventPage, replay_pages, subscription_pages
from memoranda.server.folders import error_without_folders, without_folders
from memoranda.server.metering import Admission, Meter, Work
from memoranda.server.page_streams import PageStream
from memoranda.server.single_pages import SinglePage, read_page
from memoranda.server.stores import OpenStore, StoreSet, Use
from memoranda.server.tokens import Token
from memoranda.server.traffic import Traffic
from memoranda.server.wakeups import Wakeups
from memoranda.storage.port import Progress

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Page = TypeVar("Page")


class Caller(msgspec.Struct, frozen=True):
    """A caller, with its authority."""

    grant: Grant = EVERYTHING
    token: Token | None = None
    """None: the server requires no tokens."""
    is_exempt: bool = False
    """Whether it needs no token even if others do."""

    def acting(self, agent_id: str | None) -> Caller:
        """Return the caller acting for an agent that the call names.

        A token with an agent always acts for that agent.
        """
        grant = self.grant
        if not agent_id or grant.actor is not None:
            return self
        if not grant.coverage.covers_agent(agent_id):
            raise PermissionDenied(
                f"the token of this caller does not cover agent {short_repr(agent_id)}: act for "
                "another one, or ask for a token that does"
            )
        return Caller(replace(grant, actor=agent_id), self.token, self.is_exempt)

    def check_operator(self) -> None:
        """Raise `PermissionDenied` unless it may see data about the server as a whole."""
        grant, store = self.grant, None if self.token is None else self.token.store
        if "admin" in grant.verbs and grant.covers_everything and store is None:
            return
        raise PermissionDenied(
            "this needs a token for every store, agent and namespace, with the verb admin: "
            "`memoranda token create` makes one"
        )

    def check_agent(self, core: Core) -> None:
        """Raise `InvalidInput` if the call names an invalid agent; a token names a valid one."""
        agent, token = self.grant.actor, self.token
        if agent is not None and (token is None or token.grant.actor is None):
            check_agent(core, agent)


class Dispatcher:
    """Answers calls on the stores of a server. All methods are called in its event loop."""

    def __init__(
        self,
        stores: StoreSet,
        control: ControlStore | None = None,
        meter: Meter | None = None,
        *,
        asks_for_tokens: bool = False,
    ) -> None:
        self._stores = stores
        self._control = control
        self._meter = Meter(SystemClock()) if meter is None else meter
        self._asks_always = asks_for_tokens
        self._wakeups = Wakeups()
        self.traffic = Traffic()
        """Counts of the answered calls."""
        assert control is not None or not asks_for_tokens, "tokens are kept in a control store"

    def for_surface(self, traffic: Traffic) -> Self:
        """Return this dispatcher for one protocol, with separate counts."""
        surface = copy(self)
        surface.traffic = traffic
        return surface

    @property
    def asks_for_tokens(self) -> bool:
        """Whether callers need a token: by the settings, or because a token exists."""
        return self._asks_always or (self._control is not None and self._control.tokens.has_any)

    def caller(self, secret: str | None) -> Caller:
        """Return the caller with this secret, or raise `Unauthenticated`."""
        if self._control is None or not self.asks_for_tokens:
            return Caller()
        token = self._control.tokens.authenticate(secret)
        return Caller(token.grant, token)

    def check_current(self, caller: Caller) -> None:
        """Raise `Unauthenticated` if the caller's token was revoked, or has expired, since.

        It also raises for a caller without a token, if the first token was created since.
        """
        if self._control is None or caller.is_exempt:
            return
        if caller.token is None:
            if self.asks_for_tokens:
                raise Unauthenticated
        elif not self._control.tokens.is_current(caller.token):
            raise Unauthenticated

    def admit(
        self, caller: Caller, work: Work = "call", *, calls: int = 1, size: int = 0
    ) -> Admission:
        """Admit work within the caller's limits; exit the returned block at its end.

        It raises `TooManyRequests`, which has the time of the next attempt.
        """
        return self._meter.admit(caller.token, work, calls=calls, size=size)

    def count_answer(self, caller: Caller, size: int) -> None:
        """Count the bytes of an answer that is one message: they delay the caller's next call."""
        if caller.token is not None:
            self._meter.count_answer(caller.token, size)

    def use(self, caller: Caller, store: str, about: str) -> StoreUse:
        """Return a block in which a store is open, if the caller may reach it.

        `about` is the name of the requested item, for the audit of denials. Errors, also of opening
        it, name no folders of the server.
        """
        return StoreUse(self, caller, store, about)

    def _open(self, caller: Caller, store: str, about: str) -> Use:
        """Return the block of the store itself; raise if the caller may not reach it."""
        token = caller.token
        name = token.store if token is not None and token.store and not store else store
        if token is not None and not token.covers_store(name):
            self._note_denial(caller, about)  # what it names may not be a store at all
            raise self._stores.missing(name)
        return self._stores.use(name, names_folder=False)

    def count(self, call: Call[Any]) -> str:
        """Count a call, and return its name; raise if it must not leave its process."""
        name = _check_sendable(call)
        self.traffic.calls[name] += 1
        return name

    async def ask(
        self,
        caller: Caller,
        store: str,
        call: Call[Answer],
        progress: Progress | None = None,
        *,
        size: int = 0,
        on_open: Callable[[Core], None] | None = None,
    ) -> Answer:
        """Return the answer of a call; `size` are the bytes of its request.

        `on_open` is called with the store that will answer, and may raise.
        """
        name = self.count(call)
        with (
            self.admit(caller, "long" if call.lane == "long" else "call", size=size),
            self.traffic.timed(call),
        ):
            async with self.use(caller, store, name) as opened:
                if on_open is not None:
                    on_open(opened.core)
                answer = await opened.calls(caller.grant).ask(call, progress)
                return without_folders(answer)

    async def ask_encoded(
        self,
        caller: Caller,
        store: str,
        call: Call[Answer],
        encode: Callable[[Answer], bytes],
        *,
        size: int = 0,
    ) -> bytes:
        """Return the answer of a call that is not long, encoded beside the event loop."""
        name = self.count(call)
        with self.admit(caller, size=size), self.traffic.timed(call):
            async with self.use(caller, store, name) as opened:
                return await opened.calls(caller.grant).ask_encoded(
                    call, lambda answer: encode(without_folders(answer))
                )

    async def write(
        self,
        caller: Caller,
        store: str,
        call: WriteCall[Answer],
        *,
        is_named: bool = True,
        seconds: float | None = None,
        size: int = 0,
        on_open: Callable[[Core], None] | None = None,
    ) -> Answer:
        """Commit a call that writes, and return its answer.

        `is_named` says whether the caller chose the `txn_id`; then it is recorded even if it
        changes nothing. After `seconds`, an undecided write is withdrawn. `on_open` is called with
        the store that will commit it, and may raise.
        """
        name = self.count(call)
        with self.admit(caller, size=size), self.traffic.timed(call):
            async with self.use(caller, store, name) as opened:
                if on_open is not None:
                    on_open(opened.core)
                bounded = _bounded(call, seconds)
                answer = await opened.calls(caller.grant).write(bounded, is_named=is_named)
                return without_folders(answer)

    @asynccontextmanager
    async def pages(
        self, caller: Caller, store: str, call: Call[Item], *, size: int = 0
    ) -> AsyncIterator[PageStream[list[Item]]]:
        """Open a long answer: once the block begins, the call is checked and its moment is set."""
        name = self.count(call)
        with self.admit(caller, size=size) as admission:
            async with self.use(caller, store, name) as opened:
                calls = opened.calls(caller.grant)
                pages = _until_empty(await calls.open_pages(call))
                async with aclosing(self._stream(caller, admission, pages)) as stream:
                    yield stream

    async def page(
        self,
        caller: Caller,
        store: str,
        call: Call[Any],
        position: Position | None,
        limit: int,
        *,
        size: int = 0,
    ) -> SinglePage:
        """Return one page of a long answer, from its beginning or from the end of another one."""
        name = self.count(call)
        with self.admit(caller, size=size), self.traffic.timed(call):
            async with self.use(caller, store, name) as opened:
                read = partial(read_page, position=position, limit=limit)
                return await opened.calls(caller.grant).ask_pages(call, read)

    async def store_names(self, caller: Caller) -> list[str]:
        """Return the names of the stores that a caller may reach, in order."""
        with self.admit(caller):
            names = await self._stores.names()
            token = caller.token
            return [name for name in names if token is None or token.covers_store(name)]

    @asynccontextmanager
    async def events(
        self, caller: Caller, store: str, call: Replay | Subscribe, *, size: int = 0
    ) -> AsyncIterator[PageStream[EventPage]]:
        """Open a replay or a subscription; its first page comes at once, perhaps without events.

        Events come as they are stored wherever their reader may see them so.
        """
        name = self.count(call)
        with self.admit(caller, "stream", size=size) as admission:
            async with self.use(caller, store, name) as opened:
                calls, core = opened.calls(caller.grant), opened.core
                if isinstance(call, Replay):
                    pages = replay_pages(calls, core, caller.grant, call)
                else:
                    check = partial(self._check_subscription, caller, opened)
                    pages = subscription_pages(
                        calls, core, caller.grant, call, self._wakeups, check
                    )
                counted = self._counted_events(name, pages)
                async with aclosing(self._stream(caller, admission, counted)) as stream:
                    yield stream

    def _check_subscription(self, caller: Caller, opened: OpenStore) -> None:
        """Raise if its caller may not read any more, or if the store has moved."""
        self.check_current(caller)
        opened.check_current()

    async def _counted_events(
        self, name: str, pages: AsyncGenerator[EventPage, None]
    ) -> AsyncGenerator[EventPage, None]:
        async with aclosing(pages):
            async for page in pages:
                self.traffic.events[name] += len(page.events)
                yield page

    def _stream(
        self, caller: Caller, admission: Admission, pages: AsyncGenerator[Page, None]
    ) -> PageStream[Page]:
        return PageStream(pages, admission, partial(self.check_current, caller))

    def reported(
        self, caller: Caller, opened: OpenStore, about: str, error: MemorandaError
    ) -> MemorandaError:
        """Return the error to send to the caller, and note a denial."""
        if isinstance(error, PermissionDenied):
            self._note_denial(caller, about, opened.name)
        return error_without_folders(error, opened.core)

    def _note_denial(self, caller: Caller, *about: str) -> None:
        if self._control is not None:
            token_id = None if caller.token is None else caller.token.id
            self._control.denials.denied(token_id, *about)


class StoreUse:
    """A block in which a store is open for a caller, and errors name no folders of the server.

    It is a class, and not a generator, since every call passes it.
    """

    __slots__ = ("_about", "_caller", "_dispatcher", "_opened", "_store", "_use")

    def __init__(self, dispatcher: Dispatcher, caller: Caller, store: str, about: str) -> None:
        self._dispatcher = dispatcher
        self._caller = caller
        self._store = store
        self._about = about
        self._use: Use | None = None
        self._opened: OpenStore | None = None

    async def __aenter__(self) -> OpenStore:
        caller = self._caller
        use = self._use = self._dispatcher._open(caller, self._store, self._about)  # noqa: SLF001
        opened = self._opened = await use.__aenter__()
        try:
            caller.check_agent(opened.core)
        except MemorandaError as error:
            await self.__aexit__(type(error), error, None)
            raise
        return opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._use is not None, "it was entered"
        assert self._opened is not None, "it was entered"
        await self._use.__aexit__(kind, error, traceback)
        if isinstance(error, MemorandaError):
            public_error = self._dispatcher.reported(self._caller, self._opened, self._about, error)
            if public_error is not error:
                raise public_error from error


def _check_sendable(call: Call[Any]) -> str:
    """Return the name of a call; refuse one that must not leave its process."""
    name = call_name(type(call))
    if call.local_only is not None:
        raise InvalidInput("call", f"{name} cannot be sent to a server: {call.local_only}")
    return name


def _bounded(call: WriteCall[Answer], seconds: float | None) -> WriteCall[Answer]:
    """Return a commit whose timeout ends when its caller stops waiting."""
    if seconds is None or not isinstance(call, Commit) or type(call.timeout) is not float:
        return call
    bounded: Any = replace(call, timeout=min(call.timeout, seconds))
    return bounded  # type: ignore[no-any-return]


async def _until_empty(pages: AsyncPages[Item]) -> AsyncGenerator[list[Item], None]:
    """Yield pages until there is one without items."""
    while page := await pages.next_page():
        yield page
