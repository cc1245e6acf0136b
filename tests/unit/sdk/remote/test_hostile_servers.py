"""What a store over HTTP makes of servers, gateways and networks that do not behave."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast

import pytest

import memoranda
from memoranda import (
    CommitUnknown,
    InvalidInput,
    MemorandaError,
    Store,
    Unauthenticated,
    Unavailable,
    UnsupportedFormat,
)
from memoranda.sdk.remote.http import async_connection, connection
from memoranda.wire import over_http
from tests.contract.blocking import Blocking, Loop
from tests.http_gateway import (
    Answer,
    Gateway,
    Spoil,
    after,
    cut_off,
    page,
    without_end,
    without_last_message,
)
from tests.patience import HANG_SECONDS
from tests.quick import only
from tests.server_process import ServerThread

IMPATIENT = 0.3
"""Seconds for which a client tries again what cannot succeed."""
Opener = Callable[..., Store]


@pytest.fixture
def gateway(server: ServerThread) -> Iterator[Gateway]:
    with Gateway(server.http_address) as between:
        yield between


@pytest.fixture(params=only({"threads"}, ("threads", "asyncio")))
def open_store(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """What opens a store, of either sort."""
    with ExitStack() as ends:
        loop = ends.enter_context(Loop())

        def open_it(url: str, **options: Any) -> Store:
            if request.param == "threads":
                store = memoranda.open(url, **options)
            else:
                target = loop.run(memoranda.open_async(url, **options))
                store = cast(Store, Blocking(target, loop))
            ends.callback(store.close)
            return store.bind(agent_id="a")

        yield open_it


@pytest.fixture
def store(open_store: Opener, gateway: Gateway) -> Store:
    """A store behind the gateway, whose client waits as long as it needs."""
    return open_store(gateway.url)


@pytest.fixture
def impatient(open_store: Opener, gateway: Gateway) -> Store:
    while True:  # on a busy machine, the server may need longer
        with suppress(Unavailable):
            return open_store(gateway.url, timeout=IMPATIENT)


def frames(*parts: bytes) -> Spoil:
    """Return what answers with a body of frames."""
    media = {"content-type": over_http.FRAMES_MEDIA}
    return lambda _: Answer(200, media, b"".join(parts))


# Gateways that answer themselves.


@pytest.mark.parametrize("status", [502, 503, 504, 429])
def test_a_gateway_without_its_server_is_asked_again(
    store: Store, gateway: Gateway, status: int
) -> None:
    gateway.spoils = {
        name: [page(status), page(status), lambda forward: forward()]
        for name in ("GetState", "WriteStream", "Replay", "ListKeys", "Verify")
    }
    assert store.write(key="k", value={"n": 1}).commit_ts == 1
    record = store.get_state(key="k")
    assert record is not None
    assert record.value == {"n": 1}
    assert [event.commit_ts for event in store.replay()] == [1]
    assert list(store.list_keys()) == ["k"]
    assert store.verify().commits == 1
    assert min(gateway.requests[name] for name in gateway.spoils) == 3


def test_it_says_what_the_gateway_says(impatient: Store, gateway: Gateway) -> None:
    gateway.spoils["GetState"] = [page(502)]
    with pytest.raises(Unavailable, match="does not answer: status 502: <html>Bad Ga") as refused:
        impatient.get_state(key="k")
    assert refused.value.gave_up


@pytest.mark.parametrize(
    ("spoil", "requests"),
    [
        (page(502), 3),
        (page(504), 3),
        (cut_off(0.0), 3),
        (cut_off(0.5), 3),
        (without_end, 1),  # which has the outcome
    ],
)
def test_a_write_whose_answer_is_lost_takes_effect_once(
    store: Store, gateway: Gateway, spoil: Spoil, requests: int
) -> None:
    gateway.spoils["WriteStream"] = [after(spoil), after(spoil), lambda forward: forward()]
    assert store.write(key="k", value={"n": 1}).commit_ts == 1
    assert gateway.requests["WriteStream"] == requests
    assert [event.commit_ts for event in store.replay()] == [1]


@pytest.mark.parametrize("spoil", [page(200), page(500), page(504)])
def test_a_write_that_has_no_answer_can_be_found_out(
    impatient: Store, gateway: Gateway, spoil: Spoil
) -> None:
    gateway.spoils["WriteStream"] = [after(spoil)]
    with pytest.raises(CommitUnknown) as unknown:
        impatient.write(key="k", value={"n": 1})
    del gateway.spoils["WriteStream"]
    again = impatient.write(key="k", value={"n": 1}, txn_id=unknown.value.txn_id)
    assert (again.commit_ts, again.version) == (1, 1)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (401, Unauthenticated, "token"),
        (404, UnsupportedFormat, "does not know this call"),
        (413, InvalidInput, "is too large for"),
        (400, MemorandaError, "failed with status 400"),
    ],
)
def test_a_refusal_is_told_at_once(
    store: Store, gateway: Gateway, status: int, kind: type[MemorandaError], text: str
) -> None:
    gateway.spoils = {name: [page(status)] for name in ("GetState", "WriteStream")}
    with pytest.raises(kind, match=text):
        store.get_state(key="k")
    if kind is not MemorandaError:
        with pytest.raises(kind, match=text):
            store.write(key="k", value={})
        assert gateway.requests["WriteStream"] == 1


def test_a_redirect_is_not_followed(open_store: Opener, gateway: Gateway) -> None:
    with listening() as (address, connections):
        where = f"http://{address}/v1"
        gateway.spoils["DescribeStore"] = [page(307, location=where)]
        with pytest.raises(InvalidInput, match=f"redirect to '{where}': none is followed"):
            open_store(gateway.url, token="mem_abc.topsecret")
        assert not connections


@pytest.mark.parametrize("media", ["text/html", "application/json", ""])
def test_an_answer_of_another_type_is_none(impatient: Store, gateway: Gateway, media: str) -> None:
    def answer(_: object) -> Answer:
        return Answer(200, {"content-type": media}, b"{}")

    gateway.spoils = {name: [answer] for name in ("GetState", "ListKeys", "Replay")}
    for call in (
        lambda: impatient.get_state(key="k"),
        lambda: list(impatient.list_keys()),
        lambda: list(impatient.replay()),
    ):
        with pytest.raises(Unavailable, match="no answer of a Memoranda server") as refused:
            call()
        assert not refused.value.retryable


# Bodies that are broken.


@pytest.mark.slow
def test_what_is_cut_off_goes_on_or_says_so(store: Store, gateway: Gateway) -> None:
    for number in range(100):
        store.write(key=f"k{number:03}", value={"n": number, "text": "x" * 16_384})
    gateway.spoils["GetState"] = [cut_off(0.5), lambda forward: forward()]
    assert store.get_state(key="k007") is not None
    gateway.spoils["Replay"] = [cut_off(0.9), without_last_message, lambda forward: forward()]
    assert [event.commit_ts for event in store.replay()] == [*range(1, 101)]
    assert gateway.requests["Replay"] == 3
    for spoil in (cut_off(0.9), without_last_message, without_end):
        gateway.spoils["ScanPrefix"] = [spoil]
        with pytest.raises(Unavailable, match="ask for it again"):
            list(store.scan_prefix(prefix="k"))


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (frames(b"\x00\xff\xff\xff\xff", b"x" * 100), "a frame of 4294967295 bytes"),
        (frames(over_http.frame(9, b"x")), "a frame of the unknown kind 9"),
        (frames(over_http.frame(over_http.MESSAGE, b"\xff" * 9)), "the 9 bytes are no "),
        (frames(over_http.frame(over_http.ERROR, b"\xff" * 9)), "it is not understood"),
    ],
)
def test_frames_that_are_none(
    impatient: Store, gateway: Gateway, spoil: Spoil, problem: str
) -> None:
    gateway.spoils = {name: [spoil] for name in ("Replay", "ListKeys", "WriteStream")}
    for call in (lambda: list(impatient.replay()), lambda: list(impatient.list_keys())):
        with pytest.raises(InvalidInput, match=problem):
            call()
    with pytest.raises(CommitUnknown) as unknown:
        impatient.write(key="k", value={})
    assert problem in str(unknown.value.__cause__)


def test_an_answer_without_end_is_not_read_to_its_end(
    impatient: Store, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.sdk.remote.http.answers.MAX_FRAME_BYTES", 1000)

    def answer(_: object) -> Answer:
        return Answer(200, {"content-type": over_http.MESSAGE_MEDIA}, b"x" * 100_000)

    gateway.spoils["GetState"] = [answer]
    with pytest.raises(InvalidInput, match="has more than 1000 bytes"):
        impatient.get_state(key="k")


def test_one_write_that_is_refused_leaves_the_others(store: Store, server: ServerThread) -> None:
    """Writes of many threads share requests; what is too large has one of its own."""
    large = {"text": "x" * (2 * 1024 * 1024)}
    done: list[int] = []

    def write(number: int) -> None:
        done.extend(store.write(key=f"k{number}", value={}).commit_ts for _ in range(5))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    with pytest.raises(MemorandaError, match=r"value: .* bytes"):
        store.write(key="large", value=large)
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert sorted(done) == [*range(1, 41)]


# Silence.


@contextmanager
def listening() -> Iterator[tuple[str, list[socket.socket]]]:
    """Take connections, and answer nothing."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    taken.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept)
        thread.start()
        host, port = listener.getsockname()
        try:
            yield f"{host}:{port}", taken
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(HANG_SECONDS)
            for own in taken:
                own.close()


