"""Make the golden store of this version: a small store that every later version must open.

It writes `tests/golden/<version>.db` and, beside it, what the store answers. It also packs the
package, for the test of upgrades of the next version; only the last two packages are of use. Run
once per release; a golden store that is there already is never written again.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import memoranda
from memoranda import (
    FactRef,
    IdempotencyMismatch,
    KeyRef,
    LinkCycle,
    Literal,
    Store,
    TranscriptRef,
)
from memoranda.audit import signers
from memoranda.audit.signers import Signer
from memoranda.audit.trusted_keys import TrustRequest
from memoranda.calls.key_writes import Write
from memoranda.calls.signing import signed
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.compaction import pace
from memoranda.model.document import Document
from memoranda.model.trace import TraceContext, Tracing
from memoranda.testing import FixedClock, FixedIds
from scripts.golden_answers import ask

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
_SMALL = 4
"""The weight of a compaction's slices, which otherwise follows from the time that they take."""


def main() -> int:
    """Write the store and its answers."""
    path = GOLDEN / f"{memoranda.__version__}.db"
    if path.exists():
        print(f"{path.name} is there already, and golden stores are never changed")
        return 1
    make(path)
    pack(path.with_suffix(".tar.xz"))
    return 0


def pack(path: Path) -> None:
    """Write the package to an archive."""
    package = Path(memoranda.__file__).parent
    with tarfile.open(path, "w:xz", preset=9) as archive:
        archive.add(package, "memoranda", filter=_without_traces)


