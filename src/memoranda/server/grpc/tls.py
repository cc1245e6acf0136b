"""TLS of the gRPC server, whose files are read again when they change."""

from __future__ import annotations

import logging
from typing import Any

import grpc

from memoranda.errors import InvalidInput
from memoranda.server.tls import TlsFiles

_log = logging.getLogger("memoranda.server")


def server_credentials(files: TlsFiles) -> Any:
    """Return the credentials of a server; they follow the files.

    Connections that are made already keep the certificate that they were made with.
    """
    source = _CertificateSource(files)
    return grpc.dynamic_ssl_server_credentials(
        source.configuration,
        source.fetch,
        require_client_authentication=files.client_ca is not None,
    )


class _CertificateSource:
    """The certificate of a server, read from its files.

    `fetch` is called at each handshake, in a thread of grpc. Files that do not fit together, as
    while they are being replaced, change nothing: they are read again at the next handshake.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamp = files.stamp()
        self._contents = files.read()
        self.configuration = _configuration(self._contents)
        self._reported: object = None

    def fetch(self) -> Any:
        """Return the certificate if it has changed; else None."""
        stamp = self._files.stamp()
        if stamp is None or stamp == self._stamp:
            return None
        try:
            contents = self._files.read()
        except InvalidInput as error:
            if stamp != self._reported:  # once for each change
                self._reported = stamp
                _log.warning("the TLS files are not used", extra={"problem": str(error)})
            return None
        self._stamp = stamp
        if contents == self._contents:
            return None
        self._contents = contents
        _log.info("the TLS files were read again")
        return _configuration(contents)


def _configuration(contents: tuple[bytes, bytes, bytes | None]) -> Any:
    certificate, key, client_ca = contents
    return grpc.ssl_server_certificate_configuration([(key, certificate)], client_ca)
