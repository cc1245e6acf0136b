"""The verifier that stands alone, given an exported log: with checkpoints, and as a command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from io import BytesIO, TextIOWrapper
from pathlib import Path

import msgspec
import pytest

import memoranda
import memoranda_verify
from memoranda.audit import checkpoints
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.merkle import Frontier
from memoranda.log import chain
from memoranda.model import codec
from memoranda.model.event import Envelope, Head
from memoranda.model.operations import Write
from memoranda.testing import memory_store
from memoranda_verify import Refused, WrongKey, check_log, parse_key
from tests.logs import Fields, encoded, exported, lines_of, spelled, verdicts
from tests.unit.audit.published import SeedSigner

OURS, OTHER = SeedSigner("memoranda/ours", b"1" * 32), SeedSigner("memoranda/ours", b"2" * 32)
KEY = parse_key(OURS.public.text)
SOURCE = Path(memoranda_verify.__file__)


def log(commits: int = 20) -> bytes:
    store = memory_store()
    for number in range(commits):
        store.write(agent_id="a", key="k", value={"n": number})
    return exported(store)


DATA = log()


def note(size: int, *, data: bytes = DATA, signer: SeedSigner = OURS, origin: str = "") -> str:
    lines = lines_of(data)
    tree = Frontier()
    for line in lines[1 : size + 1]:
        tree.append(bytes.fromhex(line["hash"]))
    name = origin or f"recollect/{lines[0]['log_id']}"
    return checkpoints.sign(Checkpoint(name, size, tree.root()), [signer])


def check(data: bytes, *keys: memoranda_verify.Key, **options: object) -> dict[str, object]:
    return check_log(BytesIO(data), [*keys], **options)  # type: ignore[arg-type]


def with_notes(data: bytes, *notes: tuple[int, str]) -> bytes:
    lines = lines_of(data)
    for size, text in sorted(notes, reverse=True):
        lines.insert(size + 1, {"type": "checkpoint", "size": size, "note": text})
    return spelled(lines)


def test_it_says_what_the_log_is() -> None:
    header = lines_of(DATA)[0]
    assert check(DATA) == {
        "log_id": header["log_id"],
        "commits": 20,
        "head_hash": header["head_hash"],
        "erased": 0,
        "unproven": 0,
        "checkpoints": 0,
        "checkpoint": None,
    }


@pytest.mark.parametrize("size", range(21))
def test_a_log_is_held_to_a_checkpoint_of_any_size(size: int) -> None:
    result = check(DATA, KEY, checkpoint=note(size).encode())
    assert result["checkpoint"] == {
        "origin": f"recollect/{result['log_id']}",
        "size": size,
        "root": checkpoints.parse(note(size).partition("\n\n")[0] + "\n").root.hex(),
        "signed_by": [f"{KEY.name}+{KEY.id.hex()}"],
    }


def test_a_truncated_log_does_not_fit_a_checkpoint() -> None:
    lines = lines_of(DATA)[:16]
    lines[0] |= {"commits": 15, "head_hash": lines[-1]["hash"]}
    cut = spelled(lines)
    assert check(cut)["commits"] == 15, "in itself it is whole"
    assert check(cut, KEY, checkpoint=note(15).encode())["commits"] == 15
    with pytest.raises(Refused, match="covers 18 events, and the log has only 15"):
        check(cut, KEY, checkpoint=note(18).encode())


def test_another_log_does_not_fit_a_checkpoint() -> None:
    other = log(21)
    assert lines_of(other)[0]["log_id"] == lines_of(DATA)[0]["log_id"], "ids repeat in tests"
    changed = lines_of(other)
    changed[0] = lines_of(DATA)[0]
    elsewhere = memory_store()
    for _ in range(20):
        elsewhere.write(agent_id="a", key="k", value={"n": -1})
    with pytest.raises(Refused, match="the first 20 events are not those of the checkpoint"):
        check(exported(elsewhere), KEY, checkpoint=note(20).encode())
    with pytest.raises(Refused, match="is of the log 'recollect/other'"):
        check(DATA, KEY, checkpoint=note(20, origin="recollect/other").encode())
    with pytest.raises(Refused, match="not of 'recollect/x'"):
        check(DATA, KEY, checkpoint=note(20).encode(), origin="recollect/x")


def test_a_checkpoint_needs_a_key_that_is_trusted() -> None:
    with pytest.raises(WrongKey):
        check(DATA, checkpoint=note(20).encode())
    with pytest.raises(Refused, match="not signed by a key you trust"):
        check(DATA, KEY, checkpoint=note(20, signer=OTHER).encode())
    forged = note(20).replace("20\n", "19\n", 1)
    with pytest.raises(Refused, match="does not match the text"):
        check(DATA, KEY, checkpoint=forged.encode())


def test_checkpoints_in_the_file_count_if_a_trusted_key_signed_them() -> None:
    data = with_notes(
        DATA, (0, note(0)), (7, note(7)), (12, note(12)), (15, note(15, signer=OTHER))
    )
    assert check(data)["checkpoints"] == 4
    assert check(data)["checkpoint"] is None
    vouched = check(data, KEY)["checkpoint"]
    assert isinstance(vouched, dict)
    assert vouched["size"] == 12
    with pytest.raises(Refused, match="no checkpoint in the log is signed by a key you trust"):
        check(DATA, KEY)


def test_a_signature_in_the_file_that_does_not_hold_is_not_skipped() -> None:
    text, _, signature = note(7).rpartition(" ")
    bad = bytearray(b64decode(signature))
    bad[10] ^= 1
    data = with_notes(DATA, (7, f"{text} {b64encode(bad).decode()}\n"), (12, note(12)))
    assert check(data)["checkpoints"] == 2, "without a key nobody can tell"
    with pytest.raises(Refused, match=r"line 9: the signature of .* does not match the text"):
        check(data, KEY)


@pytest.mark.parametrize("more", [b"\n", b" ", b"{}\n", DATA])
def test_nothing_follows_the_end(more: bytes, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="line 23: the file continues after its last line"):
        check(DATA + more)
    with pytest.raises(memoranda.Corruption, match="line 22: the file continues"):
        memoranda.import_log(BytesIO(DATA + more), tmp_path / "new.db")


@pytest.mark.parametrize("wrong", [{"lines": 20}, {"lines": 22}, {"sha256": "0" * 64}])
def test_the_end_is_held_to_the_lines(wrong: Fields, tmp_path: Path) -> None:
    *lines, end = DATA.splitlines(keepends=True)
    changed = json.dumps(json.loads(end) | wrong, separators=(",", ":")).encode()
    data = b"".join((*lines, changed, b"\n"))
    ours, theirs = verdicts(data, tmp_path)
    assert "line 22: its count or hash does not match the lines" in (ours or "")
    assert "line 22: its count or hash does not match the lines" in (theirs or "")


def refused(lines: list[Fields], folder: Path) -> tuple[str, str]:
    """Return why lines are refused by both, with an end that fits."""
    ours, theirs = verdicts(spelled(lines), folder)
    assert ours is not None
    assert theirs is not None
    return ours, theirs


@pytest.mark.parametrize(
    "other",
    [{"commits": 19}, {"commits": 21}, {"head_hash": "0" * 64}, {"log_id": "x"}, {"log_id": ""},
     {"version": 0}, {"version": True}, {"commits": -1}, {"head_hash": "0" * 63}],
)  # fmt: skip
def test_the_header_is_held_to_the_log(other: Fields, tmp_path: Path) -> None:
    lines = lines_of(DATA)
    lines[0] |= other
    refused(lines, tmp_path)


def test_content_stands_behind_its_event(tmp_path: Path) -> None:
    store = memory_store()
    with store.begin_transaction() as transaction:
        for number in range(3):
            transaction.remember(f"{number}" * 5000, agent_id="a")
    store.write(agent_id="a", key="k", value={})
    lines = lines_of(exported(store))
    header, event, *blobs, last = lines
    assert [blob["position"] for blob in blobs] == [1, 2, 3]
    first, second, third = blobs
    for wrong in (
        [header, event, first, second, last],
        [header, event, last, *blobs],
        [header, event, second, first, third, last],
        [header, event, *blobs, third, last],
        [header, *blobs, event, last],
        [header, event, first, second, {**third, "content": first["content"]}, last],
        [header, event, first, second, {**third, "commit_ts": 2}, last],
        [{**header, "commits": 1, "head_hash": event["hash"]}, event, first, second],
    ):
        refused(wrong, tmp_path)


def test_each_operation_stands_on_its_own(tmp_path: Path) -> None:
    """Two that are cut elsewhere give the same bytes when joined, and are not the same lines."""
    store = memory_store()
    with store.begin_transaction() as transaction:
        transaction.write(agent_id="a", key="k", value={})
        transaction.write(agent_id="b", key="k", value={})
    lines = lines_of(exported(store))
    first, second, third = (b64decode(line) for line in lines[1]["operations"])
    lines[1]["operations"] = [encoded(line) for line in (first, second[:-1], second[-1:] + third)]
    refused(lines, tmp_path)


def chained(*times: int) -> bytes:
    """Return a log whose hashes are right, whatever its times are."""
    head = chain.genesis("log")
    lines: list[Fields] = [{}]
    for time in times:
        write = Write("default", "a", "k", 1, b"{}")
        event = chain.seal(head, time, b"\2" + b"1" * 64, Envelope("t", "a", b""), [write])
        head = Head(event.commit_ts, time, event.hash)
        lines.append({
            "type": "event", "commit_ts": event.commit_ts, "committed_at": time,
            "hash": event.hash.hex(), "salts": encoded(event.salts),
            "envelope": encoded(event.envelope),
            "operations": [encoded(part) for part in codec.split(event.operations)],
        })  # fmt: skip
    lines[0] = {"type": "recollect.log", "version": 2, "log_id": "log", "commits": len(times),
                "head_hash": head.hash.hex()}  # fmt: skip
    return spelled(lines)


def test_times_grow(tmp_path: Path) -> None:
    assert check(chained(5, 6, 7))["commits"] == 3
    for times in ((5, 6, 6), (5, 6, 4), (0, 1, 2)):
        with pytest.raises(Refused, match="its time is not after"):
            check(chained(*times))
        with pytest.raises(memoranda.ChainBroken, match="its time is not after"):
            memoranda.import_log(BytesIO(chained(*times)), tmp_path / "new.db")


@pytest.mark.parametrize(
    "bad",
    [
        (7, note(8)),
        (8, note(8, data=log(9), origin="recollect/other")),
        (8, "no note at all"),
        (8, note(8).replace("\n8\n", "\n08\n")),
    ],
)
def test_a_checkpoint_in_the_file_that_does_not_fit_is_refused(
    bad: tuple[int, str], tmp_path: Path
) -> None:
    data = with_notes(DATA, bad)
    with pytest.raises(Refused):
        check(data)
    with pytest.raises(memoranda.Corruption):
        memoranda.import_log(BytesIO(data), tmp_path / "new.db")


def test_checkpoints_of_one_size_stand_in_order(tmp_path: Path) -> None:
    both = sorted((note(7), note(7, signer=OTHER)))
    good = with_notes(DATA, *((7, text) for text in both))
    assert check(good)["checkpoints"] == 2
    memoranda.import_log(BytesIO(good), tmp_path / "new.db")
    with memoranda.open(tmp_path / "new.db") as new:
        assert exported(new) == good
    for wrong in (both[::-1], both[:1] * 2):
        lines = lines_of(DATA)
        lines[8:8] = [{"type": "checkpoint", "size": 7, "note": text} for text in wrong]
        with pytest.raises(Refused, match="out of order"):
            check(spelled(lines))
        with pytest.raises(memoranda.Corruption, match="out of order"):
            memoranda.import_log(BytesIO(spelled(lines)), tmp_path / "other.db")


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, 127, 128, 255, 256, 65536, 2**32, 2**63 - 1, -1, -32, -33, -129,
        -32769, -(2**31) - 1, -(2**63), 1.5, "", "é" * 10, "x" * 40, "x" * 300, "x" * 70000, b"",
        b"x" * 300, b"x" * 70000, [], [1, [2, ["x"]]], [0] * 20, [0] * 70000,
    ],
)  # fmt: skip
def test_msgpack_is_read_as_it_is_written(value: object) -> None:
    assert memoranda_verify._unpack(msgspec.msgpack.encode(value)) == value


def test_a_map_is_read_as_its_keys_and_values() -> None:
    settings = {f"k{number}": number for number in range(20)}
    assert memoranda_verify._unpack(msgspec.msgpack.encode(settings)) == settings
    with pytest.raises(Refused, match="twice"):
        memoranda_verify._unpack(b"\x82\xa1a\x01\xa1a\x01")


@pytest.mark.parametrize(
    "data", [b"", b"\x92\x01", b"\xc1", b"\xc7\x01\x00x", b"\x01\x01", b"\xdb\xff\xff\xff\xff",
             b"\x91" * 100 + b"\x01", b"\xd9\x05abc"],
)  # fmt: skip
def test_what_is_not_whole_msgpack_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        memoranda_verify._unpack(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log").write_bytes(DATA)
    (tmp_path / "keys").write_text(f"{OURS.public.line}\n", "utf-8")
    (tmp_path / "note").write_text(note(9), "utf-8")
    return tmp_path


def test_as_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(folder / "log")
    assert memoranda_verify.main(["log", file]) == memoranda_verify.HOLDS
    decoded_value = json.loads(capsys.readouterr().out)
    assert (decoded_value["holds"], decoded_value["commits"]) == ("log", 20)
    stored_value = ["--checkpoint", str(folder / "note"), "--key-file", str(folder / "keys")]
    assert memoranda_verify.main(["log", file, *stored_value]) == memoranda_verify.HOLDS
    assert json.loads(capsys.readouterr().out)["checkpoint"]["size"] == 9
    assert memoranda_verify.main(["log", file, *stored_value[2:]]) == memoranda_verify.REFUSED
    assert memoranda_verify.main(["log", file, *stored_value[:2]]) == memoranda_verify.USAGE
    assert memoranda_verify.main(["log", f"{file}.missing"]) == memoranda_verify.UNREADABLE
    capsys.readouterr()
    (folder / "log").write_bytes(DATA[:-1])
    assert memoranda_verify.main(["log", file]) == memoranda_verify.REFUSED
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err == "memoranda-verify: line 22: the file is truncated, or empty\n"


def test_from_the_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(DATA)))
    assert memoranda_verify.main(["log", "-"]) == memoranda_verify.HOLDS
    assert json.loads(capsys.readouterr().out)["commits"] == 20


def test_nothing_else_has_to_be_installed(folder: Path) -> None:
    """The file is copied to somebody who has Python and nothing more."""
    shutil.copy(SOURCE, folder / "check.py")
    command = [sys.executable, "-I", "-S", str(folder / "check.py"), "log", str(folder / "log")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
