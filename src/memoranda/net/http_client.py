"""The HTTP client for models: JSON requests over connections that stay open between calls.

It owns addresses, keys, back-off and retries; its callers own the content of requests and answers.
The key is sent to the given address only: no redirect is followed. The client is httpx2, which only
the extra `endpoint` installs, so it is imported with the first call.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.model.backoff import Backoff
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import check_seconds, plain_text, short_repr

if TYPE_CHECKING:
    import httpx2

KEY_VARIABLES = ("MEMORANDA_API_KEY", "OPENAI_API_KEY")
TIMEOUT = 60.0
"""Seconds to wait for a connection, and for each part of an answer: a large model is slow."""
RETRIES = 4
"""Attempts after the first one, for a busy server or a lost connection."""
_LONGEST_WAIT = 20.0
"""Seconds: a server that asks for a longer wait is tried again after this."""
_BACKOFF = Backoff(first=0.5, longest=_LONGEST_WAIT)
"""Waits between the attempts, where the server does not name one."""
_MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""Bounds the memory that an answer can take."""
_IDLE_SECONDS = 30.0
"""Seconds that an idle connection is kept; most servers and routers keep it longer."""
_EXPLANATION_BYTES = 2_000
"""The part of an error answer that is read for the message."""
_RETRYABLE_STATUSES = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
"""Statuses after which a retry may succeed."""
_UNAUTHORIZED_STATUSES = (401, 403)
"""Statuses of a missing or a wrong key."""


class Busy(Unavailable):
    """The endpoint is busy. Try again later."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """The wait in seconds that the server asks for."""


class Endpoint:
    """A base address that takes and returns JSON, such as `https://api.example.com/v1`.

    The key is `api_key`, or that of the environment (`MEMORANDA_API_KEY`, then `OPENAI_API_KEY`),
    or none. A busy server (429, 5xx) and a failed connection are retried with a growing back-off;
    after the last attempt they raise `Unavailable`. Other errors raise `InvalidInput` at once.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        clock: Clock | None = None,
        field: str = "endpoint",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._field = field
        """The caller's name of the address, for errors."""
        self.url = check_address(field, url)
        self._key = _check_key(api_key, environment)
        self._timeout = check_seconds("timeout", timeout)
        if not self._timeout:
            raise InvalidInput("timeout", "is 0: give a positive number of seconds")
        self._retries = retries
        self._clock = clock or SystemClock()
        if find_spec("httpx2") is None:
            remedy = "pip install 'memoranda[endpoint]'"
            raise InvalidInput(field, f"needs the package httpx2: {remedy}")
        self._client: tuple[int, httpx2.Client] | None = None
        """The process that opened the connections, and the client that has them."""

    def post(self, path: str, body: object, *, retries: int | None = None) -> Any:
        """Post `body` as JSON to a path under the address, and return the decoded answer.

        `retries` overrides the number of retries of the endpoint.
        """
        limit = self._retries if retries is None else retries
        content = msgspec.json.encode(body)
        attempt = 0
        while True:
            try:
                return self._try(path, content)
            except Unavailable as error:
                if attempt >= limit:
                    raise
                self._clock.sleep(_wait(error, attempt))
            attempt += 1

    def _try(self, path: str, content: bytes) -> Any:
        httpx2 = import_module("httpx2")
        address = f"{self.url}/{path}"
        client = self._open(httpx2)
        while True:
            trace = _Trace()
            try:
                return self._send(client, address, content, trace)
            except httpx2.InvalidURL as error:
                problem = f"{short_repr(address)} is not a valid address ({error})"
                raise InvalidInput(self._field, problem) from error
            except (httpx2.HTTPError, OSError) as error:
                # The server may close an idle connection just as it is used again. That says
                # nothing about the server, so the call is made once more on a new connection.
                is_dropped = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
                if is_dropped and trace.reused:
                    continue
                problem = f"{address} does not answer ({type(error).__name__}: {error})"
                raise Unavailable(
                    self._masked(f"{problem}: check that it is reachable and try again")
                ) from error

    def _send(self, client: httpx2.Client, address: str, content: bytes, trace: _Trace) -> Any:
        request = client.build_request(
            "POST", address, content=content, headers=self._headers(), extensions={"trace": trace}
        )
        response = client.send(request, stream=True)
        try:
            if not response.is_success:
                raise self._status_error(address, response)
            return self._decode(address, _read(response.iter_bytes(), _MAX_ANSWER_BYTES + 1))
        finally:
            response.close()

    def _open(self, httpx2: Any) -> httpx2.Client:
        """Return the client of this process; a forked process opens its own connections."""
        if self._client is None or self._client[0] != os.getpid():
            try:
                client = httpx2.Client(
                    timeout=self._timeout,
                    limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
                    cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                )
            except (ImportError, ValueError) as error:  # how the library refuses a proxy
                problem = f"cannot be reached through the proxy of the environment: {error}"
                raise InvalidInput(self._field, problem) from error
            weakref.finalize(self, client.close)
            self._client = (os.getpid(), client)
        return self._client[1]

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "memoranda",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _status_error(self, address: str, response: httpx2.Response) -> MemorandaError:
        """Map an HTTP error status to our exception."""
        status = response.status_code
        problem = self._masked(f"{address} answered {status}{_explanation(response)}")
        if status in _RETRYABLE_STATUSES:
            return Busy(f"{problem}: try again later", _retry_after(response.headers))
        if status in _UNAUTHORIZED_STATUSES:
            remedy = f"give api_key, or set {' or '.join(KEY_VARIABLES)}"
            return InvalidInput("api_key", f"{problem}: {remedy}")
        if 300 <= status < 400:
            return InvalidInput(
                self._field, f"{problem}, a redirect: give the address that it leads to"
            )
        return InvalidInput(self._field, f"{problem}: check the address and the model's name")

    def _decode(self, address: str, content: bytes) -> Any:
        if len(content) > _MAX_ANSWER_BYTES:
            problem = f"{address} answers with more than {_MAX_ANSWER_BYTES} bytes"
            raise InvalidInput(self._field, problem)
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(
                f"{address} answered {short_repr(content[:60])}, which is not JSON: "
                "check the address"
            ) from error

    def _masked(self, text: str) -> str:
        """Remove the key from a message, in case the answer repeats it."""
        return text.replace(self._key, "…") if self._key else text


