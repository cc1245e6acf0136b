"""A fuzz of every public call: hostile arguments beside plausible ones, in any mixture.

A call may succeed or raise an error of our tree. Whatever an argument's own code raises passes
through to the caller who gave it. Anything else is a defect, told with the call that found it.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
import typing
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import memoranda
from memoranda import AsyncStore, MemorandaError, Store, Transaction
from memoranda.model.clock import FixedClock
from memoranda.testing import memory_store
from tests.torture.fuzz_cli import commands, fuzz_command
from tests.torture.fuzz_handles import async_handles, handles, subscribed
from tests.torture.hostile import Provoked, hostile, raises_itself
from tests.torture.hostile_messages import messages

ITEMS = 20
"""How many items of an iterator are looked at."""
_WAITING = {"subscribe", "close"}
"""Calls that the fuzz makes in its own way: they wait for events, or end the store."""


def _do_nothing(_: Transaction) -> None:
    """Stage nothing."""


async def _do_nothing_async(_: memoranda.AsyncTransaction) -> None:
    """Stage nothing."""


_TIMES = ("2024-05-01T00:00:00Z", "1999-12-31T23:59:59+02:00", datetime(2023, 1, 1, tzinfo=UTC))
_MESSAGES: tuple[Any, ...] = (
    "Ann: I live in Oslo.\nBen: I moved to Rome in May 2023.",
    [{"role": "user", "content": "I work at Polaris."}],
    [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
)
_PLAUSIBLE: Mapping[str, tuple[Any, ...]] = {
    "agent_id": ("a", "b"),
    "namespace": ("default", "team/x"),
    "key": ("k1", "k2", "p/k"),
    "prefix": ("", "p/", "k"),
    "value": ({"n": 1}, {"a": {"b": [1, None, "x"]}}, {}),
    "content": ("Ann lives in Oslo", "Ben works at Polaris", "y"),
    "text": _MESSAGES,
    "title": ("t1", "t2", None),
    "query": ("where does Ann live?", "SELECT 1", "SELECT * FROM events LIMIT 3"),
    "subject": ("Ann", "Ben"),
    "relation": ("lives in", "works at", "reflects_on", "related_to", "supersedes"),
    "object": ("Oslo", "Rome", memoranda.Literal(5)),
    "entity": ("Ann", "Oslo"),
    "entities": ("Ann", ["Ann", "Ben"]),
    "alias": ("Annie", "Anna"),
    "into": ("Ann", "Ben"),
    "name": ("Ann",),
    "cardinality": ("single", "multi"),
    "decision": ("keep", "revise", "retract"),
    "status": ("open", "resolved"),
    "tier": ("short", "mid", "long"),
    "kind": ("observation", "claim"),
    "kinds": (None, ["memory"], ["fact"]),
    "visibility": ("namespace", "private"),
    "on_conflict": ("update", "error"),
    "direction": ("both", "out", "in"),
    "expect_version": (0, 1, 2),
    "version": (1, 2),
    "confidence": (0.5, 1.0),
    "priority": (1, 10),
    "tags": (("x",), ()),
    "metadata": ({"a": 1}, None),
    "k": (1, 5),
    "hops": (1, 2),
    "max_hops": (1, 3),
    "depth": (None, 0, 2),
    "budget": (100, 500),
    "score": (0.5, 0.9),
    "limit": (5,),
    "timeout": (0.01, 5.0),
    "retries": (0, 2),
    "ttl": (60, timedelta(days=1), None),
    "expired_for": (0, timedelta(days=1)),
    "batch": (1, 10),
    "txn_id": ("txn-1", "txn-2"),
    "cursor": ("cursor-1",),
    "spans": ([(0, 3)], None),
    "source_uri": ("file:x",),
    "decimals": (1,),
    "work": (_do_nothing,),
    "quote": ("Oslo", "I live in Oslo.\nBen"),
    "after": (0, 3),
    "offset": (0, 5),
    "facts": ([{"subject": "Ann", "relation": "likes", "object": "tea"}], []),
    "url": (":memory:", "u.db", "other.db"),
    "path": ("copy.db", "log.jsonl", "k.key"),
    "at": (1, 3, *_TIMES),
    "a": (1, 2),
    "b": (3, 5),
    "before": (2, *_TIMES),
    "commit_ts": (1, 2),
    "after_commit": (0, 2),
    "through_commit": (3,),
    "clock": (None, FixedClock()),
    "ids": (None,),
    "embedder": (None,),
    "scope": (memoranda.Scope("default", "a"),),
}
_FLAGS = ("allow_large", "children", "include_closed", "dry_run", "confirm", "deep", "purge")
_CALLED = ("progress", "reject", "work")
"""Arguments that are called: what a function of the caller's raises is the caller's own."""
_ID_OF = {
    "memory_id": "memory",
    "source": "memory",
    "target": "memory",
    "old": "memory",
    "new": "memory",
    "replacement": "memory",
    "transcript_id": "transcript",
    "transcript": "transcript",
    "facts_from": "memory",
    "assertion_id": "assertion",
    "fact": "assertion",
    "on": "memories",
    "ref": "ref",
    "because": "refs",
    "notice_id": "memory",
}


@dataclass
class Ids:
    """Ids of what the store under test has, by kind."""

    by_kind: dict[str, list[Any]] = field(default_factory=dict)

    def pick(self, kind: str, random: Random) -> Any:
        """Return something of a kind, or an id that does not exist."""
        if kind == "memories":
            return [self.pick("memory", random) for _ in range(random.randrange(1, 3))]
        if kind == "refs":
            return [self.pick("ref", random)]
        reference = self.by_kind.get(kind)
        return random.choice(reference) if reference else "00000000-0000-7000-8000-000000000000"


def fill(store: Store, random: Random) -> Ids:
    """Put something of every kind into a store, and return the ids."""
    agent = store.bind(agent_id="a")
    for number in range(3):
        agent.write(key=f"k{number}", value={"n": number})
    talk = agent.store_transcript("Ann: I live in Oslo.")
    note = agent.remember("Ann lives in Oslo", transcript=talk.id, title="t1")
    secret = agent.remember("private words", visibility="private")
    belief = agent.reflect("Ann is Norwegian", on=[note.id])
    better = agent.reflect("Ann is Danish", on=[note.id])
    agent.reflect("Ann speaks Norwegian", on=[belief.id])
    agent.supersede(old=belief.id, new=better.id)
    fact = agent.assert_fact(subject="Ann", relation="lives in", object="Oslo", source=note.id)
    store.bind(agent_id="b", namespace="team/x").write(key="k1", value={})
    assertions = [source for edge in agent.facts() for source in edge.sources]
    random.shuffle(assertions)
    return Ids(
        {
            "memory": [note.id, secret.id, belief.id, better.id],
            "transcript": [talk.id],
            "assertion": [getattr(one, "assertion_id", one) for one in assertions] + [fact],
            "ref": ["k1", memoranda.KeyRef("k1"), memoranda.MemoryRef(note.id), note],
        }
    )


class Fuzz:
    """Calls public methods with random arguments, and counts."""

    def __init__(self, random: Random, ids: Ids) -> None:
        self._random = random
        self._ids = ids
        self.calls = 0
        self.refused = 0
        self.defects: dict[tuple[str, ...], str] = {}
        """What was raised that is not ours, by call, kind and place: each told once."""

    def arguments(self, call: Callable[..., Any]) -> dict[str, Any]:
        """Return arguments for every parameter of a call that is not left out."""
        choice: dict[str, Any] = {}
        for parameter in inspect.signature(call).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                choice |= self._options(call, parameter)
            elif parameter.kind is not parameter.VAR_POSITIONAL and not self._left_out(parameter):
                choice[parameter.name] = self._value(parameter.name)
        return choice

    def _left_out(self, parameter: inspect.Parameter) -> bool:
        return parameter.default is not parameter.empty and self._random.random() < 0.6

    def _options(self, call: Callable[..., Any], parameter: inspect.Parameter) -> dict[str, Any]:
        hints = typing.get_type_hints(call)
        (fields,) = typing.get_args(hints[parameter.name]) or (None,)
        names = list(typing.get_type_hints(fields)) if fields else []
        picked = self._random.sample(names, min(len(names), self._random.randrange(3)))
        return {name: self._value(name) for name in picked}

    def _value(self, name: str) -> Any:
        random = self._random
        if name == "text" and random.random() < 0.5:
            return messages(random)
        if random.random() < 0.35:
            value = hostile(random)
            return None if name in _CALLED and callable(value) else value
        if name in _ID_OF:
            return self._ids.pick(_ID_OF[name], random)
        if name in _FLAGS:
            return random.random() < 0.5
        if name in _CALLED and name not in _PLAUSIBLE:
            return None
        if name in _PLAUSIBLE:
            return random.choice(_PLAUSIBLE[name])
        return random.choice(_TIMES) if name.endswith(("_at", "_from", "_to")) else hostile(random)

    def judge(self, name: str, arguments: Mapping[str, Any], error: BaseException) -> None:
        """Count an error that is ours; note any other as a defect."""
        self.refused += 1
        if isinstance(error, MemorandaError):
            str(error)
            return
        if _is_provoked(error) and any(map(raises_itself, arguments.values())):
            return
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = (name, type(error).__name__, f"{place.filename}:{place.lineno}")
        if where not in self.defects:
            reports = "".join(traceback.format_tb(error.__traceback__, limit=-6))
            kind = brief({type(error).__name__: error})
            self.defects[where] = f"{name}({brief(arguments)})\n{reports[-3000:]}{kind}"

    def report(self) -> None:
        """Raise if any call raised what is not ours."""
        if self.defects:
            raise AssertionError("\n\n".join(self.defects.values()))

    def call(self, name: str, call: Callable[..., Any]) -> None:
        """Make one call, and look at its answer."""
        value = self.arguments(call)
        self.calls += 1
        try:
            answer = call(**value)
            if not (name.endswith("subscribe") or isinstance(answer, Store)):
                look_at(answer)
            elif name.endswith("subscribe"):
                answer.close()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception either
            self.judge(name, value, error)

    async def call_async(self, name: str, call: Callable[..., Any]) -> None:
        """Make one asynchronous call, and look at its answer."""
        value = self.arguments(call)
        self.calls += 1
        if "work" in value and value["work"] is _do_nothing:
            value["work"] = _do_nothing_async
        try:
            answer = call(**value)
            if inspect.isawaitable(answer):
                answer = await answer
            if isinstance(answer, AsyncIterator) and not name.endswith("subscribe"):
                observations = 0
                async for item in answer:
                    look_at(item)
                    observations += 1
                    if observations == ITEMS:
                        break
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - see `call`
            self.judge(name, value, error)


def look_at(answer: Any) -> None:
    """Print an answer, and the first items of an iterator, as a caller would."""
    if isinstance(answer, Iterator):
        for item in islice(answer, ITEMS):
            str(item)
    else:
        str(answer)
        repr(answer)


def brief(arguments: Mapping[str, Any]) -> str:
    """Return arguments as text that cannot fail and is not long."""
    output = []
    for name, value in arguments.items():
        try:
            text = repr(value)[:120]
        except Exception as error:  # noqa: BLE001 - hostile on purpose
            text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
        output.append(f"{name}={text}")
    return ", ".join(output)


def _is_provoked(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, Provoked):
            return True
        error = error.__cause__
    return False


def public_calls(target: object) -> list[tuple[str, Callable[..., Any]]]:
    """Return the public methods of an object, by name."""
    names = (name for name in dir(type(target)) if not name.startswith("_"))
    kind = type(target).__name__
    methods = ((name, getattr(target, name)) for name in names if name not in _WAITING)
    return [(f"{kind}.{name}", method) for name, method in methods if callable(method)]


def module_calls() -> list[tuple[str, Callable[..., Any]]]:
    """Return public functions and constructors that take a caller's values."""
    functions: list[Callable[..., Any]] = [
        memoranda.open,
        memoranda.restore,
        memoranda.import_log,
        memoranda.diagnose,
        memoranda.create_signer,
        memoranda.load_signer,
        memoranda.Scope.of,
        memoranda.Limits,
        memoranda.CardinalityPolicy.with_single_valued,
    ]
    return [(one.__qualname__, one) for one in functions]


