"""Queries that are odd: whatever is asked is text, and what cannot be answered is refused."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidInput, Store
from memoranda.testing import memory_store
from tests.embedders import Hashing


@pytest.fixture(params=["words", "words and vectors"])
def agent(request: pytest.FixtureRequest) -> Store:
    embedder = None if request.param == "words" else Hashing()
    return memory_store(embedder=embedder).bind(agent_id="a1")


@pytest.fixture
def plain() -> Store:
    return memory_store().bind(agent_id="a1")


@pytest.mark.parametrize("query", ["", " ", "\n\t ", "\u3000"])
def test_blank(plain: Store, query: str) -> None:
    with pytest.raises(InvalidInput, match="blank: describe in a few words"):
        plain.recall(query)


def test_too_long(plain: Store) -> None:
    with pytest.raises(InvalidInput, match="102400 bytes of UTF-8, and the limit is 65536"):
        plain.recall("a" * 102_400)


def test_long(agent: Store) -> None:
    memory = agent.remember("the zebra sleeps")
    few, many = (" ".join(f"word{n}" for n in range(count)) for count in (400, 6000))
    assert agent.recall(f"{few} zebra")[0].id == memory.id
    assert agent.recall(f"zebra {many}")[0].id == memory.id
    assert agent.recall(f"{many} zebra")[0].id == memory.id


@pytest.mark.parametrize(
    "query",
    [
        '"a" NEAR(b', "a AND OR NOT b", "own: x*", "((((", '"', "^a", "{own before}: a",
        "1.word", "a.b.c", "'; DROP TABLE words; --", "%", "a -b +c", "\\", "NULL", "*",
    ],
)  # fmt: skip
def test_syntax_is_text(agent: Store, query: str) -> None:
    agent.remember("the zebra sleeps")
    assert agent.recall(query, kinds=["memory"]) in ([], agent.recall("zebra"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the party was great \N{PARTY POPPER}", "\N{PARTY POPPER}"),
        ("北京的秋天很美", "北京"),
        ("私は猫が好きです", "猫が好き"),
        ("私は猫が好きです", "猫"),
        ("물을 마신다", "물"),
        ("ฉันชอบแมว", "แมว"),
        ("הספר על השולחן", "ספר על השולחן"),
        ("الكتاب على الطاولة", "الكتاب"),
        ("Привет, мир", "мир"),
        ("Ein Café in Zürich", "cafe zurich"),
        ("ﬁne print", "fine"),
    ],
)
def test_every_script(agent: Store, text: str, query: str) -> None:
    agent.remember("nothing of the sort")
    memory = agent.remember(text)
    assert agent.recall(query)[0].id == memory.id


def test_nothing_but_common_words(plain: Store) -> None:
    plain.remember("to be or not to be")
    assert plain.recall("to be or not to be") == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"k": 0}, "k"), ({"k": 1001}, "k"), ({"k": True}, "k"), ({"k": "3"}, "k"),
        ({"kinds": ["nonsense"]}, "kinds"), ({"kinds": []}, "kinds"), ({"kinds": 3}, "kinds"),
        ({"tags": "bees"}, "tags"), ({"metadata": [1]}, "metadata"),
        ({"valid_at": "yesterday"}, "valid_at"), ({"known_at": "yesterday"}, "known_at"),
        ({"known_at": -1}, "known_at"), ({"namespace": "a//b"}, "namespace"),
        ({"agent_id": ""}, "agent_id"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(plain: Store, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        plain.recall("bees", **options)
    assert caught.value.field == field


@pytest.mark.parametrize("query", [None, 3, b"bees", "a\0b"])
def test_no_text(plain: Store, query: Any) -> None:
    with pytest.raises(InvalidInput):
        plain.recall(query)
