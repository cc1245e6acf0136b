"""Golden stores from 0.7.0 on hold what their release could write, and go on from there.

What `make_golden` makes now is looked at in the same way: it is sound before it is kept.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
import memoranda_verify
from memoranda import ALL_NAMESPACES, IdempotencyMismatch, NotFound, Store
from memoranda.log import lineage, pages
from memoranda.log.field_commitments import is_version_2
from memoranda.model import codec
from memoranda.model.operations import (
    ChangeResidue,
    Erase,
    MemoryTombstone,
    NamesResidue,
    Operation,
    Redacted,
    RememberResidue,
    Summary,
    TranscriptTombstone,
    slots,
)
from tests.cores import core_of
from tests.scripts import load_script

NOW = "now"
RELEASED = {
    path.stem: path
    for path in sorted(Path(__file__).parent.glob("*.db"))
    if tuple(map(int, path.stem.split("."))) >= (0, 7, 0)
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden store as it would be made now."""
    path = tmp_path_factory.mktemp("golden") / "now.db"
    load_script("make_golden").make(path)
    return path


@pytest.fixture(params=[*RELEASED, NOW])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = tmp_path / "golden.db"
    shutil.copy(RELEASED.get(request.param) or request.getfixturevalue("made"), copy)
    return copy


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, create=False, embedder=None) as store:
        yield store


def operations_of(store: Store) -> list[Operation]:
    """Return every operation of the log, and behind each what is left of it."""
    with core_of(store).engine.reading() as reader:
        events = [*pages.events(reader, after=0, through=store.stats().commits)]
    result = list[Operation]()
    for event in events:
        for operation in codec.decode_operations(event.operations):
            rest = operation.residue if isinstance(operation, Redacted) else None
            result += [operation] if rest is None else [operation, rest]
    return result


def values_of(store: Store) -> dict[str, object]:
    """Return the values of the bound agent and namespace."""
    records = {key: store.get_state(key=key) for key in store.list_keys()}
    return {key: record.value for key, record in records.items() if record is not None}


