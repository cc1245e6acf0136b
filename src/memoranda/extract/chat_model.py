"""An extractor behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from memoranda.errors import InvalidInput, Unavailable
from memoranda.extract import chat_prompt
from memoranda.extract.chat_reply import NoAnswer, read_reply
from memoranda.extract.protocol import ExtractedFact, ExtractedMemory, Extraction, Message, Skipped
from memoranda.extract.relations import SINGLE_VALUED
from memoranda.model.clock import Clock
from memoranda.model.limits import check_text, shown

_WINDOW, _OVERLAP = 12_000, 2_000
_MOST_NAME = 400
_PATH = "chat/completions"


class ChatExtractor:
    """Asks a chat model what a conversation says, and takes what it can quote.

    `url` is the base, such as `https://api.example.com/v1` or `http://localhost:11434/v1`. The key
    is `api_key`, else `MEMORANDA_API_KEY` or `OPENAI_API_KEY` of the environment, else none. A long
    conversation is read `window` characters at a time; the last `overlap` of one are shown again
    with the next, as context. `json_mode` asks the endpoint to let the model speak JSON only;
    switch it off for an endpoint that does not know that.
    """

    single_valued = SINGLE_VALUED
    """One home, one employer and one superior at a time."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 4,
        window: int = _WINDOW,
        overlap: int = _OVERLAP,
        json_mode: bool = True,
        clock: Clock | None = None,
    ) -> None:
        from memoranda.search.endpoint import Endpoint  # who asks no model need not load HTTP

        self._model = check_text("model", model, most_bytes=_MOST_NAME)
        if window < 1 or not 0 <= overlap < window:
            raise InvalidInput("overlap", f"{shown(overlap)} is not from 0 to below {window}")
        self._endpoint = Endpoint(
            url, api_key=api_key, timeout=timeout, retries=retries, clock=clock
        )
        self._window, self._overlap = window, overlap
        self._json_mode = json_mode

    @property
    def name(self) -> str:
        """What it is called: under another model, a transcript is extracted anew."""
        return f"chat/1:{self._model}"

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        """Return what the model says of the messages, as far as they bear it out."""
        memories: list[ExtractedMemory] = []
        facts: list[ExtractedFact] = []
        skipped: list[Skipped] = []
        for context, window in self._windows(messages):
            found = self._ask(chat_prompt.question(context, window, occurred_at), window)
            memories += found.memories
            facts += found.facts
            skipped += found.skipped
        return Extraction(memories=tuple(memories), facts=tuple(facts), skipped=tuple(skipped))

    def _windows(
        self, messages: Sequence[Message]
    ) -> Iterator[tuple[Sequence[Message], Sequence[Message]]]:
        """Yield the messages a window at a time, each after those that stand right before it."""
        first = 0
        while first < len(messages):
            end = first + 1
            room = self._window - len(messages[first].text)
            while end < len(messages) and len(messages[end].text) <= room:
                room -= len(messages[end].text)
                end += 1
            yield self._before(messages, first), messages[first:end]
            first = end

    def _before(self, messages: Sequence[Message], first: int) -> Sequence[Message]:
        begin, room = first, self._overlap
        while begin > 0 and len(messages[begin - 1].text) <= room:
            begin -= 1
            room -= len(messages[begin].text)
        return messages[begin:first]

    def _ask(self, question: str, window: Sequence[Message]) -> Extraction:
        """Ask about one window; an answer that cannot be read is asked for once more."""
        asked = [
            {"role": "system", "content": chat_prompt.INSTRUCTIONS},
            {"role": "user", "content": question},
        ]
        reply = self._reply(asked)
        try:
            return read_reply(reply, window)
        except NoAnswer:
            asked.append({"role": "assistant", "content": reply})
            asked.append({"role": "user", "content": chat_prompt.AGAIN})
        reply = self._reply(asked)
        try:
            return read_reply(reply, window)
        except NoAnswer as error:
            raise Unavailable(
                f"model {self._model!r} answered {shown(reply[:60])}, asked twice ({error}): "
                "try again, or another model"
            ) from error

    def _reply(self, asked: list[dict[str, str]]) -> str:
        body = {"model": self._model, "messages": asked, "temperature": 0}
        if self._json_mode:
            body["response_format"] = {"type": "json_object"}
        answer = self._endpoint.post(_PATH, body)
        try:
            content = answer["choices"][0]["message"]["content"]
        except (TypeError, KeyError, IndexError) as error:
            raise Unavailable(
                f"{self._endpoint.url}/{_PATH} answered {shown(answer)}, which is no completion: "
                "check the address"
            ) from error
        return content if isinstance(content, str) else ""
