"""The Merkle tree: published vectors, and everything small against the definitions of the RFC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256

import pytest

from memoranda.audit import merkle
from memoranda.audit.merkle import Frontier, Node, Tree, verify_consistency, verify_inclusion
from memoranda.errors import InvalidInput

# The vectors that certificate-transparency and its descendants test themselves with.
PUBLISHED_LEAVES = [
    bytes.fromhex(text)
    for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
PUBLISHED_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PUBLISHED_INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
PUBLISHED_CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
MOST = 300
DATA = [sha256(b"event %d" % number).digest() for number in range(MOST + 1)]


class Kept:
    """Complete nodes in a dictionary, which counts how many are read."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.reads = 0

    def get(self, level: int, index: int) -> bytes:
        self.reads += 1
        return self.nodes[level, index]

    def put(self, level: int, index: int, node: bytes) -> None:
        assert (level, index) not in self.nodes, "a complete node is put once"
        self.nodes[level, index] = node


def grown(data: Sequence[bytes]) -> Tree:
    tree = Tree(Kept())
    for item in data:
        tree.append(item)
    return tree


@pytest.fixture(scope="module")
def tree() -> Tree:
    return grown(DATA[:MOST])


# The definitions of RFC 6962, section 2.1, written as it writes them and sharing nothing with the
# code under test: hash of a list of leaves, PATH(m, D[n]) and SUBPROOF(m, D[n], b).


@cache
def mth(start: int, end: int) -> bytes:
    if start == end:
        return sha256(b"").digest()
    if end - start == 1:
        return sha256(b"\x00" + DATA[start]).digest()
    k = left_size(end - start)
    return sha256(b"\x01" + mth(start, start + k) + mth(start + k, end)).digest()


