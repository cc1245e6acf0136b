"""The tail: what is committed and not in the index yet, so that a search finds it at once.

Texts are read when they are asked for: of a long tail, a search takes apart only what can have one
of its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import msgspec

from memoranda.search.folding import folded
from memoranda.search.passages import Derived, Key, Passage, Words
from memoranda.search.plans import difference, look
from memoranda.search.shelves import Shelf, sight_of
from memoranda.search.transcripts import Cuttings, RememberedCuttings
from memoranda.storage.port import Reader

_ALL = -1


class Unindexed:
    """A passage that the index lacks."""

    __slots__ = ("_cuttings", "_derived", "passage")

    def __init__(self, derived: Derived, cuttings: Cuttings) -> None:
        self._derived = derived
        self._cuttings = cuttings
        self.passage = _passage(derived)

    def words(self) -> Words:
        """Return what it says."""
        return self._derived.words(self._cuttings)

    def may_have(self, roots: Iterable[str]) -> bool:
        """Say whether it may have a word; False: it has none that contains any of the roots."""
        if self._derived.unit is not None:
            return self._derived.unit.may_have(roots)
        words = self.words()
        texts = [folded(text) for text in (words.own, words.before, words.after)]
        return any(root in text for root in roots for text in texts)


class Tail(msgspec.Struct, frozen=True, dict=True):
    """Passages that the index lacks, and those it has that are not so any more."""

    unindexed: list[Unindexed] = []
    outdated: frozenset[int] = frozenset()
    remembered: RememberedCuttings | None = None

    @cached_property
    def by_key(self) -> dict[Key, Unindexed]:
        """What the index lacks, by what makes it that passage."""
        return {each.passage.key: each for each in self.unindexed}

    @classmethod
    def read(
        cls,
        reader: Reader,
        *,
        namespaces: Sequence[str] | None,
        viewer: str,
        kinds: Collection[str],
        past: bool = True,
        remembered: RememberedCuttings | None = None,
    ) -> Tail:
        """Return what somebody may see of it, in the same snapshot as the shelves are read in."""
        commits = [commit_ts for commit_ts, _ in reader.rows("to_index_page", most=_ALL)]
        if not commits:
            return cls(remembered=remembered)
        cuttings = Cuttings(reader, remembered)
        seen = look(cuttings, commits)
        found = difference(seen.drawn, seen.known)
        sight = sight_of(namespaces=namespaces, viewer=viewer, kinds=kinds, past=past)
        return cls(
            [Unindexed(each, cuttings) for each in found.lacking if sight.sees(each.spot)],
            frozenset(each.id for each in found.outdated),
            remembered,
        )


def _passage(derived: Derived) -> Passage:
    return Passage(
        None,
        Shelf(None, *derived.spot),
        derived.source,
        derived.first,
        derived.beyond,
        derived.since,
        derived.until,
    )
