"""A model behind HTTP: keys, waiting, and what each kind of failure means."""

from __future__ import annotations

import copy
import threading

import pytest

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.model.clock import FixedClock
from memoranda.net.http_client import Busy, Endpoint
from tests.patience import HANG_SECONDS
from tests.unit.net.answering import Asked, Said, answering, nobody


def echo(request: Asked) -> Said:
    return Said(body={"path": request.path, "body": request.body})


def in_turn(*answers: Said | None) -> tuple[list[Said | None], FixedClock]:
    return list(answers), FixedClock()


def test_json_goes_there_and_back() -> None:
    with answering(echo) as server:
        result = Endpoint(server.url + "/", environment={}).post("chat", {"a": ["ü", 1]})
    assert result == {"path": "/v1/chat", "body": {"a": ["ü", 1]}}
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("key", "environment", "sent"),
    [
        ("own", {"MEMORANDA_API_KEY": "a"}, "Bearer own"),
        (None, {"MEMORANDA_API_KEY": "a", "OPENAI_API_KEY": "b"}, "Bearer a"),
        (None, {"OPENAI_API_KEY": " b\n"}, "Bearer b"),
        ("", {"OPENAI_API_KEY": "b"}, None),
    ],
)
def test_the_key_is_the_one_given_else_the_environments(
    key: str | None, environment: dict[str, str], sent: str | None
) -> None:
    with answering(echo) as server:
        Endpoint(server.url, api_key=key, environment=environment).post("x", {})
    assert server.asked[0].headers.get("Authorization") == sent


@pytest.mark.parametrize("status", [429, 500, 503])
def test_being_busy_is_tried_again(status: int) -> None:
    answers, clock = in_turn(Said(status), Said(status), Said(body=7))
    with answering(lambda _: answers.pop(0)) as server:
        assert Endpoint(server.url, clock=clock).post("x", {}) == 7
    assert clock.monotonic() == 0.5 + 1.0


def test_it_waits_as_long_as_it_is_asked_to_within_reason() -> None:
    answers, clock = in_turn(
        Said(429, headers=(("Retry-After", "3"),)),
        Said(429, headers=(("Retry-After", "86400"),)),
        Said(429, headers=(("Retry-After", "tomorrow"),)),
        Said(body=7),
    )
    with answering(lambda _: answers.pop(0)) as server:
        assert Endpoint(server.url, clock=clock).post("x", {}) == 7
    assert clock.monotonic() == 3 + 20 + 2.0


def test_what_stays_busy_is_unavailable() -> None:
    clock = FixedClock()
    with answering(lambda _: Said(503, {"error": "overloaded"})) as server:
        endpoint = Endpoint(server.url, clock=clock, retries=2)
        with pytest.raises(Unavailable, match=r"503.*overloaded.*try again later") as caught:
            endpoint.post("x", {})
        assert len(server.asked) == 3
        with pytest.raises(Busy):
            endpoint.post("x", {}, retries=0)
        assert len(server.asked) == 4
    assert caught.value.retryable
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_a_dropped_connection_is_tried_again() -> None:
    answers, clock = in_turn(None, Said(body=7))
    with answering(lambda _: answers.pop(0)) as server:
        assert Endpoint(server.url, clock=clock).post("x", {}) == 7


def test_nobody_there_is_unavailable() -> None:
    with nobody() as url, pytest.raises(Unavailable, match="does not answer"):
        Endpoint(url, clock=FixedClock()).post("x", {})


def test_silence_is_unavailable() -> None:
    done = threading.Event()

    def wait(_: Asked) -> None:
        done.wait(HANG_SECONDS)

    with answering(wait) as server:
        with pytest.raises(Unavailable, match=r"(?i)timed? ?out"):
            Endpoint(server.url, timeout=0.05, retries=0).post("x", {})
        done.set()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"\xff\xfe", b'{"a":'])
def test_garbage_is_unavailable(body: bytes) -> None:
    with (
        answering(lambda _: Said(body=body)) as server,
        pytest.raises(Unavailable, match="not JSON"),
    ):
        Endpoint(server.url, retries=0).post("x", {})


@pytest.mark.parametrize(
    ("status", "field"), [(400, "endpoint"), (404, "endpoint"), (401, "api_key"), (403, "api_key")]
)
def test_what_cannot_succeed_is_not_tried_again(status: int, field: str) -> None:
    with answering(lambda _: Said(status, {"error": "bad key: hush"})) as server:
        with pytest.raises(InvalidInput, match=str(status)) as caught:
            Endpoint(server.url, api_key="hush").post("x", {})
        assert len(server.asked) == 1
    assert caught.value.field == field
    assert "hush" not in str(caught.value)


def test_the_key_does_not_follow_a_redirect() -> None:
    with answering(echo) as other:
        elsewhere = Said(302, headers=(("Location", other.url),))
        with (
            answering(lambda _: elsewhere) as server,
            pytest.raises(InvalidInput, match="a redirect: give the address"),
        ):
            Endpoint(server.url, api_key="hush").post("x", {})
    assert other.asked == []


@pytest.mark.parametrize(
    "url", ["", "host/v1", "ftp://host", "http://", "http://a:b@host", "http://host/v1?x=1", 7]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Endpoint(url)
    assert caught.value.field == "endpoint"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Endpoint("http://host", api_key="a\nb"),
        lambda: Endpoint("http://host", api_key="ü"),
        lambda: Endpoint("http://host", timeout=0),
        lambda: Endpoint("http://host", timeout=-1),
    ],
)
def test_what_cannot_be_sent_is_refused(make: type) -> None:
    with pytest.raises(MemorandaError):
        make()
