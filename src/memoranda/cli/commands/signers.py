"""Commands about signers: their key files, and the keys a log trusts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.completion import complete_agent
from memoranda.cli.configuration.option import SettingOption
from memoranda.cli.options import Target, takes_store, takes_target
from memoranda.cli.output import safe, warn, write_each, write_json
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda import PublicKey, Receipt, Signer, TrustedKey
    from memoranda.audit.signers import SignerFile


# Key files.

Command = Callable[..., Any]
_FOLDER_MODE = 0o700
"""Only the user can read the folder of private keys."""


def takes_folder(command: Command) -> Command:
    """Give a command `--signers`."""
    option = click.option(
        "--signers",
        "folder",
        cls=SettingOption,
        setting="signers",
        metavar="FOLDER",
        type=click.Path(),
        show_default="signers in the user's configuration folder",
        help="Folder of the key files.",
    )
    return option(command)


def takes_signer(command: Command) -> Command:
    """Give a command `--signer`, and `--signers`."""
    option = click.option(
        "--signer",
        cls=SettingOption,
        setting="signer",
        metavar="NAME|FILE",
        help="The signer; default: the only one that the log trusts.",
    )
    return option(takes_folder(command))


class SignerFiles:
    """The key files of one folder."""

    def __init__(self, folder: str | None) -> None:
        self.folder = _default_folder() if folder is None else Path(folder)
        self._is_default = folder is None

    def create(self, name: str) -> Signer:
        """Create a signer, in a file named by the signer and the key's hash."""
        from memoranda.audit import signers
        from memoranda.model.ids import SystemIds

        if self._is_default:
            _make_folder(self.folder)
        return signers.create_in(self.folder, name, ids=SystemIds())

    def files(self) -> list[SignerFile]:
        """Return every key file in the folder, also those that cannot be used."""
        from memoranda.audit import signers

        return signers.list_files(self.folder) if self.folder.is_dir() else []

    def choose(self, name: str | None, trusted: Sequence[TrustedKey] = ()) -> Signer:
        """Load the signer with this name or file, or the only one that the log trusts."""
        from memoranda import load_signer

        if name is not None and (name.endswith(".key") or _is_file(name)):
            return load_signer(name)
        candidates = [file for file in self.files() if name is None or _matches(file, name)]
        if not candidates:
            missing = "no signer" if name is None else f"no signer {name!r}"
            raise NotFound(f"there is {missing} in {self.folder}: `memoranda signer create NAME`")
        active = {
            (key.key.name, key.key.key)
            for key in trusted
            if key.agent_id is None and not key.retired
        }
        usable = [file for file in candidates if file.public and _name_and_key(file) in active]
        usable = usable or candidates
        if len(usable) > 1:
            names = ", ".join(sorted(map(_unique_name, usable)))
            raise InvalidInput("signer", f"there are several: give one of {names}")
        return load_signer(usable[0].path)


def _is_file(name: str) -> bool:
    return os.sep in name and Path(name).is_file()


def _name_and_key(file: SignerFile) -> tuple[str, bytes]:
    assert file.public is not None, "the file holds a key"
    return file.public.name, file.public.key


def _unique_name(file: SignerFile) -> str:
    """Return a name that selects this signer only."""
    if file.public is None:
        return str(file.path)
    return f"{file.public.name}+{file.public.id.hex()}"


def _matches(file: SignerFile, name: str) -> bool:
    if file.path.name == name or file.path.stem == name:
        return True
    return file.public is not None and name in (
        file.public.name,
        f"{file.public.name}+{file.public.id.hex()}",
        file.public.text,
    )


def _default_folder() -> Path:
    from platformdirs import user_config_path

    return user_config_path("memoranda") / "signers"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {folder}: {error.strerror}") from error


# Commands.


@click.group()
def signer() -> None:
    """Manage signing keys and the keys the log trusts.

    A private key is a file that only its owner can read; no store contains it. A log trusts the
    first key that signs it; these commands trust and retire further keys.
    """


@signer.command()
@click.argument("name")
@takes_folder
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(*, name: str, folder: str | None, as_json: bool) -> None:
    """Create a private key.

    NAME appears in the signatures, such as example.com/agents.
    """
    new = SignerFiles(folder).create(name)
    if new.caution:
        warn(new.caution)
    if as_json:
        write_json({"name": name, "key": new.public.text, "path": str(new.path)})
        return
    click.echo(f"created {safe(str(new.path))}")
    click.echo(safe(new.public.text))


