"""Whoever appends an erasure cannot leave anything in an operation's place that was not said there.

The forger has the file, knows every salt and every hash, and appends an `Erase` that vouches for
what it left, with a digest that fits: all that an erasure by the engine has.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from msgspec.structs import replace

import memoranda
import memoranda_verify
from memoranda import ChainBroken, Corruption
from memoranda.log import chain
from memoranda.log.erasure.redact_operations import Replacement
from memoranda.log.erasure.rewrite_events import Tally
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    Erase,
    Erased,
    ErasedOperation,
    Redacted,
    effective_operation,
)
from memoranda.model.operations.redacted import (
    BlankedRef,
    HiddenName,
    ListSlot,
    OpenSlot,
    PseudonymSlot,
)
from memoranda.model.operations.slots import LAYOUTS
from memoranda.testing import FixedClock, FixedIds
from tests.chains import erased, left_of
from tests.logs import Fields, encoded, exported, lines_of, more, spelled
from tests.scripts import load_script

PSEUDONYM = "forgotten-0123456789abcdef"


@cache
def data() -> bytes:
    """Return the log of a store with every kind of operation, of which nothing was erased."""
    clock = FixedClock()
    with memoranda.open(":memory:", clock=clock, ids=FixedIds("forger")) as store:
        load_script("make_golden").fill(store, clock)
        more(store)
        owner = store.bind(agent_id="a0", namespace="n")
        end = "2999-01-01T00:00:00Z"
        owner.assert_fact(
            subject="Ann", relation="owes", object="Bo", valid_to=end, visibility="private"
        )
        owner.retract_fact(subject="Ann", relation="owes", reason="it is paid")
        return exported(store)


def event_of(line: Fields) -> SealedEvent:
    return SealedEvent(
        line["commit_ts"],
        line["committed_at"],
        bytes.fromhex(line["hash"]),
        b64decode(line["salts"]),
        b64decode(line["envelope"]),
        codec.join([b64decode(item) for item in line["operations"]]),
    )


def line_of(event: SealedEvent) -> Fields:
    return {
        "type": "event",
        "commit_ts": event.commit_ts,
        "committed_at": event.committed_at,
        "hash": event.hash.hex(),
        "salts": encoded(event.salts),
        "envelope": encoded(event.envelope),
        "operations": [encoded(part) for part in codec.split(event.operations)],
    }


def forged(
    commit_ts: int, position: int, left: AnyOperation, *, pseudonym: str | None = None
) -> bytes:
    """Return the log with something else in a place, and an erasure behind it that says so."""
    lines = [line for line in lines_of(data()) if line["type"] != "end"]
    at = next(n for n, line in enumerate(lines) if line.get("commit_ts") == commit_ts)
    event = event_of(lines[at])
    parts = codec.split(event.operations)
    parts[position] = codec.encode(left)
    salts = erased(event, {position: None}).salts
    line = line_of(replace(event, operations=codec.join(parts), salts=salts))
    line["hash"] = lines[at]["hash"]
    head = lines[0]["commits"]
    digest, tally = sha256(parts[position]).digest(), Tally()
    tally.add((commit_ts, position), digest)
    line["erased"] = [[position, head + 1, digest.hex()]]
    blob = {"commit_ts": commit_ts, "position": position, "type": "blob"}
    lines[at:] = [
        line,
        *(item for item in lines[at + 1 :] if {**item, **blob} != item),
    ]
    last = event_of([item for item in lines if item["type"] == "event"][-1])
    scope = (ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id)
    erase = Erase(*scope, "id", "key", "local", None, tally.count, tally.digest, pseudonym)
    erasing = chain.seal(
        Head(last.commit_ts, last.committed_at, last.hash),
        last.committed_at + 1,
        SaltSource(FixedIds("erasing")).draw([erase]),
        Envelope("erasing", "local", bytes(32)),
        [erase],
    )
    lines.append(line_of(erasing))
    lines[0] |= {"commits": head + 1, "head_hash": erasing.hash.hex()}
    return spelled(lines)


def verdict(log: bytes, folder: Path) -> tuple[str | None, str | None]:
    """Return what the engine and the verifier say against a log."""
    ours = theirs = None
    try:
        memoranda.import_log(BytesIO(log), folder / f"{sha256(log).hexdigest()}.db")
    except (ChainBroken, Corruption) as error:
        ours = str(error)
    try:
        memoranda_verify.check_log(BytesIO(log), [])
    except memoranda_verify.Refused as error:
        theirs = str(error)
    return ours, theirs


def operations() -> Iterator[tuple[int, int, AnyOperation]]:
    """Yield the first operation of each kind."""
    observations = set[tuple[type, bool]]()
    for line in lines_of(data()):
        if line["type"] == "event":
            result = codec.decode_operations(event_of(line).operations)
            for position, operation in enumerate(result):
                kind = (type(operation), bool(getattr(operation, "because", ())))
                if kind not in observations and not isinstance(operation, ErasedOperation):
                    observations.add(kind)
                    yield line["commit_ts"], position, operation


def whole(commit_ts: int, position: int, operation: AnyOperation) -> Redacted:
    """Return an operation of which everything is left, as an erasure could leave it."""
    (line,) = (item for item in lines_of(data()) if item.get("commit_ts") == commit_ts
               and item["type"] == "event")  # fmt: skip
    head = lines_of(data())[0]["commits"]
    replacement = Replacement(operation.namespace, operation.agent_id, operation)  # type: ignore[arg-type]
    return left_of(event_of(line), position, replacement, head + 1)


PLACES = [*operations()]
NAMES = [f"{type(place[2]).__name__}{'-because' * bool(getattr(place[2], 'because', ()))}"
         for place in PLACES]  # fmt: skip


QUICK = ("Write", "Write-because", "Remember", "Assert")


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def forgeries(left: Redacted) -> Iterator[tuple[str, Redacted]]:
    """Yield what is left with one thing replaced, everything in turn."""
    for index, slot in enumerate(left.slots):
        for what, new in replaced(slot):
            slots = (*left.slots[:index], new, *left.slots[index + 1 :])
            yield f"slot {index}: {what}", replace(left, slots=slots)
    yield "another namespace", replace(left, namespace="else")
    yield "another agent", replace(left, agent_id="else")
    first, second = left.scope_slots
    hidden = HiddenName(bytes(32), left.erasure)
    yield "a hidden namespace", replace(left, namespace="else", scope_slots=(hidden, second))
    yield "a hidden agent", replace(left, agent_id="else", scope_slots=(first, hidden))
    for kind in {1, 2, 4, 5, 10, 15, 21} - {left.kind}:
        yield f"kind {kind}", replace(left, kind=kind)
    yield "no kind", replace(left, kind=0)
    yield "one slot more", replace(left, slots=(*left.slots, left.slots[-1]))
    yield "one slot less", replace(left, slots=left.slots[:-1])
    if len(left.slots) > 1:
        yield "another order", replace(left, slots=left.slots[::-1])
    yield "a text for a number", replace(left, numbers=("text", 0, 0, 0))


def replaced(slot: object) -> Iterator[tuple[str, object]]:
    if isinstance(slot, ListSlot):
        for index, item in enumerate(slot.items):
            assert isinstance(item, OpenSlot)
            for what, new in (
                ("another reference", OpenSlot(item.salt, flipped(item.value))),
                ("blanked with content", BlankedRef(bytes(32), 1, "text")),  # type: ignore[arg-type]
                ("blanked as another", BlankedRef(flipped(bytes(32)), 1, 1)),
            ):
                yield what, ListSlot((*slot.items[:index], new, *slot.items[index + 1 :]))
        yield "one reference more", ListSlot((*slot.items, slot.items[0]))
        return
    assert isinstance(slot, OpenSlot)
    yield "another value", OpenSlot(slot.salt, flipped(slot.value))
    yield "more", OpenSlot(slot.salt, slot.value + b"\xa5forge")
    yield "another salt", OpenSlot(flipped(slot.salt), slot.value)
    yield "no salt", OpenSlot(b"", slot.value)
    yield "a pseudonym that says something", PseudonymSlot(bytes(32), 1, "forgotten-mallory")
    yield "a pseudonym nobody names", PseudonymSlot(bytes(32), 1, PSEUDONYM)
    yield "a list", ListSlot((slot,))
    yield "another commitment", flipped(bytes(32))
    yield "no commitment", b"forged text"


@pytest.mark.parametrize(
    ("commit_ts", "position", "operation"),
    [
        pytest.param(*place, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for place, name in zip(PLACES, NAMES, strict=True)
    ],
)
def test_nothing_else_can_be_left(
    tmp_path: Path, commit_ts: int, position: int, operation: AnyOperation
) -> None:
    remainder = whole(commit_ts, position, operation)
    for what, forgery in forgeries(remainder):
        ours, theirs = verdict(forged(commit_ts, position, forgery), tmp_path)
        assert ours is not None, f"the engine accepts {what}"
        assert theirs is not None, f"the verifier accepts {what}"


@pytest.mark.parametrize(("commit_ts", "position", "operation"), PLACES[::4], ids=NAMES[::4])
def test_the_form_of_older_events_does_not_pass_for_that_of_newer_ones(
    tmp_path: Path, commit_ts: int, position: int, operation: AnyOperation
) -> None:
    head = lines_of(data())[0]["commits"]
    scope = (operation.namespace, operation.agent_id)
    remainder = Erased(*scope, bytes(32), head + 1, operation, bytes(16))  # type: ignore[arg-type]
    assert None not in verdict(forged(commit_ts, position, remainder), tmp_path)


@pytest.mark.slow
def test_what_the_engine_could_leave_is_accepted(tmp_path: Path) -> None:
    """The forger is found by what it leaves, and not by how it writes that."""
    for commit_ts, position, operation in PLACES:
        remainder = whole(commit_ts, position, operation)
        if operation.blob is None:
            assert verdict(forged(commit_ts, position, remainder), tmp_path) == (None, None)
        assert effective_operation(remainder) == operation


def test_a_pseudonym_has_to_be_named(tmp_path: Path) -> None:
    commit_ts, position, operation = next(
        place for place in PLACES if place[2].type.value == "write"
    )
    remainder = whole(commit_ts, position, operation)
    hidden = HiddenName(commitment_of_agent(remainder), remainder.erasure)
    renamed = replace(remainder, agent_id=PSEUDONYM, scope_slots=(remainder.scope_slots[0], hidden))
    assert None not in verdict(forged(commit_ts, position, renamed), tmp_path)
    by_name = forged(commit_ts, position, renamed, pseudonym=PSEUDONYM)
    assert verdict(by_name, tmp_path) == (None, None)


def commitment_of_agent(left: Redacted) -> bytes:
    salt = left.scope_slots[1]
    assert isinstance(salt, bytes)
    return sha256(b"\7" + salt + left.agent_id.encode()).digest()


def test_every_kind_was_tried() -> None:
    kinds = {type(place[2]) for place in PLACES}
    missing = {kind.__name__ for kind in LAYOUTS} - {kind.__name__ for kind in kinds}
    private = {"AssertPrivately", "EndPrivately", "WithdrawPrivately"}
    engines = {"Summary", "TrustKey", "RetireKey", "Refuse", "Erase"}
    assert missing <= private | engines | {"EndFrom", "Resolve"}
