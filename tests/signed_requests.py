"""Requests that an agent's client signs, and what the log says of them, worked out anew."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from memoranda import Store
from memoranda.audit.signers import Signer
from memoranda.audit.trusted_keys import TrustRequest
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.event import SealedEvent
from tests.contract.loopback import through_loopback


def client_of(store: Store, agent_id: str, signer: Signer) -> Store:
    """Return a handle of a client that signs what it sends."""
    return through_loopback(store).bind(agent_id=agent_id, signer=signer)


def signing_of(signer: Signer, agent_id: str) -> TransactionSigner:
    claim = TrustRequest(signer.public.name, signer.public.key, agent_id)
    return TransactionSigner(signer.public.key, signer.message_signer(), claim)


class StoredSignature:
    """The parts of a signature of a request, as docs/reference/log-format.md says."""

    def __init__(self, event: SealedEvent) -> None:
        self.txn_id, self.actor, _, encoded = msgspec.msgpack.decode(event.envelope)
        self.form, self.key = encoded[:1], encoded[1:33]
        self.masked_salt: bytes = encoded[33:49]
        self.digest: bytes = encoded[49:81]
        self.signature: bytes = encoded[81:]
        count = len(msgspec.msgpack.decode(event.operations))
        mask = sha256(b"\x0f" + event.salts[-16 * max(1, count) :]).digest()
        self.salt = bytes(a ^ b for a, b in zip(self.masked_salt, mask, strict=False))

    def message(self, log_id: str) -> bytes:
        parts = (log_id.encode(), self.txn_id.encode(), self.actor.encode())
        covered = b"".join(len(part).to_bytes(8, "big") + part for part in parts) + self.digest
        return b"\x0d" + sha256(covered).digest()

    def is_of(self, key_name: str, request: Mapping[str, object]) -> bool:
        """Say whether a request is the signed one."""
        name, sent = key_name.encode(), msgspec.msgpack.encode(request, order="sorted")
        hashed = b"\x0e" + self.salt + len(name).to_bytes(8, "big") + name + sent
        return sha256(hashed).digest() == self.digest
