"""Names of speakers: roles such as `user` get the name of a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda import InvalidInput, Store
from tests.contract.opener import Opener
from tests.unit.cli.runner import Cli

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "I live in Oslo."},
    {"role": "assistant", "content": "I live in a data centre."},
    {"role": "user", "name": "Bob", "content": "I live in Rome."},
]
NAMES = {"user": "Ann", "assistant": "Bot"}


def homes(store: Store) -> set[tuple[str, str]]:
    return {(fact.subject, str(fact.object)) for fact in store.facts(relation="lives in")}


def test_names_are_kept_with_the_messages(agent: Store) -> None:
    transcript = agent.store_transcript(TALK, names=NAMES)
    stored = transcript.messages()
    assert [message.get("name") for message in stored] == ["Ann", "Bot", "Bob"]
    assert [message["role"] for message in stored] == ["user", "assistant", "user"]
    assert transcript.text() == (
        "Ann: I live in Oslo.\nBot: I live in a data centre.\nBob: I live in Rome."
    )
    span = transcript.find("I live in Oslo.")
    assert transcript.text().encode()[slice(*span)] == b"I live in Oslo."
    agent.verify(deep=True)


def test_the_callers_messages_do_not_change(agent: Store) -> None:
    before = [dict(message) for message in TALK]
    agent.store_transcript(TALK, names=NAMES)
    assert before == TALK


def test_facts_are_about_the_person_and_not_about_the_role(agent: Store) -> None:
    for name, city in (("Ann", "Oslo"), ("Eve", "Paris")):
        talk = [{"role": "user", "content": f"I live in {city}."}]
        transcript = agent.store_transcript(talk, names={"user": name})
        agent.extract(transcript.id, extractor="rules")
    assert homes(agent) == {("Ann", "Oslo"), ("Eve", "Paris")}


def test_without_a_name_each_conversation_has_a_user_of_its_own(agent: Store) -> None:
    people = []
    for city, role in (("Oslo", "user"), ("Paris", "human")):
        transcript = agent.store_transcript([{"role": role, "content": f"I live in {city}."}])
        agent.extract(transcript.id, extractor="rules")
        assert transcript.text() == f"{role}: I live in {city}.", "as it was stored"
        people.append((f"{role} {transcript.id[-6:]}", city))
    assert homes(agent) == {*people}
    assert {memory.content for memory in agent.list_memories(content=True)} == {
        f"{person}: I live in {city}." for person, city in people
    }


def test_a_named_machine_states_no_facts(agent: Store) -> None:
    report = agent.import_chat(TALK, names=NAMES, extractor="rules")
    assert homes(agent) == {("Ann", "Oslo"), ("Bob", "Rome")}
    again = agent.import_chat(TALK, names=NAMES)
    assert (again.already, again.transcript_id) == (True, report.transcript_id)
    assert not agent.import_chat(TALK, names={"user": "Eve"}).already


def test_the_command_line_takes_names_too(reopen: Opener, tmp_path: Path) -> None:
    agent = reopen(embedder=None).bind(agent_id="planner")
    chat = agent.import_chat(TALK, names=NAMES)
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(TALK), "utf-8")
    options = [item for role, name in NAMES.items() for item in ("--name", f"{role}={name}")]
    row = Cli(tmp_path).row("import", "chat", file, *options)
    assert (row["transcript_id"], row["already"]) == (chat.transcript_id, True)


def test_names_can_be_given_for_an_extraction_alone(agent: Store) -> None:
    transcript = agent.store_transcript(TALK)
    agent.extract(transcript.id, extractor="rules", names={"user": "Ann"})
    assert homes(agent) == {("Ann", "Oslo"), ("Bob", "Rome")}
    assert "name" not in transcript.messages()[0]
    text = agent.store_transcript("user: I live in Bergen.")
    agent.extract(text.id, extractor="rules", names={"USER": "Eve"})
    assert ("Eve", "Bergen") in homes(agent)


def test_names_are_erased_with_the_messages(agent: Store) -> None:
    transcript = agent.store_transcript(TALK, names={"user": "Quixotical"})
    agent.forget(transcript_id=transcript.id)
    assert not any("Quixotical" in repr(event) for event in agent.replay())
    agent.verify(deep=True)


def test_a_transaction_takes_names_too(agent: Store) -> None:
    with agent.begin_transaction() as tx:
        transcript_id = tx.store_transcript(TALK, names=NAMES)
        tx.remember("Ann's home", transcript=transcript_id, spans=[(5, 20)])
    transcript = agent.get_transcript(transcript_id)
    assert transcript is not None
    assert transcript.text().encode()[5:20] == b"I live in Oslo."


SHAPES: list[Any] = [
    {"type": "human", "content": "I live in Oslo."},
    {"type": "human", "data": {"content": "I live in Oslo."}},
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "HumanMessage"],
        "kwargs": {"content": "I live in Oslo."},
    },
    {"role": "user", "content": [{"type": "text", "text": "I live in Oslo."}]},
    {"role": "User", "content": "I live in Oslo."},
]


@pytest.mark.parametrize("message", SHAPES)
def test_every_shape_of_a_message_gets_its_name(agent: Store, message: Any) -> None:
    transcript = agent.store_transcript([message], names={"user": "Ann"})
    assert transcript.text() == "Ann: I live in Oslo."


def test_a_call_of_a_tool_keeps_the_name_of_the_tool(agent: Store) -> None:
    call = {"type": "function_call", "name": "weather", "arguments": "{}", "call_id": "1"}
    result = {"role": "tool", "name": "weather", "content": "rain", "tool_call_id": "1"}
    words = [{"role": "assistant", "content": "a moment"}, call, result]
    stored = agent.store_transcript(words, names={"assistant": "Bot"}).messages()
    assert [message["name"] for message in stored] == ["Bot", "weather", "weather"]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ({"usr": "Ann"}, "no message without a name has the role 'usr': did you mean 'user'"),
        ({"user": ""}, "is empty"),
        ({"user": 7}, "not text"),
        ({7: "Ann"}, "not text"),
        ("Ann", "is not a mapping"),
        ({"user": "x" * 600}, "limit is 512"),
    ],
)
def test_names_that_fit_nothing_are_refused(agent: Store, names: Any, problem: str) -> None:
    for call in (agent.store_transcript, agent.import_chat):
        with pytest.raises(InvalidInput, match=problem) as refusal:
            call(TALK, names=names)
        assert refusal.value.field.startswith("names")
    with pytest.raises(InvalidInput, match=r"^names"):
        agent.store_transcript("user: hello", names={"user": "Ann"})
    with pytest.raises(InvalidInput, match=r"^names"):
        agent.import_chat("user: hello", names={"user": "Ann"})
    transcript = agent.store_transcript(TALK)
    with pytest.raises(InvalidInput, match=r"^names"):
        agent.extract(transcript.id, extractor="rules", names=names)
