"""The Merkle tree over the log, hashed as RFC 6962 and RFC 9162 say, and what is proven with it.

    leaf(data)        = SHA-256( 0x00 ‖ data )
    node(left, right) = SHA-256( 0x01 ‖ left ‖ right )
    root of nothing   = SHA-256( )

The data of leaf *n* is the hash of event *n + 1*, as the chain made it. A node is *complete* when
it has two to the power of its level leaves below it. Complete nodes never change, so only they are
kept: node (level, index) is over the leaves from index · 2^level on. A new leaf completes as many
of them as its number ends in one bits, which is one besides the leaf on average; every root and
every proof of any size, past sizes too, is put together from O(log n) of them.

Whoever verifies gives data, never leaf hashes: both have 32 bytes, and taking one for the other
would let somebody pass off the inside of the tree as an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Protocol

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import shown

HASH_SIZE = 32
EMPTY_ROOT = sha256().digest()
MOST_LEAVES = 2**63 - 1
"""What a commit number can be."""
_LEAF, _NODE = b"\0", b"\1"


class Node(msgspec.Struct, frozen=True):
    """A complete node: where it stands, and its hash."""

    level: int
    index: int
    hash: bytes


class Nodes(Protocol):
    """Where complete nodes are kept.

    Level 0 is `leaf_hash` of the data, so whoever has the data at hand need not keep that level.
    """

    def get(self, level: int, index: int) -> bytes:
        """Return a complete node's hash; one that is not there is an error of the keeper's."""
        ...

    def put(self, level: int, index: int, node: bytes) -> None:
        """Keep a complete node's hash."""
        ...


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node above two others."""
    return sha256(_NODE + left + right).digest()


class Frontier:
    """The right edge of a tree: what appending needs of it, one hash for each one bit of its size.

    The hashes are the complete nodes that no larger complete node covers, the largest first.
    """

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        _check_size("size", size)
        if len(peaks) != size.bit_count() or any(len(peak) != HASH_SIZE for peak in peaks):
            raise InvalidInput("peaks", f"a tree of {size} leaves has {size.bit_count()} of them")
        self._size = size
        self._peaks = [*peaks]

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._size

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """What to go on from later, together with the size."""
        return tuple(self._peaks)

    def append(self, data: bytes) -> list[Node]:
        """Add a leaf, and return the nodes that are complete now and were not before."""
        _check_size("size", self._size + 1)
        return self._complete(Node(0, self._size, leaf_hash(data)))

    def append_block(self, data: Sequence[bytes]) -> list[Node]:
        """Add as many leaves as are below one complete node, and return that one and those above.

        It is `append` for each of them, done at once; so many leaves must fit behind those there.
        """
        count = len(data)
        _check_size("size", self._size + count)
        if not count or count & (count - 1) or self._size % count:
            raise InvalidInput("data", f"{count} leaves behind {self._size} are not below one node")
        row = [sha256(_LEAF + each).digest() for each in data]
        while len(row) > 1:
            pairs = zip(row[::2], row[1::2], strict=True)
            row = [sha256(_NODE + left + right).digest() for left, right in pairs]
        level = count.bit_length() - 1
        return self._complete(Node(level, self._size >> level, row[0]))

    def _complete(self, node: Node) -> list[Node]:
        """Put a node on the right edge, and return it with all that it completes."""
        level, index, found = node.level, node.index, node.hash
        completed = [node]
        self._size += 1 << level
        while index & 1:
            level, index, found = level + 1, index >> 1, node_hash(self._peaks.pop(), found)
            completed.append(Node(level, index, found))
        self._peaks.append(found)
        return completed

    def root(self) -> bytes:
        """Return the hash of the whole tree."""
        return _folded(self._peaks)


class Tree:
    """A tree whose complete nodes are kept somewhere, as far as `size` leaves."""

    def __init__(self, nodes: Nodes, size: int = 0) -> None:
        _check_size("size", size)
        self._nodes = nodes
        self._frontier = Frontier(size, [nodes.get(*place) for place in _peaks(0, size)])

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._frontier.size

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The right edge, as a frontier goes on from it."""
        return self._frontier.peaks

    def append(self, data: bytes) -> None:
        """Add a leaf, and keep what it completes."""
        for node in self._frontier.append(data):
            self._nodes.put(node.level, node.index, node.hash)

    def root(self, size: int | None = None) -> bytes:
        """Return the hash of the tree, or of the tree it was at a size."""
        if size is None:
            return self._frontier.root()
        self._check_within("size", size, self.size)
        return self._hash_of(0, size)

    def inclusion_proof(self, index: int, size: int) -> list[bytes]:
        """Return what proves to a holder of the root at `size` that leaf `index` is below it."""
        self._check_within("size", size, self.size)
        self._check_within("index", index, size - 1)
        start, end = 0, size
        path: list[bytes] = []
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._hash_of(middle, end))
                end = middle
            else:
                path.append(self._hash_of(start, middle))
                start = middle
        return path[::-1]

    def consistency_proof(self, old: int, new: int) -> list[bytes]:
        """Return what proves to a holder of two roots that the newer tree begins with the older.

        Every tree begins with no leaves and with itself: for those the proof is empty.
        """
        self._check_within("new", new, self.size)
        self._check_within("old", old, new)
        if old in (0, new):
            return []
        start, end = 0, new
        path: list[bytes] = []
        while end != old:
            middle = start + _split(end - start)
            if old <= middle:
                path.append(self._hash_of(middle, end))
                end = middle
            else:
                path.append(self._hash_of(start, middle))
                start = middle
        if start:  # otherwise this is the older root, which the verifier has
            path.append(self._hash_of(start, end))
        return path[::-1]

    def _hash_of(self, start: int, end: int) -> bytes:
        return _folded([self._nodes.get(*place) for place in _peaks(start, end)])

    def _check_within(self, field: str, value: int, most: int) -> None:
        if type(value) is not int or not 0 <= value <= most:
            raise InvalidInput(field, f"{shown(value)} is not between 0 and {most}")


