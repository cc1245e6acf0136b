"""Who knows all but one word of what was erased cannot find out which word it was.

The attacker tries every sixteen bytes that stand anywhere in the store's files as a salt, none and
a salt of zeros, and looks for the hash of each guess among those bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import memoranda
from memoranda import ChainBroken, KeyRef, Signer, Store
from memoranda.log.commit.request_signature import digest_of as request_digest
from memoranda.log.commit.request_signature import mask
from memoranda.memory.requests import MemoryChanges, ReviseMemory
from memoranda.model import codec
from memoranda.model.codec import digest_of
from memoranda.model.event import SealedEvent
from memoranda.model.memory import Content
from memoranda.model.operations import Erased, Write, slots
from memoranda.model.scope import Scope
from memoranda.state.requests import WriteKey
from tests.cores import core_of
from tests.signed_requests import StoredSignature, client_of

SALT = 16
ANSWERS = ("yes", "no")
LONG = "a long story, " * 300 + "and the answer is {}"


def confirmed(path: Path, guesses: Iterable[bytes]) -> bool:
    """Say whether any guess has a hash that stands in the files."""
    files = [item.read_bytes() for item in path.parent.glob(f"{path.name}*")]
    there = {data[at : at + 32] for data in files for at in range(len(data) - 31)}
    salts = {data[at : at + SALT] for data in files for at in range(len(data) - SALT + 1)}
    tried = [b"", bytes(SALT), *salts]
    return any(
        sha256(prefix + salt + guess).digest() in there
        for guess in guesses
        for prefix in (b"", b"\0", b"\1", b"\2", b"\6", b"\7", b"\x08", b"\x09")
        for salt in tried
    )


def committed(part: bytes) -> list[bytes]:
    """Return what the commitments to an operation's slots cover behind their salts."""
    return [
        part[1:2] + bytes([index]) + value
        for index, value in enumerate(slots.values(part))
        if isinstance(value, bytes)
    ]


