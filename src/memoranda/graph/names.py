"""Names: what makes two spellings one entity, or one relation."""

from __future__ import annotations

import unicodedata


def normal_name(text: str) -> str:
    """Return the form by which a name is compared: `Works_At` and `works  at` are one name.

    Characters that only look different are made one (NFKC), case is folded, and runs of white
    space and underscores become one space. The form of a form is itself, so a stored one can be
    asked for again. It is empty where the text has nothing to compare: a caller refuses that.
    """
    if text.isascii():  # as most names are, and then only case can differ
        return " ".join(text.lower().replace("_", " ").split())
    # Folding takes letters with several marks apart, so NFKC has to follow it; it has to come
    # before as well, for it makes letters, spaces and underscores of what only looks like them.
    folded = _nfkc(_nfkc(text).casefold())
    return " ".join(folded.replace("_", " ").split())


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
