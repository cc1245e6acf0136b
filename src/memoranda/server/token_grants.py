"""The grant of a token, from the arguments of its creation: agents, namespaces, verbs.

- `agent` is the actor of every call, whose own data is covered. So every record in an agent's name
  was written with a token of that agent.
- `covers` are further agents whose own data is covered; `*` stands for all.
- `namespaces` are patterns: `team/*` is `team` and what is below it, `*` is all.
- Without an agent, each call acts in the name of the agent that it names. Only a token for every
  agent and namespace may do that: the name of an agent means the same in the whole store, and so do
  its keys to sign with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from memoranda.calls.call import VERBS, Verb
from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput
from memoranda.model.limits import WIDEST, check_items, plain_text, short_repr
from memoranda.model.scope import DEFAULT_NAMESPACE, checked_scope
from memoranda.model.suggestions import did_you_mean

ALL = "*"
"""As an agent, a namespace or a store: all of them."""
_BELOW = "/*"
DEFAULT_VERBS: tuple[Verb, ...] = ("read", "write")


def grant_of(
    *,
    agent: str | None = None,
    covers: Iterable[str] = (),
    namespaces: Iterable[str] = (ALL,),
    verbs: Iterable[str] = DEFAULT_VERBS,
) -> Grant:
    """Return the grant of a token, or raise `InvalidInput` for invalid arguments."""
    allowed = _verbs(verbs)
    places = _namespaces(namespaces)
    covered_agents = frozenset(_agent("covers", name) for name in check_items("covers", covers))
    if agent is None:
        if covered_agents or places is not None:
            raise InvalidInput(
                "agent_id",
                "is missing: name the agent in whose name this token acts. Only a token for every "
                "agent and namespace acts in the name of the agent that each call names",
            )
        return Grant(verbs=allowed)
    actor = _agent("agent_id", agent)
    if actor == ALL:
        raise InvalidInput(
            "agent_id", "'*' is no agent that could act: name one, and cover all with covers '*'"
        )
    agents = None if ALL in covered_agents else covered_agents | {actor}
    return Grant(actor, agents, places, allowed)


def _verbs(verbs: Iterable[str]) -> frozenset[Verb]:
    names = [plain_text("verbs", verb) for verb in check_items("verbs", verbs)]
    for name in names:
        if name not in get_args(Verb):
            problem = f"{short_repr(name)} is not one of {', '.join(VERBS)}"
            raise InvalidInput("verbs", problem + did_you_mean(name, VERBS))
    if not names:
        raise InvalidInput("verbs", f"is empty: give some of {', '.join(VERBS)}")
    return frozenset(verb for verb in VERBS if verb in names)


def _agent(field: str, name: object) -> str:
    try:
        return checked_scope(
            DEFAULT_NAMESPACE, plain_text(field, name), WIDEST, engine=False
        ).agent_id
    except InvalidInput as error:
        raise InvalidInput(field, error.problem) from error


def _namespaces(patterns: Iterable[str]) -> frozenset[str] | None:
    """Return the namespaces that some patterns name, each with those below it; None: all."""
    texts = [plain_text("namespaces", pattern) for pattern in check_items("namespaces", patterns)]
    if not texts:
        raise InvalidInput("namespaces", "is empty: give a pattern such as team/*, or * for all")
    places = frozenset(_namespace(text) for text in texts if text != ALL)
    return None if ALL in texts else places


def _namespace(pattern: str) -> str:
    """Return the namespace of a pattern such as `team/*`."""
    place = pattern.removesuffix(_BELOW)
    if place == pattern:
        raise InvalidInput(
            "namespaces",
            f"{short_repr(pattern)} names one namespace, and a token covers it with those below "
            f"it: write {short_repr(f'{pattern}{_BELOW}')}",
        )
    if ALL in place:
        raise InvalidInput(
            "namespaces",
            f"{short_repr(pattern)} has a * before its end: give a pattern such as team/*",
        )
    try:
        return checked_scope(place, "agent", WIDEST, engine=False).namespace
    except InvalidInput as error:
        raise InvalidInput("namespaces", error.problem) from error
