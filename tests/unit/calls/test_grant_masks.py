"""What is covered may rest on what is not, which is masked as a private memory is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memoranda
from memoranda.calls.audit import AuditEvents
from memoranda.calls.call import Call
from memoranda.calls.grant import Grant
from memoranda.calls.links import Invalidations
from memoranda.calls.log import Replay
from memoranda.calls.memories import GetMemory, ListMemories
from memoranda.calls.recall import Recall
from memoranda.calls.registry import handle
from memoranda.calls.why import StaleKeys, Why
from memoranda.log import pages
from memoranda.model.coverage import Coverage
from memoranda.model.operations import Write
from memoranda.model.refs import KeyRef, MemoryRef
from memoranda.sdk.open import open_without_workers
from memoranda.search.index.partitions import Visibility, visible_partitions
from memoranda.search.index.unindexed import UnindexedDocuments
from memoranda.search.ranking.bm25 import TermSearch
from memoranda.storage.coverage import CoveredEngine
from memoranda.testing import FixedClock, FixedIds
from tests.cores import core_of
from tests.grant_worlds import FOREIGN, LINKS, OWN, TEAM, World, build, finish

GRANT = Grant("a", frozenset("a"), frozenset([TEAM]))
RESTING = KeyRef("resting", None, "a", TEAM)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    linked = finish(build([*(step for pair in zip(OWN, FOREIGN, strict=True) for step in pair),
                           *LINKS]))  # fmt: skip
    yield linked
    linked.store.close()


def ask(world: World, call: Call[Any], grant: Grant = GRANT) -> Any:
    answer: Any = handle(core_of(world.store), grant, call)
    if call.shape == "pages":
        return [item for page in iter(answer.next_page, []) for item in page]
    return answer


class TestWhy:
    def test_evidence_of_a_value_is_hidden_and_makes_nothing_stale(self, world: World) -> None:
        reason = ask(world, Why(RESTING))
        assert [(item.kind, item.hidden, item.ref is None) for item in reason.because] == [
            *((kind, True, True) for kind in ("memory", "fact", "transcript", "key")),
            ("memory", False, False),
        ]
        assert reason.because[0].summary == "a memory that 'a' may not see"
        assert not reason.is_stale
        assert ask(world, Why(RESTING), Grant("a")).is_stale

    def test_what_a_memory_reflects_on_is_hidden(self, world: World) -> None:
        reason = ask(world, Why(MemoryRef(world.ids["reflecting"])))
        (evidence,) = reason.because
        assert (evidence.relation, evidence.hidden) == ("reflects_on", True)
        assert not reason.is_stale

    def test_words_that_a_memory_quotes_are_left_out(self, world: World) -> None:
        reason = ask(world, Why(MemoryRef(world.ids["insight"])))
        assert [item.relation for item in reason.because] == ["reflects_on"]
        assert not any("gone" in node.stale for node in reason.walk())

    def test_a_value_that_rests_on_an_erased_fact_is_stale(self) -> None:
        with memoranda.open(":memory:", embedder=None) as opened:
            store = opened.bind(agent_id="a", namespace=TEAM)
            store.assert_fact(subject="Ann", relation="lives in", object="Bonn")
            (fact,) = store.facts()
            store.write(key="k", value={}, because=fact)
            store.forget(fact=fact)
            (reason,) = handle(core_of(store), GRANT, StaleKeys("a", TEAM)).next_page()  # type: ignore[attr-defined]
            assert [item.stale for item in reason.because] == [("forgotten",)]


class TestOtherAnswers:
    def test_a_replayed_write_names_covered_evidence_alone(self, world: World) -> None:
        for agent_id in ("a", None):
            operations = [
                op for event in ask(world, Replay(agent_id, TEAM)) for op in event.operations
            ]
            writes = [op for op in operations if isinstance(op, Write) and op.key == "resting"]
            assert [op.because for op in writes] == [(MemoryRef(world.ids["home"], 1),)]

    def test_a_notice_does_not_name_the_key_that_changed(self, world: World) -> None:
        def evidence(grant: Grant) -> list[Any]:
            notices = ask(world, Invalidations("a"), grant)
            return [notice.evidence for notice in notices if notice.by == "b"]

        assert KeyRef("plan", 1, "b", TEAM) in evidence(Grant("a"))
        assert [ref for ref in evidence(GRANT) if isinstance(ref, KeyRef)] == []
        assert None in evidence(GRANT)

    def test_nothing_is_superseded_from_elsewhere(self, world: World) -> None:
        home = GetMemory(world.ids["home"])
        assert ask(world, home).superseded_by is None
        assert ask(world, home, Grant("a")).superseded_by == world.ids["x_home"]
        hits = ask(world, Recall(query="Ann lives in Bonn", namespace=TEAM))
        assert world.ids["home"] in {hit.id for hit in hits}

    def test_pages_are_full_whatever_lies_between(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pages, "PAGE_ROWS", 5)
        monkeypatch.setattr(pages.ResumablePages, "rows", 5)
        for call in (Replay(None, TEAM), Replay("a", TEAM), ListMemories(None), AuditEvents()):
            answer: Any = handle(core_of(world.store), GRANT, call)
            sizes = [len(page) for page in iter(answer.next_page, [])]
            assert len(sizes) > 1
            assert all(size >= 5 for size in sizes[:-1])

    def test_an_inbox_of_several_agents_is_not_searched(self, tmp_path: Path) -> None:
        with memoranda.open(tmp_path / "store.db", embedder=None) as opened:
            for agent_id in ("a", "b"):
                agent = opened.bind(agent_id=agent_id, namespace=TEAM)
                insight = agent.reflect("Bonn is fine", on=[agent.remember("Ann lives in Bonn").id])
                agent.reflect("so she stays", on=[insight.id])
                newer = agent.remember("Bonn is not", kind="reflection")
                agent.supersede(old=insight, new=newer)
        inbox = Recall(query="superseded", namespace=f"{TEAM}/_invalidations")
        with open_without_workers(str(tmp_path / "store.db")) as store:
            for _ in range(2):  # before it is indexed, and after
                assert len(handle(core_of(store), Grant("a"), inbox)) > 1
                assert handle(core_of(store), GRANT, inbox) == []
                assert len(handle(core_of(store), Grant("a", None, frozenset([TEAM])), inbox)) > 1
                store.reindex()


class TestScores:
    """The average length of foreign documents changes no score and no rank."""

    @staticmethod
    def hits(foreign_length: int, grant: Grant) -> list[Any]:
        queries = ("word1", "word1 word2 word7", "word3 word3 word39")
        chance = Random(5)
        words = [f"word{number}" for number in range(40)]
        with memoranda.open(":memory:", clock=FixedClock(), ids=FixedIds(), embedder=None) as store:
            with store.bind(agent_id="a", namespace=TEAM).begin_transaction() as transaction:
                for _ in range(500):
                    transaction.remember(" ".join(chance.choices(words, k=chance.randrange(2, 60))))
            if foreign_length:
                with store.bind(agent_id="b", namespace="x").begin_transaction() as transaction:
                    for number in range(100):
                        transaction.remember(" ".join([*words[:9], f"{number} "] * foreign_length))
            store.reindex()
            return [
                [(hit.id, round(hit.score, 9)) for hit in handle(core_of(store), grant, call)]
                for call in (Recall(query=query, namespace=TEAM, k=40) for query in queries)
            ]

    @pytest.mark.slow
    def test_foreign_lengths_do_not_matter(self) -> None:
        grant = Grant("a", None, frozenset([TEAM]))
        alone = self.hits(0, Grant("a"))
        assert [len(hits) for hits in alone] == [40, 40, 40]
        for length in (0, 1, 40):
            assert self.hits(length, grant) == alone
        assert self.hits(40, Grant("a")) != alone

    def test_the_best_by_covered_lengths_are_found(self) -> None:
        """FTS5, whose average is that of many short texts, ranks the best of ours behind others."""
        with memoranda.open(":memory:", embedder=None) as store:
            with store.bind(agent_id="a", namespace=TEAM).begin_transaction() as transaction:
                for number in range(40):
                    transaction.remember(f"apple fill{number} fill")
                for number in range(3):
                    fill = [f"word{number}{place}" for place in range(18)]
                    transaction.remember(" ".join(["apple"] * 6 + fill))
            with store.bind(agent_id="b", namespace="x").begin_transaction() as transaction:
                for number in range(400):
                    transaction.remember(f"short{number}")
            store.reindex()
            engine = CoveredEngine(core_of(store).engine, Coverage(None, frozenset([TEAM])))
            with engine.snapshot() as reader:
                visible = Visibility(None, "a", frozenset(["memory"]), past=False)
                partitions = visible_partitions(reader, visible)
                search = TermSearch(reader, partitions, ["appl"], UnindexedDocuments())
                best = [scored.score for scored in search.best(1_000, None)]
                assert len(best) == 43
                assert best[0] > best[3] * 1.01
                for limit in (1, 2, 3, 4):
                    assert [item.score for item in search.best(limit, None)] == best[:limit]
