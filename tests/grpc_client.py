"""A plain gRPC client for tests: it sends what it is given as it is, and retries nothing."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import grpc

from memoranda.calls.call import Call
from memoranda.errors import MemorandaError
from memoranda.wire import codec
from memoranda.wire.errors import ERROR_KEY, decode_error
from memoranda.wire.methods import METHOD_OF
from tests.patience import HANG_SECONDS


class GrpcClient:
    """A connection to a server."""

    def __init__(
        self, address: str, *, store: str = "", token: str | None = None, **channel: Any
    ) -> None:
        self.channel = connect(address, **channel)
        self._store = store
        self._metadata = () if token is None else (("authorization", f"Bearer {token}"),)

    def ask(self, call: Call[Any], *, timeout: float = HANG_SECONDS, **fields: Any) -> Any:
        """Return the answer of a call, or raise its error."""
        *_, last = self.stream(call, timeout=timeout, **fields)
        return codec.answer_of(type(call), last)

    def stream(
        self, call: Call[Any], *, timeout: float | None = HANG_SECONDS, **fields: Any
    ) -> Generator[Any, None, None]:
        """Yield the messages of an answer, or raise its error."""
        fields = {"store": self._store, **fields}
        method = METHOD_OF[type(call)]
        request = codec.request_of(call, **fields).SerializeToString()
        for data in self.send(method.path, request, timeout=timeout):
            yield method.response.FromString(data)

    def items(self, call: Call[Any], **fields: Any) -> list[Any]:
        """Return all items of a long answer."""
        kind = type(call)
        return [item for page in self.stream(call, **fields) for item in codec.items_of(kind, page)]

    def send(
        self, path: str, *messages: bytes, timeout: float | None = HANG_SECONDS, **options: Any
    ) -> Iterator[bytes]:
        """Send messages to a method, and yield those of its answer; errors are raised."""
        options = {"metadata": self._metadata, **options}
        answers = self.channel.stream_stream(path)(iter(messages), timeout=timeout, **options)
        with raising():
            yield from answers

    def send_all(self, path: str, messages: Iterable[bytes], **options: Any) -> Any:
        """Send a stream of messages, and return the running call."""
        options = {"metadata": self._metadata, **options}
        return self.channel.stream_stream(path)(iter(messages), **options)

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def connect(address: str, *, credentials: Any = None, options: Any = ()) -> grpc.Channel:
    """Return a channel of its own connections."""
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0), *options)
    if credentials is None:
        return grpc.insecure_channel(address, options=options)
    return grpc.secure_channel(address, credentials, options=options)


class raising:  # noqa: N801
    """A block in which a call raises our error, if it has one; the cause has its status."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, grpc.RpcError):
            own = error_of(error)
            if own is not None:
                raise own from error


def error_of(error: Any) -> MemorandaError | None:
    """Return the error that the trailers of a failed call have."""
    for key, data in error.trailing_metadata() or ():
        if key == ERROR_KEY:
            return decode_error(data)
    return None
