"""Coverage: the agents and namespaces that a caller's authority extends to."""

from __future__ import annotations

import msgspec


class Coverage(msgspec.Struct, frozen=True):
    """Some agents in some namespaces, and nothing else."""

    agents: frozenset[str] | None = None
    """None: all."""
    namespaces: frozenset[str] | None = None
    """Each with those below it; None: all."""

    def covers(self, namespace: str, agent_id: str) -> bool:
        """Say whether an agent in a namespace is covered."""
        return self.covers_agent(agent_id) and self.covers_namespace(namespace)

    def covers_agent(self, agent_id: str) -> bool:
        """Say whether an agent is covered, wherever it is."""
        return self.agents is None or agent_id in self.agents

    def covers_namespace(self, namespace: str) -> bool:
        """Say whether a namespace is covered: it is named itself, or one above it is."""
        if self.namespaces is None or namespace in self.namespaces:
            return True
        return any(namespace.startswith(f"{covered}/") for covered in self.namespaces)
