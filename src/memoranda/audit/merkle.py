"""The Merkle tree over the log as RFC 6962 and RFC 9162 define it, with its proofs.

    leaf(data)        = SHA-256( 0x00 ‖ data )
    node(left, right) = SHA-256( 0x01 ‖ left ‖ right )
    empty root        = SHA-256( )

The data of leaf *n* is the chain hash of event *n + 1*. A node of level *l* is *complete* when it
has 2^l leaves below it. Complete nodes never change, so only they are stored: node (level, index)
covers the leaves from index · 2^level up to (index + 1) · 2^level. Appending leaf *n* completes one
node for each trailing one bit of *n*, one on average. The root and every proof, for the present
size and every past one, are computed from O(log n) complete nodes.

Verification takes the leaf's data, never its hash. Both have 32 bytes: a caller that mixed them up
would accept an inner node of the tree as an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Protocol

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr

HASH_SIZE = 32
"""Bytes of a SHA-256."""
EMPTY_ROOT = sha256().digest()
MAX_LEAVES = 2**63 - 1
"""The largest commit number: a signed 64-bit integer."""
_LEAF, _NODE = b"\0", b"\1"


class Node(msgspec.Struct, frozen=True):
    """A complete node: its position in the tree, and its hash."""

    level: int
    index: int
    hash: bytes


class Nodes(Protocol):
    """A store of complete nodes.

    Level 0 is `leaf_hash` of the data, so a store that has the data need not store that level.
    """

    def get(self, level: int, index: int) -> bytes:
        """Return a complete node's hash; the caller asks for nodes within the tree only."""
        ...

    def put(self, level: int, index: int, node: bytes) -> None:
        """Store a complete node's hash."""
        ...


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the parent of two nodes."""
    return sha256(_NODE + left + right).digest()


class Frontier:
    """The right edge of a tree, which is all that appending needs.

    Its peaks are the complete nodes that no larger complete node covers, the largest first: one for
    each one bit of the size.
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
        """The peaks; together with the size they restore the frontier."""
        return tuple(self._peaks)

    def append(self, data: bytes) -> list[Node]:
        """Add a leaf, and return the nodes that it completes."""
        _check_size("size", self._size + 1)
        return self._complete(Node(0, self._size, leaf_hash(data)))

    def append_block(self, data: Sequence[bytes]) -> list[Node]:
        """Add the leaves of one complete node, and return it with the nodes that it completes.

        Equal to `append` for each leaf, but it skips the nodes inside the block. The number of
        leaves must be a power of two that divides the present size.
        """
        count = len(data)
        _check_size("size", self._size + count)
        if not count or count & (count - 1) or self._size % count:
            raise InvalidInput("data", f"{count} leaves after {self._size} do not fill one node")
        row = [sha256(_LEAF + leaf).digest() for leaf in data]
        while len(row) > 1:
            pairs = zip(row[::2], row[1::2], strict=True)
            row = [sha256(_NODE + left + right).digest() for left, right in pairs]
        level = count.bit_length() - 1
        return self._complete(Node(level, self._size >> level, row[0]))

    def _complete(self, node: Node) -> list[Node]:
        """Append a node at the right edge, and return it with the parents that it completes."""
        level, index, digest = node.level, node.index, node.hash
        completed = [node]
        self._size += 1 << level
        while index & 1:  # a right child: its left sibling is the last peak
            level, index, digest = level + 1, index >> 1, node_hash(self._peaks.pop(), digest)
            completed.append(Node(level, index, digest))
        self._peaks.append(digest)
        return completed

    def root(self) -> bytes:
        """Return the root hash."""
        return _fold_peaks(self._peaks)


class Tree:
    """A tree of `size` leaves over a store of complete nodes."""

    def __init__(self, nodes: Nodes, size: int = 0) -> None:
        _check_size("size", size)
        self._nodes = nodes
        self._frontier = Frontier(size, [nodes.get(*place) for place in _peak_positions(0, size)])

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._frontier.size

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The peaks of the tree's frontier."""
        return self._frontier.peaks

    def append(self, data: bytes) -> None:
        """Add a leaf, and store the nodes that it completes."""
        for node in self._frontier.append(data):
            self._nodes.put(node.level, node.index, node.hash)

    def root(self, size: int | None = None) -> bytes:
        """Return the root hash at a size; None means the present size."""
        if size is None:
            return self._frontier.root()
        self._check_within("size", size, self.size)
        return self._hash_of(0, size)

    def inclusion_proof(self, index: int, size: int) -> list[bytes]:
        """Return the inclusion path from leaf `index` to the root at `size`, lowest node first."""
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
        """Return the proof that the tree of size `new` begins with the tree of size `old`.

        The proof is empty if `old` is 0 or equal to `new`.
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
        if start:  # otherwise this node is the old root, which the verifier has
            path.append(self._hash_of(start, end))
        return path[::-1]

    def _hash_of(self, start: int, end: int) -> bytes:
        return _fold_peaks([self._nodes.get(*place) for place in _peak_positions(start, end)])

    def _check_within(self, field: str, value: int, maximum: int) -> None:
        if type(value) is not int or not 0 <= value <= maximum:
            raise InvalidInput(field, f"{short_repr(value)} is not between 0 and {maximum}")


def verify_inclusion(
    *, data: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """Return whether `path` proves that leaf `index` of the tree with this size and root is `data`.

    The algorithm and the variable names are those of RFC 9162, section 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    fn, sn, r = index, size - 1, leaf_hash(data)
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = node_hash(p, r)
            fn, sn = _shift_to_odd(fn, sn)
        else:
            r = node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def verify_consistency(
    *, old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Return whether `path` proves that the tree of size `new` begins with that of size `old`.

    The algorithm and the variable names are those of RFC 9162, section 2.1.4.2. The RFC leaves out
    equal sizes and the empty tree; there the proof is empty, and the roots are compared directly.
    """
    if not 0 <= old <= new or any(len(digest) != HASH_SIZE for digest in path):
        return False  # with other lengths, bytes could move between the two inputs of a node's hash
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
            fn, sn = _shift_to_odd(fn, sn)
        else:
            sr = node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == new_root


def _shift_to_odd(fn: int, sn: int) -> tuple[int, int]:
    """Shift both right until `fn` is odd or zero."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


def _split(size: int) -> int:
    """Return the size of the left subtree: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _peak_positions(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (level, index) of the fewest complete nodes that cover these leaves, largest first.

    A range that comes from splitting begins at a multiple of a power of two no smaller than its
    length. So the one bits of the length are the levels of its nodes.
    """
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


def _fold_peaks(peaks: Sequence[bytes]) -> bytes:
    if not peaks:
        return EMPTY_ROOT
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


def _check_size(field: str, size: int) -> None:
    if type(size) is not int or not 0 <= size <= MAX_LEAVES:
        raise InvalidInput(field, f"{short_repr(size)} is not between 0 and {MAX_LEAVES}")
