"""What a transcript is made of before it is staged: the bytes to keep, and the text they are."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.errors import InvalidInput
from memoranda.memory import chat_json
from memoranda.memory.rendering import MESSAGES, TEXT, Rendering, render, render_stored
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_text
from memoranda.model.packing import digest_of


class Spoken(msgspec.Struct, frozen=True):
    """A text, or messages and the text that they become."""

    content: bytes
    """What is kept and hashed: the text's UTF-8, or the messages' JSON."""
    text: bytes
    form: int = TEXT
    rendering: Rendering | None = None

    @property
    def digest(self) -> bytes:
        """The hash of what is kept."""
        return digest_of(self.content)


def check_spoken(given: object, limits: Limits) -> Spoken:
    """Return what is to be kept of a text or of messages, or say what is wrong with it."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray)):
        return spoken_messages(chat_json.plain_messages("text", given, limits), limits)
    text = check_text("text", given, most_bytes=limits.transcript_bytes).encode()
    return Spoken(text, text)


def spoken_messages(messages: list[Document], limits: Limits) -> Spoken:
    """Return what is to be kept of messages that are plain JSON."""
    content = chat_json.encode(messages)
    rendering = render(MESSAGES, messages, "text, message")
    for what, size in (("as JSON", len(content)), ("as text", len(rendering.text))):
        if size > limits.transcript_bytes:
            raise InvalidInput(
                "text", f"has {size} bytes {what}, and the limit is {limits.transcript_bytes}"
            )
    return Spoken(content, rendering.text, MESSAGES, rendering)


def rendering_of(form: int, content: bytes) -> Rendering | None:
    """Return kept content with the places of its messages; None, if it was given as text."""
    return None if form == TEXT else render_stored(form, chat_json.decode(content))