def test_every_kind_of_operation_is_made_now(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "golden.db"
    shutil.copy(made, copy)
    with memoranda.open(copy, create=False, embedder=None) as store:
        kinds = {type(operation) for operation in operations_of(store)}
    remainder = {
        MemoryTombstone,
        TranscriptTombstone,
        RememberResidue,
        ChangeResidue,
        NamesResidue,
        Redacted,
    }
    assert kinds == {*slots.LAYOUTS, *remainder}


@pytest.mark.slow
def test_it_is_made_the_same_each_time(made: Path, tmp_path: Path) -> None:
    load_script("make_golden").make(tmp_path / "again.db")
    again = (tmp_path / "again.json").read_text("utf-8")
    assert again == made.with_suffix(".json").read_text("utf-8")


def test_the_log_is_accepted_without_the_engine(store: Store, tmp_path: Path) -> None:
    log, note = tmp_path / "log.jsonl", tmp_path / "note"
    store.export_log(log)
    (checkpoint,) = store.checkpoints()
    note.write_text(checkpoint.note, "utf-8")
    keys = [
        trusted_key.key.text for trusted_key in store.trusted_keys() if trusted_key.agent_id is None
    ]
    options = ["--checkpoint", str(note), *(f"--key={key}" for key in keys)]
    assert memoranda_verify.main(["log", str(log), *options]) == memoranda_verify.HOLDS


def test_all_of_it_is_proven_and_derived_again(store: Store) -> None:
    report = store.verify(deep=True)
    assert (report.unproven, report.checkpoints) == (0, 1)
    with core_of(store).engine.reading() as reader:
        events = [*pages.events(reader, after=0, through=report.commits)]
    assert all(is_version_2(event.salts) for event in events)
    assert store.rebuild().identical


@pytest.mark.slow
def test_it_names_the_logs_it_comes_from(store: Store) -> None:
    with core_of(store).engine.reading() as reader:
        (first,) = pages.events_of(reader, [1])
    origin, fork = lineage.first_epoch(first)[1].lineage
    assert origin.commit_ts < fork.commit_ts < store.stats().commits
    assert len({origin.log_id, fork.log_id, store.stats().log_id}) == 3
    signed = [
        event.commit_ts
        for event in store.replay(agent_id="signing", namespace=ALL_NAMESPACES)
        if event.actor == "signing"
    ]
    assert signed[0] <= origin.commit_ts
    assert any(origin.commit_ts < commit_ts <= fork.commit_ts for commit_ts in signed)
    assert fork.commit_ts < signed[-1]
    assert store.verify().signed >= len(signed)


def test_requests_that_a_client_has_signed(path: Path) -> None:
    with memoranda.open(path, create=False, embedder=None) as store:
        events = [*store.replay(agent_id="signing", namespace="signed")]
        requests = [event for event in events if event.attest_level == "request-signed"]
        if store.verify().request_signed == 0:  # older releases could not
            assert not requests
            return
        assert [event.txn_id for event in requests] == [f"golden-sent-{n}" for n in (1, 2, 3)]
        assert store.verify().request_signed == 3
        agent = store.bind(agent_id="signing", namespace="signed")
        (record,) = agent.scan_prefix(prefix="sent")
        assert record.value == {"log": "the second fork"}
        again = agent.write(key="sent", value=record.value, txn_id="golden-sent-2")
        assert again.commit_ts == requests[1].commit_ts


def test_messages_keep_their_speakers(store: Store) -> None:
    (talk,) = store.list_transcripts(namespace="team/talk")
    messages = talk.messages()
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    forged, text = talk.find("I never said that."), talk.find("You live in Oslo.")
    assert [talk.message_at(first) for first, _ in (forged, text)] == [0, 3]
    planner = store.bind(agent_id="planner", namespace="team/talk")
    again = planner.store_transcript(messages)
    assert again.text() == talk.text()
    (fact,) = planner.facts(subject="Bo")
    assert str(fact.object) == "Oslo"


PRIVATE = {"ill", "pills", "needles"}


def test_private_facts_are_their_agents(store: Store) -> None:
    observations = {
        viewer: {
            str(fact.object)
            for fact in store.bind(agent_id=viewer, namespace="team/eng").facts(
                agent_id="planner", include_closed=True
            )
        }
        for viewer in ("planner", "helper")
    }
    assert observations["planner"] >= {*PRIVATE, "away"}
    assert "away" in observations["helper"]
    assert not observations["helper"] & PRIVATE
    for indexed in (False, True):
        if indexed:
            store.reindex()
        for viewer, least in (("planner", 1), ("helper", 0)):
            bound = store.bind(agent_id=viewer, namespace="team/eng")
            hits = bound.recall("is Ann ill?", kinds=["fact"], agent_id="planner")
            assert sum("ill" in hit.text for hit in hits) == least


def test_what_was_forgotten_is_gone(path: Path) -> None:
    with memoranda.open(path, create=False, embedder=None) as store:
        targets = Counter(made.target for made in store.erasures())
        assert targets.keys() >= {
            "memory", "transcript", "key", "fact", "entity", "agent", "namespace", "facts"
        }  # fmt: skip
        teller = store.bind(agent_id="teller", namespace="told")
        assert teller.facts(include_closed=True) == []
        assert [memory.content for memory in teller.list_memories(content=True)] == [
            "a source that stays"
        ]
        assert [*teller.list_transcripts()] == []
        assert "forgotten" in str(teller.why("plan"))
        with pytest.raises(NotFound):
            teller.forget(entity="Gone Zoe")
        assert store.purge()
    data = path.read_bytes()
    for words in (b"gone tea", b"one zo", b"one Zo", b"gone words", b"gone cake", b"told/below"):
        assert words not in data


def test_a_transaction_is_known_by_what_is_left_of_its_request(store: Store) -> None:
    again = store.bind(agent_id="again", namespace="told")
    commits = store.stats().commits

    def half(word: str, other: int) -> int:
        with again.begin_transaction(txn_id="golden-half") as transaction:
            transaction.write(key="half", value={"word": word})
            transaction.write(key="other half", value={"n": other})
        assert transaction.commit_ts is not None
        return transaction.commit_ts

    first = again.write(key="stands", value={"n": 1}, txn_id="golden-stands").commit_ts
    assert again.write(key="gone", value={"word": "gone"}, txn_id="golden-gone").commit_ts > first
    assert half("gone", 1) > first
    assert store.stats().commits == commits
    with pytest.raises(IdempotencyMismatch):
        again.write(key="stands", value={"n": 2}, txn_id="golden-stands")
    for name in ("golden-gone", "golden-half"):
        with pytest.raises(IdempotencyMismatch):
            again.delete(key="stands", txn_id=name)
    assert again.get_state(key="gone") is None


def test_a_compaction_was_done_in_slices(store: Store) -> None:
    result = operations_of(store)
    reports = [item for item in result if isinstance(item, Summary) and item.namespace == "ledger"]
    assert [item.unfinished for item in reports] == [True, False]
    erased = [item for item in result if isinstance(item, Erase) and item.target == "compaction"]
    assert len(erased) > 3
    keeper = store.bind(agent_id="keeper", namespace="ledger")
    assert not keeper.compact(before=reports[0].horizon).unfinished
    (memory, *_) = keeper.list_memories(content=True, children=False)
    assert (memory.content, memory.title, memory.access_count) == ("second", "second", 4)
    assert values_of(keeper) == {"count": {"n": 5}}


def test_a_compaction_that_was_interrupted_goes_on(store: Store) -> None:
    keeper = store.bind(agent_id="keeper", namespace="ledger/open")
    preview = keeper.compact(before=1)
    assert preview.unfinished
    done = keeper.compact(before=preview.horizon, confirm=True)
    assert (done.erased, done.unfinished) == (3, False)
    assert values_of(keeper) == {"count": {"n": 3}, "rests": {}}
    assert store.rebuild().identical
    assert store.verify(deep=True).unproven == 0
