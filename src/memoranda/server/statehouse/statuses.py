"""How errors are reported on the wire of Statehouse.

The status is that of every gRPC service of ours (`server/grpc/status.py`). Statehouse's own code of
the error is in the trailing metadata, for clients that distinguish errors by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import grpc

from memoranda.errors import (
    CommitUnknown,
    Compacted,
    Corruption,
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreFull,
    StoreReadOnly,
    TransactionClosed,
    TransactionExpired,
    Unavailable,
)
from memoranda.server.grpc import status
from memoranda.server.grpc.status import Metadata
from memoranda.server.statehouse.statehouse_pb2 import ErrorCode, StatehouseError

ERROR_KEY = "statehouse-error-bin"
"""The trailing metadata that has a `StatehouseError`."""
_CODES: Mapping[type[MemorandaError], ErrorCode] = MappingProxyType(
    {
        InvalidInput: ErrorCode.INVALID_REQUEST,
        TransactionExpired: ErrorCode.TXN_EXPIRED,
        TransactionClosed: ErrorCode.TXN_ALREADY_COMMITTED,
        Compacted: ErrorCode.VERSION_NOT_FOUND,
        CommitUnknown: ErrorCode.STORAGE_ERROR,
        Corruption: ErrorCode.STORAGE_ERROR,
        StoreBusy: ErrorCode.STORAGE_ERROR,
        StoreClosed: ErrorCode.STORAGE_ERROR,
        StoreFull: ErrorCode.STORAGE_ERROR,
        StoreReadOnly: ErrorCode.STORAGE_ERROR,
        Unavailable: ErrorCode.STORAGE_ERROR,
    }
)
"""The code of each error that Statehouse has a name for; one that is not here has its base's."""


def status_of(error: MemorandaError) -> tuple[grpc.StatusCode, str, Metadata]:
    """Return the status code, the text and the trailing metadata of an error."""
    code, text, metadata = status.status_of(error)
    pushback = tuple(item for item in metadata if item[0] == status.PUSHBACK_KEY)
    return code, text, ((ERROR_KEY, _described(error, code, text)), *pushback)


def _described(error: MemorandaError, code: grpc.StatusCode, text: str) -> bytes:
    """Return an error as a `StatehouseError`."""
    field = getattr(error, "field", None)
    details = {} if field is None else {"field": field}
    if error.retryable:
        details["retryable"] = "true"
    message = StatehouseError(code=_name_of(error, code), message=text, details=details)
    data: bytes = message.SerializeToString()
    return data


def _name_of(error: MemorandaError, code: grpc.StatusCode) -> ErrorCode:
    if isinstance(error, NotFound) and error.field == "txn_id":
        return ErrorCode.TXN_NOT_FOUND
    is_ours = code is grpc.StatusCode.INTERNAL
    unnamed = ErrorCode.INTERNAL_ERROR if is_ours else ErrorCode.UNKNOWN
    return next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), unnamed)
