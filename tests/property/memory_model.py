"""What memories are, said as simply as possible: a world after each commit, and whole new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.property.model import Refused

ACYCLIC = ("reflects_on", "supersedes", "derived_from")
DEEPEST = 3
CROWDED = 6
"""With so many memories, steps link them and make no more: histories grow where steps meet."""

Edge = tuple[int, str, int]
"""Source, relation, target; memories are numbers, in the order in which they were made."""
Warrant = tuple[int, int, int]
"""Dependent, invalidated, invalidating."""


@dataclass(frozen=True)
class Belief:
    agent: str
    namespace: str
    private: bool
    title: str | None
    content: str
    kind: str
    version: int = 1
    retracted: bool = False
    touched: int = 0

    def title_key(self, title: str | None) -> tuple[str, str, str] | None:
        """Whose title it is: of everybody in a namespace, or of one agent there."""
        if title is None:
            return None
        return (self.namespace, self.agent if self.private else "", title)


@dataclass(frozen=True)
class Step:
    """Something an agent does; `first` and `second` pick memories."""

    name: str
    agent: str
    first: int
    second: int
    namespace: str
    private: bool
    title: str | None
    content: str
    kind: str | None
    relation: str


@dataclass(frozen=True)
class World:
    """What holds after a commit."""

    beliefs: tuple[Belief, ...] = ()
    links: tuple[Edge, ...] = ()
    linked: tuple[Edge, ...] = ()
    """Every link there ever was."""
    notices: tuple[tuple[Warrant, str | None], ...] = ()
    changes: int = 0
    """How many operations led here: a commit without any makes no event."""
    stored: int = field(default=0, compare=False)
    """How many memories there were when the transaction began."""

    def seen(self, number: int, by: str, *, current: bool = False) -> Belief:
        belief = self.beliefs[number]
        if (belief.private and belief.agent != by) or (current and belief.retracted):
            raise Refused("NotFound")
        return belief

    def visible(self, by: str) -> list[int]:
        """The memories that a list has: by namespace, then oldest first."""
        result = [
            (belief.namespace, number)
            for number, belief in enumerate(self.beliefs)
            if not belief.retracted and (not belief.private or belief.agent == by)
        ]
        return [number for _, number in sorted(result)]

    def ends(self, number: int, relation: str) -> list[int]:
        return [end for start, name, end in self.links if (start, name) == (number, relation)]

    def starts(self, number: int, relation: str) -> list[int]:
        return [start for start, name, end in self.links if (end, name) == (number, relation)]

    def depth(self, number: int) -> int:
        return max((self.depth(end) + 1 for end in self.ends(number, "reflects_on")), default=0)

    def leads(self, start: int, relation: str, goal: int) -> bool:
        return start == goal or any(
            self.leads(end, relation, goal) for end in self.ends(start, relation)
        )

    def titled(self, key: tuple[str, str, str] | None) -> int | None:
        for number, belief in enumerate(self.beliefs):
            if key is not None and belief.title_key(belief.title) == key:
                return number
        return None

    # What changes it

    def put(self, number: int, **changes: object) -> World:
        beliefs = list(self.beliefs)
        beliefs[number] = replace(beliefs[number], **changes)  # type: ignore[arg-type]
        return replace(self, beliefs=tuple(beliefs), changes=self.changes + 1)

    def remember(self, new: Belief, kind: str | None) -> tuple[World, int]:
        number = self.titled(new.title_key(new.title))
        if number is None:
            number = len(self.beliefs)
            beliefs = (*self.beliefs, replace(new, kind=kind or "observation"))
            return replace(self, beliefs=beliefs, changes=self.changes + 1), number
        old = self.beliefs[number]
        text = {"content": new.content, "kind": kind or old.kind, "retracted": False}
        if text == {name: getattr(old, name) for name in text}:
            return self, number
        return self.put(number, **text, version=old.version + 1), number

    def update(self, number: int, by: str, content: str, title: str | None) -> World:
        old = self.seen(number, by, current=True)
        if (old.content, old.title) == (content, title):
            return self
        if title != old.title and self.titled(old.title_key(title)) is not None:
            raise Refused("TitleTaken")
        return self.put(number, content=content, title=title, version=old.version + 1)

    def retract(self, number: int, by: str) -> World:
        old = self.seen(number, by)
        if old.retracted:
            return self
        return self.put(number, retracted=True, version=old.version + 1)

    def link(self, source: int, relation: str, target: int, by: str) -> World:
        if source < self.stored:  # else the transaction itself has just made it
            self.seen(source, by)
        self.seen(target, by)
        if (source, relation, target) in self.links:
            return self
        if relation in ACYCLIC and self.leads(target, relation, source):
            raise Refused("LinkCycle")
        if source == target:
            raise Refused("InvalidInput")
        links = (*self.links, (source, relation, target))
        linked = (*self.linked, (source, relation, target))
        after = replace(self, links=links, linked=linked, changes=self.changes + 1)
        if max(after.depth(number) for number in range(len(self.beliefs))) > DEEPEST:
            raise Refused("ReflectionTooDeep")
        return after.tell(source, relation, target)

    def tell(self, source: int, relation: str, target: int) -> World:
        """Whoever reflects on a reflection that another one has superseded is told, once."""
        warrants: list[Warrant] = []
        if relation == "supersedes":
            resting = self.starts(target, "reflects_on")
            warrants = [(dependent, target, source) for dependent in resting]
        elif relation == "reflects_on":
            newer = self.starts(target, "supersedes")
            warrants = [(source, target, new) for new in newer]
        reference = {warrant for warrant, _ in self.notices}
        reports = tuple(
            ((dependent, old, new), None)
            for dependent, old, new in warrants
            if self.beliefs[old].kind == self.beliefs[new].kind == "reflection"
            and dependent != new
            and (dependent, old, new) not in reference
        )
        return replace(self, notices=self.notices + reports, changes=self.changes + len(reports))

    def unlink(self, source: int, relation: str, target: int, by: str) -> World:
        self.seen(source, by), self.seen(target, by)
        if (source, relation, target) not in self.links:
            raise Refused("NotFound")
        links = tuple(link for link in self.links if link != (source, relation, target))
        return replace(self, links=links, changes=self.changes + 1)

    def resolve(self, warrant: Warrant, decision: str, by: str) -> World:
        self.seen(warrant[0], by)
        before = dict(self.notices)[warrant]
        if before is not None:
            if before != decision:
                raise Refused("Conflict")
            return self
        notices = tuple(
            (item, decision if item == warrant else reference) for item, reference in self.notices
        )
        after = replace(self, notices=notices, changes=self.changes + 1)
        return after.retract(warrant[0], by) if decision == "retract" else after

    def doing(self, step: Step) -> str:
        """What a step comes to in this world."""
        if not self.beliefs:
            return "remember"
        if step.name in ("remember", "reflect") and len(self.beliefs) >= CROWDED:
            return "link"
        needed = {"unlink": self.links, "relink": self.linked}
        return step.name if needed.get(step.name, True) else "link"

    def take(self, step: Step) -> World:
        """Return the world after a step, or raise `Refused` with the name of the error."""
        name, by, count = self.doing(step), step.agent, max(len(self.beliefs), 1)
        first, second = step.first % count, step.second % count
        if name == "remember":
            new = Belief(by, step.namespace, step.private, step.title, step.content, "")
            return self.remember(new, step.kind)[0]
        if name == "reflect":
            new = Belief(by, step.namespace, step.private, None, step.content, "")
            after, number = self.remember(new, "reflection")
            for target in dict.fromkeys((first, second)):
                after = after.link(number, "reflects_on", target, by)
            return after
        if name == "update":
            return self.update(first, by, step.content, step.title)
        if name == "retract":
            return self.retract(first, by)
        if name == "touch":
            touched = self.seen(first, by, current=True).touched
            return self.put(first, touched=touched + 1)
        if name == "unlink":
            return self.unlink(*self.links[step.first % len(self.links)], by)
        if name == "relink":
            return self.link(*self.linked[step.first % len(self.linked)], by)
        if name == "supersede":
            return self.link(second, "supersedes", first, by)
        return self.link(first, step.relation, second, by)


def take_all(world: World, steps: Sequence[Step]) -> tuple[World, str, int]:
    """Return the world after all steps, or which error the store should raise at which of them."""
    after = replace(world, stored=len(world.beliefs))
    for place, step in enumerate(steps):
        try:
            after = after.take(step)
        except Refused as error:
            return world, str(error), place + 1
    return after, "", len(steps)
