"""Checkpoints: their text, what is refused of it, and who may sign one."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import msgspec
import pytest

from memoranda.audit import checkpoints, keys, merkle, signed_note
from memoranda.audit.checkpoints import Checkpoint
from memoranda.errors import InvalidInput, NotProven
from tests.unit.audit.published import GO_SUM, GO_SUM_TREE, SeedSigner

ROOT = sha256(b"root").digest()
ROOT64 = b64encode(ROOT).decode()
OURS = Checkpoint("example.com/log", 42, ROOT)
TEXT = f"example.com/log\n42\n{ROOT64}\n"
SIGNER = SeedSigner("example.com/log", b"1" * 32)
NEXT = SeedSigner("example.com/log", b"2" * 32)


def test_a_published_checkpoint_holds() -> None:
    report = checkpoints.verify(GO_SUM_TREE, [keys.parse(GO_SUM)], origin="go.sum database tree")
    assert report.size == 49189689
    assert report.root == keys.exact_base64("", "ftjbAOzaupaIvaPo/G+Dk63nxOZ2s1OPOKIaPtXs7S4=")
    assert report.extensions == ()
    assert GO_SUM_TREE.startswith(report.text + "\n")


@pytest.mark.parametrize(
    "checkpoint",
    [
        OURS,
        Checkpoint("o", 0, merkle.EMPTY_ROOT),
        Checkpoint("go.sum database tree", 2**63 - 1, ROOT, ("one", "— two", " ")),
    ],
)
def test_a_checkpoint_is_read_as_it_was_written(checkpoint: Checkpoint) -> None:
    assert checkpoints.parse(checkpoint.text) == checkpoint
    message = checkpoints.sign(checkpoint, [SIGNER, NEXT])
    assert checkpoints.verify(message, [SIGNER.public]) == checkpoint
    assert checkpoints.verify(message.encode(), [NEXT.public]) == checkpoint


def test_the_text_is_three_lines() -> None:
    assert OURS.text == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "example.com/log\n42\n",
        TEXT[:-1],
        TEXT + "\n",
        TEXT + "a\n\nb\n",
        TEXT + "no end",
        "\n" + TEXT,
        TEXT.replace("example.com/log", ""),
        TEXT.replace("example.com/log", "a\tb"),
        *(
            TEXT.replace("\n42\n", f"\n{size}\n")
            for size in (
                "", "042", "00", "+42", "-1", "4_2", " 42", "42 ", "4.0", "0x2a", "٤٢",
                str(2**63), "9" * 19, "1" * 5000,
            )
        ),
        TEXT.replace("\n42\n", "\n0\n"),
        TEXT.replace(ROOT64, ROOT64[:-1]),
        TEXT.replace(ROOT64, ROOT64 + "="),
        TEXT.replace(ROOT64, ROOT64 + " "),
        TEXT.replace(ROOT64, ROOT64[:-2] + "B="),
        TEXT.replace(ROOT64, ROOT.hex()),
        TEXT.replace(ROOT64, b64encode(ROOT[:-1]).decode()),
        TEXT.replace(ROOT64, b64encode(ROOT + b"\0").decode()),
        TEXT.replace("\n", "\r\n"),
    ],
)  # fmt: skip
def test_what_is_not_a_checkpoint_is_refused(text: str) -> None:
    assert text != TEXT
    with pytest.raises(InvalidInput, match="checkpoint"):
        checkpoints.parse(text)


def test_what_is_signed_must_be_a_checkpoint() -> None:
    with pytest.raises(InvalidInput, match="checkpoint"):
        checkpoints.verify(signed_note.sign("hello\n", [SIGNER]), [SIGNER.public])


def test_the_signature_is_looked_at_before_the_text() -> None:
    with pytest.raises(NotProven):
        checkpoints.verify(signed_note.sign("hello\n", [SIGNER]), [NEXT.public])


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(OURS, size=43),
        msgspec.structs.replace(OURS, origin="example.com/log2"),
        msgspec.structs.replace(OURS, root=merkle.EMPTY_ROOT),
        msgspec.structs.replace(OURS, extensions=("more",)),
    ],
)
def test_a_signature_is_for_one_checkpoint(changed: Checkpoint) -> None:
    message = checkpoints.sign(OURS, [SIGNER])
    forged = changed.text + message.removeprefix(OURS.text)
    with pytest.raises(NotProven, match="changed after"):
        checkpoints.verify(forged, [SIGNER.public])


def test_another_logs_checkpoint_is_not_taken() -> None:
    message = checkpoints.sign(OURS, [SIGNER])
    assert checkpoints.verify(message, [SIGNER.public], origin="example.com/log") == OURS
    with pytest.raises(
        NotProven, match=r"of the log 'example.com/log', not of 'example.com/other'"
    ):
        checkpoints.verify(message, [SIGNER.public], origin="example.com/other")


def test_a_key_signs_for_its_own_commits_only() -> None:
    old, new = keys.rotate(SIGNER.public, NEXT.public, at=100)
    for size, signer, others in ((99, SIGNER, NEXT), (100, NEXT, SIGNER)):
        checkpoint = Checkpoint("example.com/log", size, ROOT)
        message = checkpoints.sign(checkpoint, [signer])
        assert checkpoints.verify(message, [old, new]) == checkpoint
        with pytest.raises(NotProven, match=f"size {size} is signed by .* (from|until)="):
            checkpoints.verify(checkpoints.sign(checkpoint, [others]), [old, new])
        both = checkpoints.sign(checkpoint, [signer, others])
        assert checkpoints.verify(both, [old, new]) == checkpoint
