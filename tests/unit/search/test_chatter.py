"""Chatter: what says nothing does not come before what says something about the query."""

from __future__ import annotations

import pytest

from memoranda import Hit, Store
from memoranda.search.ranking.judgement import question_share
from memoranda.testing import memory_store
from tests.embedders import Hashing

CHAT = [
    {"role": "user", "content": "Hi there!"},
    {"role": "assistant", "content": "Hello! How can I help you today?"},
    {"role": "user", "content": "How much is the rent for the flat in Kiel?"},
    {
        "role": "assistant",
        "content": "The landlord wants 900 euros of rent for it, heating included",
    },
    {"role": "user", "content": "Noted."},
    {"role": "assistant", "content": "Sure!"},
    {"role": "user", "content": "And when can I move in?"},
    {"role": "assistant", "content": "The flat is free from the first of May, says the landlord"},
    {"role": "user", "content": "Great, thanks a lot!"},
    {"role": "assistant", "content": "You are welcome!"},
    {"role": "user", "content": "By the way, my sister Ann breeds bees in the garden"},
    {"role": "assistant", "content": "Wow!"},
    {"role": "user", "content": "Ok"},
]
FILLER = {"Noted.", "Sure!", "Hi there!", "You are welcome!", "Great, thanks a lot!", "Wow!", "Ok"}


@pytest.fixture(params=["words", "words and vectors"])
def agent(request: pytest.FixtureRequest) -> Store:
    embedder = None if request.param == "words" else Hashing()
    return memory_store(embedder=embedder).bind(agent_id="a1")


def statements(hits: list[Hit]) -> list[str]:
    """Return what was said, without the speakers."""
    return [hit.text.removeprefix("user: ").removeprefix("assistant: ") for hit in hits]


def remember_chat(agent: Store) -> None:
    """Store a memory for each message, which cites it."""
    words = agent.store_transcript(CHAT)
    for message in CHAT:
        content = message["content"]
        agent.remember(content, transcript=words.id, spans=[words.find(content)])


@pytest.mark.parametrize("kind", ["passage", "memory"])
@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("what is the rent of the flat?", "The landlord wants 900 euros of rent for it"),
        ("when is the flat free?", "The flat is free from the first of May"),
        ("who breeds bees?", "By the way, my sister Ann breeds bees"),
        ("bees in the garden", "By the way, my sister Ann breeds bees"),
    ],
)
def test_filler_stays_behind_what_has_the_words(
    agent: Store, kind: str, query: str, answer: str
) -> None:
    if kind == "memory":
        remember_chat(agent)
    else:
        agent.store_transcript(CHAT)
    result = statements(agent.recall(query, kinds=[kind]))
    assert result[0].startswith(answer)


def test_filler_beside_an_answer_is_not_lifted_above_other_answers(agent: Store) -> None:
    chat = [*CHAT, *CHAT[:2], *CHAT[8:10], *CHAT[4:6]]
    chat += [{"role": "user", "content": f"My {place} has bees now"} for place in ("roof", "yard")]
    agent.store_transcript(chat)
    result = statements(agent.recall("where are there bees?", k=20))
    having = [number for number, text in enumerate(result) if "bees" in text]
    filler = [number for number, text in enumerate(result) if text in FILLER]
    assert len(having) == 3
    assert max(having) < min(filler), result


def test_a_question_stays_behind_its_answer(agent: Store) -> None:
    agent.store_transcript(
        "Ann: Where is the key to the shed?\nBen: The key to the shed is under the mat"
    )
    (first, second) = agent.recall("where is the key to the shed")
    assert first.text.startswith("Ben")
    assert second.parts["statement"] < 1 == first.parts["statement"]


def test_who_does_not_ask_finds_questions_too(agent: Store) -> None:
    agent.store_transcript("Ann: Where is the key to the shed?")
    assert agent.recall("key to the shed")[0].parts["statement"] == 1


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("No.", 0.0),
        ("Why?", 1.0),
        ("なぜ\uff1f", 1.0),
        ("I do. Or not?", 7 / 12),
        ("?!…", 0.0),
    ],
)
def test_how_much_of_a_text_is_a_question(text: str, share: float) -> None:
    assert question_share(text) == pytest.approx(share)


def test_what_everybody_says_again_and_again_says_little(agent: Store) -> None:
    lines = [f"Ann: well, as I always say, thing {number} is what it is" for number in range(40)]
    agent.store_transcript(
        "\n".join([*lines, "Ann: well, as I always say, otters ferment cabbage"])
    )
    hits = {
        hit.text: hit for hit in agent.recall("what things, and otters, does Ann tell of?", k=50)
    }
    rare = hits.pop("Ann: well, as I always say, otters ferment cabbage")
    assert all(hit.parts["information"] < rare.parts["information"] for hit in hits.values())
