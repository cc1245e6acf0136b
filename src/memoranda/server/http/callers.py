"""The authentication of requests, by a bearer token or by the cookie of a session."""

from __future__ import annotations

from http import HTTPStatus

from memoranda.errors import Unauthenticated
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.http.guard import Guard
from memoranda.server.http.messages import Request
from memoranda.server.http.problems import HttpProblem
from memoranda.server.http.routes import decode_part
from memoranda.server.http.sessions import Sessions, cookie_of

AUTHORIZATION, AGENT = b"authorization", b"memoranda-agent"
_BEARER = b"bearer"


class Callers:
    """Authenticates requests, and determines the acting agent."""

    def __init__(self, dispatcher: Dispatcher, sessions: Sessions, guard: Guard) -> None:
        self._dispatcher = dispatcher
        self._sessions = sessions
        self._guard = guard

    def of(self, request: Request) -> Caller:
        """Return the caller of a request, acting for the agent that it names, if any."""
        caller = self._authenticated(request)
        agent = request.headers.get(AGENT)
        return caller if agent is None else caller.acting(decode_part(agent.decode("latin-1")))

    def _authenticated(self, request: Request) -> Caller:
        header = request.headers.get(AUTHORIZATION)
        if header is not None:
            return self._dispatcher.caller(bearer(header))
        cookie = cookie_of(request)
        if cookie is None:
            return self._dispatcher.caller(None)
        self._guard.check_session(request)
        secret = self._sessions.secret(cookie)
        try:
            return self._dispatcher.caller(secret)
        except Unauthenticated:
            self._sessions.close(cookie)
            raise


def bearer(header: bytes) -> str:
    """Return the token in a header; raise 401 if it has another scheme."""
    scheme, _, token = header.partition(b" ")
    if scheme.lower() != _BEARER:
        raise HttpProblem(
            HTTPStatus.UNAUTHORIZED,
            "the header Authorization is not understood: give `Bearer` and a token",
            [(b"www-authenticate", b'Bearer realm="memoranda"')],
        )
    return token.strip().decode("latin-1")
