"""What others have written reads what we sign: Go's signed notes and logs, and pymerkle.

Go comes with its own copies of those packages, so nothing is fetched; where there is no Go, or it
came without them, that test is skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memoranda import Store
from memoranda.audit import merkle, merkle_store
from tests.cores import core_of
from tests.unit.audit.logs import open_store, signer_in, write

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
PACKAGES = ("note", "tlog")
PROGRAM = """
package main

import (
    "encoding/base64"
    "encoding/hex"
    "encoding/json"
    "fmt"
    "os"
    "strconv"
    "strings"

    "example.test/check/note"
    "example.test/check/tlog"
)

type proof struct {
    Commit   int64    `json:"commit_ts"`
    Event    string   `json:"event_hash"`
    Path     []string `json:"path"`
    Note     string   `json:"checkpoint"`
    OldNote  string   `json:"old_checkpoint"`
    NewNote  string   `json:"new_checkpoint"`
}

func must(err error) {
    if err != nil {
        fmt.Println(err)
        os.Exit(1)
    }
}

func checkpoint(text, key string) (int64, tlog.Hash) {
    verifier, err := note.NewVerifier(key)
    must(err)
    opened, err := note.Open([]byte(text), note.VerifierList(verifier))
    must(err)
    lines := strings.Split(opened.Text, "\\n")
    size, err := strconv.ParseInt(lines[1], 10, 64)
    must(err)
    root, err := base64.StdEncoding.DecodeString(lines[2])
    must(err)
    var hash tlog.Hash
    copy(hash[:], root)
    return size, hash
}

func main() {
    key := os.Args[1]
    for _, name := range os.Args[2:] {
        data, err := os.ReadFile(name)
        must(err)
        var given proof
        must(json.Unmarshal(data, &given))
        var path []tlog.Hash
        for _, each := range given.Path {
            var hash tlog.Hash
            raw, err := hex.DecodeString(each)
            must(err)
            copy(hash[:], raw)
            path = append(path, hash)
        }
        if given.Note != "" {
            size, root := checkpoint(given.Note, key)
            event, err := hex.DecodeString(given.Event)
            must(err)
            leaf := tlog.RecordHash(event)
            must(tlog.CheckRecord(tlog.RecordProof(path), size, root, given.Commit-1, leaf))
        } else {
            size, root := checkpoint(given.OldNote, key)
            grown, newer := checkpoint(given.NewNote, key)
            must(tlog.CheckTree(tlog.TreeProof(path), grown, newer, size, root))
        }
    }
    fmt.Println("all hold")
}
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(tmp_path / "store.db")
    write(opened, 70)
    return opened


def go_folder(folder: Path) -> Path:
    """Make a program of Go's own packages and ours, or skip."""
    if GO is None:
        pytest.skip("there is no Go here")
    root = subprocess.run([GO, "env", "GOROOT"], capture_output=True, text=True, check=True)
    source = Path(root.stdout.strip()) / "src/cmd/vendor/golang.org/x/mod/sumdb"
    if not all((source / name).is_dir() for name in PACKAGES):
        pytest.skip("this Go came without the packages")
    folder.mkdir()
    for name in PACKAGES:
        shutil.copytree(source / name, folder / name)
    (folder / "go.mod").write_text("module example.test/check\n\ngo 1.22\n")
    (folder / "main.go").write_text(PROGRAM)
    return folder


@pytest.mark.slow
def test_go_accepts_every_checkpoint_and_proof(store: Store, tmp_path: Path) -> None:
    folder = go_folder(tmp_path / "go")
    ours, files = signer_in(tmp_path), []
    for size in range(4):
        write(store, size)
        store.checkpoint(signer=ours)
    sizes = [checkpoint.size for checkpoint in store.checkpoints()]
    for commit in range(1, 72):
        proofs = {f"in{commit}": store.prove(commit).json()}
        if commit in sizes:
            proofs |= {
                f"{commit}-{new}": store.prove_growth(commit, new).json()
                for new in sizes
                if new >= commit
            }
        for name, text in proofs.items():
            files.append(str(tmp_path / name))
            (tmp_path / name).write_text(text)
    store.close()
    program = [GO or "", "run", ".", ours.public.text]
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [*program, *files], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "all hold\n", done.stderr
    Path(files[5]).write_text(
        Path(files[5]).read_text().replace('"commit_ts": 6', '"commit_ts": 7')
    )
    done = subprocess.run(
        [*program, files[5]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1


def test_another_tree_has_the_same_roots_and_paths(store: Store) -> None:
    pymerkle = pytest.importorskip("pymerkle")
    theirs = pymerkle.InmemoryTree(algorithm="sha256")
    engine = core_of(store).engine
    merkle_store.grow(engine, 70)
    with store, engine.snapshot() as reader:
        tree = merkle_store.load_tree(reader)
        for size, (_, data) in enumerate(reader.rows("event_hashes", after=0, through=70), start=1):
            theirs.append_entry(bytes(data))
            assert theirs.get_root() == tree.root(size)
            for index in range(size):
                path = theirs.prove_inclusion(index + 1, size).serialize()["path"]
                leaf = merkle.leaf_hash(kept_data(reader, index))
                assert [
                    leaf.hex(),
                    *(item.hex() for item in tree.inclusion_proof(index, size)),
                ] == path


def kept_data(reader: object, index: int) -> bytes:
    (row,) = reader.rows("event_hashes", after=index, through=index + 1)  # type: ignore[attr-defined]
    return bytes(row[1])
