"""Staging: the common base of the groups of calls that `Transaction` is composed of.

A method that stages returns the result of `stage_call` or `stage_new`. In the asynchronous SDK that
can be awaited; a call that is not awaited is staged, too.
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
