"""Staging: the common base of the groups of calls that `Transaction` is composed of.

A method that stages returns what `stage_call` or `stage_new` returns: in the asynchronous SDK that
can be awaited, and what is not awaited is staged, too.
"""

from __future__ import annotations

from memoranda.calls.defaults import Defaults
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.sdk.calls import Calls


class Staging:
    """A transaction that is being staged, with the defaults of its handle."""

    _calls: Calls
    _defaults: Defaults
    _transaction: OpenTransaction