def _without_traces(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return a file as anybody's, of no time; None for what Python has compiled."""
    if "__pycache__" in member.name:
        return None
    return member.replace(mtime=0, uid=0, gid=0, uname="", gname="", deep=False)


def make(path: Path) -> None:
    """Write a store to a path, and its answers beside it."""
    clock, ids = FixedClock(), FixedIds(f"golden {memoranda.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, own, new = (
            signers.create(folder / f"{key}.key", f"example.com/{key}", ids=ids)
            for key in ("log", "signing", "new")
        )
        with memoranda.open(":memory:", clock=clock, ids=ids, embedder=None) as origin:
            fill(origin, clock)
            sign_in_origin(origin, own)
            send_signed(origin, own, ids, "golden-sent-1", {"log": "the origin"})
            origin.fork(folder / "first.db", at=origin.stats().commits)
        with memoranda.open(folder / "first.db", clock=clock, ids=ids, embedder=None) as first:
            first.fork(path, at=erase_behind(first, own))
        with memoranda.open(path, clock=clock, ids=ids, embedder=None) as store:
            go_on(store)
            account(store, log, own)
            send_signed(store, own, ids, "golden-sent-2", {"log": "the second fork"})
            send_signed(store, own, ids, "golden-sent-3", {"word": "gone"}, key="sent secret")
            store.forget(key="sent secret", agent_id="signing", namespace="signed")
            store.rotate_key(old=own.public, new=new.public)
            forget_more(store)
            retry(store)
            compact_in_slices(store)
            compact_partly(store)
            forget_shared(store)
            store.compact(before=store.stats().commits, namespace="pool/old", confirm=True)
            store.reindex()
            speak_german(store)
            store.bind(agent_id="planner", namespace="team/eng").remember("not in the index yet")
            answers = ask(store)
    path.with_suffix(".json").write_text(json.dumps(answers, indent=1) + "\n", "utf-8")


def fill(store: Store, clock: FixedClock) -> None:
    """Use everything this version can write."""
    planner = store.bind(agent_id="planner", namespace="team/eng")
    planner.write(
        key="goal", value={"city": "Oslo", "nested": {"list": [1, 2.5, None, True, "é😀"]}}
    )
    clock.advance(60)
    with planner.begin_transaction(txn_id="golden-1") as transaction:
        transaction.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
        transaction.write(key="step", value={"n": 2}, because=[KeyRef("step", version=1)])
        transaction.delete(key="never")
        transaction.write(agent_id="helper", key="k:%/'\"\x01\uffff", value={})
    clock.step(-3600)
    planner.delete(key="goal")
    planner.write(key="goal", value={"city": "Bergen"})
    store.write(agent_id="helper", key="k", value={"big": "x" * 5000, "least": -(2**63)})
    believe(planner)
    clock.advance(60)
    learn(planner)
    confide(planner)
    converse(store.bind(agent_id="planner", namespace="team/talk"))
    share(store)
    go_stale(store)
    quote(store.bind(agent_id="planner", namespace="quotes"))


def sign_in_origin(store: Store, signer: Signer) -> None:
    """Write a signed event into the log that is forked."""
    signing = store.bind(agent_id="signing", namespace="signed", signer=signer)
    signing.write(key="written in", value={"log": "the origin"})


def send_signed(
    store: Store, signer: Signer, ids: FixedIds, txn_id: str, value: Document, key: str = "sent"
) -> None:
    """Write a key as a client of a server does that signs what it sends."""
    claim = TrustRequest(signer.public.name, signer.public.key, "signing")
    signing = TransactionSigner(signer.public.key, signer.message_signer(), claim)
    call = Write("signing", "signed", key, value, txn_id=txn_id)
    sent = signed(call, signing, store.stats().log_id, ids)
    store.bind(agent_id="signing")._calls.write(sent)  # noqa: SLF001


def believe(planner: Store) -> None:
    """Use everything this version can write about memories."""
    planner.configure(max_reflection_depth=5, tiers={"short": 60}, transcript_retention=None)
    words = planner.store_transcript("é😀 I never fly.", occurred_at="2025-12-24T18:00:00+01:00")
    ground = planner.remember(
        "does not fly", title="flying", tags=["ann"], metadata={"n": 1}, tier="mid",
        transcript=words.id, spans=[words.find("never fly")],
    )  # fmt: skip
    planner.remember("never flies", title="flying", kind="claim")
    planner.remember("x" * 5000, visibility="private", agent_id="helper")
    planner.touch(ground.id)
    old = planner.reflect("travels slowly", on=[ground.id], title="old")
    planner.reflect("goes by train", on=[old.id], title="dependent")
    new = planner.reflect("travels calmly", on=[ground.id], title="new")
    planner.supersede(old=old.id, new=new.id)
    (notice,) = planner.invalidations()
    planner.resolve_invalidation(notice.id, decision="retract", note="gone")
    planner.write(key="route", value={"by": "train"}, because=[old.ref])
    planner.unlink(source=old.id, target=ground.id, relation="reflects_on")


def learn(planner: Store) -> None:
    """Use everything this version can write about facts, and rest a value on some of it."""
    (words,) = planner.list_transcripts()
    (ground,) = (memory for memory in planner.list_memories() if memory.title == "flying")
    planner.set_cardinality(relation="Lives_In", cardinality="single")
    for place, since in (("Oslo", "2020"), ("Bergen", "2024"), ("Rome", "2022")):
        planner.assert_fact(
            subject="Ann", relation="lives in", object=place, valid_from=f"{since}-01-01T00:00:00Z"
        )
    planner.assert_fact(
        subject="Ann", relation="age|%", object=Literal(41), confidence=0.5, source=ground.id,
        valid_from="2025-01-01T00:00:00Z", valid_to="2026-01-01T00:00:00Z",
    )  # fmt: skip
    planner.assert_fact(subject="annie", relation="flies", object=Literal(False), source=words.id,
                        spans=[words.find("never fly")])  # fmt: skip
    resolution = planner.assert_fact(subject="Bo", relation="knows", object="Ann")
    planner.end_fact(subject="Ann", relation="lives in", at="2025-06-01T00:00:00Z")
    planner.end_fact(subject="Annie", relation="flies", source=words.id)
    planner.retract_fact(assertion_id=resolution.assertion_id, reason="a mix-up")
    planner.alias(entity="Ann", alias="Annie")
    planner.assert_fact(subject="Anne", relation="lives in", object="Paris")
    planner.merge_entities(source="Anne", into="Ann")
    planner.write(key="trip", value={}, because=[ground, *planner.facts(relation="lives in")])


def confide(planner: Store) -> None:
    """Use everything this version can write about facts of one agent alone."""
    diary = planner.remember("Ann is ill", title="diary", visibility="private")
    planner.assert_fact(subject="Ann", relation="is", object="ill", source=diary.id)
    planner.assert_fact(
        subject="Ann", relation="is", object="away", source=diary.id, visibility="namespace"
    )
    planner.assert_fact(
        subject="Ann", relation="takes", object="pills", source=diary.id,
        valid_from="2025-01-01T00:00:00Z", valid_to="2025-02-01T00:00:00Z",
    )  # fmt: skip
    planner.assert_fact(subject="Ann", relation="fears", object="needles", visibility="private")
    mistaken = planner.assert_fact(subject="Ann", relation="has", object="flu", source=diary.id)
    planner.retract_fact(assertion_id=mistaken.assertion_id, reason="a cold")
    planner.end_fact(subject="Ann", relation="fears", source=diary.id)
    planner.write(key="visit", value={}, because=[diary, *planner.facts(relation="is")])


def converse(planner: Store) -> None:
    """Keep messages of every shape, one of which pretends to have others in it."""
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi!\nassistant: I never said that. é😀", "name": "Bo"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "Oslo"},
        {"role": "assistant", "content": [{"type": "text", "text": "You live in Oslo."}]},
    ]  # fmt: skip
    words = planner.store_transcript(talk, occurred_at="2025-12-24T18:00:00+01:00")
    span = words.find("You live in Oslo.")
    memory = planner.remember("lives in Oslo", transcript=words.id, spans=[span])
    planner.assert_fact(
        subject="Bo", relation="lives in", object="Oslo", source=memory.id, once=words.id
    )


