"""The guard against requests of other sites: host names, origins, forged requests.

A page of any site can make a browser send requests to this machine. Three rules stop that:

- *Names.* A server on the loopback interface answers only under names of this machine, so that no
  site can point its own name at it (DNS rebinding).
- *Origins.* A request that a browser sends for a page of another origin is refused, whatever it
  asks for. Such a page can read no answer either, unless its origin is allowed (CORS).
- *Sessions.* A request that changes something and is authenticated by a cookie needs a header that
  no form can have, and must come from a page of this very origin (CSRF).
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from memoranda.server.http.messages import Headers, Request
from memoranda.server.http.problems import HttpProblem

LOCAL_NAMES = frozenset((b"localhost", b"127.0.0.1", b"[::1]"))
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
CSRF_HEADER = b"memoranda-csrf"
_ALLOWED_HEADERS = (
    b"authorization, content-encoding, content-type, idempotency-key, if-match, if-none-match, "
    b"last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, memoranda-agent, "
    b"x-request-id"
)
_EXPOSED_HEADERS = b"etag, mcp-session-id, retry-after, www-authenticate, x-request-id"
_PREFLIGHT_SECONDS = b"600"
_FOREIGN_SITES = (b"cross-site", b"same-site")


class Guard:
    """Refuses requests of other sites."""

    def __init__(
        self, *, is_local: bool, host_names: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        names = frozenset(name.lower().encode() for name in host_names)
        self._names = names | LOCAL_NAMES if is_local or names else frozenset()
        """The names under which the server answers; empty: any."""
        self._origins = frozenset(origin.lower().rstrip("/").encode() for origin in origins)

    def check(self, request: Request) -> None:
        """Refuse a request for another server, or for a page of another origin."""
        headers = request.headers
        host = headers.get(b"host", b"")
        if self._names and _name(host) not in self._names:
            raise HttpProblem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this server does not answer under that name: use 127.0.0.1, or start it with "
                "--http-host-name",
            )
        origin = headers.get(b"origin")
        if origin is not None:
            if not _is_own(origin, host) and origin.lower() not in self._origins:
                raise _foreign()
        elif headers.get(b"sec-fetch-site") in _FOREIGN_SITES and not _is_navigation(request):
            raise _foreign()

    def check_session(self, request: Request) -> None:
        """Refuse a change that a page of another origin may have made the browser send."""
        if request.method in SAFE_METHODS:
            return
        headers = request.headers
        origin = headers.get(b"origin")
        is_own = (
            headers.get(b"sec-fetch-site") == b"same-origin"
            if origin is None
            else _is_own(origin, headers.get(b"host", b""))
        )
        if not is_own or CSRF_HEADER not in headers:
            raise HttpProblem(
                HTTPStatus.FORBIDDEN,
                "with a session, a change needs the header Memoranda-Csrf, and must be made by a "
                "page of this server; a program gives its token in the header Authorization",
            )

    def headers_for(self, request: Request) -> Headers:
        """Return the headers that let a page of an allowed origin read the answer."""
        if not self._origins:
            return []
        origin = request.headers.get(b"origin", b"")
        if origin.lower() not in self._origins:
            return [(b"vary", b"origin")]
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED_HEADERS),
            (b"vary", b"origin"),
        ]

    def preflight_headers(self, request: Request, methods: bytes) -> Headers:
        """Return the headers that answer a preflight request."""
        if not self._origins or request.headers.get(b"origin", b"").lower() not in self._origins:
            return []
        return [
            (b"access-control-allow-methods", methods),
            (b"access-control-allow-headers", _ALLOWED_HEADERS),
            (b"access-control-max-age", _PREFLIGHT_SECONDS),
        ]


def _name(host: bytes) -> bytes:
    """Return the name in a host, without the port."""
    if host.startswith(b"["):
        return host.partition(b"]")[0].lower() + b"]"
    return host.partition(b":")[0].lower()


def _is_own(origin: bytes, host: bytes) -> bool:
    """Say whether an origin is the server's own. A proxy may change the scheme, not the name."""
    scheme, separator, authority = origin.lower().partition(b"://")
    return bool(separator) and scheme in (b"http", b"https") and authority == host.lower()


def _is_navigation(request: Request) -> bool:
    """Say whether a browser opens a page, as by a link on another one."""
    return request.method == "GET" and request.headers.get(b"sec-fetch-mode") == b"navigate"


def _foreign() -> HttpProblem:
    return HttpProblem(
        HTTPStatus.FORBIDDEN,
        "pages of another origin may not use this server: start it with --http-origin to allow one",
    )
