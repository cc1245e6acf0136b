"""Notices: what the owner of a memory is told when its ground was superseded."""

from __future__ import annotations

import msgspec

from memoranda.model.ids import derived
from memoranda.model.instant import to_rfc3339
from memoranda.model.memory import NOTICE_KIND, NOTICE_TIER, Content, Details, Expiry, inbox_of
from memoranda.model.operations import Notify, Remember
from memoranda.model.scope import Scope


class Warrant(msgspec.Struct, frozen=True):
    """Why somebody is told: this rests on that, which the third has superseded."""

    dependent: str
    invalidated: str
    invalidating: str

    @property
    def notice_id(self) -> str:
        """The id of the one notice there is for it."""
        return derived("notice", self.dependent, self.invalidated, self.invalidating)


def notify(warrant: Warrant, owner: Scope, *, private: bool, by: str) -> Notify:
    """Return the notice for the owner of the dependent memory."""
    return Notify(
        namespace=inbox_of(owner.namespace),
        agent_id=owner.agent_id,
        memory_id=warrant.notice_id,
        dependent_id=warrant.dependent,
        invalidated_id=warrant.invalidated,
        invalidating_id=warrant.invalidating,
        by=by,
        private=private,
    )


def notice_memory(notice: Notify, committed_at: int | None = None) -> Remember:
    """Return the memory that a notice is: its words follow from the ids and the commit's time.

    While it is only staged, that time is None. It has no end: an open notice does not expire.
    """
    metadata = {
        "notification_kind": NOTICE_KIND,
        "dependent_id": notice.dependent_id,
        "invalidated_id": notice.invalidated_id,
        "invalidating_id": notice.invalidating_id,
        "timestamp": None if committed_at is None else to_rfc3339(committed_at),
        "agent_id": notice.by,
        "target_agent_id": notice.agent_id,
    }
    return Remember(
        namespace=notice.namespace,
        agent_id=notice.agent_id,
        memory_id=notice.memory_id,
        kind="observation",
        tier=NOTICE_TIER,
        title=(
            f"invalidation: {notice.invalidated_id} -> {notice.dependent_id} "
            f"by {notice.invalidating_id}"
        ),
        private=notice.private,
        content=Content(
            f"{notice.invalidated_id} was superseded by {notice.invalidating_id}. "
            f"{notice.dependent_id} reflects on it and may need re-evaluation."
        ),
        details=Details(
            tags=("_invalidation",),
            priority=7,
            source="notification",
            metadata=msgspec.json.encode(metadata),
        ),
        expiry=Expiry(None),
    )
