"""Names in a clause: of people, places and companies, which English writes with capitals."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_][\w&.'/-]*")
_JOINING = frozenset({"of", "de", "la", "le", "van", "von", "der", "den", "am", "upon", "&", "the"})
_MOST_WORDS = 5
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        i you he she it we they me him her us them my your his our their its mine yours the a an
        this that these those there here what who where when why how which everyone everybody
        someone somebody nobody no one anyone anybody people and but so or also because since if as
        in on at for to from with after before during by of about yes yeah yep nope ok okay well oh
        hi hey hello thanks thank sorry please sure right great good nice cool wow lol btw fyi today
        tonight yesterday tomorrow now then later soon maybe perhaps not never always sometimes just
        only even both all some any most many few each every another other monday tuesday wednesday
        thursday friday saturday sunday january february march april may june july august september
        october november december mum mom dad work home however although though while still again
        god dear nothing something anything everything first last next
        """,
    )
)
"""What begins with a capital and is no name."""


def name_at(text: str, *, most: int = _MOST_WORDS) -> tuple[str, str] | None:
    """Return the name that a text begins with, and what follows it."""
    words: list[str] = []
    place, end = 0, 0
    while len(words) < most:
        found = _WORD.match(text, place)
        if found is None:
            break
        word = found.group().rstrip(".'/-")
        joins = word in _JOINING and bool(words)
        if not joins and not _is_capital(word):
            break
        words.append(word)
        if not joins:
            end = found.start() + len(word)
        if len(found.group()) > len(word) or text[found.end() : found.end() + 1] != " ":
            break
        place = found.end() + 1
    name = text[:end]
    if not name or name.split()[0].lower() in _NO_NAMES or _is_owner(name, text[end:]):
        return None
    return name, text[end:]


def _is_capital(word: str) -> bool:
    return word[:1].isupper() or (word[:1].isdigit() and any(map(str.isupper, word)))


def _is_owner(name: str, rest: str) -> bool:
    """Say whether it is only whose something is, as in `Bob's house`; `McDonald's` is not."""
    return name.endswith(("'s", "s'")) and rest[:1] == " " and rest[1:2].islower()
