"""What a store says about why something is believed."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.log.moments import Moment, asked_at
from memoranda.model.limits import plain_text
from memoranda.model.refs import Ground, KeyRef, Ref
from memoranda.sdk.calls import paged
from memoranda.sdk.core import Defaults
from memoranda.sdk.handle import Handle
from memoranda.sdk.references import check_ref
from memoranda.why.explain import explain as explain_why
from memoranda.why.inquiry import Inquiry
from memoranda.why.reason import Reason
from memoranda.why.stale import StaleKeys


class WhyCalls(Handle):
    """Asking what values, memories and facts rest on, and whether that still holds."""

    def why(
        self,
        ref: Ground | str,
        *,
        at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Reason:
        """Return what a key, a memory or a fact rests on, as a tree down to the words quoted.

        A text names a key. Each branch says whether it was still believed at the moment asked
        about: what happened later does not show.
        """
        named = KeyRef(ref) if isinstance(ref, str) else ref
        asker = Defaults(
            self._defaults.agent_id if agent_id is None else agent_id,
            self._defaults.namespace if namespace is None else namespace,
        )
        checked = check_ref("ref", named, asker, self._core.limits)
        return self._calls.run(self._why, checked, at, self._viewer(agent_id))

    def stale_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[Reason]:
        """Yield why, for each key whose value rests on something that is no longer believed."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        stale = StaleKeys(
            self._core.engine,
            scope,
            prefix=plain_text("prefix", prefix),
            asked=self._asked(at),
            viewer=self._viewer(agent_id),
        )
        return paged(self._calls, stale)

    def _why(self, ref: Ref, at: Moment | None, viewer: str) -> Reason:
        with self._core.engine.snapshot() as reader:
            asked = asked_at(reader, self._core.clock, at)
            return explain_why(Inquiry(reader, asked, viewer), ref)
