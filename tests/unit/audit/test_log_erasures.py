"""Exported logs of which something was erased: what is accepted, and what is not."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any, cast

import apsw
import msgspec
import pytest

import memoranda
import memoranda_verify
from memoranda import ChainBroken
from memoranda.audit.log_file.checker import ErasedRow, LogChecker
from memoranda.log import chain, pages
from memoranda.model import codec
from memoranda.model.event import Envelope, SealedEvent
from tests.logs import Fields, encoded, exported, lines_of, refusal, spelled, verdicts
from tests.unit.audit.erased_log import Eraser, erased_store


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    erased_store(tmp_path / "store.db")
    with memoranda.open(tmp_path / "store.db") as store:
        return exported(store)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def test_it_travels(data: bytes, folder: Path) -> None:
    assert verdicts(data, folder) == (None, None)
    memoranda.import_log(BytesIO(data), folder / "new.db")
    with memoranda.open(folder / "new.db") as new:
        assert exported(new) == data
        assert new.rebuild().identical
    rows = [line.get("erased", []) for line in lines_of(data)]
    assert [[row[:2] for row in item] for item in rows if item] == [
        [[0, 10], [0, 11]],
        [[1, 10]],
        [[0, 11], [1, 11]],
        [[0, 10]],
    ]
    assert b"secret words" not in data
    assert '"blob"' not in data.decode()


def test_what_is_erased_is_counted(data: bytes) -> None:
    assert memoranda_verify.check_log(BytesIO(data), [])["erased"] == 5


def find(lines: list[Fields], commit_ts: int) -> Fields:
    (result,) = (line for line in lines if line.get("commit_ts") == commit_ts)
    return result


def drop_rows(lines: list[Fields]) -> None:
    del find(lines, 5)["erased"]


def drop_one_row(lines: list[Fields]) -> None:
    find(lines, 7)["erased"].pop()


def drop_earlier_row(lines: list[Fields]) -> None:
    find(lines, 3)["erased"].pop(0)


def drop_later_row(lines: list[Fields]) -> None:
    find(lines, 3)["erased"].pop()


def add_row(lines: list[Fields]) -> None:
    find(lines, 4)["erased"] = [[0, 10, "0" * 64]]


def add_row_of_nobody(lines: list[Fields]) -> None:
    find(lines, 3)["erased"].append([0, 12, find(lines, 3)["erased"][1][2]])


def empty_rows(lines: list[Fields]) -> None:
    find(lines, 4)["erased"] = []


def swap_rows(lines: list[Fields]) -> None:
    find(lines, 7)["erased"].reverse()


def double_row(lines: list[Fields]) -> None:
    rows = find(lines, 5)["erased"]
    rows.append(rows[0])


def other_digest(lines: list[Fields]) -> None:
    find(lines, 5)["erased"][0][2] = "0" * 64


def other_erasure(lines: list[Fields]) -> None:
    find(lines, 5)["erased"][0][1] = 11


def erased_by_an_earlier_event(lines: list[Fields]) -> None:
    find(lines, 5)["erased"][0][1] = 4


def drop_the_erasing_event(lines: list[Fields]) -> None:
    lines.remove(find(lines, 11))
    lines[0] |= {"commits": 10, "head_hash": find(lines, 10)["hash"]}


def salt_left(lines: list[Fields]) -> None:
    event = find(lines, 5)
    event["salts"] = encoded(b64decode(event["salts"])[:-16] + b"\1" * 16)


def request_salt_left(lines: list[Fields]) -> None:
    event = find(lines, 5)
    salts = bytearray(b64decode(event["salts"]))
    salts[-32] ^= 1
    event["salts"] = encoded(bytes(salts))


@pytest.mark.parametrize(
    "change",
    [
        drop_rows, drop_one_row, drop_earlier_row, drop_later_row, add_row, add_row_of_nobody,
        empty_rows, swap_rows, double_row, other_digest, other_erasure,
        erased_by_an_earlier_event, drop_the_erasing_event, salt_left, request_salt_left,
    ],
)  # fmt: skip
def test_whatever_is_said_wrongly_is_refused(
    data: bytes, folder: Path, change: Callable[[list[Fields]], None]
) -> None:
    lines = lines_of(data)
    change(lines)
    assert None not in verdicts(spelled(lines), folder)


def test_nothing_can_be_passed_off_as_erased(folder: Path) -> None:
    """Not even with a row, if no event vouches for it."""
    erased_store(folder / "store.db")
    database = apsw.Connection(str(folder / "store.db"))
    database.execute("DELETE FROM event WHERE commit_ts = 11")
    database.close()
    with memoranda.open(folder / "store.db") as store, pytest.raises(ChainBroken) as caught:
        store.export_log(folder / "log.jsonl")
    assert caught.value.commit_ts in (3, 7)


def forged(data: bytes, count: int, digest: bytes) -> bytes:
    """Return a log whose last event erases otherwise than what is said elsewhere."""
    lines = lines_of(data)
    log = LogChecker(lines[0]["log_id"])
    for line in lines[1:-1]:
        event = SealedEvent(
            line["commit_ts"], line["committed_at"], bytes.fromhex(line["hash"]),
            b64decode(line["salts"]), b64decode(line["envelope"]),
            codec.join([b64decode(part) for part in line["operations"]]),
        )  # fmt: skip
        text = line.get("erased", [])
        log.add_event(
            event, [ErasedRow(at, by, bytes.fromhex(remainder)) for at, by, remainder in text]
        )
    last = chain.seal(
        log.head,
        log.head.committed_at + 1,
        b"\2" + b"\1" * 64,
        Envelope("erasing", "local", b""),
        [Eraser.erasing(None, count, digest)],  # type: ignore[arg-type]
    )
    lines[-1] = {
        "type": "event", "commit_ts": last.commit_ts, "committed_at": last.committed_at,
        "hash": last.hash.hex(), "salts": encoded(last.salts),
        "envelope": encoded(last.envelope),
        "operations": [encoded(part) for part in codec.split(last.operations)],
    }  # fmt: skip
    lines[0]["head_hash"] = last.hash.hex()
    return spelled(lines)


@pytest.mark.parametrize(("count", "digest"), [(3, b"\0" * 32), (0, sha256().digest())])
def test_an_erasing_event_says_what_it_erased(
    data: bytes, folder: Path, count: int, digest: bytes
) -> None:
    ours, theirs = verdicts(forged(data, count, digest), folder)
    assert "commit 3" in (ours or ""), "the first commit of which something was erased"
    assert "the erasures of commit 11 are not those it attests" in (theirs or "")


def test_what_an_event_says_it_erased_must_be_gone(data: bytes, folder: Path) -> None:
    """Though it vouches for a row, and its digest fits: what the row is about is still there."""
    remainder = "0" * 64
    rows = [(3, 0, find(lines_of(data), 3)["erased"][1][2]), (4, 0, remainder)]
    rows += [(7, at, digest) for at, _, digest in find(lines_of(data), 7)["erased"]]
    hashed = [pack(">qq", commit, at) + bytes.fromhex(digest) for commit, at, digest in rows]
    lines = lines_of(forged(data, 4, sha256(b"".join(hashed)).digest()))
    find(lines, 4)["erased"] = [[0, 11, remainder]]
    ours, theirs = verdicts(spelled(lines), folder)
    assert "commit 4" in (ours or "")
    assert "line 5: a row names an erased position that is not erased" in (theirs or "")


def test_an_erasing_event_of_nothing_is_fine(folder: Path) -> None:
    erased_store(folder / "store.db")
    eraser = Eraser(folder / "store.db")
    eraser.append([eraser.erasing(0, sha256().digest())])
    eraser.close()
    with memoranda.open(folder / "store.db") as store:
        assert verdicts(exported(store), folder) == (None, None)


def test_what_is_erased_during_an_export_begins_it_anew(folder: Path) -> None:
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(600):
            store.write(agent_id="a", key="k", value={"n": number})
        start: list[int] = []

        def erase(done: int, total: int) -> None:
            if not start:
                eraser = Eraser(path)
                eraser.erase((1, 1), (590, 0))
                eraser.close()
            start.append(total)

        assert store.export_log(folder / "log.jsonl", progress=erase).commits == 601
        assert start[0] == 600
        assert start[-1] == 601
    assert refusal((folder / "log.jsonl").read_bytes()) is None


def test_an_export_that_cannot_begin_anew_ends(folder: Path) -> None:
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(600):
            store.write(agent_id="a", key="k", value={"n": number})

        def erase(done: int, total: int) -> None:
            eraser = Eraser(path)
            eraser.erase((590, 0))
            eraser.close()

        opened = BytesIO()
        with pytest.raises(memoranda.StoreBusy, match="Export it again"):
            store.export_log(opened, progress=erase)
        assert "the file is truncated" in (refusal(opened.getvalue()) or "")
        with pytest.raises(memoranda.StoreBusy):
            store.export_log(folder / "log.jsonl", progress=erase)
    assert [item.name for item in folder.iterdir()] == ["store.db"]


def test_content_erased_between_two_reads_is_no_corruption(folder: Path) -> None:
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        store.store_transcript("words " * 2000, agent_id="a")
        store.write(agent_id="a", key="k", value={})
        erased: list[int] = []

        class Sink(BytesIO):
            def write(self, data: object, /) -> int:
                if not erased and b'"event"' in cast(bytes, data):
                    eraser = Eraser(path)
                    erased.append(eraser.erase((1, 1)))
                    eraser.close()
                return super().write(data)  # type: ignore[arg-type]

        with pytest.raises(memoranda.StoreBusy, match="Export it again"):
            store.export_log(Sink())
        assert refusal(exported(store)) is None


def test_a_page_is_of_one_moment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is erased between an event and what is said of it is not in the export at all."""
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        store.write(agent_id="a", key="k", value={})
        store.write(agent_id="a", key="k", value={"n": 2})
        read = pages.page

        def read_and_erase(*targets: Any, **bounds: Any) -> list[SealedEvent]:
            result = read(*targets, **bounds)
            eraser = Eraser(path)
            eraser.erase((2, 0))
            eraser.close()
            return result

        with monkeypatch.context() as patched:
            patched.setattr(pages, "page", read_and_erase)
            data = exported(store)
        assert refusal(data) is None
        assert "erased" not in lines_of(data)[2]
        assert "erased" in lines_of(exported(store))[2]


