"""Events that clients send to hooks on stdin, and the form of the answers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

MAX_INPUT_BYTES = 4 * 2**20
"""Bytes of an event that are read: far more than a prompt has."""
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR")
_SESSION_FIELDS = ("session_id", "conversation_id", "sessionId")
_CONTEXT_EVENTS = {"session-start", "prompt"}
"""Events whose answer reaches the assistant."""


class HookEvent(msgspec.Struct, frozen=True):
    """The data of an event that a client sent; every field may be missing."""

    name: str = ""
    """The event as the client calls it."""
    session: str | None = None
    transcript: Path | None = None
    project: Path | None = None
    prompt: str = ""


def read_event(stream: BinaryIO | None) -> HookEvent:
    """Read an event; invalid JSON and missing members give empty fields."""
    if stream is None or stream.isatty():
        return _event({})
    try:
        members = json.loads(stream.read(MAX_INPUT_BYTES))
    except (ValueError, RecursionError):
        members = {}
    return _event(members if isinstance(members, dict) else {})


def _event(members: Mapping[str, Any]) -> HookEvent:
    session = next((text for name in _SESSION_FIELDS if (text := _text(members, name))), None)
    transcript = _text(members, "transcript_path")
    return HookEvent(
        name=_text(members, "hook_event_name"),
        session=session,
        transcript=Path(transcript).expanduser() if transcript else None,
        project=_project(members),
        prompt=_text(members, "prompt"),
    )


def _project(members: Mapping[str, Any]) -> Path | None:
    """Return the project folder of the client; an assistant may change its working directory."""
    roots = members.get("workspace_roots")
    candidates = [
        *(os.environ.get(name) for name in _PROJECT_VARIABLES),
        *(roots if isinstance(roots, list) else ()),
        members.get("cwd"),
    ]
    texts = (text for text in candidates if isinstance(text, str) and text and "\0" not in text)
    return next((Path(text) for text in texts), None)


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) and (name == "prompt" or "\0" not in value) else ""


def answer(client: str | None, event: str, name: str, digest: str) -> str:
    """Return a digest in the form that a client passes on to its assistant.

    Claude Code and Codex take plain text. The other clients take only JSON, even for an empty
    answer.
    """
    if client == "gemini":
        if not digest or event not in _CONTEXT_EVENTS:
            return "{}"
        context = {"hookEventName": name or event, "additionalContext": digest}
        return _json({"hookSpecificOutput": context})
    if client == "cursor":
        members = {"continue": True} if event == "prompt" else {}
        return _json({**members, **({"additional_context": digest} if digest else {})})
    return digest


def _json(members: Mapping[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=False)