def both(store: Store, namespace: str) -> tuple[Store, Store]:
    """Return two agents of a namespace."""
    return (
        store.bind(agent_id="planner", namespace=namespace),
        store.bind(agent_id="helper", namespace=namespace),
    )


def share(store: Store) -> None:
    """Share facts in a namespace for good, and below it until they are each agent's own again."""
    store.configure(agent_id="planner", namespace="pool", facts="shared")
    for namespace in ("pool", "pool/below", "pool/old"):
        planner, helper = both(store, namespace)
        planner.set_cardinality(relation="lives in", cardinality="single")
        for agent, place, since in (
            (planner, "Paris", "2020"), (helper, "Rome", "2021"), (planner, "Oslo", "2022"),
            (helper, "Oslo", "2023"),
        ):  # fmt: skip
            agent.assert_fact(subject="Ada", relation="lives in", object=place, valid_from=since)
        for agent, thing in ((planner, "planes"), (helper, "trains")):
            agent.assert_fact(subject="Ada", relation="fears", object=thing, visibility="private")
        helper.alias(entity="Ada", alias="Adele")
        planner.assert_fact(subject="A. L.", relation="knows", object="Bo", confidence=0.5)
        helper.merge_entities(source="A. L.", into="Adele")
        mistaken = helper.assert_fact(subject="Ada", relation="knows", object="Cy")
        helper.retract_fact(assertion_id=mistaken.assertion_id, reason="a namesake")
        planner.end_fact(subject="Adele", relation="knows", object="Bo", at="2040")
    below = store.bind(agent_id="helper", namespace="pool/below")
    below.configure(facts="own")
    below.assert_fact(subject="Ada", relation="lives in", object="Bern", valid_from="2024")


def go_stale(store: Store) -> None:
    """Change what a key, a memory and a fact of another agent rest on: some notices stay open."""
    planner, helper = both(store, "stale")
    office = helper.remember(
        "the office is in Oslo", title="office", tags=["place"], priority=8,
        metadata={"city": "Oslo", "floor": 3, "open": True, "rooms": [1, 2], "lift": None},
    )  # fmt: skip
    fact = helper.assert_fact(subject="Office", relation="has", object="a lift")
    assert fact.assertion_id is not None
    helper.write(key="address", value={"street": "Storgata"})
    address = KeyRef("address", agent_id="helper")
    planner.write(key="visit", value={}, because=[office, FactRef(fact.assertion_id), address])
    planner.write(key="route", value={"by": "train"}, because=[office, address])
    note = planner.remember("meet in Oslo", title="meeting")
    planner.link(source=note.id, target=office.id, relation="derived_from")
    planner.assert_fact(subject="Ann", relation="works in", object="Oslo", source=office.id)
    helper.remember("the office is in Bergen", title="office", metadata={"city": "Bergen"})
    helper.retract_fact(assertion_id=fact.assertion_id, reason="it was a hoist")
    helper.write(key="address", value={"street": "Bryggen"})
    helper.delete(key="address")
    planner.write(key="route", value={"by": "boat"})  # settles its notices
    stale = next(item for item in planner.invalidations() if item.kind == "stale_memory")
    planner.resolve_invalidation(stale.id, decision="keep", note="Oslo is fine")
    helper.remember(
        "the office is in Bergen", title="office", tags=(), metadata={"city": "Bergen", "floor": 1}
    )