def test_what_is_said_to_be_erased_must_be_gone(folder: Path) -> None:
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        store.write(agent_id="a", key="k", value={})
        store.write(agent_id="a", key="k", value={"n": 2})
    eraser = Eraser(path)
    before = eraser.event(2)
    eraser.erase((2, 0))
    eraser.put(before)
    eraser.close()
    with memoranda.open(path) as store, pytest.raises(ChainBroken) as caught:
        exported(store)
    assert caught.value.commit_ts == 2


def test_an_erased_envelope_is_followed(data: bytes) -> None:
    """As it will be written: a number first, then the leaf, a pseudonym, and who erased it."""
    lines = lines_of(data)
    event, last = find(lines, 7), find(lines, 11)
    salts, envelope = b64decode(event["salts"]), b64decode(event["envelope"])
    leaf = sha256(b"\1" + salts[1:17] + envelope).digest()
    remainder = msgspec.msgpack.encode([0, leaf, "forgotten-0123456789abcdef", 11])
    event["envelope"] = encoded(remainder)
    event["salts"] = encoded(b"\2" + bytes(16) + salts[17:])
    event["erased"].insert(0, [-1, 11, sha256(remainder).hexdigest()])
    reports = refusal(spelled(lines))
    assert "the erasures of commit 11 are not those it attests" in (reports or ""), (
        "all but the count fits"
    )
    event["envelope"] = encoded(remainder[:-1] + b"\x0a")
    assert "its tombstone was changed" in (refusal(spelled(lines)) or "")
    assert last["commit_ts"] == 11


def test_following_names_the_commit(data: bytes) -> None:
    lines = lines_of(data)
    drop_rows(lines)
    with pytest.raises(ChainBroken) as caught:
        memoranda.import_log(BytesIO(spelled(lines)), "never.db")
    assert caught.value.commit_ts == 5