def fuzz_store(fuzz: Fuzz, store: Store, calls: int, random: Random) -> None:
    """Fuzz a store, its transactions and the module's functions."""
    agent = store.bind(agent_id="a")
    methods, functions = public_calls(agent), module_calls()
    subscribe = ("Store.subscribe", agent.subscribe)
    parts = [call for handle in handles(store) for call in public_calls(handle)]
    transaction = agent.begin_transaction()
    end = fuzz.calls + calls
    while fuzz.calls < end:
        chance = random.random()
        if chance < 0.05:
            fuzz.call(*random.choice([*functions, subscribe]))
        elif chance < 0.1:
            fuzz.call(*random.choice(parts))
        elif chance < 0.105:
            for number, call in enumerate(subscribed(agent, random)):
                fuzz.call(f"Subscription, {number}", call)
        elif chance < 0.4:
            transaction = _fuzz_transaction(fuzz, transaction, agent, random)
        else:
            fuzz.call(*random.choice(methods))
    store.verify(deep=True)


def _fuzz_transaction(
    fuzz: Fuzz, transaction: Transaction, agent: Store, random: Random
) -> Transaction:
    """Make one call of a transaction; a finished one is tried now and then before it is left."""
    fuzz.call(*random.choice(public_calls(transaction)))
    return agent.begin_transaction() if random.random() < 0.1 else transaction


