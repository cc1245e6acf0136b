"""Signers: files that only their owner can read, and private keys that are never shown."""

from __future__ import annotations

import copy
import os
import pickle
import stat
import traceback
from pathlib import Path

import pytest

from memoranda.audit import checkpoints, keys, signed_note, signers
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.signers import Signer
from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreReadOnly
from memoranda.model.ids import FixedIds, SystemIds
from tests.unit.audit.published import PETER, PETER_LINE, PETER_PRIVATE, TEXT
from tests.unprivileged import open_folder, run_unprivileged

NAME = "example.com/agents"


def private_file(path: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def secrets_of(path: Path) -> list[str]:
    """What must not be shown: the encoded key, and the seed in the usual spellings."""
    encoded = path.read_text("utf-8").strip().split("+", 4)[4]
    seed = keys.algorithm_key("key", encoded)
    return [encoded, seed.hex(), repr(seed)[2:-1], encoded[4:20]]


def test_a_new_signer_is_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "ours.key"
    instance = signers.create(path, NAME, ids=FixedIds())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["ours.key"]
    again = signers.load(path)
    assert again.public == instance.public
    assert (instance.caution, again.caution) == (None, None)
    assert signed_note.sign("a\n", [again]) == signed_note.sign("a\n", [instance])
    assert keys.parse(instance.public.text) == instance.public
    checkpoint = Checkpoint("example.com/log", 3, bytes(32))
    assert (
        checkpoints.verify(checkpoints.sign(checkpoint, [again]), [instance.public]) == checkpoint
    )


def test_the_file_is_what_other_tools_read(tmp_path: Path) -> None:
    path = tmp_path / "ours.key"
    signer = signers.create(path, NAME, ids=FixedIds())
    seed = FixedIds().entropy(32)
    private, key, name, hashed, encoded = path.read_text("utf-8").split("+", 4)
    assert (private, key, name, hashed) == ("PRIVATE", "KEY", NAME, signer.public.id.hex())
    assert keys.algorithm_key("key", encoded.removesuffix("\n")) == seed
    peter = signers.load(private_file(tmp_path / "peter.key", f"{PETER_PRIVATE}\n"))
    assert peter.public.text == PETER
    assert signed_note.sign(TEXT, [peter]) == f"{TEXT}\n{PETER_LINE}"


def test_chance_makes_every_signer_another(tmp_path: Path) -> None:
    ids = SystemIds()
    instance = {signers.create(tmp_path / f"{n}.key", NAME, ids=ids).public.key for n in range(8)}
    assert len(instance) == 8


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        signers.create(tmp_path / "ours.key", NAME, ids=FixedIds())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ours.key").stat().st_mode) == 0o600


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ours.key"
    signers.create(path, NAME, ids=FixedIds())
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="already exists"):
        signers.create(path, NAME, ids=FixedIds("other"))
    assert path.read_bytes() == before
    dangling = tmp_path / "link.key"
    dangling.symlink_to(tmp_path / "nowhere.key")
    with pytest.raises(InvalidInput, match="already exists"):
        signers.create(dangling, NAME, ids=FixedIds())
    assert sorted(item.name for item in tmp_path.iterdir()) == ["link.key", "ours.key"]


def test_a_name_taken_at_the_last_moment_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "ours.key", signers._write

    def late(draft: Path, target: Path, line: str) -> str | None:
        private_file(path, "theirs")
        return write(draft, target, line)

    monkeypatch.setattr(signers, "_write", late)
    with pytest.raises(InvalidInput, match="already exists"):
        signers.create(path, NAME, ids=FixedIds())
    assert path.read_text("utf-8") == "theirs"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o620, 0o601, 0o700, 0o777, 0o4600])
def test_a_file_that_others_could_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "ours.key"
    signers.create(path, NAME, ids=FixedIds())
    path.chmod(mode)
    with pytest.raises(InvalidInput, match=rf"mode {mode:04o}.*chmod 0600 {path}"):
        signers.load(path)
    path.chmod(0o600)
    assert signers.load(path).public.name == NAME


def test_a_file_that_its_owner_can_only_read_is_guarded_too(tmp_path: Path) -> None:
    path = tmp_path / "ours.key"
    signers.create(path, NAME, ids=FixedIds())
    path.chmod(0o400)
    assert signers.load(path).public.name == NAME


def test_somebody_elses_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ours.key"
    signers.create(path, NAME, ids=FixedIds())
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(InvalidInput, match=rf"belongs to user {us}.*chown {us + 1} {path}"):
        signers.load(path)


def test_a_system_without_modes_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signers, "_HAS_MODES", False)
    path = tmp_path / "ours.key"
    assert "no file modes" in (signers.create(path, NAME, ids=FixedIds()).caution or "")
    path.chmod(0o644)
    assert "no file modes" in (signers.load(path).caution or "")


