"""Signatures under random histories: all of them hold, and no flipped bit passes."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import memoranda
from memoranda import Corruption, NotProven, Store
from memoranda.audit.signers import Signer
from memoranda.log.commit.transaction_signature import is_request_only
from memoranda.model.event import SealedEvent
from tests.cores import core_of
from tests.quick import often
from tests.signed_requests import client_of
from tests.unit.audit.forging import at, envelope_of, rechain, with_envelope

SIGNERS = {name: Signer(name, name.encode() * 32) for name in "abc"}
Step = tuple[str, str, str]
"""Who acts, what that agent signs, and what it does."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["nothing", "commit", "request"]),
        st.sampled_from(["write", "delete", "remember", "fact", "several", "cycle"]),
    ),
    min_size=1,
    max_size=25,
)


def run(store: Store, who: str, what: str) -> None:
    if what == "write":
        store.write(key="k", value={"by": who})
    elif what == "delete":
        store.delete(key="k")
    elif what == "remember":
        store.remember("something", title="t")
    elif what == "fact":
        store.assert_fact(subject="x", relation="r", object=who)
    elif what == "several":
        with store.begin_transaction() as transaction:
            for other in "abc":
                transaction.write(agent_id=other, key="k", value={"by": who})
    else:
        one = store.remember("one").id
        with pytest.raises(memoranda.LinkCycle):
            store.link(source=one, target=one, relation="supersedes")


def play(path: Path, steps: list[Step]) -> None:
    with memoranda.open(path, durability="relaxed") as store:
        store.write(agent_id="x", key="first", value={})
        for who, signs, what in steps:
            if signs == "request":
                run(client_of(store, who, SIGNERS[who]), who, what)
            else:
                signer = SIGNERS[who] if signs == "commit" else None
                run(store.bind(agent_id=who, signer=signer), who, what)


def signed_events(path: Path) -> list[SealedEvent]:
    with memoranda.open(path) as store, core_of(store).engine.reading() as reader:
        report = store.verify()
        events = [
            SealedEvent(*row)
            for number in range(1, report.commits + 1)
            if (row := reader.row("event_get", commit_ts=number))
        ]
        signed = [
            audit_event for audit_event in events if envelope_of(audit_event).signature is not None
        ]
        assert report.signed == len(signed)
        requests = {event.commit_ts for event in signed if is_request_only(envelope_of(event))}
        assert report.request_signed == len(requests)
        for audit_event in store.audit_events():
            level = "request-signed" if audit_event.commit_ts in requests else "self-signed"
            expected = "unsigned" if audit_event.signature is None else level
            assert audit_event.attest_level == expected
    return signed


def flipped(event: SealedEvent, chance: random.Random) -> SealedEvent:
    """Return an event with one bit changed in what the signature covers, or in itself."""
    if is_request_only(envelope_of(event)):
        return with_flipped_request(event, chance)
    column = chance.choice(["envelope", "operations", "salts"])
    content = bytearray(getattr(event, column))
    place = chance.randrange(32 if column == "salts" else 0, len(content))
    content[place] ^= 1 << chance.randrange(8)
    return replace(event, **{column: bytes(content)})


def with_flipped_request(event: SealedEvent, chance: random.Random) -> SealedEvent:
    """Do so where the signature covers the request: all of it is in the envelope."""
    envelope = envelope_of(event)
    names = {"txn_id": envelope.txn_id + "x", "actor": envelope.actor + "x"}
    changed = chance.choice([*names, "signature"])
    if changed in names:
        return with_envelope(**{changed: names[changed]})(event)
    assert envelope.signature is not None
    signature = bytearray(envelope.signature)
    masked_salt = range(33, 49)  # only the chain covers it
    place = chance.choice([at for at in range(len(signature)) if at not in masked_salt])
    signature[place] ^= 1 << chance.randrange(8)
    return with_envelope(signature=bytes(signature))(event)


@settings(max_examples=12, deadline=None)
@given(STEPS, st.randoms(use_true_random=False))
def test_signatures_hold_and_no_flipped_bit_passes(
    steps: list[Step], chance: random.Random
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        play(path, steps)
        signed = signed_events(path)
        expected = sum(signs != "nothing" for _, signs, _ in steps)
        unchanged = {what for _, signs, what in steps} & {"remember"}
        assert len(signed) == expected or unchanged
        for event in chance.sample(signed, min(len(signed), 5)):
            before = path.read_bytes()
            try:
                rechain(path, at(event.commit_ts, lambda item: flipped(item, chance)))
            except Corruption:
                path.write_bytes(before)
                continue  # not even readable
            with pytest.raises((NotProven, Corruption)), memoranda.open(path) as store:
                store.verify()
            rechain(path, at(event.commit_ts, lambda _, event=event: event))  # type: ignore[misc]
        assert len(signed_events(path)) == len(signed)


test_signatures_hold_and_no_flipped_bit_passes_often = often(
    test_signatures_hold_and_no_flipped_bit_passes, 80, STEPS, st.randoms(use_true_random=False)
)
