"""A model behind HTTP: JSON there and back, on the standard library alone.

It owns addresses, keys, waiting and trying again; what is asked and answered belongs to those who
use it. The key is sent to the address that was given and nowhere else: no redirect is followed.
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import check_seconds, plain_text, shown

KEY_VARIABLES = ("MEMORANDA_API_KEY", "OPENAI_API_KEY")
TIMEOUT = 60.0
RETRIES = 4
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_MOST_BYTES = 256 * 1024 * 1024
_BUSY = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
"""What may be otherwise the next time."""
_REFUSED = (401, 403)


class Busy(Unavailable):
    """The endpoint takes nothing just now. Try again later."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds it asks to be left alone for."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect to the caller: following it would hand the key to somebody else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        """Follow nothing."""


class Endpoint:
    """One address that takes JSON and gives JSON, such as `https://api.example.com/v1`.

    The key is the one given, else that of the environment (`MEMORANDA_API_KEY`, then
    `OPENAI_API_KEY`), else none. Being busy (429, 5xx) and not answering are tried again, later
    each time; what stays so raises `Unavailable`, and what cannot succeed `InvalidInput`.
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
        """What the caller calls the address: errors name it."""
        self.url = check_address(field, url)
        self._key = _checked_key(api_key, environment)
        self._timeout = check_seconds("timeout", timeout)
        if not self._timeout:
            raise InvalidInput("timeout", "is 0: give a positive number of seconds")
        self._retries = retries
        self._clock = clock or SystemClock()
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, path: str, body: object, *, retries: int | None = None) -> Any:
        """Send `body` to the address with `path` behind it, and return what is answered.

        `retries` is how often to try again, if it is to be another number than usual.
        """
        most = self._retries if retries is None else retries
        content = msgspec.json.encode(body)
        attempt = 0
        while True:
            try:
                return self._try(path, content)
            except Unavailable as error:
                if attempt >= most:
                    raise
                self._clock.sleep(_wait(error, attempt))
            attempt += 1

    def _try(self, path: str, content: bytes) -> Any:
        where = f"{self.url}/{path}"
        request = urllib.request.Request(where, content, self._headers(), method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return self._decoded(where, answer.read(_MOST_BYTES + 1))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(where, error) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Unavailable(
                f"{where} does not answer ({type(reason).__name__}: {reason}): "
                "check that it is reachable and try again"
            ) from error

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "memoranda",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _refused(self, where: str, error: urllib.error.HTTPError) -> MemorandaError:
        """Return what an answer means that is none."""
        told = self._masked(f"{where} answered {error.code}{_explained(error)}")
        if error.code in _BUSY:
            return Busy(f"{told}: try again later", _retry_after(error.headers))
        if error.code in _REFUSED:
            remedy = f"give api_key, or set {' or '.join(KEY_VARIABLES)}"
            return InvalidInput("api_key", f"{told}: {remedy}")
        if 300 <= error.code < 400:
            return InvalidInput(
                self._field, f"{told}, which leads elsewhere: give that address itself"
            )
        return InvalidInput(self._field, f"{told}: check the address and the model's name")

    def _decoded(self, where: str, content: bytes) -> Any:
        if len(content) > _MOST_BYTES:
            told = f"{where} answers with more than {_MOST_BYTES} bytes"
            raise InvalidInput(self._field, told)
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(
                f"{where} answered {shown(content[:60])}, which is no JSON: check the address"
            ) from error

    def _masked(self, text: str) -> str:
        """Keep the key out of what is told, should the answer repeat it."""
        return text.replace(self._key, "…") if self._key else text


def check_address(field: str, url: object) -> str:
    """Return an address without its last slash, refusing what is none."""
    text = plain_text(field, url)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(field, f"{shown(text)} is no http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(field, "has a name or a password in it: give api_key instead")
    if parts.query or parts.fragment:
        raise InvalidInput(field, f"{shown(text)} goes on behind its path: give the base alone")
    return text.rstrip("/")


def _checked_key(given: str | None, environment: Mapping[str, str]) -> str:
    found = (environment.get(name, "") for name in KEY_VARIABLES)
    key = plain_text("api_key", next(filter(None, found), "") if given is None else given).strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("api_key", "has characters that no header can carry")
    return key


def _explained(error: urllib.error.HTTPError) -> str:
    """Return what the answer says about itself, kept short."""
    try:
        said = " ".join(error.read(2_000).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        return ""
    return f" ({said[:300]})" if said else ""


def _wait(error: Unavailable, attempt: int) -> float:
    """Return how long to wait before trying again: as long as asked, else longer each time."""
    if isinstance(error, Busy) and error.retry_after is not None:
        return error.retry_after
    return float(min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT))


def _retry_after(headers: Message) -> float | None:
    """Return how many seconds to wait, where the answer says it in seconds."""
    said = headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT) if said.isdecimal() else None
