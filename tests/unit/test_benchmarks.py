"""The benchmarks run: what they ask of the store's queries is what these take."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memoranda
from benchmarks import (
    commits,
    embedding,
    facts,
    hostile,
    hybrid,
    locomo,
    memories,
    reads,
    recall,
    startup,
    statehouse,
    verify,
)
from memoranda.errors import InvalidInput
from tests.bulk import write_events
from tests.unit.search.stores import eventually


@pytest.mark.slow
def test_commits_beside_appends(tmp_path: Path) -> None:
    assert min(commits.one_beside_appends(tmp_path / "store.db", 0.1)) > 0


@pytest.mark.slow
def test_ingesting_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MEMORIES", 2 * memories.BATCH_SIZE)
    assert min(memories.ingest(tmp_path)) > 0


@pytest.mark.slow
def test_lists_of_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MEMORIES", 2 * memories.BATCH_SIZE)
    path = tmp_path / "store.db"
    memories.fill_list(path)
    for filtered in ("all", "kind", "tags", "metadata"):
        ours, bare = memories.listed(path, 0.05, filtered)
        assert min(ours, bare) > 0


@pytest.mark.slow
def test_reads(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 400, agents=reads.AGENTS)
    for measure in (reads.replay, reads.point_reads):
        assert min(measure(path, 0.05)) > 0
    assert min(reads.buckets(path, 10, 0.05)) > 0


@pytest.mark.slow
def test_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dated = facts.dated_facts(600)
    rates = facts.imports(tmp_path, dated)
    assert min(rates) > 0
    for single in (True, False):
        short, long = (facts.steps_of_an_assertion(tmp_path, n, single=single) for n in (10, 2_000))
        assert 0 < long <= 1.5 * short, "it costs the same, however long the timeline is"
    monkeypatch.setattr(facts, "EDGES", 50)
    facts.fill_star(tmp_path / "star.db")
    queries, hops = facts.neighbourhood(tmp_path / "star.db")
    assert queries == hops


@pytest.mark.slow
def test_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MEMORIES", embedding.BATCH_SIZE)
    assert min(embedding.ingest(tmp_path)) > 0


@pytest.mark.slow
def test_recall(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    hybrid.fill(path, 300)
    assert min(hybrid.hybrid(path)) > 0


def test_evidence_is_counted(tmp_path: Path) -> None:
    text = [locomo.Turn("D1:1", "Ann", "I keep bees"), locomo.Turn("D1:2", "Ben", "On the roof?")]
    queries = [
        locomo.Asked("who keeps bees?", frozenset(["D1:1"]), 4),
        locomo.Asked("zebras", frozenset(["D1:1", "D1:2"]), 5),
    ]
    session = locomo.Session(datetime(2023, 5, 8, tzinfo=UTC), text)
    rows = locomo.measured(tmp_path / "store.db", [locomo.Conversation([session], queries)])
    assert set(rows) == {"words", "vectors", "both"}
    result, missed = rows["words"]
    assert (result.recall[5], result.reciprocal) == (1.0, 1.0)
    assert (missed.recall[20], missed.reciprocal) == (0.0, 0.0)
    assert "| 1-5 | one hop (1) | both | 1.000 |" in locomo.table(rows, 1.0)
    assert locomo.read(tmp_path / "nowhere.json") is None


def test_evidence_is_counted_with_any_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [{"dia_id": "D1:1", "speaker": "Ann", "text": "I keep bees"}]
    conversation = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    question = {"question": "who keeps bees?", "evidence": ["D1:1"], "category": 4}
    data = tmp_path / "data.json"
    data.write_text(json.dumps([{"conversation": conversation, "qa": [question]}] * 6), "utf-8")
    monkeypatch.setattr(locomo, "RESULTS", tmp_path / "results.md")
    options = ["locomo", "--data", str(data), "--first-half", "--embedder"]
    monkeypatch.setattr(sys, "argv", [*options, "wordllama"])
    assert locomo.main() == 0
    assert "| 1-5 | all (5) | both | 1.000 |" in capsys.readouterr().out
    assert not (tmp_path / "results.md").exists()
    monkeypatch.setattr(sys, "argv", [*options, f"onnx:{tmp_path / 'nowhere'}"])
    with pytest.raises(InvalidInput, match="no folder"):
        locomo.main()


@pytest.mark.slow
def test_the_index_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MEMORIES", 260)
    (figure,) = recall.figures_of_words(tmp_path)
    assert min(figure.ours, figure.limit) > 0
    with memoranda.open(tmp_path / "words-0.db") as store:
        eventually(lambda: store.stats().index_backlog < 260)
    with memoranda.open(tmp_path / "bare-0.db") as store:
        assert store.stats().index_backlog == 0, "nothing was even listed"


@pytest.mark.slow
def test_verification(tmp_path: Path) -> None:
    walked, chained = verify.figures(tmp_path, 0.1, events=2_000)
    assert min(walked.ours, walked.limit, chained.ours, chained.limit) > 0
    with memoranda.open(tmp_path / "hashed-0.db") as store:
        assert store.verify(deep=True).commits > 0, "the hashes are there again"


def test_a_log_without_hashes_is_no_log(tmp_path: Path) -> None:
    with verify.without_hashing(), memoranda.open(tmp_path / "bare.db") as store:
        store.write(agent_id="a", key="k", value={})
        with pytest.raises(memoranda.ChainBroken):
            store.verify()


@pytest.mark.slow
def test_a_writer_beside_hostile_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "MEMORY", 2_000)
    monkeypatch.setattr(hostile, "_LOOK_EVERY", 10)
    path = tmp_path / "store.db"
    hostile.fill(path, 60_000)
    with memoranda.open(path, embedder=None) as store:
        store.reindex()
        for indexing in (True, False):
            result = hostile.latencies(store, 0.2, indexing=indexing)
            assert 0 < result.median <= result.p99 <= result.p999 <= result.longest


@pytest.mark.slow
def test_startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "STARTS", 5)
    imported, helped = startup.figures(tmp_path)
    assert imported.verdict != "NOT MET"
    assert helped.verdict != "NOT MET"


@pytest.mark.slow
def test_the_start_of_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "STARTS", 3)
    assert startup.mcp_figure(tmp_path).ours > 0


@pytest.mark.slow
def test_statehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EVENTS", "CALLS", "TURNS"):
        monkeypatch.setattr(statehouse, name, 3)
    figures = statehouse.figures(tmp_path / "store.db")
    assert len(figures) == 3
    assert min(min(figure.ours, figure.limit) for figure in figures) > 0
