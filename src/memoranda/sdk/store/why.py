"""The store's calls that explain beliefs, and list keys that rest on stale ones."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.calls.defaults import Defaults
from memoranda.calls.requests import check_ref
from memoranda.calls.why import StaleKeys, Why
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.model.refs import IdLike, KeyRef
from memoranda.sdk.calls import listed
from memoranda.sdk.store.handle import Handle
from memoranda.why.reason import Reason


class WhyCalls(Handle):
    """Explaining values, memories and facts by their provenance, and finding stale keys."""

    def why(
        self,
        ref: IdLike,
        *,
        at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Reason:
        """Return the provenance of a key, a memory or a fact, as a tree down to quoted words.

        `ref` is what a read or a write returned, or a reference; a text names a key. Each
        node tells whether it was still believed at the moment `at`; later changes do not show.
        """
        reference = KeyRef(ref) if isinstance(ref, str) else ref
        asker = Defaults(
            self._defaults.agent_id if agent_id is None else agent_id,
            self._defaults.namespace if namespace is None else namespace,
        )
        checked = check_ref("ref", reference, asker, self._calls.limits)
        return self._calls.ask(Why(checked, plain_moment("at", at), agent_id))

    def stale_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[Reason]:
        """Yield the reason of each key that rests on something that is no longer believed."""
        agent, place = self._defaults.place(agent_id, namespace)
        return listed(self._calls, StaleKeys(agent, place, prefix, plain_moment("at", at)))
