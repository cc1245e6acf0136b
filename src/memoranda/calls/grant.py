"""Grants: the authority of a caller, as a value that every handler gets.

Data that a grant does not cover looks as if it did not exist: the answer is the same, and the error
has the same words. Handlers read through a reader of covered rows (`storage/coverage.py`), so that
no query, page, count or score can tell the difference.

- *Namespaces* bound the place: data outside of them and of their children is not covered.
- *Agents* bound the owners of data: keys, parts of the log, notices, private items, and lists of
  agents and cursors. Data that every agent of a namespace may read is covered with the namespace,
  whichever agent wrote it: memories and facts that are not private, shared facts, transcripts,
  settings.
- The *actor* is the viewer of every call, whatever agent the call names. Private memories and facts
  are shown to their own agent only, and only if it is covered.
- Covered data may rest on data that is not covered, through links, evidence, sources and
  superseding memories. Such references are masked or left out, as private memories of other agents
  are. Operations of a covered scope name the ids that they link, and every commit has its number in
  the whole log.
- A call about the store as a whole (`reach = "store"`) cannot be restricted: it raises
  `PermissionDenied` unless the grant covers everything. So does writing outside the grant; the
  message repeats only the caller's own words.
"""

from __future__ import annotations

import msgspec

from memoranda.calls.call import VERBS, Verb
from memoranda.errors import PermissionDenied
from memoranda.model.coverage import Coverage
from memoranda.model.limits import Limits
from memoranda.model.scope import DEFAULT_ACTOR, Scope, checked_scope

NOBODY = ""
"""A viewer that is no agent: nothing is private to it."""


class Grant(msgspec.Struct, frozen=True):
    """The authority of a caller."""

    actor: str | None = None
    """The agent that the caller acts for and whose visibility applies. None: the agent that each
    call names, as for a host that serves all agents."""
    agents: frozenset[str] | None = None
    """The agents whose own data it may see; None: all."""
    namespaces: frozenset[str] | None = None
    """The namespaces, each with those below it; None: all."""
    verbs: frozenset[Verb] = frozenset(VERBS)

    @property
    def covers_everything(self) -> bool:
        """Whether it covers every agent in every namespace."""
        return self.agents is None is self.namespaces

    @property
    def coverage(self) -> Coverage:
        """The agents and namespaces that it covers."""
        return Coverage(self.agents, self.namespaces)

    def check_verb(self, verb: Verb) -> None:
        """Refuse a call that the grant does not allow.

        The names of calls are no secret, so this error may name the call.
        """
        if verb not in self.verbs:
            raise PermissionDenied(
                f"the grant of this caller has no verb {verb!r}: ask for one that has it"
            )

    def acting(self, agent_id: str | None) -> str:
        """Return the agent in whose name a call that names this agent, or none, acts."""
        if self.actor is not None:
            return self.actor
        return DEFAULT_ACTOR if agent_id is None else agent_id

    def owner(self, agent_id: str) -> str:
        """Return an agent whose own data a call names; `NOBODY` if the grant does not cover it."""
        return agent_id if self.agents is None or agent_id in self.agents else NOBODY

    def covers(self, namespace: str, agent_id: str) -> bool:
        """Say whether the data of an agent in a namespace is covered."""
        return self.coverage.covers(namespace, agent_id)

    def scope(
        self, namespace: str, agent_id: str, limits: Limits, *, writing: bool = False
    ) -> Scope:
        """Return a checked scope, in which a reader finds covered data.

        A write outside the grant raises `PermissionDenied`, whether or not anything exists there.
        """
        scope = checked_scope(namespace, agent_id, limits, engine=not writing)
        if not writing or self.agents is None is self.namespaces:  # inline: it costs every call
            return scope
        if not self.covers(namespace, agent_id):
            raise PermissionDenied(
                f"the grant of this caller does not cover agent {agent_id!r} in namespace "
                f"{namespace!r}: ask for one that does"
            )
        return scope


EVERYTHING = Grant()
"""The authority of a program that opens the file itself."""
