"""Metering: limits on the calls of each token, at once and over time.

Rates are token buckets: a bucket fills with a limit's units a second, and holds what comes in
`BURST_SECONDS`. A request that costs more than a full bucket is admitted when the bucket is full,
and leaves a debt. All limits are checked before anything is spent. Past one of them, a call gets
`TooManyRequests`, which says after how many seconds it may try again.

Accounts are kept for tokens only: a caller without one shares the account of all such callers. An
idle account with a full allowance carries no information, and is dropped when there are many.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from types import TracebackType
from typing import Literal, Self

from memoranda.errors import TooManyRequests
from memoranda.model.clock import Clock
from memoranda.server.token_limits import UNMETERED, CallLimits
from memoranda.server.tokens import Token
from memoranda.storage.thread_locks import new_lock

Work = Literal["call", "long", "stream"]
"""A short call; one of the lane `long`; a replay, a subscription or a stream of commits."""

BURST_SECONDS = 2.0
"""The seconds of a rate that may be spent at once, after a pause."""
MAX_ACCOUNTS = 4096
"""Accounts above which idle ones are dropped."""
_MAX_DROPS = 64
"""Accounts that are looked at when a new one is one too many."""
_LONG_RESERVE_SECONDS = 1.0
"""Seconds that a long call spends at its start, so that many cannot start at once."""
_RETRY_CALL_SECONDS, _RETRY_STREAM_SECONDS = 0.1, 1.0
"""Seconds until the next attempt after too many calls or streams in flight, whose ends are not
known."""
_TOLERANCE = 1e-9
"""A share of a bucket's size, so that a caller that waits for the named time is admitted."""