async def fuzz_async(fuzz: Fuzz, calls: int, random: Random) -> None:
    """Fuzz an asynchronous store."""
    async with await memoranda.open_async(":memory:", embedder=None) as opened:
        store: AsyncStore = opened.bind(agent_id="a")
        await store.write(key="k1", value={"n": 1})
        methods = public_calls(store)
        parts = [call for handle in await async_handles(store) for call in public_calls(handle)]
        for _ in range(calls):
            await fuzz.call_async(*random.choice(parts if random.random() < 0.3 else methods))
        await opened.verify(deep=True)


def fuzz_commands(fuzz: Fuzz, calls: int, random: Random) -> None:
    """Fuzz the command line, in the current folder."""
    reference = commands()
    for _ in range(calls):
        fuzz.calls += 1
        problem = fuzz_command(random, reference)
        if problem is not None:
            fuzz.defects.setdefault(("command line", problem[-200:]), problem)


def fuzz_unit(folder: Path, seed: str, calls: int) -> tuple[int, int]:
    """Fuzz everything for so many calls; return how many were made and how many refused."""
    random = Random(seed)
    with chdir(folder):
        on_disk = random.random() < 0.5
        store = (
            memoranda.open(folder / "fuzz.db", durability="relaxed", embedder=None)
            if on_disk
            else memory_store(clock=FixedClock())
        )
        fuzz = Fuzz(random, fill(store, random))
        fuzz_store(fuzz, store, calls * 8 // 10, random)
        bound = store.bind(agent_id="a")
        store.close()
        for name, method in public_calls(bound):
            fuzz.call(f"closed {name}", method)
        asyncio.run(fuzz_async(fuzz, calls // 10, random))
        fuzz_commands(fuzz, calls // 10, random)
    fuzz.report()
    return fuzz.calls, fuzz.refused
