"""Commands about signers: private keys in files, and which of them a log trusts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import warn, write_each, write_json
from memoranda.cli.signer_files import SignerFiles, takes_folder
from memoranda.cli.text import safe
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda import PublicKey, Signer, TrustedKey
    from memoranda.audit.signers import Listed


@click.group()
def signer() -> None:
    """Make keys that sign checkpoints, and say which of them the log trusts.

    A private key is a file that only its owner can read, and never in a store. The first signer of
    a log is trusted by it when it first signs; which ones come later is said here.
    """


@signer.command()
@click.argument("name")
@takes_folder
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, on stdout.")
def create(*, name: str, folder: str | None, as_json: bool) -> None:
    """Make a new private key. NAME stands in what it signs, such as example.com/agents."""
    made = SignerFiles(folder).create(name)
    if made.caution:
        warn(made.caution)
    if as_json:
        write_json({"name": name, "key": made.public.text, "path": str(made.path)})
        return
    click.echo(f"created {safe(str(made.path))}")
    click.echo(safe(made.public.text))


@signer.command("list")
@takes_folder
@takes_target
def list_signers(target: Target, *, folder: str | None) -> None:
    """List the signers in the folder, and what the store's log thinks of them."""
    files = SignerFiles(folder)
    trusted = {(each.key.name, each.key.key): each for each in _trusted(target)}

    def standing(each: Listed) -> str:
        if each.public is None:
            return each.problem or ""
        found = trusted.get((each.public.name, each.public.key))
        return "not trusted by this log" if found is None else _standing(found)

    write_each(
        files.listed(),
        as_json=target.as_json,
        shape=lambda each: {
            "path": str(each.path),
            "key": each.public and each.public.text,
            "standing": standing(each),
        },
        lines=lambda each: safe(f"{each.path.name}  {standing(each)}"),
        nothing=f"no signers in {files.folder}",
    )


@signer.command()
@click.argument("which", metavar="NAME|FILE|KEY")
@click.option("--for-agent", metavar="ID", help="Let it sign for this agent, not for the log.")
@takes_folder
@takes_target
def trust(target: Target, *, which: str, for_agent: str | None, folder: str | None) -> None:
    """Let one more key sign for the log from here on."""
    with target.store() as store:
        key = _key(which, folder)
        commit = store.trust_key(key, agent_id=for_agent)
    _told(target, "trusted", key, commit)


@signer.command()
@click.argument("which", metavar="NAME|FILE|KEY")
@click.option("--reason", metavar="TEXT", help="Why.")
@takes_folder
@takes_target
def retire(target: Target, *, which: str, reason: str | None, folder: str | None) -> None:
    """Let a key sign nothing any more, for good; what it signed before still counts."""
    with target.store() as store:
        key = _key(which, folder)
        commit = store.retire_key(key, reason=reason)
    _told(target, "retired", key, commit)


@signer.command()
@click.argument("which", metavar="[NAME|FILE]", required=False)
@click.option("--new", metavar="NAME|FILE", help="The signer to go on with; else one is made.")
@click.option("--reason", metavar="TEXT", help="Why.")
@takes_folder
@takes_target
def rotate(
    target: Target, *, which: str | None, new: str | None, reason: str | None, folder: str | None
) -> None:
    """Let a new key sign in the place of an old one, from one commit on.

    The new one is made with the same name, unless --new names one. Hand its public key on, with
    `memoranda signer export`, before anybody needs it.
    """
    files = SignerFiles(folder)
    with target.store() as store:
        old = files.choose(which, store.trusted_keys())
        fresh = files.create(old.public.name) if new is None else files.choose(new)
        commit = store.rotate_key(old=old, new=fresh, reason=reason)
    _told(target, "retired", old.public, commit)
    _told(target, "trusted", fresh.public, commit)


@signer.command()
@click.argument("which", metavar="[NAME|FILE]", required=False)
@takes_folder
@takes_target
def export(target: Target, *, which: str | None, folder: str | None) -> None:
    """Print public keys, a line each, as `memoranda-verify --key-file` takes them.

    Without a name, it is those that the store's log trusts or did, with the commits they are for.
    """
    if which is not None:
        found = [_key(which, folder)]
    else:
        with target.store() as store:
            found = [each.key for each in store.trusted_keys() if each.agent_id is None]
    write_each(
        found,
        as_json=target.as_json,
        shape=lambda key: {"name": key.name, "key": key.text, "line": key.line},
        lines=lambda key: safe(key.line),
        nothing="this log trusts no key yet",
    )


def _trusted(target: Target) -> list[TrustedKey]:
    """Return what the log thinks of keys; where there is no store, it trusts none."""
    try:
        with target.store() as store:
            return store.trusted_keys()
    except NotFound:
        return []


def _standing(found: TrustedKey) -> str:
    whose = "" if found.agent_id is None else f" for agent {found.agent_id!r}"
    if found.retired:
        return f"retired{whose} behind commit {found.key.valid_until_commit}"
    return f"trusted{whose} from commit {found.key.valid_from_commit} on"


def _key(which: str, folder: str | None) -> PublicKey:
    """Return the key that is meant: written out, or a signer's."""
    from memoranda.audit import keys

    if which.count("+") >= 2:
        return keys.parse(which)
    chosen: Signer = SignerFiles(folder).choose(which)
    return chosen.public


def _told(target: Target, what: str, key: PublicKey, commit: int) -> None:
    if target.as_json:
        write_json({"done": what, "key": key.text, "commit_ts": commit})
    else:
        click.echo(f"{what} {safe(key.text)}  commit {commit}")
