"""The tree as a store keeps it: every fourth level of complete nodes, filled behind the commits.

Of a million events that is a row for every fifteen. What lies between two kept levels is hashed
again from at most eight rows; level 0 is hashed from the events themselves. How far it reaches is a
watermark, raised in the same storage transaction as the nodes are written, so the tree is whole up
to there whoever dies, and several processes can fill it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256

from memoranda.audit.merkle import Frontier, Node, Tree, leaf_hash, node_hash
from memoranda.errors import ChainBroken, Corruption
from memoranda.log import pages
from memoranda.storage.port import Engine, Progress, Reader, Writer

STRIDE = 4
"""Every so many levels are kept."""
BATCH = 4096
"""How many events are hashed between two short writes."""
_MARK = "tree"
_BLOCK = 1 << STRIDE


class KeptNodes:
    """The nodes of a store's tree, for the tree to read; nothing is kept through it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, level: int, index: int) -> bytes:
        """Return a complete node's hash, or raise `Corruption` if what it is made of is missing."""
        kept = level - level % STRIDE
        width = 1 << (level - kept)
        hashes = self._row_of(kept, index * width, width)
        while len(hashes) > 1:
            hashes = [node_hash(*hashes[at : at + 2]) for at in range(0, len(hashes), 2)]
        return hashes[0]

    def put(self, level: int, index: int, node: bytes) -> None:
        """Refuse: `grow` writes nodes, together with the watermark."""
        raise NotImplementedError("the tree grows by `grow` only")

    def _row_of(self, level: int, first: int, width: int) -> list[bytes]:
        if level == 0:
            return [leaf_hash(data) for data in _hashes(self._reader, first, first + width)]
        rows = self._reader.rows("tree_nodes", level=level, first=first, beyond=first + width)
        kept = {place: bytes(found) for place, found in rows}
        for place in range(first, first + width):
            if place not in kept:
                raise damaged(level, place, "is missing")
        return [*kept.values()]


def size(reader: Reader) -> int:
    """Return how many events the tree covers; never more than there are."""
    row = reader.row("meta_get", name=_MARK)
    if row is None:
        return 0
    told = str(row[0])
    if not told.isdecimal() or int(told) > pages.head_commit(reader):
        raise Corruption(
            f"the tree is said to cover {row[0]!r} events, which the log does not have: if the "
            "log is whole, `memoranda rebuild` makes the tree anew"
        )
    return int(told)


def at(reader: Reader) -> Tree:
    """Return the tree as far as it is filled."""
    return Tree(KeptNodes(reader), size(reader))


def grow(engine: Engine, through: int, progress: Progress | None = None) -> None:
    """Fill the tree up to a commit, in short writes between which others can commit."""
    while True:
        with engine.snapshot() as reader:
            begun = size(reader)
            if begun >= through:
                return
            end = min(begun + BATCH, through)
            nodes = _completed(at(reader), _hashes(reader, begun, end))
        engine.write(partial(_keep, begun=begun, nodes=nodes, end=end))
        if progress is not None:
            progress(end, through)


def refill(engine: Engine, progress: Progress | None = None) -> bool:
    """Make the tree anew, as far as it reached, and say whether it had been as it must be."""
    reach, before = engine.write(_clear)
    grow(engine, reach, progress)
    with engine.snapshot() as reader:
        return before == _digest(reader)


def _clear(writer: Writer) -> tuple[int, bytes]:
    """Empty the tree, and return how far it reached and a digest of what it was."""
    before = _digest(writer)
    try:
        reach = size(writer)
    except Corruption:
        reach, before = pages.head_commit(writer), b""
    writer.run("tree_clear")
    writer.run("meta_set", name=_MARK, value="0")
    return reach, before


def expected_rows(leaves: int) -> int:
    """Return how many nodes are kept of a tree with so many leaves."""
    count = 0
    while leaves := leaves >> STRIDE:
        count += leaves
    return count


def extend(frontier: Frontier, hashes: Sequence[bytes]) -> list[Node]:
    """Append leaves, and return those of the nodes they complete that a store keeps."""
    found: list[Node] = []
    done = 0
    while done < len(hashes):
        block = hashes[done : done + _BLOCK]
        if len(block) < _BLOCK or frontier.size % _BLOCK:
            block, completed = block[:1], frontier.append(block[0])
        else:
            completed = frontier.append_block(block)
        done += len(block)
        found += [node for node in completed if node.level and not node.level % STRIDE]
    return found


def damaged(level: int, place: int, what: str) -> Corruption:
    """Return the error about a node, which says the events below it."""
    first, last = (place << level) + 1, (place + 1) << level
    return Corruption(
        f"the tree's node over commits {first} to {last} {what}: if `memoranda verify` finds "
        "nothing else wrong, `memoranda rebuild` makes the tree anew"
    )


def _completed(tree: Tree, hashes: Sequence[bytes]) -> list[Node]:
    return extend(Frontier(tree.size, tree.peaks), hashes)


def _keep(writer: Writer, begun: int, nodes: Sequence[Node], end: int) -> None:
    if size(writer) != begun:  # another process was faster
        return
    for node in nodes:
        writer.put("tree_node_put", node.level, node.index, node.hash)
    writer.run("meta_set", name=_MARK, value=str(end))


def _hashes(reader: Reader, first: int, beyond: int) -> list[bytes]:
    """Return the data of these leaves: the event's hash of each."""
    rows = reader.rows("event_hashes", after=first, through=beyond)
    for expected, row in enumerate(rows, start=first + 1):
        if row[0] != expected:
            raise ChainBroken(expected, "it is missing")
    if len(rows) < beyond - first:
        raise ChainBroken(first + len(rows) + 1, "it is missing")
    return [bytes(found) for _, found in rows]


def _digest(reader: Reader) -> bytes:
    digest = sha256()
    for row in reader.stream("tree_rows"):
        digest.update(repr(row).encode())
    return digest.digest()
