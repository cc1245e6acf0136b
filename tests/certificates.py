"""Certificates for tests, for this machine: signed by their own key, or by an authority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memoranda.server.tls import TlsFiles

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def make_certificate(folder: Path, name: str) -> TlsFiles:
    """Write a certificate and its key into a folder, over those that are there."""
    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=36_500))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = TlsFiles(folder / "cert.pem", folder / "key.pem")
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return files


class Authority:
    """Signs certificates; its own is `pem`."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key.public_key())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write a certificate for 127.0.0.1 and its key, and return their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName(
            [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
        )
        builder = _builder(_name(name), self._name, key.public_key())
        certificate = builder.add_extension(hosts, critical=False).sign(self._key, hashes.SHA256())
        paths = folder / f"{name}.pem", folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGIN)
        .not_valid_after(_BEGIN + timedelta(days=365 * 100))
    )