def test_a_server_that_never_answers(open_store: Opener) -> None:
    with listening() as (address, _), pytest.raises(Unavailable, match=r"did not answer in 0\.3"):
        open_store(f"http://{address}/acme", timeout=IMPATIENT)


def test_a_proxy_that_holds_a_subscription_back(
    impatient: Store, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else works through it: an answer that ends is passed on in the end."""
    impatient.write(key="k", value={})
    with monkeypatch.context() as patch:
        for module in (connection, async_connection):
            patch.setattr(module, "SILENCE_SECONDS", 0.2)
        with pytest.raises(Unavailable, match="does not answer: ReadTimeout"):
            next(impatient.subscribe(after_commit=0))
    assert impatient.write(key="k", value={}).commit_ts == 2
    assert [event.commit_ts for event in impatient.replay()] == [1, 2]


def test_closing_ends_calls_that_wait(open_store: Opener, gateway: Gateway) -> None:
    waiting, released = threading.Event(), threading.Event()

    def hold(_: object) -> Answer:
        waiting.set()
        released.wait(HANG_SECONDS)
        return page(502)(lambda: Answer(502, {}, b""))

    gateway.spoils["GetState"] = [hold]
    store = open_store(gateway.url)
    errors: list[BaseException] = []

    def read() -> None:
        try:
            store.get_state(key="k")
        except memoranda.StoreClosed as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert waiting.wait(HANG_SECONDS)
    store.close()
    thread.join(HANG_SECONDS)
    released.set()
    assert len(errors) == 1


def test_a_task_that_is_cancelled_frees_its_connection(gateway: Gateway) -> None:
    waiting, released = threading.Event(), threading.Event()

    def hold(forward: Callable[[], Answer]) -> Answer:
        waiting.set()
        released.wait(HANG_SECONDS)
        return forward()

    async def work() -> None:
        gateway.spoils["GetState"] = [hold, lambda forward: forward()]
        async with await memoranda.open_async(gateway.url) as opened:
            agent = opened.bind(agent_id="a")
            task = asyncio.create_task(agent.get_state(key="k"))
            assert await asyncio.to_thread(waiting.wait, HANG_SECONDS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await agent.get_state(key="k") is None
        released.set()

    asyncio.run(work())
