"""I/O errors and full disks at every call: the right error, nothing lost, and it goes on."""

from __future__ import annotations

import asyncio
import math
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memoranda import (
    AsyncStore,
    CommitUnknown,
    MemorandaError,
    Store,
    StoreFull,
    Unavailable,
)
from memoranda.calls.defaults import Defaults
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from tests.cores import core_of
from tests.crash.checks import read_log
from tests.crash.client import Client, stage
from tests.crash.stores import scratch, wal_of
from tests.crash.trials import Trial, fault_campaign, make_template
from tests.quick import only, some_of

NAMES = ("first", "second")

CASES = {
    "write error": ("write", 0, 1, (Unavailable, CommitUnknown)),
    "write errors": ("write", 0, math.inf, (Unavailable, CommitUnknown)),
    "full once": ("write", apsw.SQLITE_FULL, 1, (StoreFull,)),
    "full": ("write", apsw.SQLITE_FULL, math.inf, (StoreFull,)),
    "sync error": ("sync", 0, 1, (CommitUnknown,)),
    "two sync errors": ("sync", 0, 2, (CommitUnknown, Unavailable)),
    "sync errors": ("sync", 0, math.inf, (CommitUnknown, Unavailable)),
    "read error": ("read", 0, 1, (Unavailable, CommitUnknown)),
    "read errors": ("read", 0, math.inf, (Unavailable, CommitUnknown)),
    "open error": ("open", 0, 1, (Unavailable, CommitUnknown)),
    "open errors": ("open", 0, math.inf, (Unavailable, CommitUnknown)),
    "truncate error": ("truncate", 0, 1, (Unavailable, CommitUnknown)),
    "delete error": ("delete", 0, 1, (Unavailable, CommitUnknown)),
}
"""Kind of call, SQLite's code for what goes wrong, how often, and what a commit may then raise."""
FEW = ("two sync errors", "read error")
"""The cases `make test` runs."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as lent:
        yield lent


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is there already."""
    return make_template(tmp_path_factory.mktemp("template"))


@pytest.mark.slow
@pytest.mark.parametrize("case", only(FEW, CASES))
def test_while_committing(folder: Path, template: Path, case: str) -> None:
    with wal_of(8):
        commit_with_faults(folder, template, case)


@pytest.mark.parametrize("case", ["write errors", "full", "sync error", "two sync errors"])
@pytest.mark.slow
def test_while_the_log_is_in_the_wal_only(folder: Path, template: Path, case: str) -> None:
    commit_with_faults(folder, template, case)


def commit_with_faults(folder: Path, template: Path, case: str) -> None:
    """Make calls of a kind fail in turn, until there are no more."""
    kind, code, times, allowed = CASES[case]
    for nth in some_of(range(1, 1_000)):
        trial = Trial(folder / str(nth), template)
        client = trial.open()
        trial.vfs.fail(kind, nth, code=code, times=times)
        for name in NAMES:
            trial.commit(client, name)
        failed = trial.vfs.failed
        for error in (*client.refused.values(), *client.unknown.values()):
            assert isinstance(error, allowed), f"call {nth}: {error!r}"
        trial.check(client)
        client.store.close()
        shutil.rmtree(trial.folder)
        if not failed:
            break


@pytest.mark.slow
@pytest.mark.parametrize("case", only(["two sync errors"], ["full", "two sync errors"]))
def test_while_a_large_transaction_is_written(folder: Path, template: Path, case: str) -> None:
    kind, code, times, allowed = CASES[case]
    for nth in range(1, 2_000, 450):
        trial = Trial(folder / str(nth), template)
        client = trial.open()
        trial.vfs.fail(kind, nth, code=code, times=times)
        trial.commit(client, "large")
        failed = trial.vfs.failed
        for error in (*client.refused.values(), *client.unknown.values()):
            assert isinstance(error, allowed), f"call {nth}: {error!r}"
        trial.check(client)
        client.store.close()
        shutil.rmtree(trial.folder)
        if not failed:
            break


def root_cause(error: BaseException) -> BaseException:
    return root_cause(error.__cause__) if error.__cause__ else error


def outcome(work: Callable[[], object]) -> MemorandaError | None:
    """Return why something did not work."""
    try:
        work()
    except MemorandaError as error:
        return error
    return None


@pytest.mark.parametrize("case", only(FEW, CASES))
@pytest.mark.slow
def test_while_creating(folder: Path, case: str) -> None:
    kind, code, times, allowed = CASES[case]
    for nth in some_of(range(1, 1_000)):
        trial = Trial(folder / str(nth))
        trial.vfs.fail(kind, nth, code=code, times=times)
        error = outcome(trial.open)
        assert error is None or isinstance(error, (Unavailable, *allowed)), f"call {nth}"
        failed = trial.vfs.failed
        trial.vfs.heal()
        client = trial.open()
        trial.check(client)
        client.store.close()
        shutil.rmtree(trial.folder)
        if not failed:
            break


