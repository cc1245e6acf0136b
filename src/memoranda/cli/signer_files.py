"""The folder of a user's signers: what is in it, and which one a command means."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda import Signer, TrustedKey
    from memoranda.audit.signers import Listed

Command = Callable[..., Any]
_MODE = 0o700


def takes_folder(command: Command) -> Command:
    """Give a command `--signers`."""
    option = click.option(
        "--signers",
        "folder",
        envvar="MEMORANDA_SIGNERS",
        show_envvar=True,
        metavar="FOLDER",
        type=click.Path(),
        show_default="signers in the user's configuration folder",
        help="Where signers are kept.",
    )
    return option(command)


def takes_signer(command: Command) -> Command:
    """Give a command `--signer`, and `--signers`."""
    option = click.option(
        "--signer",
        envvar="MEMORANDA_SIGNER",
        show_envvar=True,
        metavar="NAME|FILE",
        help="Who signs; not needed where there is one that the log trusts.",
    )
    return option(takes_folder(command))


class SignerFiles:
    """The signers of one folder."""

    def __init__(self, folder: str | None) -> None:
        self.folder = _default_folder() if folder is None else Path(folder)
        self._ours = folder is None

    def create(self, name: str) -> Signer:
        """Make a new signer in a file called by its name and its key's hash."""
        from memoranda.audit import signers
        from memoranda.model.ids import SystemIds

        if self._ours:
            _make_folder(self.folder)
        return signers.create_in(self.folder, name, ids=SystemIds())

    def listed(self) -> list[Listed]:
        """Return every signer's file there is."""
        from memoranda.audit import signers

        return signers.listed(self.folder) if self.folder.is_dir() else []

    def choose(self, given: str | None, trusted: Sequence[TrustedKey] = ()) -> Signer:
        """Return the signer that is meant: as it is named, or the only one that can be."""
        from memoranda import load_signer

        if given is not None and (given.endswith(".key") or _is_file(given)):
            return load_signer(given)
        found = [each for each in self.listed() if given is None or _is_called(each, given)]
        if not found:
            what = "no signer" if given is None else f"no signer {given!r}"
            raise NotFound(f"there is {what} in {self.folder}: `memoranda signer create NAME`")
        active = {
            (each.key.name, each.key.key)
            for each in trusted
            if each.agent_id is None and not each.retired
        }
        fit = [each for each in found if each.public and _pair(each) in active] or found
        if len(fit) > 1:
            names = ", ".join(sorted(map(_spelled, fit)))
            raise InvalidInput("signer", f"there are several: give one of {names}")
        return load_signer(fit[0].path)


def _is_file(given: str) -> bool:
    return os.sep in given and Path(given).is_file()


def _pair(each: Listed) -> tuple[str, bytes]:
    assert each.public is not None, "it can be used"
    return each.public.name, each.public.key


def _spelled(each: Listed) -> str:
    """Return a name under which one signer and no other is found."""
    if each.public is None:
        return str(each.path)
    return f"{each.public.name}+{each.public.id.hex()}"


def _is_called(each: Listed, given: str) -> bool:
    if each.path.name == given or each.path.stem == given:
        return True
    return each.public is not None and given in (
        each.public.name,
        f"{each.public.name}+{each.public.id.hex()}",
        each.public.text,
    )


def _default_folder() -> Path:
    from platformdirs import user_config_path

    return user_config_path("memoranda") / "signers"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_MODE)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {folder}: {error.strerror}") from error
