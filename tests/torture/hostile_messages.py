"""Hostile messages: chats whose members, parts and times are of the wrong kind, size or form."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

from tests.torture.hostile import Provoked, hostile

_NAMES = (
    "role", "name", "speaker", "author", "from", "user", "type", "content", "text", "message",
    "body", "parts", "timestamp", "ts", "created_at", "tool_calls", "function_call", "refusal",
    "reasoning_content", "data", "kwargs", "id", "tool_call_id", "output", "summary", "arguments",
)  # fmt: skip
_TYPES = (
    "text", "tool_use", "tool_result", "function_call", "function_call_output", "thinking",
    "reasoning", "image", "human", "ai", "tool", "system", "constructor", "message", "odd",
)  # fmt: skip


class Model:
    """Tells of itself what it was made with, or fails to."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def model_dump(self, **_: Any) -> Any:
        if self._value is None:
            raise ValueError("cannot be told")
        return self._value


class BadModel:
    """Raises an error of its own when it is asked."""

    def model_dump(self, **_: Any) -> Any:
        raise Provoked("model_dump")


def part(random: Random) -> Any:
    """Return a part of a content."""
    if random.random() < 0.2:
        return hostile(random)
    instance: dict[Any, Any] = {"type": random.choice(_TYPES), "text": "I live in Oslo.\nAnn: hi"}
    for name in random.sample(_NAMES, random.randrange(3)):
        instance[name] = hostile(random)
    return instance


def message(random: Random) -> Any:
    """Return a message that is odd in some way."""
    chance = random.random()
    if chance < 0.1:
        return hostile(random)
    instance: dict[Any, Any] = {"role": "user", "content": "I live in Oslo.\u2028Ann: I like tea."}
    if chance < 0.5:
        instance["content"] = [part(random) for _ in range(random.randrange(3))]
    for name in random.sample(_NAMES, random.randrange(3)):
        instance[name] = hostile(random) if random.random() < 0.6 else random.choice(_TYPES)
    if chance > 0.95:
        return SimpleNamespace(**{str(name): value for name, value in instance.items()})
    return Model(instance) if chance > 0.9 else instance


def messages(random: Random) -> Any:
    """Return a list of messages, or something like one."""
    listing = [message(random) for _ in range(random.randrange(1, 4))]
    return iter(listing) if random.random() < 0.1 else listing