@pytest.mark.parametrize("case", only(FEW, CASES))
@pytest.mark.slow
def test_while_rebuilding(folder: Path, template: Path, case: str) -> None:
    kind, code, times, allowed = CASES[case]
    for nth in some_of(range(1, 1_000)):
        trial = Trial(folder / str(nth), template)
        client = trial.open()
        trial.vfs.fail(kind, nth, code=code, times=times)
        error = outcome(client.store.rebuild)
        assert error is None or isinstance(error, (Unavailable, *allowed)), f"call {nth}"
        failed = trial.vfs.failed
        trial.check(client)
        client.store.close()
        shutil.rmtree(trial.folder)
        if not failed:
            break


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0], range(4)))
def test_several_faults_at_random(folder: Path, seed: int) -> None:
    assert fault_campaign(folder / "campaign", seed, 15) == 15


class TestFailedSync:
    """The moment that counts: the bytes are written, and nobody knows whether they will last."""

    @pytest.fixture
    def trial(self, folder: Path, template: Path) -> Trial:
        return Trial(folder / "trial", template)

    def test_it_is_said_that_the_outcome_is_unknown(self, trial: Trial) -> None:
        client = trial.open()
        client.commit("first")
        trial.vfs.fail("sync", suffix="-wal")
        assert not client.commit("second")
        with pytest.raises(CommitUnknown, match="commit the same operations again"):
            raise client.unknown["second"]
        assert client.commit("second")
        assert client.commit("third")
        client.check(read_log(client.store))
        client.store.close()

    def test_an_answer_that_writes_nothing_is_certain_too(self, trial: Trial) -> None:
        client = trial.open()
        trial.commit(client, "first")
        trial.vfs.fail("sync", suffix="-wal")
        assert not trial.commit(client, "second")
        assert trial.commit(client, "first"), "it is in the log already"
        trial.check(client)
        client.store.close()

    def test_the_error_keeps_its_cause(self, trial: Trial) -> None:
        client = trial.open()
        trial.vfs.fail("sync", suffix="-wal")
        client.commit("first")
        assert isinstance(root_cause(client.unknown["first"]), apsw.IOError)
        trial.vfs.heal()
        client.store.close()

    def test_the_same_handle_reads_meanwhile(self, trial: Trial) -> None:
        client = trial.open()
        trial.vfs.fail("sync", times=math.inf)
        client.commit("first")
        client.commit("second")
        assert [entry.txn_id for entry in read_log(client.store)][:1] == ["before"]
        assert client.store.get_state(agent_id="ada", key="pair") is not None
        trial.check(client)
        client.store.close()

    @pytest.mark.parametrize("kind", ["open", "read", "write"])
    @pytest.mark.parametrize("times", only([2], [1, 2, 3]))
    @pytest.mark.slow
    def test_trouble_while_settling_it(self, trial: Trial, kind: str, times: int) -> None:
        for nth in some_of(range(1, 1_000)):
            again = Trial(trial.folder / str(nth), trial.path)
            client = again.open()
            client.commit("first")
            again.vfs.fail("sync", suffix="-wal")
            client.commit("second")
            again.vfs.fail(kind, nth, times=times)
            for name in ("third", "fourth"):
                again.commit(client, name)
            failed = again.vfs.failed
            again.check(client)
            client.store.close()
            shutil.rmtree(again.folder)
            if failed == 1:
                break

    @pytest.mark.slow
    def test_everybody_in_the_batch_is_told(self, trial: Trial) -> None:
        store = trial.open().store
        clients = [Client(store) for _ in range(6)]
        trial.vfs.fail("sync", 2, suffix="-wal", times=2)
        threads = [
            threading.Thread(target=self.commit_some, args=(client, f"client-{number}"))
            for number, client in enumerate(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert any(client.unknown for client in clients)
        for client in clients:
            trial.check(client)
        store.close()

    @staticmethod
    def commit_some(client: Client, prefix: str) -> None:
        for number in range(5):
            client.commit(f"{prefix}-{number}")

    def test_whoever_awaits_is_told(self, trial: Trial) -> None:
        client = trial.open()
        trial.vfs.fail("sync", suffix="-wal")
        result = asyncio.run(self.commit_at_once(client.store))
        assert any(isinstance(item, CommitUnknown) for item in result), result
        assert all(isinstance(item, (int, CommitUnknown)) for item in result)
        trial.check(client)
        client.store.close()

    @staticmethod
    async def commit_at_once(store: Store) -> list[int | BaseException]:
        awaited = AsyncStore(AsyncLocalCalls(core_of(store)), Defaults())

        async def commit(name: str) -> int:
            transaction = awaited.begin_transaction(txn_id=name)
            stage(transaction, name)
            return await transaction.commit()

        names = [f"task-{number}" for number in range(8)]
        return await asyncio.gather(*map(commit, names), return_exceptions=True)