def quote(planner: Store) -> None:
    """Rest a value on words alone, of speakers with names; end what nobody has said yet."""
    talk = [
        {"role": "user", "content": "I'd rather take the train. é😀"},
        {"role": "assistant", "content": "Then I look for a train."},
    ]
    words = planner.store_transcript(talk, names={"user": "Ann", "assistant": "Bot"})
    spans = tuple(words.find(text) for text in ("take the train", "look for a train"))
    planner.write(key="by", value={"by": "train"}, because=[TranscriptRef(words.id, spans)])
    planner.write(key="all", value={}, because=[words])
    planner.end_fact(subject="Zoe", relation="lives in", at="2025", allow_unknown=True)
    planner.assert_fact(subject="Zoe", relation="lives in", object="Oslo", valid_from="2020")


def erase_behind(store: Store, signer: Signer) -> int:
    """Erase what a fork of an earlier commit has, and return that commit."""
    signing = store.bind(agent_id="signing", namespace="signed", signer=signer)
    signing.write(key="written in", value={"log": "the first fork"})
    signing.write(key="secret", value={"word": "gone"})
    commit_ts = store.stats().commits
    signing.forget(key="secret")
    return commit_ts


def go_on(store: Store) -> None:
    """Write in the fork, and leave a reader's cursor in the middle of it."""
    store.write(agent_id="planner", key="after the fork", value={"n": 1})
    with Tracing(TraceContext(bytes(range(1, 17)), bytes(range(1, 9)))):
        store.write(agent_id="planner", key="in a trace", value={"n": 1})
    with store.subscribe(
        agent_id="planner", namespace="team/eng", cursor="indexer", after_commit=0
    ) as subscription:
        subscription.ack(next(subscription))


def account(store: Store, log: Signer, own: Signer) -> None:
    """Erase, sum up, sign and be refused, in scopes of their own."""
    clerk = store.bind(agent_id="clerk", namespace="records")
    for number in range(3):
        clerk.write(key="count", value={"n": number})
    words = clerk.store_transcript("what was said, and is gone")
    memory = clerk.remember("gone", title="gone", transcript=words.id)
    clerk.assert_fact(subject="Ann", relation="lives in", object="Oslo", source=memory.id)
    clerk.write(key="decision", value={"n": 1}, because=[memory])
    clerk.forget(memory_id=memory.id, reason="asked to")
    clerk.forget(transcript_id=words.id)
    clerk.write(key="secret", value={"word": "gone"})
    clerk.forget(key="secret")
    store.bind(agent_id="left", namespace="records").write(key="k", value={})
    store.forget(whole_agent="left", reason="it left")
    clerk.compact(before=store.stats().commits, confirm=True, reason="the year is over")
    signing = store.bind(agent_id="signing", namespace="records", signer=own)
    first, second = signing.remember("first"), signing.remember("second")
    signing.link(source=first.id, target=second.id, relation="derived_from")
    with suppress(LinkCycle):
        signing.link(source=second.id, target=first.id, relation="derived_from")
    store.checkpoint(signer=log)


