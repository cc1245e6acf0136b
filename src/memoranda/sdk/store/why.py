"""The store's calls that explain beliefs, and list keys that rest on stale ones."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.log.read.as_of import Moment, resolve_as_of
from memoranda.model.limits import plain_text
from memoranda.model.refs import IdLike, KeyRef, Ref
from memoranda.sdk.calls import paged
from memoranda.sdk.components import Defaults
from memoranda.sdk.requests import check_ref
from memoranda.sdk.store.handle import Handle
from memoranda.why.explain import ExplainContext
from memoranda.why.explain import explain as explain_why
from memoranda.why.reason import Reason
from memoranda.why.stale import StaleKeys


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
        checked = check_ref("ref", reference, asker, self._core.limits)
        return self._calls.run(self._why, checked, at, self._viewer(agent_id))

    def stale_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[Reason]:
        """Yield the reason of each key that rests on something that is no longer believed."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        stale = StaleKeys(
            self._core.engine,
            scope,
            prefix=plain_text("prefix", prefix),
            as_of=self._as_of(at),
            viewer=self._viewer(agent_id),
        )
        return paged(self._calls, stale)

    def _why(self, ref: Ref, at: Moment | None, viewer: str) -> Reason:
        with self._core.engine.snapshot() as reader:
            as_of = resolve_as_of(reader, self._core.clock, at)
            return explain_why(ExplainContext(reader, as_of, viewer), ref)
