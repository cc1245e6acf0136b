"""The tail: what is committed and not in the index yet, so that a search finds it at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from recollect.search.filling import difference
from recollect.search.passages import Derived, Passage, Words
from recollect.search.shelves import Shelf, sight_of
from recollect.storage.port import Reader

_ALL = -1


class Tail(msgspec.Struct, frozen=True):
    """Passages that the index lacks, and those it has that are not so any more."""

    passages: list[tuple[Passage, Words]] = []
    outdated: frozenset[int] = frozenset()

    @classmethod
    def read(
        cls,
        reader: Reader,
        *,
        namespaces: Sequence[str] | None,
        viewer: str,
        kinds: Collection[str],
        past: bool = True,
    ) -> Tail:
        """Return what somebody may see of it, in the same snapshot as the shelves are read in."""
        commits = [commit_ts for commit_ts, _ in reader.rows("to_index_page", most=_ALL)]
        if not commits:
            return cls()
        found = difference(reader, commits)
        sight = sight_of(namespaces=namespaces, viewer=viewer, kinds=kinds, past=past)
        return cls(
            [(_passage(each), each.words()) for each in found.lacking if sight.sees(each.spot)],
            frozenset(each.id for each in found.outdated),
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
