"""TLS from files: who is let in, and certificates that are replaced while the server runs."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509

from memoranda.calls.keys import GetState
from memoranda.errors import InvalidInput
from memoranda.server.serving import ServerSettings
from memoranda.server.tls import TlsFiles
from tests.certificates import Authority
from tests.grpc_client import GrpcClient
from tests.patience import HANG_SECONDS
from tests.server_process import ServerThread

READ = GetState("a", "default", "k")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> TlsFiles:
    return TlsFiles(*authority.issue(tmp_path, "server"))


@pytest.fixture
def server(tmp_path: Path, files: TlsFiles) -> Iterator[ServerThread]:
    with ServerThread(file=tmp_path / "acme.db", tls=files) as server:
        yield server


def credentials(authority: Authority, pair: tuple[Path, Path] | None = None) -> Any:
    if pair is None:
        return grpc.ssl_channel_credentials(authority.pem)
    certificate, key = (path.read_bytes() for path in pair)
    return grpc.ssl_channel_credentials(authority.pem, key, certificate)


def reaches(server: ServerThread, own: Any) -> bool:
    with GrpcClient(server.address, credentials=own) as client:
        try:
            return client.ask(READ, timeout=HANG_SECONDS) is None
        except grpc.RpcError as error:
            code: Any = error
            assert code.code() is grpc.StatusCode.UNAVAILABLE
            return False


def name_of(server: ServerThread) -> str:
    """Return the name in the certificate that the server shows now."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    host, _, port = server.address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), HANG_SECONDS) as plain,
        context.wrap_socket(plain) as secure,
    ):
        certificate = secure.getpeercert(binary_form=True)
    assert certificate is not None
    name = x509.load_der_x509_certificate(certificate).subject.rfc4514_string()
    return name.removeprefix("CN=")


def test_a_client_that_trusts_the_certificate_connects(
    server: ServerThread, authority: Authority
) -> None:
    assert reaches(server, credentials(authority))
    assert not reaches(server, credentials(Authority("another")))
    assert not reaches(server, None)


def test_clients_need_a_certificate_if_they_are_asked_for_one(
    tmp_path: Path, authority: Authority, files: TlsFiles
) -> None:
    clients = Authority("clients")
    client_ca = tmp_path / "clients.pem"
    client_ca.write_bytes(clients.pem)
    own, foreign = clients.issue(tmp_path, "own"), Authority("x").issue(tmp_path, "foreign")
    both = TlsFiles(files.certificate, files.key, client_ca)
    with ServerThread(file=tmp_path / "acme.db", tls=both) as server:
        assert reaches(server, credentials(authority, own))
        assert not reaches(server, credentials(authority))
        assert not reaches(server, credentials(authority, foreign))


def test_replaced_files_are_used_for_new_connections(
    server: ServerThread, authority: Authority, files: TlsFiles, tmp_path: Path
) -> None:
    with GrpcClient(server.address, credentials=credentials(authority)) as old:
        assert old.ask(READ) is None
        assert name_of(server) == "server"
        for number in (1, 2):
            certificate, key = authority.issue(tmp_path, f"renewed-{number}")
            certificate.replace(files.certificate)
            assert name_of(server) != f"renewed-{number}"  # its key is still missing
            assert reaches(server, credentials(authority))
            key.replace(files.key)
            assert name_of(server) == f"renewed-{number}"
            assert reaches(server, credentials(authority))
        assert old.ask(READ) is None


def test_files_that_are_gone_or_damaged_change_nothing(
    server: ServerThread, authority: Authority, files: TlsFiles
) -> None:
    files.certificate.write_text("no certificate")
    assert reaches(server, credentials(authority))
    files.certificate.unlink()
    assert reaches(server, credentials(authority))
    assert name_of(server) == "server"


def test_files_that_do_not_fit_are_refused_at_the_start(
    tmp_path: Path, authority: Authority, files: TlsFiles
) -> None:
    _, other_key = authority.issue(tmp_path, "other")
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("no certificate")
    for tls, problem in (
        (TlsFiles(tmp_path / "missing.pem", files.key), "tls_cert: .* cannot be read"),
        (TlsFiles(files.certificate, other_key), "tls_key: it is not the key"),
        (TlsFiles(damaged, files.key), "tls_cert: it has no certificates"),
        (TlsFiles(files.certificate, damaged), "tls_key: it is no private key"),
        (TlsFiles(files.certificate, files.key, damaged), "tls_client_ca: it has no certificates"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            ServerThread(file=tmp_path / "acme.db", tls=tls).__enter__()


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.0.1", False), ("example.org", False),
    ],
)  # fmt: skip
def test_only_this_machine_is_served_without_tls_and_tokens(
    tmp_path: Path, files: TlsFiles, host: str, *, is_local: bool
) -> None:
    def check(**more: Any) -> str | None:
        settings = ServerSettings(file=tmp_path / "acme.db", host=host, **more)
        try:
            settings.check()
        except InvalidInput as error:
            return error.field
        return None

    assert check() == (None if is_local else "tls_cert")
    assert check(tls=files, tokens=False) == (None if is_local else "tokens")
    assert check(tls=files) is None
    assert check(insecure=True, tokens=False) is None
    assert ServerSettings(file=tmp_path, host=host).asks_for_tokens is not is_local
