"""Every call is defined once, and says what a surface needs to know."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

import memoranda
from memoranda import InvalidInput, PermissionDenied, Store
from memoranda.calls import within
from memoranda.calls.call import Lane, Reach, Shape, Verb, answer_type, call_name
from memoranda.calls.grant import EVERYTHING, NOBODY, Grant
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.log import Cursors, DropCursor
from memoranda.calls.maintenance import GetStats
from memoranda.calls.registry import CALLS, HANDLERS, WRITES, handle
from memoranda.model.coverage import Coverage
from memoranda.model.limits import Limits
from memoranda.model.scope import Scope
from memoranda.storage.coverage import CoveredEngine
from tests.cores import core_of


@pytest.mark.parametrize("kind", [*HANDLERS, *WRITES], ids=call_name)
def test_a_call_says_what_it_is(kind: Any) -> None:
    assert kind.verb in get_args(Verb)
    assert kind.reach in get_args(Reach)
    assert kind.shape in get_args(Shape)
    assert kind.lane in get_args(Lane)
    assert inspect.getdoc(kind)
    assert answer_type(kind) is not inspect.Signature.empty


@pytest.mark.parametrize("kind", set(HANDLERS) - set(within.HANDLERS), ids=call_name)
def test_a_handler_takes_its_call(kind: Any) -> None:
    handler = inspect.signature(HANDLERS[kind])
    assert [*handler.parameters.values()][2].annotation == kind.__name__
    assert ("progress" in handler.parameters) == (kind.lane == "long")


def test_names_are_those_of_the_sdk() -> None:
    renamed = {
        "rebuild_views": "rebuild",
        "get_stats": "stats",
        "load_transcript": "get_transcript",
        "begin": "begin_transaction",
        "make_backup": "backup",
        "make_fork": "fork",
        "preview_erasure": "forget",
    }
    unknown = {name for name in CALLS if not hasattr(Store, renamed.get(name, name))}
    assert unknown == {
        # A transaction, as a client sends it.
        "ask_within", "list_within", "commit", "refusals", "find_title", "find_event_time",
        # What a client asks when it connects.
        "describe_store",
        # Parts of a longer call.
        "acknowledge", "count_asserted", "find_same_transcript", "get_committed_items",
        "unused_relations", "get_head",
    }  # fmt: skip


class TestGrant:
    def test_everything_is_covered(self) -> None:
        assert EVERYTHING.covers("any", "one")
        assert EVERYTHING.scope("n", "a", Limits()) == Scope("n", "a")
        assert EVERYTHING.acting("a") == "a"
        assert Grant("b").acting("a") == "b"

    def test_a_namespace_covers_those_below_it(self) -> None:
        grant = Grant("a", frozenset("ab"), frozenset(["team/x"]))
        assert grant.covers("team/x", "a")
        assert grant.covers("team/x/deep", "b")
        assert not grant.covers("team/xy", "a")
        assert not grant.covers("team", "a")
        assert not grant.covers("team/x", "c")

    def test_what_is_not_covered_reads_as_nothing(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            store.write(agent_id="a", key="k", value={"n": 1})
            grant, core = Grant("b", frozenset("b")), core_of(store)
            assert handle(core, grant, GetState("a", "default", "k")) is None
            assert handle(core, grant, ListKeys("a", "default")).next_page() == []  # type: ignore[attr-defined]
            with pytest.raises(InvalidInput, match="namespace"):  # as for what does not exist
                handle(core, grant, GetState("a", "a//b", "k"))

    def test_writing_where_nothing_is_covered_is_denied(self) -> None:
        grant = Grant("a", frozenset("a"), frozenset(["team"]))
        assert grant.scope("team/x", "a", Limits(), writing=True) == Scope("team/x", "a")
        for place, agent in (("team", "b"), ("teams", "a")):
            with pytest.raises(PermissionDenied, match=f"agent '{agent}' in namespace '{place}'"):
                grant.scope(place, agent, Limits(), writing=True)
        with pytest.raises(InvalidInput, match="engine's own"):
            grant.scope("team/_x", "a", Limits(), writing=True)

    def test_nothing_is_private_to_a_viewer_that_is_not_covered(self) -> None:
        grant = Grant(None, frozenset("a"))
        assert grant.owner(grant.acting("a")) == "a"
        assert grant.owner(grant.acting("b")) == NOBODY

    def test_an_engine_of_covered_rows_does_nothing_else(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            engine = CoveredEngine(core_of(store).engine, Coverage(frozenset("a")))
            assert engine.path is None
            assert not engine.is_closed
            for refused in (engine.write, engine.query, engine.copy_to, engine.footprint):
                with pytest.raises(PermissionDenied):
                    refused()

    def test_a_verb_that_is_not_granted(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            reader = Grant(verbs=frozenset(["read"]))
            assert handle(core_of(store), reader, Cursors()) == []
            with pytest.raises(PermissionDenied, match="no verb 'admin'"):
                handle(core_of(store), reader, GetStats())
            with pytest.raises(PermissionDenied, match="no verb 'write'"):
                handle(core_of(store), reader, DropCursor("c"))
