"""The stored Merkle tree: every fourth level of complete nodes, filled after the commits.

That is one row for every 15 events. A node between two stored levels is computed from at most
eight rows of the stored level below it; level 0 is computed from the events themselves. A watermark
in `meta` (the tree's size) is raised in the same storage transaction that writes the nodes, so the
tree is complete up to it after any crash, and several processes can fill it.
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
"""Distance between two stored levels: 4 means one row for 15 events, and 8 rows read at most."""
BATCH = 4096
"""Events hashed per write transaction: large enough to be fast, short enough for other writers."""
_SIZE_NAME = "tree"
_BLOCK = 1 << STRIDE
"""Leaves of a complete node of the lowest stored level."""


class StoredNodes:
    """The stored nodes as `merkle.Nodes`, read-only: `grow` writes them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, level: int, index: int) -> bytes:
        """Return a complete node's hash, or raise `Corruption` if a row for it is missing."""
        stored_level = level - level % STRIDE
        width = 1 << (level - stored_level)
        hashes = self._stored_level(stored_level, index * width, width)
        while len(hashes) > 1:
            hashes = [node_hash(*hashes[at : at + 2]) for at in range(0, len(hashes), 2)]
        return hashes[0]

    def put(self, level: int, index: int, node: bytes) -> None:
        """Raise: `grow` writes nodes, together with the watermark."""
        raise NotImplementedError("the tree grows by `grow` only")

    def _stored_level(self, level: int, first: int, width: int) -> list[bytes]:
        if level == 0:
            return [leaf_hash(data) for data in _event_hashes(self._reader, first, first + width)]
        rows = self._reader.rows("tree_nodes", level=level, first=first, end=first + width)
        hashes = {place: bytes(digest) for place, digest in rows}
        for place in range(first, first + width):
            if place not in hashes:
                raise node_error(level, place, "is missing")
        return [*hashes.values()]


def size(reader: Reader) -> int:
    """Return the number of events that the tree covers, or raise if the log has fewer."""
    row = reader.row("meta_get", name=_SIZE_NAME)
    if row is None:
        return 0
    value = str(row[0])
    if not value.isdecimal() or int(value) > pages.head_commit(reader):
        raise Corruption(
            f"the tree's size is stored as {row[0]!r}, and the log has fewer events: if the log is "
            "complete, run `memoranda rebuild` to rebuild the tree"
        )
    return int(value)


def load_tree(reader: Reader) -> Tree:
    """Return the tree up to its watermark."""
    return Tree(StoredNodes(reader), size(reader))


def grow(engine: Engine, through: int, progress: Progress | None = None) -> None:
    """Extend the tree to a commit, in short write transactions that let others commit between."""
    while True:
        with engine.snapshot() as reader:
            start_size = size(reader)
            if start_size >= through:
                return
            end = min(start_size + BATCH, through)
            nodes = _complete_nodes(load_tree(reader), _event_hashes(reader, start_size, end))
        engine.write(partial(_store_nodes, start_size=start_size, nodes=nodes, end=end))
        if progress is not None:
            progress(end, through)


def rebuild(engine: Engine, progress: Progress | None = None) -> bool:
    """Rebuild the tree up to its old size, and return whether the old rows were correct."""
    reach, before = engine.write(_clear)
    grow(engine, reach, progress)
    with engine.snapshot() as reader:
        return before == _digest(reader)


def _clear(writer: Writer) -> tuple[int, bytes]:
    """Delete the tree, and return its size and a digest of its rows."""
    before = _digest(writer)
    try:
        reach = size(writer)
    except Corruption:
        reach, before = pages.head_commit(writer), b""
    writer.run("tree_clear")
    writer.run("meta_set", name=_SIZE_NAME, value="0")
    return reach, before


def expected_rows(leaves: int) -> int:
    """Return the number of stored nodes of a tree with this many leaves."""
    count = 0
    while leaves := leaves >> STRIDE:
        count += leaves
    return count


def extend(frontier: Frontier, hashes: Sequence[bytes]) -> list[Node]:
    """Append leaves, and return the completed nodes that are stored.

    Blocks of 16 leaves are hashed at once: the levels inside a block are not stored.
    """
    stored_nodes: list[Node] = []
    offset = 0
    while offset < len(hashes):
        block = hashes[offset : offset + _BLOCK]
        if len(block) < _BLOCK or frontier.size % _BLOCK:
            block, completed = block[:1], frontier.append(block[0])
        else:
            completed = frontier.append_block(block)
        offset += len(block)
        stored_nodes += [node for node in completed if node.level and not node.level % STRIDE]
    return stored_nodes


def node_error(level: int, place: int, problem: str) -> Corruption:
    """Return an error that names the commits below a node."""
    first, last = (place << level) + 1, (place + 1) << level
    return Corruption(
        f"the tree's node over commits {first} to {last} {problem}: if `memoranda verify` finds "
        "nothing else wrong, run `memoranda rebuild` to rebuild the tree"
    )


def _complete_nodes(tree: Tree, hashes: Sequence[bytes]) -> list[Node]:
    return extend(Frontier(tree.size, tree.peaks), hashes)


def _store_nodes(writer: Writer, start_size: int, nodes: Sequence[Node], end: int) -> None:
    if size(writer) != start_size:  # another process has extended it
        return
    for node in nodes:
        writer.put("tree_node_put", node.level, node.index, node.hash)
    writer.run("meta_set", name=_SIZE_NAME, value=str(end))


def _event_hashes(reader: Reader, first: int, end: int) -> list[bytes]:
    """Return the data of these leaves: the hashes of the events."""
    rows = reader.rows("event_hashes", after=first, through=end)
    for commit_ts, row in enumerate(rows, start=first + 1):
        if row[0] != commit_ts:
            raise ChainBroken(commit_ts, "it is missing")
    if len(rows) < end - first:
        raise ChainBroken(first + len(rows) + 1, "it is missing")
    return [bytes(digest) for _, digest in rows]


def _digest(reader: Reader) -> bytes:
    digest = sha256()
    for row in reader.stream("tree_rows"):
        digest.update(repr(row).encode())
    return digest.digest()