def left_size(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def path_of(m: int, start: int, end: int) -> list[bytes]:
    n = end - start
    if n == 1:
        return []
    k = left_size(n)
    if m < k:
        return [*path_of(m, start, start + k), mth(start + k, end)]
    return [*path_of(m - k, start + k, end), mth(start, start + k)]


def subproof(m: int, start: int, end: int, whole: bool) -> list[bytes]:  # noqa: FBT001
    n = end - start
    if m == n:
        return [] if whole else [mth(start, end)]
    k = left_size(n)
    if m <= k:
        return [*subproof(m, start, start + k, whole), mth(start + k, end)]
    return [*subproof(m - k, start + k, end, whole=False), mth(start, start + k)]


def root_from_inclusion(m: int, n: int, leaf: bytes, path: Sequence[bytes]) -> bytes | None:
    """An independent verifier: go down the tree as PATH does, and hash on the way back."""
    if n == 1:
        return leaf if not path else None
    if not path:
        return None
    k = left_size(n)
    if m < k:
        remainder = root_from_inclusion(m, k, leaf, path[:-1])
        return remainder and sha256(b"\x01" + remainder + path[-1]).digest()
    right = root_from_inclusion(m - k, n - k, leaf, path[:-1])
    return right and sha256(b"\x01" + path[-1] + right).digest()


def roots_from_consistency(
    m: int, n: int, path: Sequence[bytes], old_root: bytes | None
) -> tuple[bytes, bytes] | None:
    """An independent verifier: both roots, going down as SUBPROOF does."""
    if m == n:
        if old_root is not None:
            return None if path else (old_root, old_root)
        return (path[0], path[0]) if len(path) == 1 else None
    if not path:
        return None
    k = left_size(n)
    if m <= k:
        below = roots_from_consistency(m, k, path[:-1], old_root)
        return below and (below[0], sha256(b"\x01" + below[1] + path[-1]).digest())
    below = roots_from_consistency(m - k, n - k, path[:-1], None)
    if below is None:
        return None
    old, new = (sha256(b"\x01" + path[-1] + item).digest() for item in below)
    return old, new


@pytest.mark.parametrize("size", range(9))
def test_roots_are_the_published_ones(size: int) -> None:
    tree = grown(PUBLISHED_LEAVES[:size])
    assert tree.root().hex() == tree.root(size).hex() == PUBLISHED_ROOTS[size]
    assert grown(PUBLISHED_LEAVES).root(size).hex() == PUBLISHED_ROOTS[size]


@pytest.mark.parametrize(("index", "size"), PUBLISHED_INCLUSION)
def test_inclusion_proofs_are_the_published_ones(index: int, size: int) -> None:
    path = grown(PUBLISHED_LEAVES).inclusion_proof(index, size)
    assert [item.hex() for item in path] == PUBLISHED_INCLUSION[index, size]
    data, root = PUBLISHED_LEAVES[index], bytes.fromhex(PUBLISHED_ROOTS[size])
    assert verify_inclusion(data=data, index=index, size=size, path=path, root=root)


@pytest.mark.parametrize(("old", "new"), PUBLISHED_CONSISTENCY)
def test_consistency_proofs_are_the_published_ones(old: int, new: int) -> None:
    path = grown(PUBLISHED_LEAVES).consistency_proof(old, new)
    assert [item.hex() for item in path] == PUBLISHED_CONSISTENCY[old, new]
    roots = [bytes.fromhex(PUBLISHED_ROOTS[size]) for size in (old, new)]
    assert verify_consistency(old=old, new=new, old_root=roots[0], new_root=roots[1], path=path)


def test_every_root_is_what_the_definition_says(tree: Tree) -> None:
    frontier = Frontier()
    for size in range(MOST + 1):
        assert tree.root(size) == frontier.root() == mth(0, size)
        frontier.append(DATA[size])


def test_every_inclusion_proof_is_what_the_definition_says_and_holds(tree: Tree) -> None:
    for size in range(1, MOST + 1):
        root = mth(0, size)
        for index in range(size):
            path = tree.inclusion_proof(index, size)
            assert path == path_of(index, 0, size)
            data = DATA[index]
            assert verify_inclusion(data=data, index=index, size=size, path=path, root=root)
            assert root_from_inclusion(index, size, mth(index, index + 1), path) == root


@pytest.mark.slow
def test_every_consistency_proof_is_what_the_definition_says_and_holds(tree: Tree) -> None:
    for new in range(1, MOST + 1):
        for old in range(1, new + 1):
            path = tree.consistency_proof(old, new)
            assert path == subproof(old, 0, new, whole=True)
            roots = mth(0, old), mth(0, new)
            assert verify_consistency(
                old=old, new=new, old_root=roots[0], new_root=roots[1], path=path
            )
            assert roots_from_consistency(old, new, path, roots[0]) == roots


def test_a_leaf_hash_is_not_taken_for_data(tree: Tree) -> None:
    """The node above two leaves must not be provable as a leaf of a tree half as large."""
    path = tree.inclusion_proof(0, 4)
    inside = merkle.node_hash(merkle.leaf_hash(DATA[0]), merkle.leaf_hash(DATA[1]))
    for data in (inside, merkle.leaf_hash(DATA[0])):
        for size, index in ((2, 0), (4, 0), (3, 0)):
            for shorter in (path, path[1:]):
                assert not verify_inclusion(
                    data=data, index=index, size=size, path=shorter, root=tree.root(4)
                )


def mutations(path: Sequence[bytes], other: bytes) -> Iterator[list[bytes]]:
    """Every single change of an element, of the order and of the length."""
    for at, item in enumerate(path):
        for wrong in (
            bytes([item[0] ^ 1]) + item[1:],
            item[:-1] + bytes([item[-1] ^ 128]),
            item[:-1],
            item + b"\0",
            b"",
        ):
            yield [*path[:at], wrong, *path[at + 1 :]]
        yield [*path[:at], *path[at + 1 :]]
        for second in range(at):
            swapped = [*path]
            swapped[at], swapped[second] = swapped[second], swapped[at]
            yield swapped
    for at in range(len(path) + 1):
        for extra in (other, b"", *path[:1]):
            yield [*path[:at], extra, *path[at:]]


@pytest.mark.parametrize("size", [*range(1, 18), 31, 32, 33])
def test_a_changed_inclusion_proof_does_not_hold(tree: Tree, size: int) -> None:
    root = tree.root(size)
    for index in range(size):
        path = tree.inclusion_proof(index, size)
        data = DATA[index]
        for wrong in mutations(path, root):
            assert wrong != path
            assert not verify_inclusion(data=data, index=index, size=size, path=wrong, root=root)
        for claim in {index - 1, index + 1, index ^ 1, index ^ 2, -1, size, size + index, ~index}:
            if claim != index:
                assert not verify_inclusion(data=data, index=claim, size=size, path=path, root=root)
        for wrong_root in (tree.root(size - 1), b"", root[:-1], root + b"\0", data):
            assert not verify_inclusion(
                data=data, index=index, size=size, path=path, root=wrong_root
            )
        for wrong_data in (DATA[index + 1], b"", data + b"\0", mth(index, index + 1)):
            assert not verify_inclusion(
                data=wrong_data, index=index, size=size, path=path, root=root
            )


def test_another_place_holds_only_where_it_is_the_same_claim(tree: Tree) -> None:
    """A path fixes the turns on the way, not the size: whoever signs the root does that.

    RFC 9162's algorithm accepts a wrong size where the leaf's path has the same turns, and so must
    every implementation; this is why the size is taken from where the root is.
    """
    for size in range(1, 17):
        for index in range(size):
            path, data, root = tree.inclusion_proof(index, size), DATA[index], tree.root(size)
            for claim in range(-1, 20):
                for at in range(-1, 20):
                    stored_value = verify_inclusion(
                        data=data, index=at, size=claim, path=path, root=root
                    )
                    independent = 0 <= at < claim and (
                        root_from_inclusion(at, claim, mth(index, index + 1), path) == root
                    )
                    assert stored_value == independent


def test_an_older_root_of_another_length_does_not_hold() -> None:
    remainder, right = (merkle.leaf_hash(item) for item in DATA[:2])
    root, both = merkle.node_hash(remainder, right), remainder + right
    for cut in range(65):
        stored_value = verify_consistency(
            old=1, new=2, old_root=both[:cut], new_root=root, path=[both[cut:]]
        )
        assert stored_value == (cut == 32)


@pytest.mark.parametrize("new", [*range(2, 18), 31, 32, 33])
def test_a_changed_consistency_proof_does_not_hold(tree: Tree, new: int) -> None:
    for old in range(1, new):
        path = tree.consistency_proof(old, new)
        roots = {"old_root": tree.root(old), "new_root": tree.root(new)}
        assert verify_consistency(old=old, new=new, path=path, **roots)
        for wrong in mutations(path, roots["new_root"]):
            assert not verify_consistency(old=old, new=new, path=wrong, **roots)
        for wrong_roots in (
            {**roots, "old_root": roots["new_root"]},
            {**roots, "new_root": roots["old_root"]},
            {"old_root": roots["new_root"], "new_root": roots["old_root"]},
            {**roots, "old_root": b""},
            {**roots, "new_root": roots["new_root"] + b"\0"},
        ):
            assert not verify_consistency(old=old, new=new, path=path, **wrong_roots)
        for first, second in ((new, old), (0, new), (-1, new), (old, 0), (new, new), (old, old)):
            assert not verify_consistency(old=first, new=second, path=path, **roots)


def test_other_sizes_are_judged_as_the_independent_verifier_judges_them(tree: Tree) -> None:
    for new in range(2, 20):
        for old in range(1, new):
            path, roots = tree.consistency_proof(old, new), (tree.root(old), tree.root(new))
            for second in range(1, 24):
                for first in range(1, second):
                    stored_value = verify_consistency(
                        old=first, new=second, old_root=roots[0], new_root=roots[1], path=path
                    )
                    result = roots_from_consistency(first, second, path, roots[0])
                    assert stored_value == (result == roots)


def test_nothing_and_itself_are_consistent_without_a_path(tree: Tree) -> None:
    root, empty = tree.root(7), merkle.EMPTY_ROOT
    assert tree.consistency_proof(0, 7) == tree.consistency_proof(7, 7) == []
    assert tree.consistency_proof(0, 0) == []
    assert verify_consistency(old=0, new=7, old_root=empty, new_root=root, path=[])
    assert verify_consistency(old=7, new=7, old_root=root, new_root=root, path=[])
    assert verify_consistency(old=0, new=0, old_root=empty, new_root=empty, path=[])
    assert not verify_consistency(old=0, new=7, old_root=root, new_root=root, path=[])
    assert not verify_consistency(old=0, new=0, old_root=root, new_root=root, path=[])
    assert not verify_consistency(old=0, new=7, old_root=empty, new_root=root, path=[root])
    assert not verify_consistency(old=7, new=7, old_root=root, new_root=root, path=[root])
    assert not verify_consistency(old=7, new=7, old_root=root, new_root=tree.root(6), path=[])
    for old in range(1, 7):
        assert not verify_consistency(old=old, new=7, old_root=root, new_root=root, path=[])


def test_only_complete_nodes_are_kept_each_once_and_appending_is_cheap() -> None:
    frontier, stored_item = Frontier(), set[tuple[int, int]]()
    for size in range(MOST):
        completed = frontier.append(DATA[size])
        assert len(frontier.peaks) == (size + 1).bit_count()
        assert completed[0] == Node(0, size, merkle.leaf_hash(DATA[size]))
        for node in completed:
            level, index, result = node.level, node.index, node.hash
            start, end = index << level, index + 1 << level
            assert (level, index) not in stored_item
            assert end == size + 1, "it is complete now, and was not before"
            assert result == mth(start, end)
            stored_item.add((level, index))
    assert stored_item == {(level, at) for level in range(9) for at in range(MOST >> level)}


def test_proofs_read_few_nodes() -> None:
    stored_item = Kept()
    tree = Tree(stored_item)
    for item in DATA[:MOST]:
        tree.append(item)
    assert stored_item.reads == 0, "appending reads nothing"
    for size in range(1, MOST + 1):
        most = 2 * size.bit_length()
        for index in {0, size // 3, size // 2, size - 1}:
            for ask in (
                lambda at=index, of=size: tree.inclusion_proof(at, of),
                lambda at=index, of=size: tree.consistency_proof(at, of),
                lambda of=size: tree.root(of),
            ):
                stored_item.reads = 0
                ask()
                assert stored_item.reads <= most


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 100, 255, 256])
def test_a_tree_goes_on_from_what_is_kept(size: int) -> None:
    stored_item = Kept()
    first = Tree(stored_item)
    for item in DATA[:size]:
        first.append(item)
    again = Tree(stored_item, size)
    remembered = Frontier(first.size, Frontier(first.size, first._frontier.peaks).peaks)
    assert again.root() == remembered.root() == mth(0, size)
    for item in DATA[size : size + 40]:
        again.append(item)
        remembered.append(item)
    assert again.size == remembered.size == size + 40
    assert again.root() == remembered.root() == mth(0, size + 40)
    assert again.inclusion_proof(size, size + 40) == path_of(size, 0, size + 40)


