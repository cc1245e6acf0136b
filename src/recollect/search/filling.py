"""Filling: bringing the index to what the views say, behind the commits and in short writes.

Which commits are not in the index yet is a list that is written with them. What these speak of is
derived anew and compared with what the index has, so filling anything twice changes nothing, and
who dies in between loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, takewhile

import msgspec

from recollect.log.failpoints import Failpoint, pass_by
from recollect.model.clock import SystemClock
from recollect.search.deriving import derive
from recollect.search.passages import Derived, Indexed, Words, indexed
from recollect.search.shelves import Spot
from recollect.search.sources import Sources
from recollect.search.words import indexed_tokens
from recollect.storage.port import Engine, Progress, Reader, Row, Writer

AT_ONCE = 256
"""How many commits are indexed in one storage transaction at most."""
MOST_PASSAGES = 2_048
"""How many passages are, about."""
MUCH = 512
"""With more passages than this waiting, who searches fills the index first."""
BRIEFLY = 0.25
"""How many seconds who searches waits for others who write, for so much that it fills the index."""
NOT_LONG = 5.0
"""How many at most, however much it is."""
_A_TURN = 0.001


class Difference(msgspec.Struct, frozen=True):
    """What the index lacks, and what it has that is not so any more."""

    lacking: list[Derived]
    outdated: list[Indexed]


def backlog(reader: Reader) -> int:
    """Return how many commits are not in the index yet."""
    return _waiting(reader)[0]


def work(reader: Reader) -> int:
    """Return about how many passages are not in the index yet."""
    return _waiting(reader)[1]


def _waiting(reader: Reader) -> tuple[int, int]:
    commits, passages = reader.row("to_index_totals") or (0, 0)
    return commits, passages


def fill(
    engine: Engine,
    *,
    most_commits: int | None = None,
    progress: Progress | None = None,
    wait: float | None = None,
) -> int:
    """Index what waits, in short writes between which others can commit; return how many commits.

    `most_commits` bounds what is begun; what one commit has too much of at once stays on the list.
    `wait` bounds how long others who write are waited for, each time.
    """
    with engine.reading() as reader:
        whole = backlog(reader)
    bound = whole if most_commits is None else min(most_commits, whole)
    done = 0
    while done < bound:
        taken = engine.write(partial(_fill, most=min(AT_ONCE, bound - done)), wait=wait)
        if taken is None:
            break
        done += taken
        if progress is not None:
            progress(done, whole)
        give_way()
    return done


def give_way() -> None:
    """Let those have their turn who wait to write: taking it again at once would keep them out."""
    SystemClock().sleep(_A_TURN)


def fill_some(engine: Engine, failpoint: Failpoint = pass_by, *, wait: float | None = None) -> None:
    """Index the oldest of what waits, in one short write."""

    def some(writer: Writer) -> None:
        _fill(writer, AT_ONCE)
        failpoint("indexing")

    engine.write(some, wait=wait)
    failpoint("indexed")


def fill_if_much(engine: Engine) -> None:
    """Index what waits, if that is more than a search should look through.

    Raises `StoreBusy` if others write for long: a search can look through it all the same. About
    as long as that would take they are waited for, as they may be filling the index themselves.
    """
    with engine.reading() as reader:
        much = work(reader)
    if much > MUCH:
        fill(engine, wait=min(BRIEFLY * much / MUCH, NOT_LONG))


def _fill(writer: Writer, most: int) -> int | None:
    """Index the first commits on the list, and return how many are done; None: there are none."""
    rows = writer.rows("to_index_page", most=most)
    if not rows:
        return None
    sizes = accumulate(size for _, size in rows)
    fitting = sum(1 for _ in takewhile(lambda size: size <= MOST_PASSAGES, sizes))
    commits = [commit_ts for commit_ts, _ in rows[: max(fitting, 1)]]
    found = difference(writer, commits)
    whole = len(found.lacking) <= MOST_PASSAGES
    Index(writer).change(found.outdated, found.lacking[:MOST_PASSAGES])
    if not whole:
        return 0
    for commit_ts in commits:
        writer.put("to_index_done", commit_ts)
    return len(commits)


def difference(reader: Reader, commits: Sequence[int]) -> Difference:
    """Return how the index differs from what the views say of what commits speak of."""
    sources = Sources.of_commits(reader, commits)
    known = {each.key: each for each in indexed(reader, sources.all)}
    lacking: list[Derived] = []
    for derived in derive(reader, sources):
        found = known.get(derived.key)
        if found is not None and found.is_as(derived):
            del known[derived.key]
        else:
            lacking.append(derived)
    return Difference(lacking, [*known.values()])


class Index:
    """Changes the index's tables; every shelf's figures are written when all is done."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._shelves: dict[Spot, int] = {}
        self._changes: dict[int, list[int]] = {}

    def change(self, outdated: Sequence[Indexed], lacking: Sequence[Derived]) -> None:
        """Take passages out, and put others in; one that only moves takes its vector along."""
        moving = {each.key: each.id for each in outdated}
        for each in outdated:  # all of them first: the index of words is quicker in order
            self._take_out(each)
        words: list[Row] = []
        for derived in lacking:
            number, columns = self._put(derived)
            words.append((number, *columns))
            old = moving.pop(derived.key, None)
            if old is not None:
                self._writer.put("vector_move", number, old)
        for old in moving.values():
            self._writer.put("vector_remove", old)
        # behind all the rest: a statement that may have to be undone on its own, as one is that
        # returns something, makes the index of words write out what it has gathered so far
        self._writer.put_all("words_add", words)
        self._settle()

    def erase(self, passages: Sequence[Indexed]) -> None:
        """Take out what was erased, and shelves on which nothing is left."""
        for each in passages:
            self._take_out(each, erased=1)
            self._writer.put("vector_remove", each.id)
        self._settle()
        self._writer.run("shelf_prune")

    def _take_out(self, passage: Indexed, *, erased: int = 0) -> None:
        self._writer.put("words_remove", passage.id)
        self._writer.put("passage_remove", passage.id)
        self._count(passage.shelf, -1, -passage.length, erased)

    def _put(self, derived: Derived) -> tuple[int, tuple[str, ...]]:
        """Add a passage, and return its number and its words, which are not in the index yet."""
        shelf = self._shelf(derived.spot)
        columns, length = columns_of(shelf, derived.words())
        number = self._writer.add(
            "passage_add",
            shelf,
            derived.source,
            derived.first,
            derived.beyond,
            derived.since,
            derived.until,
            length,
        )
        self._count(shelf, 1, length, 0)
        return number, columns

    def _shelf(self, spot: Spot) -> int:
        known = self._shelves.get(spot)
        if known is None:
            namespace, owner, kind, past = spot
            values = (namespace, owner, kind, int(past))
            row = self._writer.find("shelf_find", *values)
            known = self._shelves[spot] = row[0] if row else self._writer.add("shelf_add", *values)
        return known

    def _count(self, shelf: int, size: int, length: int, removals: int) -> None:
        counted = self._changes.setdefault(shelf, [0, 0, 0])
        counted[0] += size
        counted[1] += length
        counted[2] += removals

    def _settle(self) -> None:
        for shelf, (size, length, removals) in self._changes.items():
            self._writer.put("shelf_change", size, length, removals, shelf)
        self._changes.clear()


def columns_of(shelf: int, words: Words) -> tuple[tuple[str, ...], int]:
    """Return the columns of a passage on a shelf, and how many tokens they have."""
    parts = [indexed_tokens(part) for part in (words.own, words.before, words.after)]
    columns = (" ".join([f"{shelf}.{token}" for token in part]) for part in parts)
    return tuple(columns), sum(map(len, parts))
