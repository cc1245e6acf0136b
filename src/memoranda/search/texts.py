"""Texts: what passages say, and what stands around them, read from what the views say.

Only what is asked for is read: of a memory what it said at one commit, however often it was
changed, and of a transcript, which has to be cut anew, the pieces that are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memoranda.model import codec
from memoranda.search.deriving import (
    Content,
    citations,
    derive,
    memory_words,
    unit_words,
)
from memoranda.search.passages import Key, Passage, Words
from memoranda.search.shelves import FACT, MEMORY
from memoranda.search.sources import Sources
from memoranda.search.transcripts import Cuttings, RememberedCuttings
from memoranda.storage.port import Reader


def text_of(
    reader: Reader, passages: Iterable[Passage], remembered: RememberedCuttings | None = None
) -> dict[Key, Words]:
    """Return the text of passages by their keys; of what is gone meanwhile there is none."""
    keys: dict[str, list[Key]] = {}
    for passage in passages:
        keys.setdefault(passage.kind, []).append(passage.key)
    cuttings = Cuttings(reader, remembered)
    found = dict(_memories(reader, keys.pop(MEMORY, []), cuttings))
    found |= _facts(cuttings, keys.pop(FACT, []))
    for rest in keys.values():
        found |= _pieces(rest, cuttings)
    return found


def _memories(
    reader: Reader, keys: Sequence[Key], cuttings: Cuttings
) -> Iterator[tuple[Key, Words]]:
    if not keys:
        return
    wanted = msgspec.json.encode([(source, since) for _, source, _, since in keys]).decode()
    ids = msgspec.json.encode([*{source for _, source, _, _ in keys}]).decode()
    cited = citations(reader, ids)
    for memory_id, at, stands, title, details, *rest in reader.rows(
        "search_memories_at", wanted=wanted
    ):
        content = Content(*rest)
        if stands and not content.gone:
            then = [each for since, each in cited.get(memory_id, ()) if since <= at]
            text, tags = content.load(reader), codec.decode_details(details).tags
            yield (MEMORY, memory_id, 0, at), memory_words(title, text, tags, then, cuttings)


def _facts(cuttings: Cuttings, keys: Sequence[Key]) -> dict[Key, Words]:
    sources = Sources()
    sources.facts = {source: None for _, source, _, _ in keys}
    return {each.key: each.words(cuttings) for each in derive(cuttings, sources)} if keys else {}


def _pieces(keys: Sequence[Key], cuttings: Cuttings) -> dict[Key, Words]:
    found: dict[Key, Words] = {}
    for key in keys:
        cutting = cuttings.of(key[1])
        number = cutting.at(key[2])
        if number is not None:
            found[key] = unit_words(cutting, number)
    return found