def check_address(field: str, url: object) -> str:
    """Return an HTTP address without its last slash, or raise `InvalidInput`."""
    text = plain_text(field, url)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(field, f"{short_repr(text)} is not an http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(field, "has a user name or a password: give api_key instead")
    if parts.query or parts.fragment:
        raise InvalidInput(
            field, f"{short_repr(text)} has a query or a fragment: give the base address alone"
        )
    return text.rstrip("/")


def _check_key(api_key: str | None, environment: Mapping[str, str]) -> str:
    candidates = (environment.get(name, "") for name in KEY_VARIABLES)
    key = plain_text(
        "api_key", next(filter(None, candidates), "") if api_key is None else api_key
    ).strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("api_key", "has characters that an HTTP header cannot have")
    return key


class _Trace:
    """Notes whether a call opened a connection or reused one."""

    def __init__(self) -> None:
        self.reused = True

    def __call__(self, event: str, _: Mapping[str, Any]) -> None:
        """Handle an event of the client."""
        if event == "connection.connect_tcp.started":
            self.reused = False


def _read(chunks: Iterable[bytes], limit: int) -> bytes:
    """Return the first `limit` bytes of an answer."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) >= limit:
            break
    return bytes(content[:limit])


def _explanation(response: httpx2.Response) -> str:
    """Return the start of an error answer, for the message."""
    httpx2 = import_module("httpx2")
    try:
        content = _read(response.iter_bytes(), _EXPLANATION_BYTES)
    except (httpx2.HTTPError, OSError):
        return ""
    text = " ".join(content.decode("utf-8", "replace").split())
    return f" ({text[:300]})" if text else ""


def _wait(error: Unavailable, attempt: int) -> float:
    """Return the seconds before the next attempt: those of the server, or the back-off."""
    if isinstance(error, Busy) and error.retry_after is not None:
        return error.retry_after
    return _BACKOFF.seconds(attempt)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header, if it is a number."""
    value = headers.get("Retry-After", "")
    return min(float(value), _LONGEST_WAIT) if value.isdecimal() else None
