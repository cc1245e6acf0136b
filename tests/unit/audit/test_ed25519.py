"""Ed25519: the vectors of RFC 8032, and what happens without the package that does it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memoranda.audit import keys
from tests.quick import only

# RFC 8032, section 7.1: seed, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize("vector", VECTORS)
def test_keys_and_signatures_are_those_of_the_rfc(vector: tuple[str, str, str, str]) -> None:
    seed, key, message, signature = map(bytes.fromhex, vector)
    assert keys.public_key(seed) == key
    assert keys.sign(seed, message) == signature
    assert keys.verify(key, message, signature)


def test_a_changed_signature_message_or_key_does_not_hold() -> None:
    key, message, signature = map(bytes.fromhex, VECTORS[1][1:])
    for at in range(64):
        wrong = bytearray(signature)
        wrong[at] ^= 1
        assert not keys.verify(key, message, bytes(wrong))
    for wrong_length in (b"", signature[:-1], signature + b"\0"):
        assert not keys.verify(key, message, wrong_length)
    assert not keys.verify(key, message + b"\0", signature)
    for wrong_key in (bytes(32), b"\xff" * 32, bytes.fromhex(VECTORS[0][1])):
        assert not keys.verify(wrong_key, message, signature)


@pytest.mark.parametrize(
    "call",
    only(["verify(b'', b'', b'')"], ["public_key(b'')", "sign(b'', b'')", "verify(b'', b'', b'')"]),
)
def test_without_the_package_it_says_what_to_install(call: str) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from memoranda.audit import checkpoints, keys, signed_note\n"
        "from memoranda.errors import MemorandaError\n"
        f"try: keys.{call}\n"
        "except MemorandaError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'memoranda[audit]'" in done.stdout