def guesses(answer: str, because: tuple[KeyRef, ...] = ()) -> list[bytes]:
    """Return what was written and asked for, to the byte, if the answer is this one."""
    encoded = msgspec.json.encode({"allergic": answer})
    write = codec.encode(Write("default", "ann", "health", 1, encoded, because))
    return [
        write,
        *committed(write),
        codec.encode_all((WriteKey(Scope("default", "ann"), "health", encoded, None, because),)),
        encoded,
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def opened(path: Path) -> Store:
    return memoranda.open(path, durability="relaxed").bind(agent_id="ann")


def _salts(store: Store) -> list[bytes]:
    with core_of(store).engine.reading() as reader:
        return [row[3] for row in reader.rows("event_page", after=0, through=99, limit=99)]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_short_value(path: Path, answer: str) -> None:
    with opened(path) as store:
        store.write(key="before", value={})
        store.write(key="health", value={"allergic": answer})
    queries = guesses(answer)[2]
    assert confirmed(path, [queries]), "while it is there, the salt beside it gives it away"
    with opened(path) as store:
        _, salts = _salts(store)
        store.forget(key="health")
        assert not store.stats().pending_purge
    hashed = sha256(b"\x08" + salts[-SALT:] + guesses(answer)[1]).digest()
    assert hashed in path.read_bytes(), "the salt alone is missing"
    assert not confirmed(path, guesses(answer))


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_request_that_a_client_signed(path: Path, answer: str) -> None:
    """The attacker also tries all these bytes as the salt that the client's salt is masked with."""
    signer = Signer("ann", b"a" * 32)
    request: dict[str, object] = {
        "call": "write", "agent_id": "ann", "namespace": "default", "key": "health",
        "value": {"allergic": answer}, "txn_id": "t",
    }  # fmt: skip

    def is_confirmed() -> bool:
        files = [item.read_bytes() for item in path.parent.glob(f"{path.name}*")]
        windows = {data[at : at + SALT] for data in files for at in range(len(data) - SALT + 1)}
        salts = {*windows, *(mask(masked_salt, salt) for salt in windows)}
        guess = msgspec.msgpack.encode(request, order="sorted")
        return any(request_digest(salt, "ann", guess) == digest for salt in salts)

    with opened(path) as store:
        client = client_of(store, "ann", signer)
        client.write(key="before", value={})  # it also trusts the key
        client.write(key="health", value={"allergic": answer}, txn_id="t")
        with core_of(store).engine.reading() as reader:
            signature = StoredSignature(SealedEvent(*(reader.row("event_get", commit_ts=2) or ())))
    digest, masked_salt = signature.digest, signature.masked_salt
    assert is_confirmed(), "while it is there, the salts beside it give it away"
    with opened(path) as store:
        store.forget(key="health")
        assert not store.stats().pending_purge
    assert digest + signature.signature in path.read_bytes(), "it is still signed"
    assert not is_confirmed()


def test_what_is_forgotten_in_two_steps(path: Path) -> None:
    """The first erasure vouches for what it left, and that goes with the second."""
    with opened(path) as store:
        store.write(key="doctor", value={"name": "Bo"})
        ref = KeyRef("doctor", 1, "ann", "default")
        store.write(key="health", value={"allergic": "yes"}, because=[ref])
        store.forget(key="doctor")
    with opened(path) as store:
        (event,) = (item for item in store.replay() if item.commit_ts == 2)
        assert event.operations[0].value == {"allergic": "yes"}
        store.forget(key="health")
    write = Write("default", "ann", "health", 1, msgspec.json.encode({"allergic": "yes"}),
                 (KeyRef("", 1),))  # fmt: skip
    remains = [codec.encode(write), codec.encode(Erased("default", "ann", bytes(32), 3, write))]
    assert not confirmed(path, [*guesses("yes", (ref,)), *remains])


@pytest.mark.slow
def test_long_content(path: Path) -> None:
    content = LONG.format("yes").encode()
    with opened(path) as store:
        memory = store.remember(content.decode())
        words = store.store_transcript(content.decode())
    digest = digest_of(content)
    assert digest in path.read_bytes()
    with opened(path) as store:
        store.forget(memory_id=memory.id)
        store.forget(transcript_id=words.id)
    for file in path.parent.glob(f"{path.name}*"):
        assert digest not in file.read_bytes()
    assert not confirmed(path, [content, digest, msgspec.msgpack.encode(digest)])


def test_a_name(path: Path) -> None:
    with opened(path) as store:
        store.bind(agent_id="patient-7").write(key="k", value={})
        store.forget(whole_agent="patient-7")
    assert not confirmed(path, [b"patient-7", msgspec.msgpack.encode("patient-7")])


def test_a_transaction_that_changed_nothing(path: Path) -> None:
    """It has no operation that could be erased, and asked for what was so already."""
    with opened(path) as store:
        memory = store.remember("PIN 4711")
        store.update_memory(memory.id, content="PIN 4711", txn_id="again")
    changes = MemoryChanges(content=Content("PIN 4711"))
    queries = codec.encode_all((ReviseMemory("ann", memory.id, changes),))
    assert confirmed(path, [queries])
    with opened(path) as store:
        store.forget(memory_id=memory.id)
        assert store.verify(deep=True).commits == 3
    assert not confirmed(path, [queries])


def test_a_salt_that_went_for_no_reason_is_found(path: Path) -> None:
    with opened(path) as store:
        store.write(key="health", value={})
        engine = core_of(store).engine
        (salts,) = _salts(store)
        engine.write(lambda writer: writer.put("event_salts_set", salts[:-SALT] + bytes(SALT), 1))
        with pytest.raises(ChainBroken, match="another operation is missing"):
            store.verify()


def test_the_salt_of_a_name_does_not_come_back_with_the_name(path: Path) -> None:
    with opened(path) as store:
        patient = store.bind(agent_id="patient-7")
        patient.write(key="k", value={})
        patient.write(key="k", value={})
        first, second = _salts(store)
        assert first[-SALT * 4 : -SALT * 2] == second[-SALT * 3 : -SALT]
        store.forget(whole_agent="patient-7")
        patient.write(key="k", value={})
        assert second[-SALT * 2 : -SALT] not in b"".join(_salts(store))
        store.forget(whole_agent="patient-7")
    assert not confirmed(path, [b"patient-7"])
