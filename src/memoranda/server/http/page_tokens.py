"""Page tokens: positions of listings, encrypted so that only this server can read and make them.

A token has the position of a `ResumablePages`: the moment that the listing is as of, and the last
key read. Nothing is kept in the server between two pages. A position may have row numbers, which
would reveal the number of hidden rows. So a token is encrypted, and bound to its caller, its store
and its arguments.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memoranda.errors import InvalidInput
from memoranda.log.pages import Position
from memoranda.model.ids import IdSource

FIELD = "page_token"
KEY_BYTES = 32
"""Bytes of a key of AES-256."""
_NONCE_BYTES = 12
"""Bytes of a nonce of AES-GCM."""
_MAX_CHARACTERS = 16 * 1024
"""More than any token has: a position has a key of 4 KiB, or two names."""


class PageTokens:
    """Makes and reads tokens with a key of the server's."""

    def __init__(self, ids: IdSource, key: bytes | None = None) -> None:
        self._ids = ids
        self._cipher = AESGCM(key or ids.entropy(KEY_BYTES))

    def seal(self, position: Position, context: bytes) -> str:
        """Return the token of a position; `context` says what it is for."""
        nonce = self._ids.entropy(_NONCE_BYTES)
        data = msgspec.msgpack.encode(position)
        sealed = nonce + self._cipher.encrypt(nonce, data, context)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open(self, token: str, context: bytes) -> Position:
        """Return the position of a token, or raise `InvalidInput`."""
        try:
            if len(token) > _MAX_CHARACTERS:
                raise ValueError("it is too long")
            sealed = base64.b64decode(f"{token}{'=' * (-len(token) % 4)}", b"-_", validate=True)
            nonce, data = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            position = msgspec.msgpack.decode(self._cipher.decrypt(nonce, data, context))
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise InvalidInput(
                FIELD,
                "does not fit: it is of another listing, of other arguments or another caller, or "
                "of a server that was restarted since. Begin again without it",
            ) from error
        assert isinstance(position, list), "what was sealed here is a position"
        return position


def context_of(*parts: bytes) -> bytes:
    """Return the context that a token is bound to."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
