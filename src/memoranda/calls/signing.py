"""Signed calls: an agent's client signs a call, and the store checks it before the commit.

The signature covers the call in its canonical encoding (`calls/call_encoding.py`), the log, the
txn_id and the agent (`log/commit/request_signature.py`). The key is trusted by the same rules as
that of a signer beside the store: its first use claims it for the agent, in the same event.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from msgspec.structs import replace

from memoranda.audit import keys
from memoranda.audit.keys import PublicKey
from memoranda.audit.trusted_keys import TrustRequest
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.call_encoding import encode_canonically
from memoranda.calls.core import Core
from memoranda.errors import InvalidInput, PermissionDenied
from memoranda.log.commit import refusals, request_signature
from memoranda.log.commit.request_signature import (
    SIGNATURE_SIZE,
    RequestSignature,
    SignedRequest,
)
from memoranda.log.commit.staged_transaction import Refusal, Request
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.field_commitments import SALT_SIZE
from memoranda.model.ids import IdSource
from memoranda.model.limits import check_text, plain_text, renamed_fields, short_repr

Answer = TypeVar("Answer")


def signed(
    call: WriteCall[Answer], signing: TransactionSigner, log_id: str, ids: IdSource
) -> WriteCall[Answer]:
    """Return a call with the signature of the agent that sends it.

    It must be the call as it arrives, with its `txn_id`: nothing of it can be changed afterwards.
    """
    assert call.txn_id is not None, "whoever signs a request has named it"
    claim = signing.claim
    assert isinstance(claim, TrustRequest), "it claims a key"
    assert claim.agent is not None, "for an agent"
    salt = ids.entropy(SALT_SIZE)
    digest = request_signature.digest_of(salt, claim.name, _signed_bytes(call))
    message = request_signature.message(log_id, call.txn_id, claim.agent, digest)
    key = PublicKey(claim.name, claim.public_key).text
    return replace(call, signature=RequestSignature(key, log_id, salt, signing.sign(message)))


def check_can_sign(call: Call[Any], signing: TransactionSigner | None) -> None:
    """Refuse a call that only a signer beside the store can sign, if its caller has a signer."""
    if call.signs and signing is not None:
        raise InvalidInput(
            "signer",
            f"cannot sign {call_name(type(call))} from here, as the store makes several commits of "
            "it: use a handle without a signer, or open the store itself",
        )


def check_signature(core: Core, actor: str, call: WriteCall[Any]) -> SignedRequest:
    """Return the signature of a call, if the agent that acts has signed the call for this log.

    An invalid signature raises `PermissionDenied`, and the log records the refusal.
    """
    signature = _checked(call.signature)
    txn_id = check_text("txn_id", call.txn_id, max_bytes=core.limits.txn_id_bytes)
    with renamed_fields(key="signature"):
        public = keys.parse(signature.key)
    digest = request_signature.digest_of(signature.salt, public.name, _signed_bytes(call))
    message = request_signature.message(core.log_id, txn_id, actor, digest)
    if signature.log_id != core.log_id:
        signed_log = short_repr(signature.log_id)
        _refuse(core, actor, public, f"is for log {signed_log}, and this is {core.log_id}")
    if not keys.verify(public.key, message, signature.signature):
        _refuse(core, actor, public, f"is not of this call under txn_id {txn_id!r}")
    claim = TrustRequest(public.name, public.key, actor)
    return SignedRequest(public.key, signature.salt, digest, signature.signature, claim)


def _signed_bytes(call: WriteCall[Any]) -> bytes:
    return encode_canonically(call.signed_part())


def _checked(signature: object) -> RequestSignature:
    """Return a signature whose parts are of their types and sizes."""
    if not isinstance(signature, RequestSignature):
        raise InvalidInput("signature", f"{short_repr(signature)} is not a signature of a request")
    for text in (signature.key, signature.log_id):
        plain_text("signature", text)
    _check_bytes("salt", signature.salt, SALT_SIZE)
    _check_bytes("signature", signature.signature, SIGNATURE_SIZE)
    return signature


def _check_bytes(part: str, value: object, size: int) -> None:
    if not isinstance(value, bytes) or len(value) != size:
        raise InvalidInput("signature", f"has {short_repr(value)} as its {part}, not {size} bytes")


def _refuse(core: Core, actor: str, key: PublicKey, problem: str) -> NoReturn:
    """Record the claimed key in the log, then raise."""
    error = PermissionDenied(
        f"the signature of this request, by {key.text} for agent {actor!r}, {problem}: sign the "
        "call as it is sent, to the log that it is sent to, for the agent that the caller acts for"
    )
    refusal = Refusal(error, refusals.SIGNATURE, (key.id.hex(),))
    core.committer.commit(Request.refused(refusal, txn_id=core.ids.unique(), actor=actor))
    raise AssertionError("the committer raises the error")
