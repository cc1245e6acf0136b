"""Random alterations of an exported log: none passes, neither an import nor the verifier alone."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memoranda
from tests.logs import Fields, encoded, ended, exported, full_store, lines_of, refusal, verdicts
from tests.quick import only

ROUNDS = 20
"""Alterations a seed, of each of two kinds."""
SEEDS = 10
SALT = 16


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A log with everything in it: long content, checkpoints, and places that were erased."""
    folder = tmp_path_factory.mktemp("log")
    with full_store(folder) as store:
        return exported(store)


@pytest.mark.slow
def test_the_log_itself_passes(data: bytes, tmp_path: Path) -> None:
    assert verdicts(data, tmp_path) == (None, None)
    kinds = [line["type"] for line in lines_of(data)]
    assert {*kinds} == {"recollect.log", "event", "blob", "checkpoint"}
    memoranda.import_log(BytesIO(data), tmp_path / "new.db")
    with memoranda.open(tmp_path / "new.db") as new:
        assert exported(new) == data


def flip(data: bytearray, chance: Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut_out(data: bytearray, chance: Random) -> None:
    first = chance.randrange(len(data))
    del data[first : first + chance.randint(1, 500)]


def put_in(data: bytearray, chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice([b" ", b"\n", b"\0", b"x", b"{}\n", b"\xff\xfe"])


def cut_off(data: bytearray, chance: Random) -> None:
    del data[chance.randrange(len(data)) :]


def move_lines(data: bytearray, chance: Random) -> None:
    """Leave a line out, say it twice, or swap two that differ."""
    lines = bytes(data).splitlines(keepends=True)
    one, other = chance.sample(range(len(lines)), 2)
    kind = chance.randrange(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    data[:] = b"".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0, 1], range(SEEDS)))
def test_changed_bytes_are_refused(data: bytes, tmp_path: Path, seed: int) -> None:
    chance = Random(f"bytes {seed}")
    for number in range(ROUNDS):
        changed = bytearray(data)
        change = chance.choice([flip, cut_out, put_in, cut_off, move_lines])
        change(changed, chance)
        if changed != data:
            result = verdicts(bytes(changed), tmp_path)
            assert None not in result, (seed, number, change.__name__, result)


def values(holder: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield every place in a line where a value stands."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in [*items]:
        yield holder, key, f"{path}/{key}"
        if isinstance(value, (dict, list)):
            yield from values(value, f"{path}/{key}")


def altered(value: Any, path: str, chance: Random) -> Any:
    """Return another value for a place, of the same kind or of a wrong one."""
    if chance.random() < 0.15:
        return chance.choice([None, True, 1.0, "", [], {}, -1, 2**63, "x"])
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 7, 2**40])
    if isinstance(value, list):
        return _rearranged(value, chance)
    if path in ("/salts", "/envelope", "/content") or path.startswith("/operations/"):
        return _other_bytes(value, chance, first=SALT if path == "/salts" else 0)
    at = chance.randrange(len(value)) if value else 0
    return value[:at] + chance.choice("0af+/= \né") + value[at + 1 :]


def _rearranged(value: list[Any], chance: Random) -> list[Any]:
    if len(value) < 2 or chance.random() < 0.5:
        return value[:-1] if value else [0]
    shuffled = [*value]
    chance.shuffle(shuffled)
    return shuffled


def _other_bytes(value: str, chance: Random, first: int) -> str:
    data = bytearray(b64decode(value))
    data[chance.randrange(first, len(data))] ^= 1 << chance.randrange(
        8
    )  # the request's salt is free
    return encoded(bytes(data))


def change_a_value(line: Fields, chance: Random) -> None:
    holder, key, path = chance.choice([*values(line)])
    holder[key] = altered(holder[key], path, chance)


def change_the_fields(line: Fields, chance: Random) -> None:
    kind = chance.randrange(3)
    name = chance.choice([*line])
    value = line.pop(name)
    if kind == 0:
        line[name] = value
    elif kind == 1:
        line[f"{name}s"] = value


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0, 1], range(SEEDS)))
def test_changed_lines_are_refused_even_if_the_end_fits(
    data: bytes, tmp_path: Path, seed: int
) -> None:
    chance = Random(f"lines {seed}")
    for number in range(ROUNDS):
        lines = lines_of(data)
        line = chance.choice(lines)
        change: Callable[[Fields, Random], None] = chance.choice(
            [change_a_value, change_a_value, change_the_fields]
        )
        change(line, chance)
        changed = spelled_oddly(lines, chance)
        if changed == data or only_a_signature(data, lines):
            continue
        result = verdicts(changed, tmp_path)
        assert None not in result, (seed, number, change.__name__, line, result)


def only_a_signature(data: bytes, lines: list[Fields]) -> bool:
    """Say whether nothing differs but what a signature alone could vouch for."""
    return [unsigned(line) for line in lines_of(data)] == [unsigned(line) for line in lines]


def unsigned(line: Fields) -> Fields:
    if line.get("type") == "checkpoint" and isinstance(line.get("note"), str):
        return {**line, "note": line["note"].partition("\n\n")[0]}
    return line


def spelled_oddly(lines: list[Fields], chance: Random) -> bytes:
    """Return lines with an end that fits; sometimes one of them is spelled in another way."""
    text = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    if chance.random() < 0.2:
        at = chance.randrange(len(text))
        text[at] = chance.choice([json.dumps(lines[at]), f" {text[at]}", f"{text[at]} "])
    return ended("".join(f"{line}\n" for line in text).encode())


@pytest.mark.slow
def test_spelling_alone_is_refused(data: bytes, tmp_path: Path) -> None:
    for at in (0, 3, 12):
        lines = [
            json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines_of(data)
        ]
        lines[at] = json.dumps(lines_of(data)[at], ensure_ascii=False)
        changed = ended("".join(f"{line}\n" for line in lines).encode())
        ours, theirs = verdicts(changed, tmp_path)
        assert f"line {at + 1}" in (ours or "")
        assert f"line {at + 1}" in (theirs or "")
        assert refusal(data) is None
