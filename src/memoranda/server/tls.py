"""The TLS files of a server: its certificate, its key, and the CA of its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from memoranda.errors import InvalidInput


class TlsFiles(msgspec.Struct, frozen=True):
    """The files of a server's certificate, and of those that its clients must have."""

    certificate: Path
    """The server's certificate, in PEM, followed by those that lead to its root, if there are any.
    """
    key: Path
    client_ca: Path | None = None
    """Certificates, one of which must have signed that of a client; None: clients need none."""

    def read(self) -> tuple[bytes, bytes, bytes | None]:
        """Return the content of the files; raise `InvalidInput` if they do not fit together."""
        certificate = _read("tls_cert", self.certificate)
        key = _read("tls_key", self.key)
        client_ca = None if self.client_ca is None else _read("tls_client_ca", self.client_ca)
        _check_pair(certificate, key)
        if client_ca is not None:
            _check_certificates("tls_client_ca", client_ca)
        return certificate, key, client_ca

    @property
    def all(self) -> tuple[Path, ...]:
        """All files."""
        return tuple(filter(None, (self.certificate, self.key, self.client_ca)))

    def stamp(self) -> object:
        """Return a value that changes whenever a file changes; None if a file is missing."""
        try:
            states = [path.stat() for path in self.all]
        except OSError:
            return None
        return [(state.st_ino, state.st_size, state.st_mtime_ns) for state in states]


def _read(field: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(field, f"{path} cannot be read: {error.strerror}") from error


def _check_pair(certificate: bytes, key: bytes) -> None:
    """Refuse a certificate and a key that do not belong together."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidInput("tls_key", f"it is no private key in PEM: {error}") from error
    own = _check_certificates("tls_cert", certificate)[0]
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if own.public_key().public_bytes(*form) != private.public_key().public_bytes(*form):
        raise InvalidInput("tls_key", "it is not the key of the certificate: give the one that is")


def _check_certificates(field: str, data: bytes) -> list[Any]:
    from cryptography import x509

    try:
        certificates = x509.load_pem_x509_certificates(data)
    except ValueError as error:
        raise InvalidInput(field, f"it has no certificates in PEM: {error}") from error
    return certificates
