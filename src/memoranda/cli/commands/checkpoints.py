"""Commands for outsiders' sake: checkpoints that are signed, and proofs about the log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import note, warn, write_each, write_json
from memoranda.cli.signer_files import SignerFiles, takes_signer
from memoranda.cli.text import counted, safe
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda import PublicKey, SignedCheckpoint

_OUTPUT = click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="Write to a new file, not to stdout."
)


@click.command()
@takes_signer
@_OUTPUT
@takes_target
def checkpoint(
    target: Target, *, signer: str | None, folder: str | None, output: str | None
) -> None:
    """Sign the log as it is, and print the signed note.

    Keep it where nobody who can write to the store can: against it, `memoranda verify --checkpoint`
    finds a log that was truncated, or written anew. Nothing is signed that does not go on from what
    this signer has signed before.
    """
    from memoranda.cli import shapes

    if output is not None:
        _check_new(output)
    with target.store() as store:
        chosen = SignerFiles(folder).choose(signer, store.trusted_keys())
        if chosen.caution:
            warn(chosen.caution)
        made = store.checkpoint(signer=chosen)
    if output is not None:
        _write(output, made.note)
    if target.as_json:
        write_json(shapes.report(made))
    elif output is None:
        _print(made.note)
    else:
        click.echo(f"signed {counted(made.size, 'commit')} in {safe(output)}")


@click.command()
@takes_target
def checkpoints(target: Target) -> None:
    """List the checkpoints that the store keeps."""
    from memoranda.cli import shapes

    def line(found: SignedCheckpoint) -> str:
        when = shapes.time_text(found.committed_at) if found.committed_at else "behind the log"
        return safe(f"{found.size:>9}  {when}  {', '.join(found.signed_by)}")

    with target.store() as store:
        write_each(
            store.checkpoints(),
            as_json=target.as_json,
            shape=shapes.report,
            lines=line,
            nothing="no checkpoints: `memoranda checkpoint` signs one",
        )


@click.command()
@click.argument("commit", metavar="COMMIT", type=int)
@click.option(
    "--checkpoint", "which", metavar="SIZE|FILE", help="The checkpoint to prove it for; the last."
)
@_OUTPUT
@takes_target
def prove(target: Target, *, commit: int, which: str | None, output: str | None) -> None:
    """Prove that a commit is in the log, for `memoranda-verify inclusion`.

    The proof is JSON and holds a signed checkpoint: with the log's public key, nothing else is
    needed to check it.
    """
    with target.store() as store:
        checkpoint = None if which is None else size_or_note("checkpoint", which)
        proof = store.prove(commit, checkpoint=checkpoint)
    _hand_out(output, proof.json())


@click.command("prove-growth")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@_OUTPUT
@takes_target
def prove_growth(target: Target, *, old: str, new: str | None, output: str | None) -> None:
    """Prove that the log only grew between two checkpoints, for `memoranda-verify consistency`.

    OLD and NEW are sizes of checkpoints that the store keeps, or files; no NEW means the last one.
    """
    with target.store() as store:
        proof = store.prove_growth(
            size_or_note("old", old), None if new is None else size_or_note("new", new)
        )
    _hand_out(output, proof.json())


def size_or_note(field: str, typed: str) -> int | str:
    """Return the size that was typed, or the note that is in the file that was named."""
    return int(typed) if typed.isdecimal() and len(typed) < 20 else note_in(field, typed)


def note_in(field: str, path: str) -> str:
    """Return the text of a file, or of stdin, as it is."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput(field, f"cannot read the file {path!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"{path!r} is not UTF-8: {error}") from error


def keys_in(paths: tuple[str, ...]) -> list[PublicKey] | None:
    """Return the keys in files, one a line; None where no file is named."""
    from memoranda.audit import keys

    if not paths:
        return None
    lines = [line for path in paths for line in note_in("keys", path).splitlines()]
    return [keys.parse(line) for line in lines if line and not line.startswith("#")]


def _hand_out(output: str | None, text: str) -> None:
    if output is None:
        _print(text)
        return
    _write(output, text)
    note(f"written to {output}")


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode())


def _check_new(output: str) -> None:
    """Refuse a file that is there: it is somebody's evidence."""
    from memoranda.storage.newfiles import check_free

    check_free("path", Path(output))


def _write(output: str, text: str) -> None:
    from memoranda.storage.newfiles import appearing

    _check_new(output)
    with appearing("path", Path(output)) as draft:
        draft.write_bytes(text.encode())
