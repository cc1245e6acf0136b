"""Calls about the keys that a log trusts, and the signed checkpoints of it."""

from __future__ import annotations

from memoranda.audit import keys as public_keys
from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.keys import PublicKey
from memoranda.audit.trusted_keys import RetireRequest, TrustRequest
from memoranda.calls.call import Call, Handlers, WriteCall
from memoranda.calls.core import TIMEOUT, Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.write import WriteHandler, Writes, receipts
from memoranda.errors import InvalidInput
from memoranda.log.commit.transaction_signature import Signing
from memoranda.memory.requests import check_note
from memoranda.model.limits import Limits, plain_text, renamed_fields
from memoranda.model.operations import RetireKey as RetireOperation
from memoranda.model.operations import TrustKey as TrustOperation
from memoranda.model.receipt import Receipt
from memoranda.model.scope import DEFAULT_NAMESPACE, checked_scope


class TrustKey(WriteCall[Receipt], frozen=True):
    """Trust a key to sign for the log, or for an agent."""

    verb = "admin"
    reach = "store"

    key: str
    """A public key as its line of text."""
    agent_id: str | None = None


class RetireKey(WriteCall[Receipt], frozen=True):
    """Retire a key for good: later signatures by it are invalid."""

    verb = "admin"
    reach = "store"

    key: str
    reason: str | None = None


class RotateKey(WriteCall[Receipt], frozen=True):
    """Replace a trusted key by another for the same agent or log."""

    verb = "admin"
    reach = "store"

    old: str
    new: str
    reason: str | None = None

    @property
    def looks_up(self) -> bool:
        """Whether the agent of the old key is read."""
        return True


class Checkpoint(Call[SignedCheckpoint], frozen=True):
    """Sign how long the log is and its root, with the key that the store was opened with."""

    verb = "admin"
    reach = "store"
    lane = "search"


def _public_key(field: str, line: object) -> PublicKey:
    with renamed_fields(key=field):
        public = public_keys.parse(plain_text(field, line))
    return PublicKey(public.name, public.key)


def _agent(agent_id: str | None, limits: Limits) -> str | None:
    if agent_id is None:
        return None
    return checked_scope(DEFAULT_NAMESPACE, agent_id, limits, engine=True).agent_id


def trust_request(_: Grant, call: TrustKey, limits: Limits) -> TrustRequest:
    """Return the request to trust a key."""
    public = _public_key("key", call.key)
    return TrustRequest(public.name, public.key, _agent(call.agent_id, limits))


def retire_request(_: Grant, call: RetireKey, limits: Limits) -> RetireRequest:
    """Return the request to retire a key."""
    public = _public_key("key", call.key)
    return RetireRequest(public.name, public.key, check_note("reason", call.reason, limits))


def _open_rotation(
    core: Core, grant: Grant, signing: Signing | None, call: RotateKey
) -> OpenTransaction:
    """Stage both requests; the new key signs for the agent of the old one, if it has one."""
    old, new = _public_key("old", call.old), _public_key("new", call.new)
    with core.engine.reading() as reader:
        row = reader.row("public_key_find", name=old.name, public_key=old.key)
    agent_id = None if row is None else row[0]
    draft = core.draft(grant.acting(None), TIMEOUT, call.txn_id, signing)
    draft.stage(
        RetireRequest(old.name, old.key, check_note("reason", call.reason, core.limits)),
        TrustRequest(new.name, new.key, agent_id),
    )
    return OpenTransaction.of(core, grant, draft)


def checkpoint(core: Core, _: Grant, __: Checkpoint) -> SignedCheckpoint:
    """Return a checkpoint of the log's head."""
    if core.checkpointer is None:
        raise InvalidInput(
            "signer",
            "is missing: give one, or open the store with one. `memoranda signer create` makes one",
        )
    return core.checkpointer.log_signer.sign()


HANDLERS: Handlers = {Checkpoint: checkpoint}
WRITES: Writes = {
    TrustKey: WriteHandler(None, receipts("created", TrustOperation), trust_request),
    RetireKey: WriteHandler(None, receipts("deleted", RetireOperation), retire_request),
    RotateKey: WriteHandler(
        None, receipts("updated", TrustOperation, RetireOperation), open=_open_rotation
    ),
}
