"""Guards: no cycles among links, and no reflections deeper than allowed."""

from __future__ import annotations

from memoranda.errors import LinkCycle, ReflectionTooDeep
from memoranda.memory.working import Edge, Working
from memoranda.model.memory import REFLECTS_ON, Depth


def check_cycle(working: Working, edge: Edge, viewer: str) -> None:
    """Raise `LinkCycle` if the link's target leads back to its source.

    Where nothing leads to the source there can be no cycle, and a memory that was just made is such
    a one: the walk is spared to nearly every link.
    """
    source, relation, target = edge
    if source != target and not working.has_sources(source, relation):
        return
    path = _find_path(working, relation, target, source)
    if path is not None:
        seen = working.memories(path)
        raise LinkCycle(
            relation,
            tuple(each if seen[each].seen_by(viewer) else None for each in (source, *path)),
        )


def _find_path(working: Working, relation: str, start: str, goal: str) -> list[str] | None:
    """Return the memories on a shortest way, both ends included; each hop is one query."""
    came_from: dict[str, str | None] = {start: None}
    frontier = [start]
    while frontier and goal not in came_from:
        hop = working.targets(frontier, relation)
        frontier = []
        for here, targets in hop.items():
            for target in targets:
                if target not in came_from:
                    came_from[target] = here
                    frontier.append(target)
    if goal not in came_from:
        return None
    path, step = [], came_from[goal]
    while step is not None:
        path.append(step)
        step = came_from[step]
    return [*reversed(path), goal]


def deepen(working: Working, source: str, target: str) -> tuple[Depth, ...]:
    """Return the depths that change when one memory begins to reflect on another.

    What reflects on the source grows deeper with it, and so on upwards. Raises as soon as one would
    be deeper than its namespace allows, which also ends a walk around a cycle written by hand.
    """
    known = working.depths((source, target))
    changed: dict[str, int] = {}
    frontier = {source: known[target][1] + 1}
    while frontier:
        known |= working.depths(frontier.keys() - known.keys())
        deeper = {
            memory_id: depth
            for memory_id, depth in frontier.items()
            if depth > changed.get(memory_id, known[memory_id][1])
        }
        for memory_id, depth in deeper.items():
            namespace = known[memory_id][0]
            limit = working.settings(namespace).max_reflection_depth
            if depth > limit:
                raise ReflectionTooDeep(namespace, depth, limit, (source, target))
        changed |= deeper
        frontier = {}
        for child, parents in working.sources(deeper, REFLECTS_ON).items() if deeper else ():
            for parent in parents:
                frontier[parent] = max(frontier.get(parent, 0), deeper[child] + 1)
    return _listed(changed)


def flatten(working: Working, source: str) -> tuple[Depth, ...]:
    """Return the depths that change now that a memory no longer reflects on something."""
    changed: dict[str, int] = {}
    frontier = [source]
    while frontier:
        targets = working.targets(frontier, REFLECTS_ON)
        below = {target for each in targets.values() for target in each}
        known = working.depths(below.union(frontier))
        shallower = {}
        for memory_id, ends in targets.items():
            depth = max((changed.get(end, known[end][1]) + 1 for end in ends), default=0)
            if depth < changed.get(memory_id, known[memory_id][1]):
                shallower[memory_id] = depth
        changed |= shallower
        parents = working.sources(shallower, REFLECTS_ON) if shallower else {}
        frontier = sorted({parent for each in parents.values() for parent in each})
    return _listed(changed)


def _listed(depths: dict[str, int]) -> tuple[Depth, ...]:
    return tuple(Depth(memory_id, depths[memory_id]) for memory_id in sorted(depths))
