"""Signed notes: the published ones, one spelling each, and whose signatures count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.audit import keys, signed_note
from memoranda.audit.signed_note import Note, Signature
from memoranda.errors import InvalidInput, MemorandaError, NotProven
from tests.unit.audit.published import (
    ENOCH,
    ENOCH_LINE,
    GO_SUM,
    GO_SUM_TREE,
    PETER,
    PETER_LINE,
    PETER_PRIVATE,
    TEXT,
    SeedSigner,
)

PETERS_KEY, ENOCHS_KEY = keys.parse(PETER), keys.parse(ENOCH)
MESSAGE = f"{TEXT}\n{PETER_LINE}"
BOTH = f"{TEXT}\n{PETER_LINE}{ENOCH_LINE}"


def peter() -> SeedSigner:
    return SeedSigner("PeterNeumann", keys.algorithm_key("key", PETER_PRIVATE.split("+", 4)[4]))


def test_a_note_is_signed_as_go_signs_it() -> None:
    assert peter().public == PETERS_KEY
    assert signed_note.sign(TEXT, [peter()]) == MESSAGE


@pytest.mark.parametrize("message", [MESSAGE, BOTH, GO_SUM_TREE])
def test_a_published_note_is_read_and_written_the_same(message: str) -> None:
    assert signed_note.serialize(signed_note.parse(message)) == message
    assert signed_note.parse(message.encode()) == signed_note.parse(message)


def test_signatures_of_keys_one_trusts_count_and_others_are_let_through() -> None:
    note = signed_note.parse(BOTH)
    assert note.text == TEXT
    assert [signature.name for signature in note.signatures] == ["PeterNeumann", "EnochRoot"]
    assert signed_note.verify(note, [PETERS_KEY]) == (PETERS_KEY,)
    assert signed_note.verify(note, [ENOCHS_KEY]) == (ENOCHS_KEY,)
    assert signed_note.verify(note, [ENOCHS_KEY, PETERS_KEY]) == (PETERS_KEY, ENOCHS_KEY)
    assert signed_note.verify(signed_note.parse(GO_SUM_TREE), [keys.parse(GO_SUM)]) == (
        keys.parse(GO_SUM),
    )


def test_a_note_that_nobody_one_trusts_has_signed_proves_nothing() -> None:
    stranger = SeedSigner("PeterNeumann", bytes(32)).public
    renamed = keys.PublicKey("EnochRoot", PETERS_KEY.key)
    for trusted in ([], [ENOCHS_KEY], [stranger], [renamed]):
        with pytest.raises(NotProven, match=r"PeterNeumann\+c74f20a3, and none"):
            signed_note.verify(signed_note.parse(MESSAGE), trusted)


def test_one_wrong_signature_of_a_known_key_spoils_the_note() -> None:
    note = signed_note.parse(BOTH)
    for at in range(2):
        good = note.signatures[at]
        for wrong in (b"\0" * 64, good.signature[:-1], good.signature + b"\0", b"\0"):
            changed = list(note.signatures)
            changed[at] = Signature(good.name, good.key_id, wrong)
            spoiled = Note(TEXT, tuple(changed))
            with pytest.raises(NotProven, match=good.name):
                signed_note.verify(
                    signed_note.parse(signed_note.serialize(spoiled)), [PETERS_KEY, ENOCHS_KEY]
                )
            other = (ENOCHS_KEY, PETERS_KEY)[at]
            assert signed_note.verify(spoiled, [other]) == (other,)


def test_a_key_given_twice_is_not_guessed_about() -> None:
    with pytest.raises(InvalidInput, match="keys"):
        signed_note.verify(signed_note.parse(MESSAGE), [PETERS_KEY, ENOCHS_KEY, PETERS_KEY])


def test_no_byte_of_a_note_can_be_changed() -> None:
    data = MESSAGE.encode()
    for at in range(len(data)):
        for wrong in {data[at] ^ 1, data[at] ^ 0x20, data[at] ^ 0x80, 0x0A, 0x20} - {data[at]}:
            with pytest.raises((InvalidInput, NotProven)):
                signed_note.verify(
                    signed_note.parse(data[:at] + bytes([wrong]) + data[at + 1 :]), [PETERS_KEY]
                )
        for changed in (data[:at] + data[at + 1 :], data[:at], data[:at] + b"A" + data[at:]):
            with pytest.raises((InvalidInput, NotProven)):
                signed_note.verify(signed_note.parse(changed), [PETERS_KEY])


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "blank line"),
        (TEXT, "blank line"),
        (TEXT + "\n", "end with a signature"),
        (MESSAGE[:-1], "end with a signature"),
        (MESSAGE + "\n", "end with a signature"),
        (MESSAGE + "\n\n", "end with a signature"),
        (MESSAGE + "Unexpected line.\n", "not like"),
        (MESSAGE + "— \n", "not like"),
        (MESSAGE + PETER_LINE, "two signatures"),
        (MESSAGE.replace("\n", "\r\n"), "control"),
        ("\x01" + MESSAGE, "control"),
        ("\t" + MESSAGE, "control"),
        (b"\xff" + MESSAGE.encode(), "UTF-8"),
        (b"\xed\xa0\x80" + MESSAGE.encode(), "UTF-8"),
        ("\udc80" + MESSAGE, "UTF-8"),
        (MESSAGE.replace("— ", "- "), "not like"),
        (MESSAGE.replace("— ", "—"), "not like"),
        (MESSAGE.replace("— ", "—\u00a0"), "not like"),
        (MESSAGE.replace("— ", "—  "), "not like"),
        (MESSAGE.replace("PeterNeumann", "Peter+Neumann"), "not like"),
        (MESSAGE.replace("PeterNeumann", "Peter\u2003Neumann"), "not like"),
        (MESSAGE.replace("PeterNeumann", "Peter Neumann"), "base64"),
        (MESSAGE.replace("JnAM=\n", "JnAM\n"), "base64"),
        (MESSAGE.replace("JnAM=\n", "JnAM==\n"), "base64"),
        (MESSAGE.replace("JnAM=\n", "JnAN=\n"), "base64"),
        (MESSAGE.replace("JnAM=\n", "JnAM= \n"), "base64"),
        (MESSAGE.replace("/ZJku", "_ZJku"), "base64"),
        (f"{TEXT}\n— PeterNeumann x08gow==\n", "no signature"),
        (f"{TEXT}\n— PeterNeumann \n", "no signature"),
        ("x" * signed_note.MAX_BYTES + MESSAGE, "over 1000000"),
    ],
)  # fmt: skip
def test_what_is_not_a_note_is_refused_and_told_why(message: str | bytes, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        signed_note.parse(message)


def test_a_hundred_signatures_are_enough() -> None:
    signers = [SeedSigner(f"w{number}", number.to_bytes(32, "big")) for number in range(101)]
    hundred = signed_note.sign(TEXT, signers[:100])
    trusted = signers[99].public
    assert signed_note.verify(signed_note.parse(hundred), [trusted]) == (trusted,)
    with pytest.raises(InvalidInput, match="101 signatures"):
        signed_note.sign(TEXT, signers)


def test_signatures_of_unknown_algorithms_are_kept_and_not_counted() -> None:
    note = signed_note.parse(MESSAGE)
    witness = Signature("witness.example/w1", b"\1\2\3\4", b"?" * 5000)
    more = Note(TEXT, (*note.signatures, witness))
    again = signed_note.parse(signed_note.serialize(more))
    assert again == more
    assert signed_note.verify(again, [PETERS_KEY]) == (PETERS_KEY,)


@pytest.mark.parametrize("text", ["", "no end", "a\n\nb", "a\r\n", "\ttab\n", "a\0\n", "\udc80\n"])
def test_what_cannot_be_a_notes_text_is_not_signed(text: str) -> None:
    signature = signed_note.parse(MESSAGE).signatures
    with pytest.raises(InvalidInput):
        signed_note.serialize(Note(text, signature))


def test_a_note_without_signatures_is_not_written() -> None:
    with pytest.raises(InvalidInput):
        signed_note.sign(TEXT, [])


@pytest.mark.parametrize(
    "text", ["\n", "a\n\n\nb\n", f"{TEXT}\n{ENOCH_LINE}", "è\u2028\x85\n", "a\n\n"]
)
def test_text_may_look_like_anything(text: str) -> None:
    message = signed_note.sign(text, [peter()])
    note = signed_note.parse(message)
    assert note.text == text
    assert len(note.signatures) == 1
    assert signed_note.verify(note, [PETERS_KEY]) == (PETERS_KEY,)


LINES = st.lists(
    st.sampled_from(["", "a", "— a AAAAAAA=", "— b AAAAAAAB", "— a AAAAAAB=", "— ", "—", "é"]),
    max_size=7,
)


@given(LINES, st.sampled_from(["", "\n", "\n\n"]))
def test_whatever_is_read_is_written_the_same(lines: list[str], end: str) -> None:
    message = "\n".join(lines) + end
    try:
        note = signed_note.parse(message)
    except MemorandaError:
        return
    assert signed_note.serialize(note) == message
