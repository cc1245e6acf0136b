"""Commands that sign checkpoints and print proofs, for auditors who do not trust the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli.commands.signers import SignerFiles, takes_signer
from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_store, takes_target
from memoranda.cli.output import note, plural, safe, warn, write_each, write_json
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda import PublicKey, SignedCheckpoint

_MAX_SIZE_DIGITS = 20
"""A longer number does not fit in 64 bits, so it names a file."""
_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Write to a new file instead of stdout.",
)


@click.command()
@takes_signer
@_OUTPUT
@takes_target
def checkpoint(
    target: Target, *, signer: str | None, folder: str | None, output: str | None
) -> None:
    """Sign a checkpoint of the log and print it.

    Keep it where writers of the store cannot change it: with it, `memoranda verify --checkpoint`
    detects a log that was truncated or rewritten. A signer refuses a log that does not extend the
    log it signed before.
    """
    if output is not None:
        _check_new(output)
    with target.store() as store:
        signing = SignerFiles(folder).choose(signer, store.trusted_keys())
        if signing.caution:
            warn(signing.caution)
        signed_note = store.checkpoint(signer=signing)
    if output is not None:
        _write(output, signed_note.note)
    if target.as_json:
        write_json(signed_note)
    elif output is None:
        _print(signed_note.note)
    else:
        click.echo(f"signed {plural(signed_note.size, 'commit')} in {safe(output)}")


@click.command()
@takes_store
def checkpoints(target: Target) -> None:
    """List the checkpoints in the store."""
    from memoranda.calls.as_json import time_text

    def line(signed_note: SignedCheckpoint) -> str:
        time = signed_note.committed_at
        date = time_text(time) if time else "beyond the log"
        return safe(f"{signed_note.size:>9}  {date}  {', '.join(signed_note.signed_by)}")

    with target.reader() as store:
        write_each(
            store.checkpoints(),
            as_json=target.as_json,
            text=line,
            if_empty="no checkpoints: `memoranda checkpoint` signs one",
        )


@click.command()
@click.argument("commit", metavar="COMMIT", type=int)
@click.option(
    "--checkpoint", metavar="SIZE|FILE", help="The checkpoint to prove it for; default: the last."
)
@_OUTPUT
@takes_store
def prove(target: Target, *, commit: int, checkpoint: str | None, output: str | None) -> None:
    """Print an inclusion proof of a commit.

    The proof is JSON and contains a signed checkpoint. `memoranda-verify inclusion` verifies it
    with the log's public key alone.
    """
    with target.reader() as store:
        size = None if checkpoint is None else size_or_note("checkpoint", checkpoint)
        proof = store.prove(commit, checkpoint=size)
    _write_or_print(output, proof.json())


@click.command("prove-growth")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@_OUTPUT
@takes_store
def prove_growth(target: Target, *, old: str, new: str | None, output: str | None) -> None:
    """Print a consistency proof between two checkpoints.

    OLD and NEW are sizes of checkpoints in the store, or files; NEW defaults to the last one.
    `memoranda-verify consistency` verifies the proof.
    """
    with target.reader() as store:
        proof = store.prove_growth(
            size_or_note("old", old), None if new is None else size_or_note("new", new)
        )
    _write_or_print(output, proof.json())


@click.command("prove-erasure")
@click.argument("erasure_id", metavar="ID", shell_complete=complete_id("erasure"))
@_OUTPUT
@takes_store
def prove_erasure(target: Target, *, erasure_id: str, output: str | None) -> None:
    """Print an erasure certificate with its proof.

    The proof is JSON, and contains a signed checkpoint if one covers the erasure. `memoranda-verify
    certificate` verifies it, with the log's public key alone.
    """
    with target.reader() as store:
        proof = store.prove_erasure(full_id(store, erasure_id, "erasure"))
    _write_or_print(output, proof.json())


def size_or_note(field: str, argument: str) -> int | str:
    """Return a checkpoint's size if the argument is a number, else the note in the file."""
    is_size = argument.isdecimal() and len(argument) < _MAX_SIZE_DIGITS
    return int(argument) if is_size else note_in(field, argument)


def note_in(field: str, path: str) -> str:
    """Return the text of a file, or of stdin for `-`."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput(field, f"cannot read the file {path!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"{path!r} is not UTF-8: {error}") from error


def keys_in(paths: tuple[str, ...]) -> list[PublicKey] | None:
    """Return the public keys in files, one a line; None if there are no files."""
    from memoranda.audit import keys

    if not paths:
        return None
    lines = [line for path in paths for line in note_in("keys", path).splitlines()]
    return [keys.parse(line) for line in lines if line and not line.startswith("#")]


def _write_or_print(output: str | None, text: str) -> None:
    if output is None:
        _print(text)
        return
    _write(output, text)
    note(f"written to {output}")


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode())


def _check_new(output: str) -> None:
    """Refuse to overwrite a file: it may be evidence."""
    from memoranda.storage.files import check_free

    check_free("path", Path(output))


def _write(output: str, text: str) -> None:
    from memoranda.storage.files import atomic_file

    _check_new(output)
    with atomic_file("path", Path(output)) as draft:
        draft.write_bytes(text.encode())
