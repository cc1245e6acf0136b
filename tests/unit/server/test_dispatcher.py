"""The dispatcher: who reaches which store, what is refused and in which words, and streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memoranda import Signer
from memoranda.calls.copies import MakeBackup
from memoranda.calls.directory import DescribeStore
from memoranda.calls.erasure_writes import Forget
from memoranda.calls.grant import Grant
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.log import Replay
from memoranda.calls.maintenance import Verify
from memoranda.calls.memory_writes import Remember
from memoranda.calls.signing import signed
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    PermissionDenied,
    StoreFull,
    TooManyRequests,
    TransactionExpired,
    Unauthenticated,
)
from memoranda.log.commit.refusals import PERMISSION
from memoranda.log.read.replay import decode_stored
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.event_streams import EventPage
from memoranda.server.folders import error_without_folders, without_folders
from memoranda.server.stores import StoreOptions, StoreSet
from memoranda.server.token_limits import TokenLimits
from memoranda.testing import FixedIds
from tests.patience import HANG_SECONDS
from tests.signed_requests import signing_of

OPTIONS = StoreOptions(embedder=None, durability="relaxed")


class Server:
    """A dispatcher with two stores, and its control store."""

    def __init__(self, dispatcher: Dispatcher, stores: StoreSet, control: ControlStore) -> None:
        self.dispatcher = dispatcher
        self.stores = stores
        self.control = control

    def with_token(self, **options: Any) -> Caller:
        secret, _ = self.control.tokens.create(**options)
        return self.dispatcher.caller(secret)

    @property
    def denied(self) -> int:
        return self.control.denials.counts[PERMISSION]


def run(
    folder: Path, work: Callable[[Server], Awaitable[None]], *, asks_for_tokens: bool = False
) -> None:
    async def main() -> None:
        stores = StoreSet.in_folder(folder, OPTIONS)
        with ControlStore(control_path(folder=folder)) as control:
            try:
                await stores.create("acme")
                await stores.create("globex")
                dispatcher = Dispatcher(stores, control, asks_for_tokens=asks_for_tokens)
                async with asyncio.timeout(HANG_SECONDS):
                    await work(Server(dispatcher, stores, control))
            finally:
                await stores.close(0)

    asyncio.run(main())


def write(number: int, agent_id: str = "a", **options: Any) -> Write:
    return Write(agent_id, "default", "k", {"n": number}, **options)


def key(agent_id: str = "a") -> GetState:
    return GetState(agent_id, "default", "k")


async def refusal(work: Awaitable[object]) -> MemorandaError:
    with pytest.raises(MemorandaError) as raised:
        await work
    return raised.value


async def events_of(
    server: Server, caller: Caller, call: Replay | Subscribe, pages: int
) -> list[EventPage]:
    async with server.dispatcher.events(caller, "acme", call) as stream:
        return [await anext(stream) for _ in range(pages)]


# Who calls.


def test_without_tokens_everything_is_allowed(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        await dispatcher.write(caller, "acme", write(1))
        record = await dispatcher.ask(caller, "acme", key())
        assert record is not None
        assert record.value == {"n": 1}
        assert await dispatcher.ask(caller, "globex", key()) is None
        assert (await dispatcher.ask(caller, "acme", Verify())).commits == 1

    run(tmp_path, work)


def test_the_actor_is_the_agent_that_a_call_is_made_for(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        await dispatcher.write(caller.acting("b"), "acme", write(1, "a"))
        await dispatcher.write(caller, "acme", write(2, "a"))
        _, page = await events_of(server, caller, Replay("a", None), 2)
        events = [decode_stored(event, "") for event in page.events if type(event) is StoredEvent]
        assert [event.actor for event in events] == ["b", "local"]
        error = await refusal(dispatcher.ask(caller.acting("\0"), "acme", key()))
        assert isinstance(error, InvalidInput)

    run(tmp_path, work)


def test_the_agent_of_a_token_is_the_actor_whatever_the_call_says(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        ann = server.with_token(store="acme", agent="ann", namespaces=["default/*"])
        assert ann.acting("bob") is ann
        host = server.with_token(store="acme")
        assert host.acting("bob").grant.actor == "bob"
        assert host.acting("") is host
        with pytest.raises(PermissionDenied, match="does not cover agent 'eve'"):
            Caller(Grant(agents=frozenset(["bob"]))).acting("eve")

    run(tmp_path, work)


def test_the_first_token_makes_tokens_necessary(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        assert server.dispatcher.caller(None).token is None
        secret, token = server.control.tokens.create(store=None)
        with pytest.raises(Unauthenticated, match="memoranda token create"):
            server.dispatcher.caller(None)
        with pytest.raises(Unauthenticated):
            server.dispatcher.caller("mmr_x_y")
        assert server.dispatcher.caller(secret).token == token

    run(tmp_path, work)


def test_a_server_can_ask_for_tokens_before_there_are_any(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        with pytest.raises(Unauthenticated):
            server.dispatcher.caller(None)

    run(tmp_path, work, asks_for_tokens=True)


# What a caller may reach.


def test_a_store_of_others_is_as_one_that_is_not_there(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        everywhere = server.with_token(store=None)
        ann = server.with_token(store="acme")
        call = key()
        missing = await refusal(server.dispatcher.ask(everywhere, "nowhere", call))
        uncovered = await refusal(server.dispatcher.ask(ann, "nowhere", call))
        hidden = await refusal(server.dispatcher.ask(ann, "globex", call))
        assert type(missing) is type(uncovered) is type(hidden) is NotFound
        assert str(missing) == str(uncovered) == str(hidden).replace("globex", "nowhere")
        assert server.denied == 2
        for stream in (Replay("a", None), Subscribe("a", None)):
            with pytest.raises(NotFound, match="globex"):
                async with server.dispatcher.events(ann, "globex", stream):
                    pass
        with pytest.raises(NotFound, match="globex"):
            async with server.dispatcher.pages(ann, "globex", ListKeys("a", "default")):
                pass
        error = await refusal(server.dispatcher.write(ann, "globex", write(1)))
        assert isinstance(error, NotFound)

    run(tmp_path, work)


def test_no_store_named_is_the_one_of_the_token(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        ann, everywhere = server.with_token(store="acme"), server.with_token(store=None)
        await server.dispatcher.write(ann, "", write(7))
        record = await server.dispatcher.ask(everywhere, "acme", key())
        assert record is not None
        assert record.value == {"n": 7}
        error = await refusal(server.dispatcher.ask(everywhere, "", key()))
        assert "this server has many" in str(error)

    run(tmp_path, work)


def test_a_denied_call_is_noted(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        reader = server.with_token(store="acme", verbs=["read"])
        error = await refusal(server.dispatcher.write(reader, "acme", write(1)))
        assert isinstance(error, PermissionDenied)
        assert server.denied == 1

    run(tmp_path, work)


def test_calls_of_the_process_are_refused_in_words(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        target = tmp_path / "copy.db"
        call = MakeBackup(str(target))
        error = await refusal(server.dispatcher.ask(server.dispatcher.caller(None), "acme", call))
        assert isinstance(error, InvalidInput)
        assert "make_backup cannot be sent to a server" in str(error)
        assert not target.exists()

    run(tmp_path, work)


# How much it may do, and for how long.


def test_limits_of_a_token_are_kept(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        limits = TokenLimits(open_streams=1, requests_per_second=3)
        caller = server.with_token(store="acme", limits=limits)
        replay = Replay("a", None)
        async with server.dispatcher.events(caller, "acme", replay):
            with pytest.raises(TooManyRequests, match="streams are open"):
                async with server.dispatcher.events(caller, "acme", replay):
                    pass
        async with server.dispatcher.events(caller, "acme", replay):
            pass
        errors = [
            error
            for error in await asyncio.gather(
                *(server.dispatcher.ask(caller, "acme", key()) for _ in range(20)),
                return_exceptions=True,
            )
            if error is not None
        ]
        assert {*map(type, errors)} == {TooManyRequests}

    run(tmp_path, work)


def test_a_subscription_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller = server.with_token(store="acme")
        assert caller.token is not None
        async with server.dispatcher.events(caller, "acme", Subscribe("a", None)) as stream:
            assert [(await anext(stream)).caught_up for _ in range(2)] == [False, True]
            server.control.tokens.revoke(caller.token.id)
            with pytest.raises(Unauthenticated):
                await anext(stream)

    run(tmp_path, work)


def test_a_commit_is_given_up_when_its_caller_no_longer_waits(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        commit = Commit((write(1),), txn_id="t", timeout=30.0)
        error = await refusal(dispatcher.write(caller, "acme", commit, seconds=1e-9))
        assert isinstance(error, TransactionExpired)
        committed = await dispatcher.write(caller, "acme", commit, seconds=HANG_SECONDS)
        assert committed.changed

    run(tmp_path, work)


# Streams.


def test_pages_come_one_after_another(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        calls = tuple(Write("a", "default", f"k{n:03}", {"n": n}) for n in range(600))
        await dispatcher.write(caller, "acme", Commit(calls))
        async with dispatcher.pages(caller, "acme", ListKeys("a", "default")) as stream:
            pages = [page async for page in stream]
        assert [key for page in pages for key in page] == [f"k{n:03}" for n in range(600)]
        assert len(pages) > 1

    run(tmp_path, work)


def test_a_call_is_checked_before_its_first_page(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller = server.dispatcher.caller(None)
        with pytest.raises(InvalidInput, match="agent_id"):
            async with server.dispatcher.pages(caller, "acme", ListKeys("", "default")):
                pass

    run(tmp_path, work)


def test_a_replay_tells_its_bound_first_and_ends_there(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        for number in range(3):
            await dispatcher.write(caller, "acme", write(number))
        async with dispatcher.events(caller, "acme", Replay("a", None)) as stream:
            first = await anext(stream)
            await dispatcher.write(caller, "acme", write(4))
            rest = [page async for page in stream]
        assert (first.bound, first.events) == (3, [])
        assert [event.commit_ts for page in rest for event in page.events] == [1, 2, 3]
        assert {type(event) for page in rest for event in page.events} == {StoredEvent}

    run(tmp_path, work)


def test_a_subscription_continues_from_history_to_live(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        await dispatcher.write(caller, "acme", write(1))
        call = Subscribe("a", None, after_commit=0)
        async with dispatcher.events(caller, "acme", call) as stream:
            first, history = await anext(stream), await anext(stream)
            assert (first.bound, first.caught_up, first.events) == (0, False, [])
            assert [event.commit_ts for event in history.events] == [1]
            assert (history.bound, history.caught_up) == (1, True)
            for number in (2, 3):
                await dispatcher.write(caller, "acme", write(number))
                page = await anext(stream)
                assert [event.commit_ts for event in page.events] == [number]
                assert page.caught_up

    run(tmp_path, work)


def test_subscriptions_of_a_store_share_one_wakeup(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        async with server.stores.use("acme") as opened:
            signal = opened.core.signal

            async def follow(stream: Any) -> int:
                async for page in stream:
                    for event in page.events:
                        return int(event.commit_ts)
                raise AssertionError("a subscription does not end")

            streams = [dispatcher.events(caller, "acme", Subscribe("a", None)) for _ in range(50)]
            opened_streams = [await stream.__aenter__() for stream in streams]
            for stream in opened_streams:
                assert [(await anext(stream)).events for _ in range(2)] == [[], []]
            tasks = [asyncio.create_task(follow(stream)) for stream in opened_streams]
            while len(signal._watchers) < 1:
                await asyncio.sleep(0)
            assert len(signal._watchers) == 1
            await dispatcher.write(caller, "acme", write(1))
            assert {*await asyncio.gather(*tasks)} == {1}
            for block in streams:
                await block.__aexit__(None, None, None)
            assert not signal._watchers

    run(tmp_path, work)


# What is not told.


def test_folders_of_the_server_are_not_told(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        caller, dispatcher = server.dispatcher.caller(None), server.dispatcher
        memory = await dispatcher.write(caller, "acme", Remember("a", "default", "x"))
        certificate = await dispatcher.write(
            caller, "acme", Forget(memory_id=memory.id, reason="asked to")
        )
        assert str(tmp_path) not in str(certificate)
        with_copy = replace(certificate, copies=(str(tmp_path / "acme.db.copy"),))
        assert without_folders(with_copy).copies == ("acme.db.copy",)
        async with server.stores.use("acme") as opened:
            error = StoreFull(f"no space for {tmp_path / 'acme.db'}: free some")
            assert str(error_without_folders(error, opened.core)) == (
                "no space for acme.db: free some"
            )
            same = NotFound("nothing here")
            assert error_without_folders(same, opened.core) is same

    run(tmp_path, work)


def test_nor_are_they_where_a_store_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_text("no store at all")

    async def work(server: Server) -> None:
        caller = server.dispatcher.caller(None)
        error = await refusal(server.dispatcher.ask(caller, "broken", key()))
        assert "broken.db" in str(error)
        assert str(tmp_path) not in str(error)
        with pytest.raises(type(error), match=str(tmp_path)):  # an operator is told
            await server.stores.use("broken").__aenter__()

    run(tmp_path, work)


@pytest.mark.parametrize("agent_id", ["x" * 257, "a\0b", "\ud800"])
def test_the_agent_that_a_call_names_is_checked(tmp_path: Path, agent_id: str) -> None:
    async def work(server: Server) -> None:
        for host in (server.dispatcher.caller(None), server.with_token(store="acme")):
            caller = host.acting(agent_id)
            error = await refusal(server.dispatcher.write(caller, "acme", write(1)))
            assert isinstance(error, InvalidInput)
            assert await server.dispatcher.ask(host, "acme", key()) is None

    run(tmp_path, work)


# Requests that an agent's client has signed.


def test_a_signed_request_is_for_its_store_and_the_agent_of_its_token(tmp_path: Path) -> None:
    signer = Signer("a", b"a" * 32)

    async def work(server: Server) -> None:
        caller = server.with_token(store=None, agent="a")
        other = server.with_token(store=None, agent="b")
        description = await server.dispatcher.ask(caller, "acme", DescribeStore())
        call = signed(
            Commit((write(1),), txn_id="t"), signing_of(signer, "a"), description.log_id, FixedIds()
        )
        for who, store in ((caller, "globex"), (other, "acme")):
            error = await refusal(server.dispatcher.write(who, store, call))
            assert isinstance(error, PermissionDenied)
        assert server.denied == 2
        first = await server.dispatcher.write(caller, "acme", call, seconds=20)
        again = await server.dispatcher.write(caller, "acme", call, seconds=10)
        assert (first.changed, again.commit_ts) == (True, first.commit_ts)
        pages = await events_of(server, caller, Replay("a", "default"), 2)
        (event,) = (event for page in pages for event in page.events)
        assert isinstance(event, ReplayEvent), "the grant leaves others out"
        assert event.attest_level == "request-signed"

    run(tmp_path, work, asks_for_tokens=True)
