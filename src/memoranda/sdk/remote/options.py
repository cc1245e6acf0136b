"""The options of a client: server, token, certificates and timeout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import msgspec

from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.limits import check_seconds, check_type, plain_text, short_repr
from memoranda.model.trace import trace_headers
from memoranda.storage.server_url import ServerUrl, parse_server_url

DEFAULT_TIMEOUT = 30.0
"""Seconds for which a lost connection is made again, until an error is passed to the caller."""

FilePath = str | os.PathLike[str]
Metadata: TypeAlias = tuple[tuple[str, str], ...]


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """The certificates of a connection with TLS, as paths of PEM files."""

    root: FilePath | None = None
    """The certificates of authorities that the server's may be signed by; None: the usual ones."""
    certificate: FilePath | None = None
    """The client's own, with its chain, for a server that asks for one."""
    key: FilePath | None = None
    """Its private key."""


class RemoteOptions(msgspec.Struct, frozen=True):
    """Where and how a client connects. It is not shown: it has the token."""

    url: ServerUrl
    token: str | None = None
    tls: Tls = Tls()
    timeout: float = DEFAULT_TIMEOUT

    def __repr__(self) -> str:
        return f"<RemoteOptions {self.url}>"

    @property
    def metadata(self) -> Metadata:
        """The metadata of every call."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)

    @property
    def request_metadata(self) -> Metadata:
        """The metadata of one call, with its trace."""
        return (*self.metadata, *trace_headers())

    def certificates(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Return the content of the files: root certificates, private key, own certificate."""
        tls = self.tls
        return (
            _content("root", tls.root),
            _content("key", tls.key),
            _content("certificate", tls.certificate),
        )


def remote_options(
    url: FilePath, token: str | None, tls: Tls | FilePath | None, timeout: float | None
) -> RemoteOptions:
    """Return the checked options of a connection."""
    parts = parse_server_url("url", url)
    if tls is not None and not parts.is_secure:
        raise InvalidInput(
            "tls", f"is of no use for {parts}: connect to {parts.scheme}s://, with TLS"
        )
    seconds = DEFAULT_TIMEOUT if timeout is None else check_seconds("timeout", timeout)
    return RemoteOptions(parts, _check_token(token), _check_tls(tls), seconds)


def _check_token(token: object) -> str | None:
    """Return a token; an error does not show it."""
    if token is None:
        return None
    text = token if isinstance(token, str) else ""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidInput(
            "token", "is no token: give the text that `memoranda token create` shows"
        )
    return text


def _check_tls(tls: Tls | FilePath | None) -> Tls:
    if tls is None:
        return Tls()
    if isinstance(tls, (str, os.PathLike)):
        return Tls(root=tls)
    check_type("tls", tls, Tls)
    if (tls.certificate is None) != (tls.key is None):
        raise InvalidInput("tls", "has a certificate or a key without the other: give both")
    return tls


def _content(name: str, path: FilePath | None) -> bytes | None:
    if path is None:
        return None
    text = plain_text(f"tls.{name}", os.fspath(path))
    try:
        return Path(text).read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"tls.{name}", f"{short_repr(text)} cannot be read: {error.strerror}"
        ) from error


def missing_extra(error: ImportError) -> Unavailable:
    """Return the error of a program that lacks the packages of a client."""
    problem = Unavailable(
        f"to open a store of a server, install {error.name or 'protobuf'}: "
        "pip install 'memoranda[remote]'"
    )
    problem.retryable = False
    return problem