def test_a_place_that_keeps_no_modes_gets_no_signer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.fstat

    def open_to_all(descriptor: int) -> os.stat_result:
        result = really(descriptor)
        return os.stat_result((result.st_mode | 0o077, *result[1:]))

    monkeypatch.setattr(os, "fstat", open_to_all)
    with pytest.raises(InvalidInput, match="choose another place"):
        signers.create(tmp_path / "ours.key", NAME, ids=FixedIds())
    monkeypatch.undo()
    assert [*tmp_path.iterdir()] == []


def test_what_is_not_a_signer_is_refused_without_showing_it(tmp_path: Path) -> None:
    good = tmp_path / "good.key"
    signers.create(good, NAME, ids=FixedIds())
    line = good.read_text("utf-8")
    encoded = line.strip().split("+", 4)[4]
    changed = [line[:at] + chr(ord(line[at]) + 1) + line[at + 1 :] for at in range(len(line))]
    cut = [line[:end] for end in range(len(line))]
    odd: list[str | bytes] = [
        f"{line}\n", f"{line}x", f" {line}", f"\ufeff{line}", line * 2, line.replace("\n", "\r\n"),
        line.replace("PRIVATE", "private"), line.removeprefix("PRIVATE+KEY+"),
        line.replace(NAME, "other"), f"{encoded}\n", f"{line[:-2]}B=\n", "x" * 5000,
        b"\xff" + line.encode(), line.encode("utf-16"),
    ]  # fmt: skip
    for number, text in enumerate([*changed, *cut, *odd]):
        assert text != line
        path = private_file(tmp_path / f"{number}.txt", text)
        with pytest.raises(InvalidInput, match="does not hold a signer") as raised:
            signers.load(path)
        output = "".join(traceback.format_exception(raised.value)) + repr(raised.value.__context__)
        assert encoded[4:20] not in output


def test_a_private_key_is_not_shown_or_copied(tmp_path: Path) -> None:
    path = tmp_path / "ours.key"
    signer = signers.create(path, NAME, ids=FixedIds())
    output = f"{signer!r} {signer} {signer.public!r} {signers.list_files(tmp_path)!r}"
    assert signer.public.id.hex() in repr(signer)
    assert not any(secret in output for secret in secrets_of(path))
    assert not hasattr(signer, "__dict__")
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="not copied"):
            attempt(signer)


def test_a_folder_says_which_signers_it_has_and_which_cannot_be_used(tmp_path: Path) -> None:
    first = signers.create(tmp_path / "b.key", NAME, ids=FixedIds("1")).public
    second = signers.create(tmp_path / "a.key", NAME, ids=FixedIds("2")).public
    private_file(tmp_path / "c.key", "nonsense\n")
    signers.create(tmp_path / "d.key", NAME, ids=FixedIds("3"))
    (tmp_path / "d.key").chmod(0o644)
    (tmp_path / "e.key").mkdir()
    (tmp_path / "f.key").symlink_to(tmp_path / "nowhere")
    private_file(tmp_path / "notes.txt", "not a signer's file")
    files = signers.list_files(tmp_path)
    assert [item.path.name for item in files] == [f"{letter}.key" for letter in "abcdef"]
    assert [item.public for item in files] == [second, first, None, None, None, None]
    problems = [item.problem or "" for item in files]
    assert problems[:2] == ["", ""]
    for problem, reports in zip(
        problems[2:], ["not hold a signer", "mode 0644", "not a file", "no signer"], strict=True
    ):
        assert reports in problem


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="create it first"):
        signers.load(tmp_path / "none.key")
    with pytest.raises(NotFound, match="no folder"):
        signers.list_files(tmp_path / "none")
    with pytest.raises(NotFound, match="no folder"):
        signers.create(tmp_path / "none" / "ours.key", NAME, ids=FixedIds())


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.key", 0o600)
    with pytest.raises(InvalidInput, match="not a file"):
        signers.load(tmp_path / "pipe.key")


@pytest.mark.parametrize("name", ["", "two words", "a+b", "x" * 300, "a\nb"])
def test_a_name_that_notes_do_not_allow_makes_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        signers.create(tmp_path / "ours.key", name, ids=FixedIds())
    with pytest.raises(InvalidInput, match="does not end with"):
        signers.create(tmp_path / "ours.pem", NAME, ids=FixedIds())
    assert [*tmp_path.iterdir()] == []


def test_a_seed_has_32_bytes() -> None:
    for size in (0, 31, 33):
        with pytest.raises(InvalidInput, match="32"):
            Signer(NAME, bytes(size))


def test_who_may_not_write_or_read_is_told_so() -> None:
    with open_folder() as folder:
        path = folder / "ours.key"
        signers.create(path, NAME, ids=FixedIds())
        path.chmod(0o000)
        closed = folder / "closed"
        closed.mkdir(mode=0o555)

        def attempt() -> None:
            with pytest.raises(MemorandaError, match=r"cannot be read|mode 0000"):
                signers.load(path)
            with pytest.raises(StoreReadOnly, match="permissions"):
                signers.create(closed / "ours.key", NAME, ids=FixedIds())

        run_unprivileged(attempt)
