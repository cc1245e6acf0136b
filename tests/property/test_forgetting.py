"""Random histories with forgetting mixed in: what is to go is gone, and all else is as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda import Store
from memoranda.log import pages
from memoranda.log.erasure.forget import Findings, find
from memoranda.model import codec
from memoranda.model.erasure import Target
from memoranda.model.operations import Cite
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.leftovers import leftovers
from tests.property.forgetful import AGENTS, SALT, SPACES, History, salts_of
from tests.quick import only
from tests.searching import fill

RUNS = 6
STEPS = 60
FORGETS = 6


def check(history: History, path: Path, before: dict[str, object], salts: set[bytes]) -> None:
    store = history.store
    store.verify(deep=True)
    result = store.rebuild()
    assert result.identical, result.differing
    after = history.content()
    assert after == {name: before[name] for name in after}
    words = {word.encode() for word in history.gone}
    assert leftovers(path, words) == set()
    assert leftovers(path, salts) == set()


def targets(history: History) -> list[Target]:
    """Return everything in a history that can be forgotten by its name or id."""
    scoped = [Target("key", key[3], Scope(*history.owner[key])) for key in history.of("key")]
    ids = [
        Target(kind, item[1], derived=kind == "transcript")
        for kind in ("memory", "transcript", "fact")
        for item in history.of(kind)
    ]
    spaces = [
        Target("namespace", space, children=children)
        for space in SPACES
        for children in (False, True)
    ]
    return [*scoped, *ids, *spaces, *(Target("agent", agent) for agent in AGENTS)]


def commits_to_rewrite(reader: Reader, target: Target, findings: Findings) -> set[int]:
    """Return the commits that an erasure has to rewrite, by a scan of the whole log."""
    return {
        event.commit_ts
        for event in pages.events(reader, after=0, through=pages.head_commit(reader))
        if (target.kind == "agent" and codec.decode_envelope(event.envelope).actor == target.name)
        or any(
            findings.replacement_of((event.commit_ts, position), operation) is not None
            for position, operation in enumerate(codec.decode_effective(event.operations))
        )
    }


def memories_citing(reader: Reader, transcript_id: str) -> set[str]:
    """Return the memories that cite a transcript, by a scan of the whole log."""
    return {
        operation.memory_id
        for event in pages.events(reader, after=0, through=pages.head_commit(reader))
        for operation in codec.decode_effective(event.operations)
        if isinstance(operation, Cite) and operation.transcript_id == transcript_id
    }


def check_findings(history: History) -> set[int]:
    """Check that the indexes find what a scan of the log does, and return what values cite."""
    views = core_of(history.store).views
    with core_of(history.store).engine.snapshot() as reader:
        for target in targets(history):
            try:
                findings = find(reader, views, target, None, "forgotten-")
            except memoranda.NotFound:
                assert target.kind in ("agent", "namespace")
                continue
            assert commits_to_rewrite(reader, target, findings) <= findings.commits
            if target.kind == "transcript":
                scanned = memories_citing(reader, target.name)
                assert views.citing_memories(reader, target.name) == scanned
        return {row[0] for row in reader.rows("state_reference_rows")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0], range(RUNS)))
def test_indexes_find_all_that_a_scan_of_the_log_does(seed: int) -> None:
    with memory_store() as store:
        history, cited = History(store, Random(seed)), set[int]()
        for _ in range(FORGETS):
            for _ in range(STEPS):
                history.step()
            cited |= check_findings(history)
            history.forget()
        assert cited == {0, 1}, "keys and assertions"


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0], range(RUNS)))
def test_what_is_to_go_is_gone_and_all_else_is_as_it_was(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        forget_at_random(store, seed, lambda: path)
    with memoranda.open(path) as store:
        assert not store.stats().pending_purge
        store.verify()


def forget_at_random(
    store: Store, seed: int, file: Callable[[], Path], steps: int = STEPS
) -> History:
    """Check each erasure of a random history, and return it.

    `file` returns a file with all that is stored now.
    """
    random = Random(seed)
    history = History(store, random)
    names: set[bytes] = set()
    for _ in range(FORGETS):
        for _ in range(steps):
            history.step()
        if random.random() < 0.8:  # else it is forgotten while it waits to be indexed
            fill(store)
        before, salts = history.content(), salts_of(file())
        if not history.forget():
            continue
        path = file()
        remainder = salts_of(path)
        for name, reference in salts.names.items():
            names |= reference if name not in remainder.present else set()
        for commit_ts, old in salts.events.items():
            pairs = list(zip(old, remainder.events[commit_ts], strict=True))
            names |= {was for was, now in pairs if was != now}
            assert all(now in (was, bytes(SALT)) for was, now in pairs)
        check(history, path, before, names - {bytes(SALT), *remainder.opened})
    return history
