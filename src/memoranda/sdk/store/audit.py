"""What a store tells about what was done with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memoranda.audit.event_types import check_event_types
from memoranda.audit.events import AuditEvent, AuditFilter, AuditTrail
from memoranda.log.moments import commit_of_token
from memoranda.model.scope import AllAgents
from memoranda.sdk.calls import paged
from memoranda.sdk.handle import Handle


class AuditCalls(Handle):
    """Listing what was done, by whom."""

    def audit_events(
        self,
        *,
        event_type: str | Iterable[str] | None = None,
        agent_id: str | AllAgents | None = None,
        after_commit: int | str = 0,
    ) -> Iterator[AuditEvent]:
        """Yield what was done, in order, up to the log's end at the time of this call.

        `event_type` is one type or several; `link.*` is all that begins so. `agent_id` asks for
        what one agent did, or was refused; without it, it is what everybody did. The content stands
        as a salted hash. `after_commit` takes an event's `token` or a bare number.
        """
        core, types = self._core, check_event_types(event_type)
        through = core.head()
        with core.engine.reading() as reader:
            after = commit_of_token(reader, "after_commit", core.log_id, after_commit)
        trail = AuditTrail(
            core.engine,
            AuditFilter(event_types=types, agent_id=self._agent(agent_id)),
            after=min(after, through),
            through=through,
        )
        return paged(self._calls, trail)
