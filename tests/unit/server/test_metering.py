"""Limits of tokens: rates with bursts, what is open at once, and seconds of long work."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import InvalidInput, StoreBusy, TooManyRequests
from memoranda.calls.grant import Grant
from memoranda.server import metering
from memoranda.server.metering import BURST_SECONDS, Bucket, Meter, Work
from memoranda.server.token_limits import CallLimits, TokenLimits
from memoranda.server.tokens import Token
from memoranda.testing import FixedClock


def token(name: str = "t", **limits: Any) -> Token:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Token(
        id=name, store=None, grant=Grant(), limits=TokenLimits(**limits), created_at=moment
    )


def meter(**limits: Any) -> tuple[Meter, FixedClock]:
    clock = FixedClock()
    return Meter(clock, CallLimits(**limits)), clock


def refusal(
    of: Meter, caller: Token | None, work: Work = "call", **request: int
) -> TooManyRequests:
    with pytest.raises(TooManyRequests) as caught:
        of.admit(caller, work, **request)
    return caught.value


def test_past_its_requests_a_second_a_token_waits_as_long_as_it_is_told() -> None:
    limited, clock = meter(requests_per_second=5)
    for _ in range(int(5 * BURST_SECONDS)):
        with limited.admit(token()):
            pass
    error = refusal(limited, token())
    assert error.retry_after == pytest.approx(0.2)
    assert isinstance(error, StoreBusy)
    assert error.retryable
    assert "the limit of this token is 5: try again in 0.2 seconds" in str(error)
    with limited.admit(token("another")):
        pass
    clock.advance(error.retry_after)
    with limited.admit(token()):
        pass
    refusal(limited, token())


def test_the_limits_of_a_token_replace_the_server_s() -> None:
    limited, _ = meter(requests_per_second=1, calls_in_flight=1)
    wide = token(requests_per_second=100)
    with ExitStack() as stack:
        stack.enter_context(limited.admit(wide))
        assert refusal(limited, wide).retry_after > 0
    for _ in range(50):
        with limited.admit(wide):
            pass


def test_a_caller_without_a_token_has_limits_only_if_there_are_some() -> None:
    limited, _ = meter(requests_per_second=1)
    for _ in range(100):
        with limited.admit(None, size=2**30):
            pass
    strict = Meter(FixedClock(), without_token=CallLimits(calls_in_flight=1))
    with strict.admit(None):
        refusal(strict, None)


def test_bytes_are_counted_where_they_come_and_go() -> None:
    limited, clock = meter(bytes_per_second=100)
    with limited.admit(token(), "stream", size=150) as stream:
        assert stream.spend(50) == 0.0
        assert stream.spend(200) == pytest.approx(2.0)
        assert refusal(limited, token(), size=1).retry_after == pytest.approx(2.01)
        clock.advance(2.0)
        assert stream.spend(0) == 0.0
    clock.advance(2.0)
    with limited.admit(token(), size=10_000):
        """What is larger than a burst is let through when nothing was sent for long."""
    assert refusal(limited, token(), size=0).retry_after == pytest.approx(98.0)


def test_calls_in_a_stream_count_as_requests() -> None:
    limited, clock = meter(requests_per_second=10)
    with limited.admit(token(), "stream") as stream:
        assert stream.spend(0, calls=19) == 0.0
        assert stream.spend(0, calls=10) == pytest.approx(1.0)
        clock.advance(1.0)
        assert stream.spend(0) == 0.0


def test_only_so_many_calls_and_streams_are_open_at_once() -> None:
    limited, _ = meter(calls_in_flight=2, open_streams=1)
    with limited.admit(token()), limited.admit(token(), "long"), limited.admit(token(), "stream"):
        assert "2 calls are in flight" in str(refusal(limited, token()))
        assert "2 calls are in flight" in str(refusal(limited, token(), "long"))
        assert "1 streams are open" in str(refusal(limited, token(), "stream"))
        with limited.admit(token("another"), "stream"), limited.admit(token("another")):
            pass
    with limited.admit(token(), calls=2):
        refusal(limited, token())
    with limited.admit(token(), "stream"), limited.admit(token()):
        pass


def test_a_call_that_fails_is_over_too() -> None:
    limited, _ = meter(calls_in_flight=1)
    works: tuple[Work, ...] = ("call", "long", "stream")
    for work in works:
        with pytest.raises(ZeroDivisionError), limited.admit(token(), work):
            raise ZeroDivisionError
    with limited.admit(token()):
        pass


def test_seconds_of_long_work_are_counted_by_the_minute() -> None:
    limited, clock = meter(long_seconds_per_minute=30)
    with limited.admit(token(), "long"):
        clock.advance(30)  # 15 of them came back meanwhile
    with limited.admit(token(), "long"):
        clock.advance(29.5)
        assert refusal(limited, token(), "long").retry_after > 0, "also while it runs"
        with limited.admit(token()):
            """Short calls are not concerned."""
    error = refusal(limited, token(), "long")
    clock.advance(error.retry_after)
    with limited.admit(token(), "long"):
        pass


def test_many_long_calls_do_not_begin_at_once() -> None:
    limited, clock = meter(long_seconds_per_minute=3)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(limited.admit(token(), "long"))
        refusal(limited, token(), "long")
        clock.advance(0.1)
    for _ in range(2):  # they took a tenth of a second each
        with limited.admit(token(), "long"):
            pass


def test_a_refused_request_spends_nothing() -> None:
    limited, clock = meter(requests_per_second=1, bytes_per_second=100)
    with limited.admit(token(), size=200):
        pass
    for _ in range(100):
        refusal(limited, token(), size=100)
    clock.advance(1.0)
    with limited.admit(token(), size=100):
        pass


def test_accounts_that_are_as_good_as_new_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "MAX_ACCOUNTS", 10)
    limited, clock = meter(requests_per_second=1)
    with limited.admit(token("open"), "stream"):
        for number in range(500):
            with limited.admit(token(str(number))):
                pass
            clock.advance(5)
        assert limited.account_count <= 11
        limited.admit(token("499"), calls=2).__exit__(None, None, None)
        for number in range(500, 510):
            with limited.admit(token(str(number))):
                pass
        refusal(limited, token("499"))  # whoever has spent something is not forgotten


@pytest.mark.parametrize("number", [0, -1, float("nan"), float("inf"), "5", True])
def test_a_limit_is_a_positive_number(number: Any) -> None:
    for kind in (TokenLimits, CallLimits):
        with pytest.raises(InvalidInput, match=r"^limits\.open_streams: "):
            kind(open_streams=number)


STEPS = st.lists(
    st.tuples(st.floats(0, 5, width=32), st.floats(0, 30, width=32)), min_size=1, max_size=40
)


@given(st.floats(0.5, 10, width=32), st.floats(1, 20, width=32), STEPS)
def test_a_bucket_is_its_definition(
    rate: float, size: float, steps: list[tuple[float, float]]
) -> None:
    """Compare with a model that replays every second that has passed, in exact steps."""
    bucket, level, now = Bucket(rate, size, 0.0), size, 0.0
    for pause, cost in steps:
        now, level = now + pause, min(size, level + pause * rate)
        needed = min(cost, size)
        wait = bucket.wait(cost, now)
        assert wait == pytest.approx(max(0.0, (needed - level) / rate), abs=1e-6)
        if not wait:
            bucket.spend(cost, now)
            level -= cost


@given(st.floats(0.5, 10, width=32), STEPS)
def test_over_any_time_a_token_gets_its_rate_and_a_burst(
    rate: float, steps: list[tuple[float, float]]
) -> None:
    limited, clock = meter(requests_per_second=rate)
    caller, burst = token(), max(rate * BURST_SECONDS, 1.0)
    passed: list[float] = []
    for pause, _ in steps:
        clock.advance(pause)
        try:
            with limited.admit(caller):
                passed.append(clock.monotonic())
        except TooManyRequests as error:
            clock.advance(error.retry_after)
            with limited.admit(caller):
                passed.append(clock.monotonic())
    for first, start in enumerate(passed):
        for count, end in enumerate(passed[first:], start=1):
            assert count <= burst + (end - start) * rate + 1e-6
