"""Public keys: their text form, what is refused of it, and which commits they are for."""

from __future__ import annotations

from base64 import b64encode

import pytest

from memoranda.audit import keys
from memoranda.audit.keys import PublicKey
from memoranda.errors import InvalidInput
from tests.unit.audit.published import ENOCH, GO_SUM, PETER


@pytest.mark.parametrize("text", [PETER, ENOCH, GO_SUM])
def test_published_keys_are_read_and_written_the_same(text: str) -> None:
    key = keys.parse(text)
    assert key.text == key.line == text
    assert (key.name, key.id.hex()) == tuple(text.split("+")[:2])
    assert (key.valid_from_commit, key.valid_until_commit) == (0, None)


def test_a_mangled_key_is_refused_wherever_it_is_mangled() -> None:
    for start in range(len(PETER) + 1):
        for end in range(start + 1, len(PETER) + 1):
            if (start, end) != (0, len(PETER)):
                with pytest.raises(InvalidInput):
                    keys.parse(PETER[start:end])
    for at in range(len(PETER)):
        for wrong in (chr(ord(PETER[at]) + 1), PETER[at].swapcase(), " ", "\n", "é", "\udc80"):
            if wrong != PETER[at]:
                with pytest.raises(InvalidInput):
                    keys.parse(PETER[:at] + wrong + PETER[at + 1 :])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==", "base64"),
        ("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", "algorithm 65"),
        ("PeterNeumann+c74f20a3+", "algorithm none"),
        (PETER.replace("c74f", "C74F"), "not like"),
        (PETER.replace("c74f", "0c74f"), "not like"),
        (PETER.replace("c74f20a3", "c74f20a4"), "hash"),
        (PETER + "\n", "not base64"),
        (PETER + "=", "not base64"),
        (PETER.replace("/", "_"), "not base64"),
        (PETER + " ", "from=100"),
        (PETER + "  from=1", "from=100"),
        (PETER + " until=1 from=0", "from=100"),
        (PETER + " from=01", "from=100"),
        (PETER + " from=-1", "from=100"),
        (PETER + " from=1 from=2", "from=100"),
        (PETER + " until=²", "from=100"),
        (PETER + " from=9 until=8", "before"),
        ("", "not like"),
        ("+" + PETER, "not like"),
    ],
)
def test_what_is_not_a_key_is_refused_and_told_why(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        keys.parse(text)


@pytest.mark.parametrize(
    "spelling", ["AA", "AA=", "AB==", "AA==\n", " AA==", "AA==AA==", "A-==", "é"]
)
def test_base64_has_one_spelling(spelling: str) -> None:
    assert keys.exact_base64("x", "AA==") == b"\0"
    with pytest.raises(InvalidInput, match="base64"):
        keys.exact_base64("x", spelling)


@pytest.mark.parametrize(
    ("line", "first", "last"),
    [
        (PETER, 0, None),
        (f"{PETER} from=7", 7, None),
        (f"{PETER} until=9", 0, 9),
        (f"{PETER} from=7 until=9", 7, 9),
    ],
)
def test_a_line_says_which_commits_a_key_is_for(line: str, first: int, last: int | None) -> None:
    key = keys.parse(line)
    assert (key.valid_from_commit, key.valid_until_commit, key.line) == (first, last, line)
    for commit_ts in range(12):
        expected = first <= commit_ts and (last is None or commit_ts <= last)
        assert key.may_sign(commit_ts) == expected


def test_rotation_ends_one_key_where_the_next_begins() -> None:
    old, new = keys.rotate(keys.parse(PETER), keys.parse(ENOCH), at=100)
    assert (old.valid_from_commit, old.valid_until_commit) == (0, 99)
    assert (new.valid_from_commit, new.valid_until_commit) == (100, None)
    assert all(old.may_sign(at) != new.may_sign(at) for at in range(200))
    third = PublicKey("EnochRoot", bytes(32))
    assert keys.rotate(new, third, at=150)[0].valid_until_commit == 149
    for at in (0, 50, 100):
        with pytest.raises(InvalidInput, match="at"):
            keys.rotate(new, third, at=at)
    with pytest.raises(InvalidInput, match="old key"):
        keys.rotate(old, keys.parse(PETER), at=50)


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a+b", "a\x01b", "\udc80", "a\u3000", "a\u00a0b", "a\u2003b", "a\nb", "a\u0085b"],
)
def test_a_name_has_no_space_and_no_plus(name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        PublicKey(name, bytes(32))
    with pytest.raises(InvalidInput, match="name"):
        keys.check_new_name(name)


@pytest.mark.parametrize("name", ["a\x7fb", "x" * 257, "é" * 129, "a\0", 7, "\udc80"])
def test_a_new_name_is_short_and_plain(name: object) -> None:
    with pytest.raises(InvalidInput, match="name"):
        keys.check_new_name(name)
    assert keys.check_new_name("example.com/größe") == "example.com/größe"


def test_a_key_has_32_bytes() -> None:
    for size in (0, 31, 33):
        with pytest.raises(InvalidInput, match="32"):
            PublicKey("a", bytes(size))
        with pytest.raises(InvalidInput, match="32"):
            keys.algorithm_key("key", b64encode(b"\1" + bytes(size)).decode())
    with pytest.raises(InvalidInput):
        PublicKey("a", bytes(32), -1)