@signer.command("list")
@takes_folder
@takes_store
def list_signers(target: Target, *, folder: str | None) -> None:
    """List the signers in the folder, and whether the log trusts them."""
    files = SignerFiles(folder)
    keys = {(key.key.name, key.key.key): key for key in _trusted_keys(target)}

    def trust_status(file: SignerFile) -> str:
        if file.public is None:
            return file.problem or ""
        key = keys.get((file.public.name, file.public.key))
        return "not trusted by this log" if key is None else _trust_status(key)

    write_each(
        files.files(),
        as_json=target.as_json,
        json_form=lambda file: {
            "path": str(file.path),
            "key": file.public and file.public.text,
            "standing": trust_status(file),
        },
        text=lambda file: safe(f"{file.path.name}  {trust_status(file)}"),
        if_empty=f"no signers in {files.folder}",
    )


@signer.command()
@click.argument("name", metavar="NAME|FILE|KEY")
@click.option(
    "--for-agent",
    metavar="ID",
    shell_complete=complete_agent,
    help="Trust it to sign for this agent, not for the log.",
)
@takes_folder
@takes_target
def trust(target: Target, *, name: str, for_agent: str | None, folder: str | None) -> None:
    """Trust another key to sign the log."""
    with target.store() as store:
        key = _find_key(name, folder)
        receipt = store.trust_key(key, agent_id=for_agent)
    _report(target, "trusted", key, receipt)


@signer.command()
@click.argument("name", metavar="NAME|FILE|KEY")
@click.option("--reason", metavar="TEXT", help="Reason, stored in the log.")
@takes_folder
@takes_target
def retire(target: Target, *, name: str, reason: str | None, folder: str | None) -> None:
    """Retire a key for good; its earlier signatures stay valid."""
    with target.store() as store:
        key = _find_key(name, folder)
        receipt = store.retire_key(key, reason=reason)
    _report(target, "retired", key, receipt)


@signer.command()
@click.argument("name", metavar="[NAME|FILE]", required=False)
@click.option("--new", metavar="NAME|FILE", help="The new signer; default: create one.")
@click.option("--reason", metavar="TEXT", help="Reason, stored in the log.")
@takes_folder
@takes_target
def rotate(
    target: Target, *, name: str | None, new: str | None, reason: str | None, folder: str | None
) -> None:
    """Retire a key and trust a new one, in one commit.

    Without --new, a key with the same name is created. Publish it with `memoranda signer export`
    before auditors need it.
    """
    files = SignerFiles(folder)
    with target.store() as store:
        old = files.choose(name, store.trusted_keys())
        fresh = files.create(old.public.name) if new is None else files.choose(new)
        receipt = store.rotate_key(old=old, new=fresh, reason=reason)
    _report(target, "retired", old.public, receipt)
    _report(target, "trusted", fresh.public, receipt)


@signer.command()
@click.argument("name", metavar="[NAME|FILE]", required=False)
@takes_folder
@takes_store
def export(target: Target, *, name: str | None, folder: str | None) -> None:
    """Print public keys, one a line, for `memoranda-verify --key-file`.

    Without a name, print every key that the log trusts or trusted, with its range of commits.
    """
    if name is not None:
        keys = [_find_key(name, folder)]
    else:
        with target.reader() as store:
            keys = [key.key for key in store.trusted_keys() if key.agent_id is None]
    write_each(
        keys,
        as_json=target.as_json,
        json_form=lambda key: {"name": key.name, "key": key.text, "line": key.line},
        text=lambda key: safe(key.line),
        if_empty="this log trusts no key yet",
    )


def _trusted_keys(target: Target) -> list[TrustedKey]:
    """Return the keys that the log trusts or trusted; none if there is no store."""
    try:
        with target.reader() as store:
            return store.trusted_keys()
    except NotFound:
        return []


def _trust_status(key: TrustedKey) -> str:
    agent = "" if key.agent_id is None else f" for agent {key.agent_id!r}"
    if key.retired:
        return f"retired{agent} after commit {key.key.valid_until_commit}"
    return f"trusted{agent} from commit {key.key.valid_from_commit} on"


def _find_key(name: str, folder: str | None) -> PublicKey:
    """Return the public key that a text is, or that of the signer with this name."""
    from memoranda.audit import keys

    if name.count("+") >= 2:
        return keys.parse(name)
    return SignerFiles(folder).choose(name).public


def _report(target: Target, action: str, key: PublicKey, receipt: Receipt) -> None:
    if target.as_json:
        write_json({"done": action, "key": key.text, "commit_ts": receipt.commit_ts})
    else:
        click.echo(f"{action} {safe(key.text)}  commit {receipt.commit_ts}")