def verify_inclusion(
    *, data: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """Tell whether `path` proves that leaf `index` of the tree with this size and root is `data`.

    This is the algorithm of RFC 9162, section 2.1.3.2, in its words.
    """
    if not 0 <= index < size:
        return False
    fn, sn, r = index, size - 1, leaf_hash(data)
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = node_hash(p, r)
            fn, sn = _shifted_to_one(fn, sn)
        else:
            r = node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def verify_consistency(
    *, old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Tell whether `path` proves that the tree of `new` leaves begins with that of `old` leaves.

    This is the algorithm of RFC 9162, section 2.1.4.2, in its words. The RFC leaves out equal sizes
    and the empty tree; there the proof is empty, and what the roots must be is known.
    """
    if not 0 <= old <= new or any(len(each) != HASH_SIZE for each in path):
        return False  # of the bytes below a node, some could be moved to the older root
    if old == new:
        return not path and old_root == new_root and (old > 0 or old_root == EMPTY_ROOT)
    if old == 0:
        return not path and old_root == EMPTY_ROOT
    consistency_path = [*path] if old & (old - 1) else [old_root, *path]
    if not path:
        return False
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = consistency_path[0]
    for c in consistency_path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node_hash(c, fr), node_hash(c, sr)
            fn, sn = _shifted_to_one(fn, sn)
        else:
            sr = node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == new_root


def _shifted_to_one(fn: int, sn: int) -> tuple[int, int]:
    """Shift both until the first ends in a one bit or is zero."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


def _split(size: int) -> int:
    """Return how many of so many leaves are on the left: the largest power of two below it."""
    return 1 << (size - 1).bit_length() - 1


def _peaks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the fewest complete nodes over these leaves, the largest first.

    A stretch that splitting leads to begins at a multiple of the power of two it fits in, so the
    one bits of its length are its nodes' levels.
    """
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


def _folded(peaks: Sequence[bytes]) -> bytes:
    if not peaks:
        return EMPTY_ROOT
    found = peaks[-1]
    for peak in reversed(peaks[:-1]):
        found = node_hash(peak, found)
    return found


def _check_size(field: str, size: int) -> None:
    if type(size) is not int or not 0 <= size <= MOST_LEAVES:
        raise InvalidInput(field, f"{shown(size)} is not between 0 and {MOST_LEAVES}")
