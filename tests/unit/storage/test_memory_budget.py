"""The memory budget: what is used least recently goes first, whichever cache it is in."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import InvalidInput
from memoranda.model.bounded_cache import BoundedCache
from memoranda.storage.memory_budget import DEFAULT_BUDGET_BYTES, MemoryBudget

SHARES, KEYS = 3, 4
Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "put", "get", "get", "remove", "clear")),
        st.integers(0, SHARES - 1),
        st.integers(0, KEYS - 1),
        st.sampled_from((0, 10, 20, 30, 60)),
    ),
    min_size=20,
    max_size=60,
)


@pytest.mark.slow
@given(limit=st.sampled_from((0, 40, 60, 90, 120)), steps=STEPS)
def test_it_is_a_least_recently_used_cache(limit: int, steps: list[Step]) -> None:
    budget = MemoryBudget(limit)
    shares = [budget.share(50 if number == 0 else None) for number in range(SHARES)]
    model: OrderedDict[tuple[int, int], int] = OrderedDict()
    for step, share, key, size in steps:
        place = (share, key)
        if step == "put":
            is_cached = shares[share].put(key, place, size)
            assert is_cached == model_put(model, limit, place, size)
        elif step == "get":
            assert shares[share].get(key) == (place if place in model else None)
            if place in model:
                model.move_to_end(place)
        elif step == "remove":
            shares[share].remove(key)
            model.pop(place, None)
        else:
            shares[share].clear()
            for other in [other for other in model if other[0] == share]:
                del model[other]
        assert budget.used == sum(model.values()) <= limit
        for number, entries in enumerate(shares):
            assert [(number, name) for name, _ in entries.items()] == [
                other for other in model if other[0] == number
            ]


def model_put(
    model: OrderedDict[tuple[int, int], int], limit: int, place: tuple[int, int], size: int
) -> bool:
    """Do to the model what `put` does, and return whether the value stays."""
    own_limit = min(limit, 50) if place[0] == 0 else limit
    model.pop(place, None)
    if size > own_limit:
        return False
    model[place] = size
    while sum(entry for other, entry in model.items() if other[0] == place[0]) > own_limit:
        del model[next(other for other in model if other[0] == place[0])]
    while sum(model.values()) > limit:
        model.popitem(last=False)
    return place in model


def test_what_was_used_stays() -> None:
    budget = MemoryBudget(100)
    first, second = budget.share(), budget.share()
    first.put("a", 1, 40)
    second.put("b", 2, 40)
    first.get("a")
    second.put("c", 3, 40)
    assert (first.get("a"), second.get("b"), second.get("c")) == (1, None, 3)


def test_evictions_are_counted_and_announced() -> None:
    budget, calls = MemoryBudget(100), list[str]()
    first, second = budget.share(), budget.share()
    first.put("a", 1, 60, lambda: calls.append("a"))
    second.put("b", 2, 60, lambda: calls.append("b"))
    assert (calls, budget.evictions, budget.used) == (["a"], 1, 60)
    assert not second.put("c", 3, 101, lambda: calls.append("c"))
    assert (calls, budget.evictions, budget.used) == (["a", "c"], 1, 60), "b stays"
    second.remove("b")
    assert (calls, budget.used) == (["a", "c"], 0), "whoever drops an entry knows"


def test_a_bounded_cache_is_one_entry() -> None:
    budget = MemoryBudget(100_000)
    caches = [BoundedCache[str, int](1_000, budget.share()) for _ in range(2)]
    for number in range(200):
        caches[0][f"{number:100}"] = number
    assert 50_000 < budget.used < 100_000
    for number in range(200):
        caches[1][f"{number:100}"] = number
    assert (len(caches[0]), budget.evictions) == (0, 1)
    assert len(caches[1]) == 200
    caches[1].clear()
    assert budget.used == 0


def test_a_bounded_cache_that_does_not_fit_starts_over() -> None:
    budget = MemoryBudget(20_000)
    cache = BoundedCache[tuple[str, str], int](1_000, budget.share())
    for number in range(500):
        cache["key", f"{number}"] = number
        assert budget.used <= 20_000
    assert 0 < len(cache) < 100
    assert cache["key", "499"] == 499


def test_threads_share_it() -> None:
    budget = MemoryBudget(1_000)
    shares = [budget.share() for _ in range(4)]
    limits: list[bool] = []

    def work(number: int) -> None:
        for turn in range(2_000):
            share = shares[(number + turn) % 4]
            share.put(turn % 7, turn, turn % 300)
            share.get((turn + 1) % 7)
            limits.append(budget.used <= 1_300)  # between two lines, one entry may be too many
        shares[number].clear()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(limits)
    for share in shares:
        share.clear()
    assert budget.used == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_finds_the_lock_free() -> None:
    budget = MemoryBudget(100)
    share = budget.share()
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with budget._ledger.lock:
            begun.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(60)
    child = os.fork()
    if not child:
        os._exit(0 if share.put("k", 1, 10) and share.get("k") == 1 else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("limit", [-1, 1.5, "1", None, True], ids=repr)
def test_other_limits_are_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        MemoryBudget(limit)


def test_what_it_says_of_itself() -> None:
    assert MemoryBudget().limit == DEFAULT_BUDGET_BYTES
    assert repr(MemoryBudget(5)) == "MemoryBudget(5, used=0, evictions=0)"
