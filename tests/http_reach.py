"""The way to a store over HTTP, for the matrix of grants."""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import msgspec

from memoranda.calls.call import Call
from memoranda.calls.grant import Grant
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transcripts import LoadTranscript
from memoranda.errors import MemorandaError
from memoranda.model.error_codec import ErrorCodec
from memoranda.server.http.answers import answer_json
from memoranda.wire import codec
from memoranda.wire.batches import outcomes_in, write_batch
from memoranda.wire.errors import decode_error
from memoranda.wire.methods import METHOD_OF, WRITE_OUTCOMES
from memoranda.wire.over_http import (
    ERROR,
    FRAMES_MEDIA,
    MESSAGE,
    MESSAGE_MEDIA,
    WRITES,
    FrameReader,
    method_path,
)
from tests.http_requests import request_of, route_of
from tests.patience import HANG_SECONDS


def json_of(call: Call[Any], answer: Any) -> Any:
    """Return the answer of a handler, or its error, as it is over HTTP."""
    if isinstance(answer, tuple) and len(answer) > 1 and isinstance(answer[0], type):
        return answer[0].__name__, answer[1]
    missing = route_of(call).missing
    if answer is None and missing is not None:
        return "NotFound", missing
    if call.shape == "pages":
        value: Any = [answer_json(call, item) for page in answer for item in page]
    elif call.shape == "stream":
        value = [answer_json(call, item) for item in answer]
    else:
        value = answer_json(call, answer)
    return msgspec.json.decode(msgspec.json.encode(value))


class OverHttp:
    """Sends each call to a server, with the token of its grant, and retries nothing."""

    def __init__(self, port: int, secrets: dict[Grant, str], store: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
        self._secrets = secrets
        self._store = store
        self.received: list[bytes] = []
        """Everything that came back for the last call: headers and bodies."""

    def close(self) -> None:
        self._connection.close()

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        """Return the JSON of an answer, or its error as its name and its text."""
        try:
            return self.json(self._secrets[grant], call)
        except MemorandaError as error:
            return type(error).__name__, str(error)

    def json(self, secret: str | None, call: Call[Any]) -> Any:
        """Return the JSON of an answer: of a long one, all items. Raise the error of a problem."""
        self.received = []
        method, target, body = request_of(call, self._store)
        if call.shape != "pages":
            data = self.send(method, target, secret, body)
            return data.hex() if isinstance(call, LoadTranscript) else msgspec.json.decode(data)
        separator = "&" if "?" in target else "?"
        items: list[Any] = []
        token: str | None = ""
        while token is not None:
            more = f"{separator}limit=3" + (f"&page_token={token}" if token else "")
            page = msgspec.json.decode(self.send(method, target + more, secret, body))
            items += page["items"]
            token = page["next_page_token"]
        return items

    def events(self, grant: Grant, call: Call[Any], count: int) -> Any:
        """Return the first events of a subscription, as many as there should be."""
        self.received = []
        method, target, _ = request_of(call, self._store)
        response = self._request(method, target, self._secrets[grant], None)
        if response.status != 200:
            return self._raise(response)
        events: list[Any] = []
        while len(events) < count:
            line = response.readline()
            assert line, "the stream has ended"
            self.received.append(line)
            if line.startswith(b"data: "):
                events.append(msgspec.json.decode(line[6:]))
        self._connection.close()
        return events

    def send(self, method: str, target: str, secret: str | None, body: Any = None) -> bytes:
        """Return the body of a response, or raise the error of a problem."""
        response = self._request(method, target, secret, body)
        if response.status != 200:
            self._raise(response)
        data = response.read()
        self.received.append(data)
        return data

    def _request(self, method: str, target: str, secret: str | None, body: Any) -> HTTPResponse:
        headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
        data = None
        if isinstance(body, bytes):
            data = body
            headers["content-type"] = MESSAGE_MEDIA
        elif body is not None:
            data = msgspec.json.encode(body)
            headers["content-type"] = "application/json"
        self._connection.request(method, target, data, headers)
        response = self._connection.getresponse()
        self.received += [f"{name}: {value}".encode() for name, value in response.getheaders()]
        return response

    def _raise(self, response: HTTPResponse) -> Any:
        data = response.read()
        self.received.append(data)
        problem = msgspec.json.decode(data)
        raise ErrorCodec().decode(problem | {"message": problem["detail"]})


class OverMessages(OverHttp):
    """Sends each call as a message, with the token of its grant, and retries nothing."""

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        """Return the answer of a call as its handler gives it."""
        kind = type(call)
        messages = self.messages(self._secrets[grant], call)
        if METHOD_OF[kind].shape in ("unary", "long"):
            return codec.answer_of(kind, messages[-1])
        pages = [page for message in messages if (page := codec.items_of(kind, message))]
        return [event for page in pages for event in page] if kind is Subscribe else pages

    def messages(self, secret: str | None, call: Call[Any]) -> list[Any]:
        """Return the messages of an answer, or raise its error."""
        method = METHOD_OF[type(call)]
        stored = method.shape == "events"
        data = codec.request_of(call, store=self._store, stored=stored).SerializeToString()

        def is_last(data: bytes) -> bool:
            return type(call) is Subscribe and bool(method.response.FromString(data).caught_up)

        answers = self.send_message(method.name, secret, data, is_last)
        return [method.response.FromString(answer) for answer in answers]

    def send_message(
        self,
        method: str,
        secret: str | None,
        data: bytes,
        is_last: Callable[[bytes], bool] = lambda _: False,
    ) -> list[bytes]:
        """Send a message to a method of the store, and return the messages of the answer."""
        self.received = []
        response = self._request("POST", method_path(self._store, method), secret, data)
        if response.status != 200:
            self._raise(response)
        if response.getheader("content-type") == MESSAGE_MEDIA:
            self.received.append(response.read())
            return self.received[-1:]
        assert response.getheader("content-type") == FRAMES_MEDIA
        reader, messages = FrameReader(), []
        while part := response.read1():
            self.received.append(part)
            for kind, content in reader.feed(part):
                if kind == ERROR:
                    response.read()
                    raise decode_error(content)
                if kind == MESSAGE:
                    messages.append(content)
                    if is_last(content):
                        self._connection.close()
                        return messages
        return messages


class OverWriteBatches(OverMessages):
    """Sends each write in a batch of its own."""

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        """Return the answer of a write, or raise its error."""
        batch = write_batch([(7, codec.request_of(call))], store=self._store)
        (data,) = self.send_message(WRITES, self._secrets[grant], batch.SerializeToString())
        ((number, outcome),) = outcomes_in(WRITE_OUTCOMES.FromString(data))
        assert number == 7
        if isinstance(outcome, MemorandaError):
            raise outcome
        return outcome
