"""The command that brings the indexes up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from tests.embedders import Hashing
from tests.unit.cli.runner import Cli


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    """What `auto` is, so that no test loads a real model."""
    model = Hashing()
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", lambda: model)
    return model


@pytest.fixture
def filled(cli: Cli, model: Hashing) -> Cli:
    for number in range(3):
        cli("remember", f"number {number} is a word", "--title", f"t{number}")
    return cli


def test_it_says_what_was_done_and_then_that_nothing_is_to_do(filled: Cli) -> None:
    assert "none" in filled("stats")
    assert filled("reindex") == "Indexed 3 commits, embedded 3 passages by hashing.\n"
    assert filled("reindex") == "Nothing to do: all is indexed.\n"
    output = filled("stats")
    assert "3 of hashing" in output
    assert "to come" not in output


def test_in_json(filled: Cli) -> None:
    expected = {
        "commits": 3,
        "vectors": 3,
        "model": "hashing",
        "replaced": None,
        "language": "english",
        "rewritten": 0,
    }
    assert filled.row("reindex") == expected
    assert filled.row("reindex") == {**expected, "commits": 0, "vectors": 0}
    assert filled.row("stats")["vector_backlog"] == 0


def test_another_model_replaces_the_vectors(filled: Cli, model: Hashing) -> None:
    filled("reindex")
    model.name = "another"
    assert "memoranda reindex" in filled.run("stats").stderr
    assert "memoranda reindex" in filled("doctor")
    reports = filled("reindex")
    assert reports == "Dropped the vectors of hashing, embedded 3 passages by another.\n"
    assert filled.run("stats").stderr == ""


def test_without_an_embedder_words_are_indexed(filled: Cli) -> None:
    done = filled.run("reindex", "--embedder", "none")
    assert done.stdout == "Indexed 3 commits.\n"
    assert "no embedder" in done.stderr
    filled.env["MEMORANDA_EMBEDDER"] = "none"
    assert filled.row("reindex")["model"] is None


def test_an_embedder_that_cannot_be_is_refused(filled: Cli, tmp_path: Path) -> None:
    message = filled.fails(2, "reindex", "--embedder", tmp_path)
    assert message.startswith("Error: --embedder: there is no model.onnx in ")
    filled.env["MEMORANDA_EMBEDDER"] = "http://host/v1"
    assert "#model" in filled.fails(2, "reindex")


def test_stopped_in_between_it_goes_on(
    filled: Cli, model: Hashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoranda.search.vectors.backfill import fill_batch

    assert fill_batch.__kwdefaults__ is not None
    monkeypatch.setitem(fill_batch.__kwdefaults__, "limit", 1)
    calls: list[int] = []

    def interrupt(_: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    model.before = interrupt
    assert filled.run("reindex").exit_code != 0
    model.before = None
    with memoranda.open(filled.db, embedder=None) as store:
        assert store.stats().vectors == 2
    filled("reindex")
    assert "3 of hashing\n" in filled("stats")


def test_progress_counts_passages_also_within_one_commit(tmp_path: Path) -> None:
    observations: list[tuple[int, int]] = []
    with memoranda.open(tmp_path / "x.db", embedder=None) as store:
        agent = store.bind(agent_id="a1")
        agent.store_transcript("\n".join(f"Ann: line {number}" for number in range(5_000)))
        agent.reindex(progress=lambda done, whole: observations.append((done, whole)))
    done = [item for item, _ in observations]
    assert len(done) >= 3
    assert 0 < done[0] < done[1] < done[-1]
    assert all(item < whole for item, whole in observations[:-1])
    assert observations[-1] == (5_000, 5_000)


def test_another_language_rewrites_the_words(filled: Cli) -> None:
    filled("reindex")
    assert "up to date, in english" in filled("stats")
    assert filled("reindex", "--language", "german") == "Rewrote 3 passages in german.\n"
    assert filled.row("stats")["language"] == "german"
    assert filled("reindex") == "Nothing to do: all is indexed.\n"


def test_an_unknown_language_is_refused_with_those_there_are(filled: Cli) -> None:
    done = filled.run("reindex", "--language", "klingon")
    assert done.exit_code != 0
    assert "english" in done.stderr
    assert "german" in done.stderr