@pytest.mark.parametrize(
    ("field", "ask"),
    [
        ("size", lambda tree: tree.root(9)),
        ("size", lambda tree: tree.root(-1)),
        ("size", lambda tree: tree.root(True)),
        ("size", lambda tree: tree.inclusion_proof(0, 9)),
        ("index", lambda tree: tree.inclusion_proof(8, 8)),
        ("index", lambda tree: tree.inclusion_proof(0, 0)),
        ("index", lambda tree: tree.inclusion_proof(-1, 8)),
        ("new", lambda tree: tree.consistency_proof(1, 9)),
        ("old", lambda tree: tree.consistency_proof(5, 4)),
        ("old", lambda tree: tree.consistency_proof(-1, 4)),
        ("peaks", lambda tree: Frontier(3, [b"0" * 32])),
        ("peaks", lambda tree: Frontier(1, [b"0" * 31])),
        ("size", lambda tree: Frontier(-1)),
        ("size", lambda tree: Frontier(2**63)),
    ],
)
def test_what_there_is_not_is_not_proven(field: str, ask: object) -> None:
    tree = grown(PUBLISHED_LEAVES)
    assert callable(ask)
    with pytest.raises(InvalidInput) as raised:
        ask(tree)
    assert raised.value.field == field


@pytest.mark.parametrize("count", [1, 2, 4, 16])
def test_a_block_is_its_leaves_one_by_one(count: int) -> None:
    blocks, singly = Frontier(), Frontier()
    for start in range(0, MOST - count, count):
        above = blocks.append_block(DATA[start : start + count])
        item = [node for data in DATA[start : start + count] for node in singly.append(data)]
        assert above == [node for node in item if 1 << node.level >= count]
        assert (blocks.root(), blocks.size, blocks.peaks) == (
            singly.root(), singly.size, singly.peaks,
        )  # fmt: skip


@pytest.mark.parametrize(("before", "count"), [(0, 0), (0, 3), (1, 2), (8, 16)])
def test_a_block_that_is_not_below_one_node(before: int, count: int) -> None:
    frontier = Frontier()
    for data in DATA[:before]:
        frontier.append(data)
    with pytest.raises(InvalidInput, match="data"):
        frontier.append_block(DATA[:count])
    assert frontier.size == before
