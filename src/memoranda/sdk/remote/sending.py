"""How the calls of one handle become requests: with its store, its agent and its signature."""

from __future__ import annotations

from typing import Any

import msgspec

from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.signing import check_can_sign, signed
from memoranda.errors import InvalidInput
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.ids import IdSource
from memoranda.wire.codec import call_of, request_of


class Signing(msgspec.Struct, frozen=True):
    """The key that signs the writes of a handle, and the log that they are for."""

    key: TransactionSigner
    log_id: str
    ids: IdSource


class Sender(msgspec.Struct, frozen=True):
    """What every request of a handle says beside its call."""

    place: str
    store: str
    acting_agent: str = ""
    signing: Signing | None = None
    """None: writes are not signed."""

    def request(self, call: Call[Any], *, stored: bool = False) -> Any:
        """Return the message of a call; raise `InvalidInput` if it cannot leave the process."""
        self._check(call)
        return request_of(call, store=self.store, acting_agent=self.acting_agent, stored=stored)

    def write_request(self, call: WriteCall[Any], *, is_named: bool) -> Any:
        """Return the message of a write; the batch that it goes into names the store.

        The call is signed as it arrives, since nothing of it may differ then.
        """
        self._check(call)
        message = request_of(call, acting_agent=self.acting_agent, is_named=is_named)
        if self.signing is None:
            return message
        arriving: Any = call_of(message)
        own = signed(arriving, self.signing.key, self.signing.log_id, self.signing.ids)
        return request_of(own, acting_agent=self.acting_agent, is_named=is_named)

    def _check(self, call: Call[Any]) -> None:
        if call.local_only is not None:
            raise InvalidInput(
                "call",
                f"{call_name(type(call))} cannot be sent to {self.place}: {call.local_only}. Open "
                "the file where the server has it, with its path",
            )
        check_can_sign(call, None if self.signing is None else self.signing.key)
