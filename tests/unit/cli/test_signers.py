"""Signers, checkpoints and proofs on the command line."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda_verify
from tests.unit.audit.logs import rechain, spoil
from tests.unit.audit.test_checkpoint_verifier import later
from tests.unit.cli.runner import Cli

NAME = "example.com/agents"


@pytest.fixture
def signing(filled: Cli) -> Cli:
    """A command line with a store of five commits, and a signer."""
    filled("signer", "create", NAME)
    return filled


def outsider(*arguments: object) -> int:
    return memoranda_verify.main([str(argument) for argument in arguments])


def test_a_signer_is_a_file_in_a_folder_of_its_own(cli: Cli) -> None:
    instance = cli.row("signer", "create", NAME)
    path = Path(instance["path"])
    assert path.parent == cli.home / "config" / "memoranda" / "signers"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.name == f"example.com%2Fagents+{instance['key'].split('+')[1]}.key"
    (row,) = cli.rows("signer", "list")
    assert (row["key"], row["standing"]) == (instance["key"], "not trusted by this log")


def test_the_folder_can_be_another(cli: Cli, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    cli("signer", "create", NAME, "--signers", tmp_path / "one")
    cli.env["MEMORANDA_SIGNERS"] = str(tmp_path / "two")
    cli("signer", "create", NAME)
    assert [len(list((tmp_path / name).iterdir())) for name in ("one", "two")] == [1, 1]
    assert "there is no folder" in cli.fails(4, "signer", "create", NAME, "--signers", "no/where")


def test_without_a_signer(filled: Cli) -> None:
    assert "memoranda signer create" in filled.fails(4, "checkpoint")
    assert "none: `memoranda checkpoint` signs one" in filled("stats")
    assert "none" in filled("verify")
    assert filled("checkpoints") == ""


def test_a_checkpoint_and_what_it_is_good_for(signing: Cli, tmp_path: Path) -> None:
    note, keys = tmp_path / "kept.txt", tmp_path / "keys.txt"
    assert "signed 6 commits" in signing("checkpoint", "-o", note)
    assert "already exists" in signing.fails(2, "checkpoint", "-o", note)
    keys.write_text("# ours\n" + signing("signer", "export"))
    assert signing("checkpoint") == note.read_text()
    (listing,) = signing.rows("checkpoints")
    assert (listing["size"], listing["note"]) == (6, note.read_text())
    assert outsider("checkpoint", note, "--key-file", keys) == 0
    row = signing.row("verify", "--checkpoint", note, "--key", keys)
    assert (row["checkpoints"], row["last_checkpoint"]) == (1, 6)
    assert "1, the last of 6 commits" in signing("verify", "--checkpoint", note)
    signing("write", "k", "{}")
    assert "1 commit behind" in signing("stats")
    assert signing.row("stats")["checkpoint_size"] == 6


def test_proofs_for_an_outsider(signing: Cli, tmp_path: Path) -> None:
    keys, proof, stored_value = (tmp_path / name for name in ("keys", "proof", "held"))
    signing("checkpoint", "-o", stored_value)
    signing("write", "k", "{}")
    signing("checkpoint")
    keys.write_text(signing("signer", "export"))
    signing("prove", 3, "-o", proof)
    assert outsider("inclusion", proof, "--key-file", keys) == 0
    proof.write_text(signing("prove", 3, "--checkpoint", stored_value))
    assert outsider("inclusion", proof, "--key-file", keys, "--held", stored_value) == 0
    for old in (6, stored_value):
        proof.write_text(signing("prove-growth", old))
        assert outsider("consistency", proof, "--key-file", keys, "--held", stored_value) == 0
    assert json.loads(proof.read_text())["type"] == "recollect.consistency-proof"
    assert "COMMIT" in signing.fails(2, "prove", 0)
    assert "no commit 99" in signing.fails(4, "prove", 99)
    assert "OLD: cannot read" in signing.fails(2, "prove-growth", "no-file")


def test_the_verifier_runs_without_the_engine(signing: Cli, tmp_path: Path) -> None:
    (tmp_path / "note").write_text(signing("checkpoint"))
    (tmp_path / "keys").write_text(signing("signer", "export"))
    alone = tmp_path / "alone.py"
    alone.write_bytes(Path(memoranda_verify.__file__).read_bytes())
    command = [sys.executable, str(alone), "checkpoint", "note", "--key-file", "keys"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["size"] == 6


def test_a_key_in_the_place_of_another(signing: Cli, tmp_path: Path) -> None:
    old = tmp_path / "old"
    signing("checkpoint", "-o", old)
    retired, trusted = signing.rows("signer", "rotate", "--reason", "yearly")
    assert (retired["done"], trusted["done"]) == ("retired", "trusted")
    assert retired["commit_ts"] == trusted["commit_ts"] == 7
    assert signing.row("checkpoint")["size"] == 7  # with the one that is trusted now
    first, second = signing("signer", "export").splitlines()
    assert (first.split(" ")[1:], second.split(" ")[1:]) == (["from=6", "until=6"], ["from=7"])
    standing = sorted(row["standing"] for row in signing.rows("signer", "list"))
    assert standing == ["retired after commit 6", "trusted from commit 7 on"]
    assert "was retired at commit 7" in signing.fails(2, "checkpoint", "--signer", first.split()[0])
    signing("verify", "--checkpoint", old)


def test_trusting_and_retiring(signing: Cli) -> None:
    signing("checkpoint")
    other = signing.row("signer", "create", "example.com/other")
    assert "is not trusted" in signing.fails(2, "checkpoint", "--signer", "example.com/other")
    assert signing.row("signer", "trust", "example.com/other")["commit_ts"] == 7
    assert "there are several" in signing.fails(2, "checkpoint")
    assert signing.row("checkpoint", "--signer", other["path"])["size"] == 7
    assert signing.row("signer", "retire", other["key"], "--reason", "lost")["commit_ts"] == 8
    assert signing.row("checkpoint")["size"] == 8
    assert "no signer 'nobody'" in signing.fails(4, "signer", "trust", "nobody")
    assert signing.row("signer", "export", NAME)["name"] == NAME


def test_a_log_that_was_changed(signing: Cli, tmp_path: Path) -> None:
    note = tmp_path / "kept"
    signing("checkpoint", "-o", note)
    rechain(signing.db, 4, later)
    assert "re-chained" in signing.fails(3, "verify")
    spoil(signing.db, "DELETE FROM checkpoint")
    signing("verify")
    assert "your checkpoint of 6 commits" in signing.fails(3, "verify", "--checkpoint", note)
    assert "nothing is signed" in signing.fails(3, "checkpoint")
    spoil(signing.db, "DELETE FROM event WHERE commit_ts > 5")
    spoil(signing.db, "DELETE FROM meta WHERE name = 'tree'")
    reports = signing.fails(3, "verify", "--checkpoint", note, "--key", _keys(signing, tmp_path))
    assert "the log was truncated" in reports


def _keys(cli: Cli, folder: Path) -> Path:
    """The signer's own key: the log does not say any more whom it trusted."""
    (folder / "keys").write_text(cli("signer", "export", NAME))
    return folder / "keys"


def test_a_wrong_key(signing: Cli, tmp_path: Path) -> None:
    note, keys = tmp_path / "kept", tmp_path / "keys"
    signing("checkpoint", "-o", note)
    keys.write_text(signing.row("signer", "create", "example.com/other")["key"] + "\n")
    assert "none of these keys is trusted" in signing.fails(
        3, "verify", "--checkpoint", note, "--key", keys
    )
    keys.write_text("nonsense\n")
    signing.fails(2, "verify", "--checkpoint", note, "--key", keys)
    assert "--checkpoint: cannot read" in signing.fails(2, "verify", "--checkpoint", "no-file")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs file modes")
def test_a_signer_that_others_can_read(signing: Cli) -> None:
    (row,) = signing.rows("signer", "list")
    Path(row["path"]).chmod(0o644)
    assert "chmod 0600" in signing("signer", "list")
    assert "chmod 0600" in signing.fails(2, "checkpoint")