class Bucket:
    """An allowance that fills at a rate, up to a size, and can fall below zero."""

    __slots__ = ("_at", "_level", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._level = size
        self._at = now

    def wait(self, cost: float, now: float) -> float:
        """Return the seconds until a cost can be spent; 0: now."""
        self._fill(now)
        missing = min(cost, self._size) - self._level
        return missing / self._rate if missing > self._size * _TOLERANCE else 0.0

    def spend(self, cost: float, now: float) -> None:
        """Take a cost out, also if it leaves a debt; a negative cost is put back."""
        self._fill(now)
        self._level = min(self._level - cost, self._size)

    def is_full(self, now: float) -> bool:
        """Say whether it is as full as a new one."""
        return not self.wait(self._size, now)

    def _fill(self, now: float) -> None:
        self._level = min(self._level + (now - self._at) * self._rate, self._size)
        self._at = now


class _Account:
    """The open calls of one token, and its allowances."""

    __slots__ = ("calls", "limits", "long", "long_calls", "requests", "sizes", "streams")

    def __init__(self, limits: CallLimits, now: float) -> None:
        self.limits = limits
        requests, sizes = limits.requests_per_second, limits.bytes_per_second
        seconds = limits.long_seconds_per_minute
        self.requests = Bucket(requests, max(requests * BURST_SECONDS, 1.0), now)
        self.sizes = Bucket(sizes, sizes * BURST_SECONDS, now)
        self.long = Bucket(seconds / 60, seconds, now)
        self.calls = 0
        self.streams = 0
        self.long_calls: set[Admission] = set()

    def check(self, work: Work, calls: int, size: int, now: float) -> None:
        """Raise `TooManyRequests` if what begins would pass a limit."""
        limits = self.limits
        if work == "stream":
            if self.streams >= limits.open_streams:
                raise _refusal(
                    f"{self.streams} streams are open", limits.open_streams, _RETRY_STREAM_SECONDS
                )
        elif self.calls >= limits.calls_in_flight:
            raise _refusal(
                f"{self.calls} calls are in flight", limits.calls_in_flight, _RETRY_CALL_SECONDS
            )
        if work == "long":
            self._settle(now)
            if wait := self.long.wait(_LONG_RESERVE_SECONDS, now):
                limit = limits.long_seconds_per_minute
                raise _refusal("the seconds of long work in a minute are used up", limit, wait)
        if wait := self.requests.wait(calls, now):
            limit = limits.requests_per_second
            raise _refusal("there were too many requests in a second", limit, wait)
        if wait := self.sizes.wait(size, now):
            raise _refusal("there were too many bytes in a second", limits.bytes_per_second, wait)

    def _settle(self, now: float) -> None:
        """Spend the seconds of long calls that still run."""
        for admission in self.long_calls:
            if now > admission.spent_until:
                self.long.spend(now - admission.spent_until, now)
                admission.spent_until = now

    def is_idle(self, now: float) -> bool:
        """Say whether a new account would be the same."""
        is_open = self.calls or self.streams
        buckets = (self.requests, self.sizes, self.long)
        return not is_open and all(bucket.is_full(now) for bucket in buckets)


def _refusal(problem: str, limit: float, wait: float) -> TooManyRequests:
    return TooManyRequests(
        f"{problem}, and the limit of this token is {limit:,}: try again in {wait:.3g} seconds, or "
        "ask for a token with a higher limit",
        retry_after=wait,
    )


class Admission:
    """An admitted call or stream; exit the block when it has ended."""

    __slots__ = ("_account", "_calls", "_meter", "_work", "spent_until")

    def __init__(self, meter: Meter, account: _Account, work: Work, calls: int) -> None:
        self._meter = meter
        self._account = account
        self._work = work
        self._calls = calls
        self.spent_until = 0.0
        """Of a long call: until when its seconds are spent, on the monotonic clock."""

    def spend(self, size: int, calls: int = 0) -> float:
        """Count bytes that were sent or came in, and calls in a stream; they are not refused.

        Return the seconds to wait before more of this stream, so that the token keeps its rates.
        """
        account, now = self._account, self._meter.clock.monotonic()
        with self._meter.mutex:
            account.sizes.spend(size, now)
            account.requests.spend(calls, now)
            return max(account.sizes.wait(0, now), account.requests.wait(0, now))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        account = self._account
        with self._meter.mutex:
            if self._work == "stream":
                account.streams -= 1
                return
            account.calls -= self._calls
            if self._work == "long":
                now = self._meter.clock.monotonic()
                account.long_calls.discard(self)
                account.long.spend(now - self.spent_until, now)


class Meter:
    """Admits calls within the limits of their tokens. Threads can share it."""

    def __init__(
        self,
        clock: Clock,
        limits: CallLimits | None = None,
        without_token: CallLimits = UNMETERED,
    ) -> None:
        self.clock = clock
        self.mutex = new_lock()
        self._limits = limits or CallLimits()
        self._without_token = without_token
        self._accounts: OrderedDict[str | None, _Account] = OrderedDict()
        """By the token's id, the one that was used last at the end."""

    def admit(
        self, token: Token | None, work: Work = "call", *, calls: int = 1, size: int = 0
    ) -> Admission:
        """Admit work, or raise `TooManyRequests`; exit the returned block at its end.

        `size` are the bytes of the request; several calls may come in one.
        """
        now = self.clock.monotonic()
        with self.mutex:
            account = self._account(token, now)
            account.check(work, calls, size, now)
            account.requests.spend(calls, now)
            account.sizes.spend(size, now)
            admission = Admission(self, account, work, calls)
            if work == "stream":
                account.streams += 1
            else:
                account.calls += calls
            if work == "long":
                account.long.spend(_LONG_RESERVE_SECONDS, now)
                admission.spent_until = now + _LONG_RESERVE_SECONDS
                account.long_calls.add(admission)
            return admission

    def count_answer(self, token: Token | None, size: int) -> None:
        """Count the bytes of an answer that was not sent in a stream."""
        now = self.clock.monotonic()
        with self.mutex:
            self._account(token, now).sizes.spend(size, now)

    def _account(self, token: Token | None, now: float) -> _Account:
        """Return the account of a token, and make it the one that was used last."""
        key = None if token is None else token.id
        account = self._accounts.get(key)
        if account is None:
            limits = self._without_token if token is None else token.limits.over(self._limits)
            account = self._accounts[key] = _Account(limits, now)
            if len(self._accounts) > MAX_ACCOUNTS:
                self._drop_idle(now)
        else:
            self._accounts.move_to_end(key)
        return account

    def _drop_idle(self, now: float) -> None:
        """Drop some idle accounts, from the one that was used longest ago."""
        for key in [*islice(self._accounts, _MAX_DROPS)]:
            if self._accounts[key].is_idle(now):
                del self._accounts[key]
            else:
                self._accounts.move_to_end(key)

    @property
    def account_count(self) -> int:
        """How many accounts there are."""
        return len(self._accounts)
