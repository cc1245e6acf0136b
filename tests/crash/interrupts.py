"""Interrupts at random moments in threads that commit, beside others that commit and read.

    python -m tests.crash.interrupts URL COUNT SEED

The main thread is interrupted by a timer's signal, as by Ctrl-C, and another one as a debugger or a
supervisor does it, by `PyThreadState_SetAsyncExc`. Afterwards everybody must get on, and the log
must have what was acknowledged, each once. It is a process of its own: whoever is stuck is shown,
with the stacks of all threads, and the process ends.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from random import Random

import memoranda
from memoranda import Store
from tests.cores import core_of
from tests.patience import HANG_SECONDS

_SHORTEST, _LONGEST = 0.00002, 0.003
_KEPT = 100
"""How many interrupts are kept with their tracebacks: what stands in them is not collected."""


class Interrupted(BaseException):
    """Raised where nobody asked for it."""


class Worker:
    """A thread's writes: which were begun and which acknowledged, each of its own value."""

    def __init__(self, store: Store, name: str, seed: str) -> None:
        self.name = name
        self.random = Random(seed)
        self.bound = store.bind(agent_id=name)
        self.acknowledged: list[int] = []
        self.interrupts = 0
        self.armed = False
        self.kept: deque[BaseException] = deque(maxlen=_KEPT)
        self._numbers = count()

    def turn(self) -> None:
        """Do one thing; an interrupt may come while it is done."""
        number = next(self._numbers)
        work = self.random.choice(_WORK)
        try:
            self.armed = True
            work(self, number)
            self.armed = False
        except Interrupted as error:
            self.armed = False
            self.interrupts += 1
            self.kept.append(error)
        else:
            self.acknowledged.append(number)

    def write(self, number: int) -> None:
        self.bound.write(key=f"k{number % 7}", value={"n": number})

    def transact(self, number: int) -> None:
        def add(transaction: memoranda.Transaction) -> None:
            transaction.get_state(key="sum")
            transaction.write(key="sum", value={"n": number})

        self.bound.transact(add)

    def remember(self, number: int) -> None:
        self.bound.remember(f"the {number}th word", metadata={"n": number})
        if number % 10 == 0:
            self.bound.recall("word", k=3)

    def look(self, number: int) -> None:
        self.bound.write(key="seen", value={"n": number})
        assert self.bound.get_state(key="seen").value["n"] == number  # type: ignore[union-attr]
        list(self.bound.scan_prefix(prefix="k"))
        self.bound.stats()

    def follow(self, number: int) -> None:
        self.bound.write(key="followed", value={"n": number})
        with self.bound.subscribe(cursor=self.name, last=None, timeout=0.01) as events:
            for event in events:
                events.ack(event)


_WORK: tuple[Callable[[Worker, int], None], ...] = (
    *(Worker.write,) * 6,
    *(Worker.transact,) * 3,
    Worker.remember,
    Worker.look,
    Worker.follow,
)


class Fight:
    """Threads that commit to one store until it is over."""

    def __init__(self, url: str, wanted: int, seed: str) -> None:
        self.store = memoranda.open(url, durability="relaxed", embedder=None)
        self.wanted = wanted
        self.main = Worker(self.store, "main", seed)
        self.target = Worker(self.store, "target", seed)
        self.others = [Worker(self.store, f"other{n}", f"{seed}/{n}") for n in range(2)]
        self.over = threading.Event()
        self.random = Random(f"{seed}/moments")
        self.failures: list[BaseException] = []

    def run(self) -> None:
        # Until a new thread runs, CPython knows it by the id of the thread that starts it: an
        # exception for that one can kill the new one, and `Thread.start` then waits for ever.
        core_of(self.store).background_indexer._wake()
        threads = [self.start(self.work, other) for other in self.others]
        threads += [self.start(self.bear, self.target), self.start(self.read)]
        threads += [self.start(self.harass, threads[2])]
        signal.signal(signal.SIGALRM, self.interrupt)
        while self.main.interrupts < self.wanted and not self.failures:
            if self.main.interrupts % 500 == 0:
                faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(_SHORTEST, _LONGEST))
            self.main.turn()
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        self.check_everybody_gets_on()
        self.over.set()
        for thread in threads:
            thread.join()
        self.check()
        faulthandler.cancel_dump_traceback_later()

    def start(self, target: Callable[..., None], *args: object) -> threading.Thread:
        def work() -> None:
            try:
                target(*args)
            except BaseException as error:  # noqa: BLE001 - told by the main thread
                self.failures.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def work(self, worker: Worker) -> None:
        while not self.over.is_set():
            worker.turn()

    def bear(self, worker: Worker) -> None:
        """Work on, whatever comes: an interrupt may meet these lines too."""
        while not self.over.is_set():
            try:
                self.work(worker)
            except Interrupted:
                worker.armed = False

    def read(self) -> None:
        while not self.over.is_set():
            list(self.store.replay(agent_id="main", after_commit=0))[-1:]
            self.store.stats()
            self.store.bind(agent_id="main").recall("word", k=3)
            self.over.wait(0.02)

    def harass(self, thread: threading.Thread) -> None:
        ident, raising = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupted)
        while not self.over.wait(self.random.uniform(_SHORTEST, _LONGEST)):
            if self.target.armed and self.main.interrupts < self.wanted:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, raising)

    def interrupt(self, *_: object) -> None:
        if self.main.armed:
            raise Interrupted

    def check_everybody_gets_on(self) -> None:
        """Wait until each has committed once more, without an interrupt."""
        self.main.turn()
        workers = [*self.others, self.target]
        before = [len(worker.acknowledged) for worker in workers]
        while any(len(w.acknowledged) <= n for w, n in zip(workers, before, strict=True)):
            if self.failures or self.over.wait(0.01):
                break

    def check(self) -> None:
        if self.failures:
            raise self.failures[0]
        assert self.store.verify(deep=True).commits > 0
        for worker in (self.main, self.target, *self.others):
            counter = Counter(self.numbers(worker))
            assert not [n for n, times in counter.items() if times > 1], worker.name
            assert set(worker.acknowledged) <= set(counter), worker.name
        assert all(not other.interrupts for other in self.others)
        assert self.store.rebuild().identical
        self.store.close()

    def numbers(self, worker: Worker) -> list[int]:
        return [
            int((operation.value.get("metadata") or operation.value)["n"])
            for event in worker.bound.replay()
            for operation in event.operations
            if operation.value is not None
        ]


if __name__ == "__main__":
    fight = Fight(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    fight.run()
    print(fight.main.interrupts, fight.target.interrupts)  # noqa: T201