def forget_more(store: Store) -> None:
    """Forget facts, entities, and what is below or derived from something."""
    teller = store.bind(agent_id="teller", namespace="told")
    slip = teller.assert_fact(subject="Ann", relation="likes", object="gone tea")
    assert slip.assertion_id is not None
    teller.forget(fact=slip.assertion_id, reason="a slip")
    teller.assert_fact(subject="Gone Zoe", relation="knows", object="Ann")
    teller.alias(entity="Gone Zoe", alias="Gone Zo")
    teller.assert_fact(subject="Ann", relation="likes", object="Gone Zo")
    teller.forget(entity="Gone Zo")
    words = teller.store_transcript([{"role": "user", "content": "gone words"}])
    memory = teller.remember("gone with the words", transcript=words.id)
    teller.write(key="plan", value={"n": 1}, because=[memory])
    teller.forget(transcript_id=words.id, derived=True)
    source = teller.remember("a source that stays")
    teller.assert_fact(subject="Ann", relation="likes", object="gone cake", source=source.id)
    teller.forget(facts_from=source.id)
    for namespace in ("told/below", "told/below/deeper"):
        teller.write(namespace=namespace, key="k", value={"word": "gone"})
    teller.forget(whole_namespace="told/below", children=True)


def retry(store: Store) -> None:
    """Use names of transactions again: of one that stands, and of two that lost content."""
    again = store.bind(agent_id="again", namespace="told")
    for number in (1, 1, 2):
        with suppress(IdempotencyMismatch):
            again.write(key="stands", value={"n": number}, txn_id="golden-stands")
    again.write(key="gone", value={"word": "gone"}, txn_id="golden-gone")
    with again.begin_transaction(txn_id="golden-half") as transaction:
        transaction.write(key="half", value={"word": "gone"})
        transaction.write(key="other half", value={"n": 1})
    for key in ("gone", "half"):
        again.forget(key=key)


def compact_in_slices(store: Store) -> None:
    """Sum up memories, facts and keys in several commits."""
    keeper = store.bind(agent_id="keeper", namespace="ledger")
    for number in range(6):
        keeper.write(key="count", value={"n": number})
    memory = keeper.remember("first", title="first", tags=["old"])
    keeper.update_memory(memory.id, content="second", title="second")
    for _ in range(3):
        keeper.touch(memory.id)
    keeper.update_memory(memory.id, tags=["new"])
    private = keeper.remember("wrong", visibility="private")
    keeper.update_memory(private.id, content="still wrong")
    keeper.retract_memory(private.id, reason="wrong")
    for visibility in ("private", "namespace"):
        mistaken = keeper.assert_fact(
            subject="Ann", relation="has", object=f"a {visibility} cat", visibility=visibility
        )
        keeper.retract_fact(assertion_id=mistaken.assertion_id)
    with patch.multiple(pace, MIN_WEIGHT=_SMALL, FIRST_WEIGHT=_SMALL, MAX_WEIGHT=_SMALL):
        keeper.compact(before=store.stats().commits, confirm=True, reason="the year is over")
    keeper.touch(memory.id)


def compact_partly(store: Store) -> None:
    """Begin to sum up, and be interrupted once the horizon is set and nothing has gone yet."""
    keeper = store.bind(agent_id="keeper", namespace="ledger/open")
    for number in range(4):
        keeper.write(key="count", value={"n": number})
    horizon = store.stats().commits

    def interfere(*_: int) -> None:
        if keeper.compact(before=horizon).unfinished:
            raise InterruptedError
        keeper.write(key="rests", value={}, because=[KeyRef("count", version=4)])

    with suppress(InterruptedError):
        keeper.compact(before=horizon, confirm=True, progress=interfere)


def forget_shared(store: Store) -> None:
    """Forget what agents share and what others rest on."""
    planner, helper = both(store, "pool")
    slip = helper.assert_fact(subject="Ada", relation="likes", object="gone jam")
    assert slip.assertion_id is not None
    planner.assert_fact(subject="Ada", relation="likes", object="tea")
    helper.forget(fact=slip.assertion_id, reason="a slip")
    desk = helper.remember("a desk that is gone", namespace="stale")
    planner.write(key="desk", value={}, because=[desk], namespace="stale")
    helper.update_memory(desk.id, content="a chair that is gone")
    helper.forget(memory_id=desk.id)


def speak_german(store: Store) -> None:
    """Index a namespace in a language of its own."""
    store.remember("Ann fährt gern in alten Zügen", agent_id="planner", namespace="deutsch")
    store.reindex(language="german", namespace="deutsch")


if __name__ == "__main__":
    sys.exit(main())
