"""The verifier that stands alone: what it accepts, what it refuses, and how it ends."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import memoranda_verify
from memoranda.audit import checkpoints, keys, merkle, signed_note
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.proofs import ConsistencyProof, InclusionProof
from memoranda.errors import MemorandaError
from memoranda_verify import Refused, WrongKey
from tests.unit.audit.published import GO_SUM, GO_SUM_TREE, PETER, SeedSigner

ORIGIN = "example.com/log"
EVENTS = [sha256(b"event %d" % number).digest() for number in range(20)]
OURS, OTHER = SeedSigner("example.com/ours", b"1" * 32), SeedSigner("example.com/ours", b"2" * 32)
KEY = memoranda_verify.parse_key(OURS.public.text)
SOURCE = Path(memoranda_verify.__file__)


class Kept(dict[tuple[int, int], bytes]):
    def get(self, level: int, index: int) -> bytes:  # type: ignore[override]
        return self[level, index]

    def put(self, level: int, index: int, node: bytes) -> None:
        self[level, index] = node


def grown() -> merkle.Tree:
    tree = merkle.Tree(Kept())
    for event in EVENTS:
        tree.append(event)
    return tree


TREE = grown()


def signed(size: int, *, origin: str = ORIGIN, signer: SeedSigner = OURS) -> str:
    return checkpoints.sign(Checkpoint(origin, size, TREE.root(size)), [signer])


def inclusion(commit_ts: int, size: int) -> InclusionProof:
    return InclusionProof(
        commit_ts=commit_ts,
        event_hash=EVENTS[commit_ts - 1],
        path=TREE.inclusion_proof(commit_ts - 1, size),
        checkpoint=signed(size),
    )


def consistency(old: int, new: int) -> ConsistencyProof:
    path = TREE.consistency_proof(old, new)
    return ConsistencyProof(old_checkpoint=signed(old), new_checkpoint=signed(new), path=path)


def changed(text: str, **fields: object) -> bytes:
    return json.dumps({**json.loads(text), **fields}).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys").write_text(f"# ours\n\n{OURS.public.line}\n", "utf-8")
    (tmp_path / "checkpoint").write_text(signed(8), "utf-8")
    (tmp_path / "older").write_text(signed(3), "utf-8")
    (tmp_path / "inclusion").write_text(inclusion(5, 8).json(), "utf-8")
    (tmp_path / "consistency").write_text(consistency(3, 8).json(), "utf-8")
    return tmp_path


def test_every_proof_the_engine_makes_holds() -> None:
    for new in range(1, 21):
        for commit_ts in range(1, new + 1):
            data = inclusion(commit_ts, new).json().encode()
            result = memoranda_verify.check_inclusion(data, [KEY], origin=ORIGIN)
            assert result["event_hash"] == EVENTS[commit_ts - 1].hex()
        for old in range(new + 1):
            data = consistency(old, new).json().encode()
            memoranda_verify.check_consistency(data, [KEY], origin=ORIGIN)


def test_the_shapes_are_these() -> None:
    assert json.loads(inclusion(2, 3).json()) == {
        "type": "recollect.inclusion-proof",
        "version": 1,
        "commit_ts": 2,
        "event_hash": EVENTS[1].hex(),
        "path": [item.hex() for item in TREE.inclusion_proof(1, 3)],
        "checkpoint": signed(3),
    }
    assert json.loads(consistency(2, 3).json()) == {
        "type": "recollect.consistency-proof",
        "version": 1,
        "old_checkpoint": signed(2),
        "new_checkpoint": signed(3),
        "path": [item.hex() for item in TREE.consistency_proof(2, 3)],
    }


def test_a_published_checkpoint_holds() -> None:
    key = memoranda_verify.parse_key(GO_SUM)
    result = memoranda_verify.check_checkpoint(GO_SUM_TREE.encode(), [key])
    assert (result.origin, result.size) == ("go.sum database tree", 49189689)
    assert result.signed_by == ["sum.golang.org+033de0ae"]


def wrong_paths(path: list[str]) -> Iterator[object]:
    for at, item in enumerate(path):
        yield [*path[:at], *path[at + 1 :]]
        for wrong in ("0" * 64, item[:-1], item.upper(), f"{item}00", None, 7, "", f" {item}"):
            if wrong != item:
                yield [*path[:at], wrong, *path[at + 1 :]]
    yield from ([*path, "0" * 64], ["0" * 64, *path], path[::-1], ["0" * 64] * 70)
    yield from (None, "", {}, 0, {"0": path}, "0" * 64)


@pytest.mark.parametrize(("commit_ts", "size"), [(1, 2), (3, 7), (5, 8), (8, 8), (9, 9), (7, 13)])
def test_a_changed_inclusion_proof_is_refused(commit_ts: int, size: int) -> None:
    good = inclusion(commit_ts, size).json()
    path = json.loads(good)["path"]
    claims: list[dict[str, object]] = [{"path": wrong} for wrong in wrong_paths(path)]
    claims += [
        {"commit_ts": wrong}
        for wrong in (0, -1, commit_ts + 1, commit_ts - 1, size + 1, 2**70, True, "1", 1.0, None)
        if wrong is not commit_ts
    ]
    event = EVENTS[commit_ts - 1].hex()
    claims += [
        {"event_hash": wrong}
        for wrong in (event.upper(), event[:-2], "0" * 64, "", None, 1, [event])
    ]
    claims += [
        {"checkpoint": wrong}
        for wrong in (
            signed(size + 1), signed(size, signer=OTHER), signed(size)[:-1], signed(size) + "\n",
            "", None, 1, [signed(size)], "\ud800", signed(size).replace(ORIGIN, "example.com/l"),
        )
    ]  # fmt: skip
    for claim in claims:
        data = changed(good, **claim)
        if json.loads(data) != json.loads(good):
            with pytest.raises(Refused):
                memoranda_verify.check_inclusion(data, [KEY])


@pytest.mark.parametrize(("old", "new"), [(1, 2), (2, 5), (3, 7), (6, 8), (8, 8), (0, 9), (4, 16)])
def test_a_changed_consistency_proof_is_refused(old: int, new: int) -> None:
    good = consistency(old, new).json()
    path = json.loads(good)["path"]
    claims: list[dict[str, object]] = [{"path": wrong} for wrong in wrong_paths(path)]
    strange = Checkpoint(ORIGIN, old or 1, sha256(b"another history").digest())
    another = checkpoints.sign(strange, [OURS])
    claims += [
        {"old_checkpoint": another},
        {"old_checkpoint": signed(old, origin="example.com/other")},
        {"new_checkpoint": signed(new, origin="example.com/other")},
        {"new_checkpoint": signed(new, signer=OTHER)},
        {"old_checkpoint": signed(new + 1)},
        {"old_checkpoint": signed(new), "new_checkpoint": signed(old)},
        {"old_checkpoint": None},
    ]
    for claim in claims:
        data = changed(good, **claim)
        if json.loads(data) != json.loads(good):
            with pytest.raises(Refused):
                memoranda_verify.check_consistency(data, [KEY])


def test_a_signer_that_lies_about_the_size_proves_nothing() -> None:
    def lie(size: int, root: bytes) -> str:
        return checkpoints.sign(Checkpoint(ORIGIN, size, root), [OURS])

    remainder, right = merkle.leaf_hash(EVENTS[0]), EVENTS[1]
    proof = InclusionProof(
        commit_ts=1, event_hash=right, path=[remainder], checkpoint=lie(1, TREE.root(2))
    )
    with pytest.raises(Refused, match="too long"):
        memoranda_verify.check_inclusion(proof.json().encode(), [KEY])
    for old, new in ((2, 1), (4, 2), (8, 3)):
        backwards = ConsistencyProof(
            old_checkpoint=lie(old, TREE.root(8)), new_checkpoint=lie(new, TREE.root(8)), path=[]
        )
        with pytest.raises(Refused):
            memoranda_verify.check_consistency(backwards.json().encode(), [KEY])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"[]", b"null", b"7", b"[" * 100_000, b'"recollect.inclusion-proof"', b"{}",
        b'{"type": "recollect.inclusion-proof"}', b'{"a": ' * 100_000,
        b'{"type": "recollect.inclusion-proof", "version": 1}',
    ],
)  # fmt: skip
def test_what_is_not_a_proof_is_refused(data: bytes) -> None:
    for check in (memoranda_verify.check_inclusion, memoranda_verify.check_consistency):
        with pytest.raises(Refused):
            check(data, [KEY])


def test_the_form_of_a_proof_is_fixed() -> None:
    good = inclusion(5, 8).json()
    for claim in (
        {"version": 2}, {"version": True}, {"version": "1"}, {"version": 1.0}, {"version": None},
        {"more": 1}, {"type": "recollect.consistency-proof"}, {"type": None},
    ):  # fmt: skip
        with pytest.raises(Refused):
            memoranda_verify.check_inclusion(changed(good, **claim), [KEY])
    for field in json.loads(good):
        without = {name: value for name, value in json.loads(good).items() if name != field}
        with pytest.raises(Refused):
            memoranda_verify.check_inclusion(json.dumps(without).encode(), [KEY])
    twice = good.replace('"commit_ts": 5', '"commit_ts": 4, "commit_ts": 5')
    with pytest.raises(Refused, match="not JSON"):
        memoranda_verify.check_inclusion(twice.encode(), [KEY])


def test_what_the_caller_has_kept_must_be_what_is_proven() -> None:
    data = consistency(3, 8).json().encode()
    stored_value = signed(3).encode()
    assert memoranda_verify.check_consistency(data, [KEY], held=stored_value)
    strange = checkpoints.sign(Checkpoint(ORIGIN, 3, bytes(32)), [OURS]).encode()
    for wrong in (signed(2).encode(), signed(8).encode(), strange, b"", stored_value[:-1]):
        with pytest.raises(Refused):
            memoranda_verify.check_consistency(data, [KEY], held=wrong)
    data = inclusion(5, 8).json().encode()
    assert memoranda_verify.check_inclusion(data, [KEY], held=signed(8).encode())
    with pytest.raises(Refused, match="you hold"):
        memoranda_verify.check_inclusion(data, [KEY], held=signed(9).encode())
    with pytest.raises(Refused, match="not of"):
        memoranda_verify.check_inclusion(data, [KEY], event_hash=EVENTS[5].hex())
    assert memoranda_verify.check_inclusion(data, [KEY], event_hash=EVENTS[4].hex())


def test_a_key_signs_for_its_own_commits_only() -> None:
    line = OURS.public.text
    for suffix, holds in (
        ("", True), (" from=8", True), (" until=8", True), (" from=8 until=8", True),
        (" from=9", False), (" until=7", False), (" until=0", False),
    ):  # fmt: skip
        key = memoranda_verify.parse_key(line + suffix)
        if holds:
            assert memoranda_verify.check_checkpoint(signed(8).encode(), [key]).size == 8
        else:
            with pytest.raises(Refused, match="8 events"):
                memoranda_verify.check_checkpoint(signed(8).encode(), [key])


def agreed(message: bytes) -> bool:
    """Tell whether a checkpoint holds, if the engine and the verifier say the same."""
    try:
        ours: Checkpoint | None = checkpoints.verify(message, [OURS.public])
    except MemorandaError:
        ours = None
    try:
        theirs = memoranda_verify.check_checkpoint(message, [KEY])
    except Refused:
        assert ours is None, message
        return False
    assert ours is not None, message
    assert (ours.origin, ours.size, ours.root.hex()) == (theirs.origin, theirs.size, theirs.root)
    return True


def test_the_engine_and_the_verifier_agree_about_every_checkpoint() -> None:
    whole = checkpoints.sign(Checkpoint(ORIGIN, 8, TREE.root(8), ("more",)), [OTHER, OURS]).encode()
    assert agreed(whole)
    for at in range(len(whole)):
        for wrong in {whole[at] ^ 1, whole[at] ^ 0x20, whole[at] ^ 0x80, 0x0A, 0x20} - {whole[at]}:
            agreed(whole[:at] + bytes([wrong]) + whole[at + 1 :])
        agreed(whole[:at] + whole[at + 1 :])
        agreed(whole[:at])
        agreed(whole[:at] + b"\n" + whole[at:])
    last = whole[whole.rindex(b"\n", 0, -1) + 1 :]
    unknown = [f"— w{number} AAAAAAA=\n".encode() for number in range(100)]
    for more, holds in (
        (last, False),
        (unknown[0], True),
        (unknown[0] * 2, False),
        (b"".join(unknown[:98]), True),
        (b"".join(unknown[:99]), False),
        ("— w AAAAAA==\n".encode(), False),
        ("— w \n".encode(), False),
    ):
        assert agreed(whole + more) == holds
    root = b64encode(TREE.root(8)).decode()
    texts = [
        f"{origin}\n{size}\n{result}\n{rest}"
        for origin in (ORIGIN, "", "a b", "— x", "\u2028", "\x7f")
        for size in ("8", "08", "", "-8", "8 ", "0", str(2**63 - 1), str(2**63), "٨")
        for result in (root, root[:-1], "", root + "=", "é")
        for rest in ("", "x\n", "\n", "x\n\ny\n")
    ]
    stored_value = 0
    for text in texts:
        try:
            message = signed_note.sign(text, [OURS])
        except MemorandaError:
            continue
        stored_value += agreed(message.encode())
    assert stored_value == 20


def test_the_engine_and_the_verifier_agree_about_every_key() -> None:
    lines = [
        PETER[:at] + wrong + PETER[at + 1 :] for at in range(len(PETER)) for wrong in "+ \nAé\udc80"
    ]
    lines += [
        PETER + end for end in (" from=1", " until=0", " from=01", " ", "\n", "=", " until=5")
    ]
    short = b"\1" + bytes(31)
    lines += [
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",  # another algorithm
        f"a+{sha256(b'a' + bytes([10]) + short).hexdigest()[:8]}+{b64encode(short).decode()}",
    ]
    for line in lines:
        try:
            ours = keys.parse(line)
        except MemorandaError:
            with pytest.raises(WrongKey):
                memoranda_verify.parse_key(line)
        else:
            theirs = memoranda_verify.parse_key(line)
            assert (theirs.name, theirs.id, theirs.key) == (ours.name, ours.id, ours.key)
            assert theirs.first == ours.valid_from_commit


CODES = [
    (0, "checkpoint checkpoint --key-file keys"),
    (0, "checkpoint checkpoint --key-file keys --origin example.com/log"),
    (0, "inclusion inclusion --key-file keys --held checkpoint"),
    (0, f"inclusion inclusion --key-file keys --event-hash {EVENTS[4].hex()}"),
    (0, "consistency consistency --key-file keys --held older"),
    (0, f"checkpoint checkpoint --key {OURS.public.text}"),
    (3, f"checkpoint checkpoint --key {OTHER.public.text}"),
    (3, "checkpoint checkpoint --key-file keys --origin example.com/other"),
    (3, "checkpoint inclusion --key-file keys"),
    (3, "inclusion consistency --key-file keys"),
    (3, "consistency inclusion --key-file keys"),
    (3, "inclusion checkpoint --key-file keys"),
    (3, "inclusion inclusion --key-file keys --held older"),
    (3, "consistency consistency --key-file keys --held checkpoint"),
    (2, "checkpoint checkpoint"),
    (2, "checkpoint checkpoint --key nonsense"),
    (2, "checkpoint checkpoint --key-file checkpoint"),
    (2, f"checkpoint checkpoint --key-file keys --key {OURS.public.text}"),
    (2, "checkpoint"),
    (2, "everything checkpoint"),
    (4, "checkpoint none --key-file keys"),
    (4, "checkpoint checkpoint --key-file none"),
    (4, "inclusion inclusion --key-file keys --held none"),
]


@pytest.mark.parametrize(("code", "line"), CODES)
def test_how_it_ends(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    line: str,
) -> None:
    monkeypatch.chdir(folder)
    try:
        ended: object = memoranda_verify.main(line.split())
    except SystemExit as stop:
        ended = stop.code
    out, err = capsys.readouterr()
    assert ended == code, err
    if code == 0:
        assert json.loads(out)["holds"] == line.split()[0]
    else:
        assert out == ""
        assert err.startswith(("memoranda-verify: ", "usage: "))


def test_a_proof_can_be_piped_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (folder / "inclusion").read_bytes()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
    assert memoranda_verify.main(["inclusion", "-", "--key-file", str(folder / "keys")]) == 0
    assert json.loads(capsys.readouterr().out)["checkpoint"]["size"] == 8


def test_it_stands_alone(folder: Path) -> None:
    """One file, copied elsewhere, where there is no Memoranda to import."""
    shutil.copy(SOURCE, folder / "verifier.py")
    blocked = (
        "import sys, runpy; sys.modules['memoranda'] = None; {extra};"
        "sys.argv[1:] = ['inclusion', 'inclusion', '--key-file', 'keys'];"
        "runpy.run_path('verifier.py', run_name='__main__')"
    )
    for extra, code, reports in (
        ("0", 0, '"holds": "inclusion"'),
        ("sys.modules['cryptography'] = None", 1, "pip install cryptography"),
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-c", blocked.format(extra=extra)],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, reports in done.stdout + done.stderr) == (code, True), done.stderr


def test_it_imports_the_standard_library_and_cryptography_only() -> None:
    names = set()
    for node in ast.walk(ast.parse(SOURCE.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name.partition(".")[0] for name in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    assert names - set(sys.stdlib_module_names) == {"cryptography"}


def test_a_file_that_is_too_long_is_refused(folder: Path) -> None:
    (folder / "long").write_bytes(b"x" * 2_000_000)
    for claim in ("checkpoint", "inclusion", "consistency"):
        arguments = [claim, str(folder / "long"), "--key-file", str(folder / "keys")]
        assert memoranda_verify.main(arguments) == 3
