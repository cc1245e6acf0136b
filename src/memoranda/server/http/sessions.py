"""Sessions of browsers: a cookie that stands for a token, which no script can read.

A page exchanges a token for a cookie once, and keeps the token nowhere. Nobody can guess a cookie,
and the server knows it by its hash. At each request the token behind it is authenticated anew, so a
session ends with its token, and with its own time. There are so many sessions at most: beyond that,
the oldest one ends.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict

import msgspec

from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.server.http.messages import Header, Request

SESSION_SECONDS = 12 * 3600
"""Seconds that a session lasts at most."""
IDLE_SECONDS = 2 * 3600
"""Seconds that it lasts without a request."""
MAX_SESSIONS = 4096
"""Sessions of all tokens: a bound on memory."""
MAX_SESSIONS_PER_TOKEN = 64
"""Sessions of one token, so that it cannot end those of others."""
SECURE_NAME, PLAIN_NAME = b"__Host-memoranda", b"memoranda"
"""The names of the cookie with TLS and without. The first one is accepted by a browser only if it
is for this very server, and comes over TLS."""
_ID_BYTES = 32
"""Random bytes of a cookie: nobody can guess it."""
_MAX_COOKIE_BYTES = 256
"""Bytes of a cookie: a longer one is none of ours, and is not hashed."""


class Session(msgspec.Struct):
    """A session: the secret of its token, and when it ends."""

    secret: str
    owner: str
    """The id of the token."""
    ends_at: float
    """On the monotonic clock."""
    used_at: float


class Sessions:
    """The sessions of a server, in memory: they end with it."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        self._clock = clock
        self._ids = ids
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        """By the hash of their cookies, the oldest first."""

    def __len__(self) -> int:
        """Return how many sessions there are."""
        return len(self._sessions)

    def open(self, secret: str, owner: str) -> bytes:
        """Begin a session of a token, and return its cookie."""
        now = self._clock.monotonic()
        self._drop_ended(now)
        own = [key for key, session in self._sessions.items() if session.owner == owner]
        if len(own) >= MAX_SESSIONS_PER_TOKEN:
            del self._sessions[own[0]]
        if len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        cookie = base64.urlsafe_b64encode(self._ids.entropy(_ID_BYTES)).rstrip(b"=")
        self._sessions[_hash(cookie)] = Session(secret, owner, now + SESSION_SECONDS, now)
        return cookie

    def secret(self, cookie: bytes) -> str | None:
        """Return the secret of the token behind a cookie; None if the session has ended."""
        key = _hash(cookie)
        session, now = self._sessions.get(key), self._clock.monotonic()
        if session is None:
            return None
        if now >= session.ends_at or now - session.used_at >= IDLE_SECONDS:
            del self._sessions[key]
            return None
        session.used_at = now
        return session.secret

    def close(self, cookie: bytes) -> None:
        """End a session, if it has not ended."""
        self._sessions.pop(_hash(cookie), None)

    def _drop_ended(self, now: float) -> None:
        """Drop sessions whose time is over: the oldest are the first to end."""
        while self._sessions:
            key, session = next(iter(self._sessions.items()))
            if now < session.ends_at:
                return
            del self._sessions[key]


def _hash(cookie: bytes) -> bytes:
    return hashlib.sha256(cookie).digest()


def cookie_of(request: Request) -> bytes | None:
    """Return the cookie of a session that a request has."""
    header = request.headers.get(b"cookie")
    if header is None:
        return None
    cookies: dict[bytes, bytes] = {}
    for part in header.split(b";"):
        name, _, value = part.strip().partition(b"=")
        cookies.setdefault(name, value)
    cookie = cookies.get(SECURE_NAME) or cookies.get(PLAIN_NAME)
    return cookie if cookie and len(cookie) <= _MAX_COOKIE_BYTES else None


def is_secure(request: Request) -> bool:
    """Say whether the browser uses TLS, perhaps up to a proxy."""
    return request.scheme == "https" or request.headers.get(b"origin", b"").startswith(b"https://")


def set_cookie(cookie: bytes, *, secure: bool) -> Header:
    """Return the header that gives a browser the cookie of a session."""
    name, ending = (SECURE_NAME, b"; Secure") if secure else (PLAIN_NAME, b"")
    value = b"%b=%b; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d" % (
        name,
        cookie,
        SESSION_SECONDS,
    )
    return b"set-cookie", value + ending


def drop_cookies() -> list[Header]:
    """Return the headers that let a browser drop the cookie, whichever it has."""
    return [
        (b"set-cookie", name + b"=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0" + ending)
        for name, ending in ((SECURE_NAME, b"; Secure"), (PLAIN_NAME, b""))
    ]
