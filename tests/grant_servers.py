"""A server of worlds for the matrix of grants, with a token for each grant, and the way to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc

from memoranda import Store
from memoranda.calls.call import Call
from memoranda.calls.defaults import Defaults
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import MemorandaError
from memoranda.model.clock import FixedClock
from memoranda.sdk.local.calls import LocalCalls
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.stores import StoreOptions
from memoranda.server.token_limits import UNMETERED
from memoranda.wire import codec
from memoranda.wire.batches import outcomes_in, write_batch
from memoranda.wire.methods import METHOD_OF, WRITE_OUTCOMES, WRITE_STREAM
from tests.grant_copies import Saved
from tests.grant_worlds import StepIds, World
from tests.grpc_client import connect, raising
from tests.patience import HANG_SECONDS
from tests.server_process import ServerThread

_OPEN_STORES = 4
"""How many copies the server keeps open: each test has one of its own."""


class GrantServer:
    """A server in a thread of this process, whose stores are copies of worlds."""

    def __init__(self, folder: Path, grants: Iterable[Grant], **settings: Any) -> None:
        self.folder = folder
        self.clock, self.ids = FixedClock(), StepIds()
        with ControlStore(control_path(folder=folder)) as control:
            self.secrets = {grant: control.tokens.issue(grant, store=None)[0] for grant in grants}
            """The secret of a token for each grant, in all stores."""
            self.secret_of_store, _ = control.tokens.issue(EVERYTHING, store="own")
            """That of a token for everything in one store, which need not be there."""
        self.thread = ServerThread(
            folder=folder,
            clock=self.clock,
            ids=self.ids,
            tokens=True,
            call_limits=UNMETERED,
            stores=StoreOptions(durability="relaxed", embedder=None, max_open=_OPEN_STORES),
            **settings,
        )
        self._stack = ExitStack()
        self._channel: grpc.Channel

    @contextmanager
    def serving(self, name: str, saved: Saved) -> Iterator[World]:
        """Serve a copy of a world, at the time when it was finished."""
        (self.folder / f"{name}.db").write_bytes(saved.file)
        self.clock.step((saved.now - self.clock.now()) / 1_000_000)
        self.ids.begin(0)
        use = self.thread.server.stores.use(name)
        opened = self.thread.run(use.__aenter__())
        try:
            yield World(Store(LocalCalls(opened.core), Defaults()), saved.ids, {})
        finally:
            self.thread.run(use.__aexit__(None, None, None))

    def reach(self, store: str) -> OverGrpc:
        """Return the way to a store, for callers with any grant."""
        return OverGrpc(self._channel, self.secrets, store)

    def stream_reach(self, store: str) -> OverWriteStream:
        """Return the way to a store by the stream of writes."""
        return OverWriteStream(self._channel, self.secrets, store)

    def __enter__(self) -> Self:
        with self._stack as stack:
            stack.enter_context(self.thread)
            self._channel = stack.enter_context(connect(self.thread.address))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()


class OverGrpc:
    """Sends each call to a server as it is, with the token of its grant, and retries nothing."""

    def __init__(self, channel: grpc.Channel, secrets: dict[Grant, str], store: str) -> None:
        self._channel = channel
        self._secrets = secrets
        self._store = store
        self.received: list[bytes] = []
        """Everything that came back for the last call: messages, trailers and the status's text."""

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        kind = type(call)
        messages = self.messages(self._secrets[grant], call)
        if METHOD_OF[kind].shape in ("unary", "long"):
            return codec.answer_of(kind, messages[-1])
        pages = [page for message in messages if (page := codec.items_of(kind, message))]
        return [event for page in pages for event in page] if kind is Subscribe else pages

    def messages(self, secret: str | None, call: Call[Any], **fields: Any) -> list[Any]:
        """Return the messages of an answer, or raise its error."""
        method = METHOD_OF[type(call)]
        if method.shape == "events":
            fields = {"stored": True, **fields}
        request = codec.request_of(call, **{"store": self._store, **fields}).SerializeToString()

        def is_last(data: bytes) -> bool:
            return type(call) is Subscribe and bool(method.response.FromString(data).caught_up)

        answers = self.send(method.path, secret, request, is_last)
        return [method.response.FromString(data) for data in answers]

    def send(
        self,
        path: str,
        secret: str | None,
        request: bytes,
        is_last: Callable[[bytes], bool] = lambda _: False,
    ) -> list[bytes]:
        """Send a message with the token of a secret, and return what comes back."""
        metadata = () if secret is None else (("authorization", f"Bearer {secret}"),)
        running: Any = self._channel.stream_stream(path)(
            iter((request,)), metadata=metadata, timeout=HANG_SECONDS
        )
        self.received = []
        answers: list[bytes] = []
        try:
            with raising():
                for data in running:
                    answers.append(data)
                    if is_last(data):
                        break
        finally:
            running.cancel()
            trailers = (value for _, value in running.trailing_metadata() or ())
            texts = (*trailers, running.details() or "")
            self.received = [
                *answers,
                *(text if isinstance(text, bytes) else text.encode() for text in texts),
            ]
        return answers


class OverWriteStream(OverGrpc):
    """Sends each write by a stream of writes of its own."""

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        batch = write_batch([(7, codec.request_of(call))], store=self._store)
        (data,) = self.send(
            WRITE_STREAM, self._secrets[grant], batch.SerializeToString(), lambda _: True
        )
        ((number, outcome),) = outcomes_in(WRITE_OUTCOMES.FromString(data))
        assert number == 7
        if isinstance(outcome, MemorandaError):
            raise outcome
        return outcome
