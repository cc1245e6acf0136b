"""TLS of the HTTP server, from its files."""

from __future__ import annotations

import ssl

from memoranda.errors import InvalidInput
from memoranda.server.tls import TlsFiles


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return a context with what the files have; raise `InvalidInput` if it does not fit."""
    _, _, client_ca = files.read()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(files.certificate, files.key)
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
    except (OSError, ValueError) as error:  # also SSLError, if they are being replaced
        raise InvalidInput("tls_cert", f"the files cannot be used: {error}") from error
    return context
