"""Logs as files: what tests of exporting and importing share."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import memoranda
import memoranda_verify
from memoranda import ALL_AGENTS, ALL_NAMESPACES, MemorandaError, Store
from memoranda.testing import FixedClock, FixedIds
from tests.scripts import load_script

Fields = dict[str, Any]


def full_store(folder: Path) -> Store:
    """Return a store with every kind of content, which has lived in three places."""
    clock = FixedClock()
    golden = load_script("make_golden")
    with memoranda.open(":memory:", clock=clock, ids=FixedIds("full")) as first:
        golden.fill(first, clock)
        more(first)
        first.backup(folder / "second.db")
    with memoranda.open(folder / "second.db", clock=clock, ids=FixedIds("2")) as second:
        second.write(agent_id="ömil", namespace="ünter/日本", key="ключ😀", value={"é": "\u2028"})
        second.backup(folder / "third.db")
    third = memoranda.open(folder / "third.db", clock=clock, ids=FixedIds("3"))
    third.store_transcript("said later " * 1000, agent_id="bo", namespace="team")
    sign_and_forget(third, folder)
    return third


def sign_and_forget(store: Store, folder: Path) -> None:
    """Erase everything that can be, some of it twice, between checkpoints."""
    signer = memoranda.create_signer(folder / "log.key", name="example.com/log")
    store.checkpoint(signer=signer)
    memory = store.remember("a secret " * 1000, agent_id="ann", namespace="n", title="secret")
    words = store.store_transcript("secret words " * 400, agent_id="ann", namespace="n")
    store.remember("from words", agent_id="ann", namespace="n", transcript=words.id)
    store.assert_fact(
        subject="Ann", relation="said", object="it", source=memory.id, agent_id="bo", namespace="n"
    )
    store.bind(agent_id="ann", namespace="n").forget(memory_id=memory.id, reason="asked to")
    store.bind(agent_id="ann", namespace="n").forget(transcript_id=words.id)
    store.bind(agent_id="a0").forget(key="k")
    store.checkpoint(signer=signer)
    store.forget(whole_agent="ann")
    store.forget(whole_namespace="n")
    sum_up(store, folder)
    store.write(agent_id="bo", key="after", value={})
    store.checkpoint(signer=signer)


def sum_up(store: Store, folder: Path) -> None:
    """Sign as an agent, ask for what is refused, and sum up twice what was done in a namespace."""
    signer = memoranda.create_signer(folder / "cy.key", name="example.com/cy")
    store.trust_key(signer, agent_id="cy")
    cy = store.bind(agent_id="cy", namespace="sum", signer=signer)
    for number in range(4):
        cy.write(key="k", value={"n": number})
        cy.remember(f"long {number} " * 1000, title="t")
    first, second = (cy.remember(f"memory {number}") for number in range(2))
    cy.link(source=first.id, target=second.id, relation="derived_from")
    with suppress(memoranda.LinkCycle):
        cy.link(source=second.id, target=first.id, relation="derived_from")
    cy.assert_fact(subject="Cy", relation="knows", object="Ann", source=first.id)
    store.compact(before=store.stats().commits, namespace="sum", confirm=True)
    cy.write(key="k", value={"n": 5})
    cy.remember("long again " * 1000, title="t")
    cy.forget(memory_id=second.id)
    store.compact(before=store.stats().commits, namespace="sum", confirm=True)


def more(store: Store) -> None:
    """Write what is long, what stands many times in one event, and what changes nothing."""
    with store.begin_transaction(txn_id="many") as transaction:
        for number in range(5):
            transaction.remember(f"{number} é" * 5000, agent_id=f"a{number}", namespace="n")
            transaction.write(agent_id=f"a{number}", key="k", value={"n": number})
    store.remember("short", agent_id="a0", namespace="n", title="t")
    store.remember("long \x01" * 4000, agent_id="a0", namespace="n", title="t")
    with store.begin_transaction(txn_id="nothing") as transaction:
        transaction.remember("long \x01" * 4000, agent_id="a0", namespace="n", title="t")


def exported(store: Store) -> bytes:
    """Return a store's log as bytes."""
    opened = BytesIO()
    store.export_log(opened)
    return opened.getvalue()


def answers(store: Store) -> list[Any]:
    """Return what a store tells of everything that was done, and of what follows from it."""
    reports: list[Any] = [[*store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES)]]
    for view in ("state", "state_history", "memories", "links", "transcripts", "notices",
                 "entities", "assertions", "facts"):  # fmt: skip
        rows = [repr(row) for row in store.sql(f"SELECT * FROM {view}")]
        reports.append(sorted(rows))
    return reports


def lines_of(data: bytes) -> list[Fields]:
    """Return what an export's lines say, but for the last one, which follows from them."""
    return [json.loads(line) for line in data.splitlines()[:-1]]


def spelled(lines: list[Fields]) -> bytes:
    """Return lines as an export spells them, with the last one that belongs to them."""
    text = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines]
    return ended("".join(text).encode())


def ended(data: bytes) -> bytes:
    """Return lines with the last one that belongs to them."""
    count, digest = data.count(b"\n"), sha256(data).hexdigest()
    return data + f'{{"type":"end","lines":{count},"sha256":"{digest}"}}\n'.encode()


def encoded(data: bytes) -> str:
    """Return bytes as a line has them."""
    return b64encode(data).decode()


def verdicts(data: bytes, folder: Path) -> tuple[str | None, str | None]:
    """Return why a file is refused by an import, and by the verifier alone; None: it is not."""
    ours: str | None = None
    try:
        memoranda.import_log(BytesIO(data), folder / "imported.db")
    except MemorandaError as error:
        ours = str(error)
        assert not (folder / "imported.db").exists()
    (folder / "imported.db").unlink(missing_ok=True)
    assert not [item for item in folder.iterdir() if item.name.startswith(".memoranda")]
    return ours, refusal(data)


def refusal(data: bytes) -> str | None:
    """Return why the verifier that stands alone refuses a file."""
    try:
        memoranda_verify.check_log(BytesIO(data), [])
    except memoranda_verify.Refused as error:
        return str(error)
    return None


def each_line(data: bytes, change: Callable[[Fields], object]) -> Iterator[bytes]:
    """Yield a file once for each of its lines, with that line changed and the end made to fit."""
    for number in range(len(lines_of(data))):
        lines = lines_of(data)
        if change(lines[number]) is not False:
            yield spelled(lines)
