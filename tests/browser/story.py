"""The demo's story in a store, told at once and without a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import memoranda
from memoranda.cli.demo.agent import INVOICES, decide
from memoranda.cli.demo.story import believe, converse, learn
from memoranda.sdk.store.store import Store
from memoranda.testing import FixedClock, FixedIds

_NIGHT_SECONDS = 23 * 3600
_PACE_SECONDS = 97


class WorkingClock(FixedClock):
    """A clock that goes on a little whenever it is looked at."""

    def now(self) -> int:
        """Return the time, and go on."""
        self.advance(_PACE_SECONDS)
        return super().now()


class _Silent:
    """A stage that shows nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def tell(path: Path, *, clock: FixedClock | None = None, ids: FixedIds | None = None) -> None:
    """Write the demo's story to a new store; by a clock that is given, an act a day."""
    with memoranda.open(path, embedder=None, clock=clock, ids=ids) as store:
        clerk = store.bind(agent_id="clerk")
        settle_invoices(clerk, range(1, len(INVOICES) + 1))
        stage: Any = _Silent()
        for namespace, act in (("beliefs", believe), ("facts", learn), ("talks", converse)):
            if clock is not None:
                clock.advance(_NIGHT_SECONDS)
            act(clerk.bind(namespace=namespace), stage)


def settle_invoices(clerk: Store, numbers: Iterable[int]) -> None:
    """Settle invoices, as the demo's agent does."""
    if clerk.get_state(key="policy") is None:
        clerk.write(key="policy", value={"limit": 500})
    for number in numbers:
        if number == 6:
            clerk.write(key="policy", value={"limit": 300}, because=[memoranda.KeyRef("ledger")])
        with clerk.begin_transaction(txn_id=f"settle-{number}") as transaction:
            decide(transaction, number)


def fork_story(folder: Path) -> None:
    """Fork `origin.db` to `whatif.db`, where the agent goes another way."""
    with memoranda.open(folder / "origin.db", embedder=None) as store:
        store.fork(folder / "whatif.db", at=6)
    with memoranda.open(folder / "whatif.db", embedder=None) as store:
        store.write(agent_id="clerk", key="policy", value={"limit": 1000})


HOSTILE = (
    "<script>window.attacked = 1</script>",
    "<img src=x onerror='window.attacked = 1'>",
    "<svg onload='window.attacked = 1'><a href='javascript:window.attacked = 1'>x</a></svg>",
    "evil\u202etxt.exe and \u200bnothing\u2066 here\u2069",
    "</script><style>body { display: none }</style> ${window.attacked = 1} {{ 7 * 7 }}",
)
"""Texts that a page must show and never run."""
HOSTILE_AGENT = "clerk<img src=x onerror='window.attacked = 1'>"
HOSTILE_SPACE = "team/<svg onload='window.attacked = 1'>?a=b&c#d %2f"


def tell_hostile(path: Path, texts: Sequence[str] = HOSTILE) -> None:
    """Write texts to every place where a store holds text."""
    with memoranda.open(path, embedder=None) as store:
        agent = store.bind(agent_id=HOSTILE_AGENT)
        for number, text in enumerate(texts):
            agent.write(key=f"k{number} {text}", value={text: text})
            agent.write(key="again", value={"text": text})
            talk = agent.store_transcript(f"Ann{text[:8]}: {text}\nBo: {text}")
            note = agent.remember(text, title=text, tags=[text], transcript=talk.id)
            belief = agent.reflect(f"belief {text}", on=[note.id])
            agent.reflect(f"on a belief {text}", on=[belief.id])
            better = agent.reflect(f"better {text}", on=[note.id])
            agent.supersede(old=belief.id, new=better.id)
            if number == 0:
                (notice,) = agent.invalidations()
                agent.resolve_invalidation(notice.id, decision="keep", note=text)
            agent.assert_fact(
                subject=f"Ann {text}", relation=f"says {text}", object=text, source=note.id
            )
