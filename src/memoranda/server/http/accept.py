"""Content negotiation: choose the media type of an answer."""

from __future__ import annotations

from http import HTTPStatus

from memoranda.server.http.compression import quality
from memoranda.server.http.problems import HttpProblem

_ANYTHING = (None, b"*/*")


def choose(accepted: bytes | None, offered: tuple[bytes, ...]) -> bytes:
    """Return the best of the offered types; the first one if the client has no preference.

    It raises 406 if the client accepts none of them.
    """
    if accepted in _ANYTHING or accepted == offered[0]:
        return offered[0]
    assert accepted is not None, "it is not anything"
    ranges = [_parse(part) for part in accepted.lower().split(b",")]
    best, best_weight = None, 0.0
    for media in offered:
        weight = _weight(media, ranges)
        if weight > best_weight:
            best, best_weight = media, weight
    if best is None:
        types = ", ".join(media.decode() for media in offered)
        raise HttpProblem(HTTPStatus.NOT_ACCEPTABLE, f"this is answered as {types} only")
    return best


def _parse(part: bytes) -> tuple[bytes, float]:
    media, *parameters = part.split(b";")
    weight = next((quality(item) for item in parameters if item.strip().startswith(b"q=")), 1.0)
    return media.strip(), weight


def _weight(media: bytes, ranges: list[tuple[bytes, float]]) -> float:
    """Return the weight of a type: that of the most specific range that has it."""
    group = media.partition(b"/")[0] + b"/*"
    for pattern in (media, group, b"*/*"):
        for name, weight in ranges:
            if name == pattern:
                return weight
    return 0.0
