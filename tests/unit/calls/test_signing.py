"""A call that its agent's client has signed is committed as it was signed, once, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import memoranda
from memoranda import InvalidInput, PermissionDenied, Store
from memoranda.audit.keys import PublicKey
from memoranda.audit.signers import Signer
from memoranda.calls.call import WriteCall
from memoranda.calls.call_encoding import encode_canonically
from memoranda.calls.core import Core
from memoranda.calls.erasure_writes import Compact, Forget
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.registry import may_read_to_stage, stage_write
from memoranda.calls.signing import check_can_sign, signed
from memoranda.calls.transactions import Commit
from memoranda.log.commit.request_signature import RequestSignature
from memoranda.testing import FixedClock, FixedIds
from tests.contract.loopback import sent
from tests.cores import core_of
from tests.signed_requests import client_of, signing_of

ANN, BOB = Signer("ann", b"a" * 32), Signer("bob", b"b" * 32)
GRANT = Grant("ann")
CALL = Write("ann", "default", "k", {"n": 1}, txn_id="t1")


@pytest.fixture
def store() -> Iterator[Store]:
    with memoranda.open(":memory:", clock=FixedClock(), ids=FixedIds(), embedder=None) as store:
        yield store


def commit(store: Store, call: WriteCall[Any], grant: Grant = GRANT) -> Any:
    core: Core = core_of(store)
    staged = stage_write(core, grant, call)
    return staged.answer(core.committer.commit(staged.request))


def sign(
    store: Store, call: WriteCall[Any] = CALL, signer: Signer = ANN, agent_id: str = "ann"
) -> Any:
    core: Core = core_of(store)
    return signed(call, signing_of(signer, agent_id), core.log_id, core.ids)


def refused(store: Store) -> list[Any]:
    events = store.replay(agent_id="_engine", namespace="_audit")
    return [operation.value for event in events for operation in event.operations]


def with_signature(**changes: Any) -> Callable[[WriteCall[Any]], WriteCall[Any]]:
    def change(call: WriteCall[Any]) -> WriteCall[Any]:
        assert call.signature is not None
        return replace(call, signature=replace(call.signature, **changes))

    return change


def with_flipped(name: str) -> Callable[[WriteCall[Any]], WriteCall[Any]]:
    def change(call: WriteCall[Any]) -> WriteCall[Any]:
        value = getattr(call.signature, name)
        return with_signature(**{name: bytes([value[0] ^ 1]) + value[1:]})(call)

    return change


CHANGES: dict[str, Callable[[WriteCall[Any]], WriteCall[Any]]] = {
    "its value": lambda call: replace(call, value={"n": 2}),
    "its key": lambda call: replace(call, key="l"),
    "its owner": lambda call: replace(call, agent_id="bob"),
    "its namespace": lambda call: replace(call, namespace="team"),
    "its condition": lambda call: replace(call, expect_version=0),
    "its txn_id": lambda call: replace(call, txn_id="t2"),
    "another kind of call": lambda call: Delete(
        "ann", "default", "k", txn_id="t1", signature=call.signature
    ),
    "its salt": with_flipped("salt"),
    "its signature": with_flipped("signature"),
    "the name of its key": with_signature(key=PublicKey("nan", ANN.public.key).text),
    "another key": with_signature(key=BOB.public.text),
    "another log": with_signature(log_id="another"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_on_the_way_is_refused(
    store: Store, change: Callable[[WriteCall[Any]], WriteCall[Any]]
) -> None:
    call = change(sign(store))
    with pytest.raises(PermissionDenied, match=r"signature of this request, by .* for agent 'ann'"):
        commit(store, call)
    assert store.get_state(agent_id="ann", key="k") is None
    assert store.trusted_keys() == []
    (note,) = refused(store)
    assert (note["what"], note["by"]) == ("signature.refused", "ann")
    assert commit(store, sign(store)).commit_ts == 2  # after the record


def test_what_was_signed_is_committed(store: Store) -> None:
    receipt = commit(store, sign(store))
    (event,) = store.replay(agent_id="ann")
    assert (event.commit_ts, event.actor, event.txn_id) == (receipt.commit_ts, "ann", "t1")
    assert (event.attest_level, event.request_only) == ("request-signed", True)
    report = store.verify(deep=True)
    assert (report.signed, report.request_signed) == (1, 1)
    assert "1 of them as a request" in str(report)
    assert [trusted.agent_id for trusted in store.trusted_keys()] == ["ann"]


def test_sent_again_it_has_no_second_effect(store: Store) -> None:
    call = sign(store)
    first = commit(store, call).commit_ts
    store.bind(agent_id="ann").delete(key="k")
    assert commit(store, call).commit_ts == first
    assert commit(store, sign(store)).commit_ts == first  # with another salt
    assert commit(store, CALL).commit_ts == first
    assert store.get_state(agent_id="ann", key="k") is None
    assert store.stats().commits == 2


@pytest.mark.parametrize(
    ("grant", "agent_id"), [(Grant("bob"), "ann"), (Grant("ann"), "bob"), (EVERYTHING, "ann")]
)
def test_it_is_for_the_agent_that_acts(store: Store, grant: Grant, agent_id: str) -> None:
    with pytest.raises(PermissionDenied, match="for the agent that the caller acts for"):
        commit(store, sign(store, agent_id=agent_id), grant)
    assert store.trusted_keys() == []


def test_it_is_for_one_log(store: Store) -> None:
    with memoranda.open(":memory:", ids=FixedIds("other"), embedder=None) as other:
        call = sign(other)
        with pytest.raises(PermissionDenied, match=r"is for log .*, and this is "):
            commit(store, call)
        claimed = with_signature(log_id=core_of(store).log_id)(call)
        with pytest.raises(PermissionDenied, match="is not of this call"):
            commit(store, claimed)
        assert commit(other, call).commit_ts == 1


def test_a_fork_is_another_log(store: Store, tmp_path: Any) -> None:
    call = sign(store)
    store.write(agent_id="bob", key="k", value={})
    store.fork(tmp_path / "fork.db", at=1)
    with (
        memoranda.open(tmp_path / "fork.db", embedder=None) as fork,
        pytest.raises(PermissionDenied, match="is for log"),
    ):
        commit(fork, call)


def test_the_key_is_claimed_by_its_first_use(store: Store) -> None:
    commit(store, sign(store))
    call = replace(CALL, txn_id="t2")
    with pytest.raises(InvalidInput, match="signs for agent 'ann' already"):
        commit(store, sign(store, call, ANN, "bob"), Grant("bob"))
    store.retire_key(ANN.public)
    with pytest.raises(InvalidInput, match="was retired"):
        commit(store, sign(store, call))
    assert commit(store, sign(store)).commit_ts == 1  # a retry, whatever became of the key


def small_order() -> str:
    return PublicKey("weak", bytes(32)).text


MALFORMED: dict[str, Any] = {
    "no signature": 7,
    "no key": RequestSignature("ann", "log", bytes(16), bytes(64)),
    "a key of small order": RequestSignature(small_order(), "log", bytes(16), bytes(64)),
    "a short salt": RequestSignature(ANN.public.text, "log", bytes(15), bytes(64)),
    "a long salt": RequestSignature(ANN.public.text, "log", bytes(17), bytes(64)),
    "a short signature": RequestSignature(ANN.public.text, "log", bytes(16), b""),
    "a salt that is text": RequestSignature(ANN.public.text, "log", "x" * 16, bytes(64)),  # type: ignore[arg-type]
    "a log that is none": RequestSignature(ANN.public.text, 7, bytes(16), bytes(64)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("signature", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_signature_is_named(store: Store, signature: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^signature: "):
        commit(store, replace(CALL, signature=signature))
    assert store.stats().commits == 0


def test_a_signed_call_has_a_txn_id(store: Store) -> None:
    with pytest.raises(InvalidInput, match=r"^txn_id: "):
        commit(store, replace(sign(store), txn_id=None))


def test_an_event_loop_leaves_the_check_to_a_thread(store: Store) -> None:
    assert not may_read_to_stage(EVERYTHING, CALL)
    assert may_read_to_stage(EVERYTHING, sign(store))


def test_a_part_of_a_transaction_has_no_signature_of_its_own(store: Store) -> None:
    part = replace(sign(store), txn_id=None)
    with pytest.raises(InvalidInput, match="signature: is of a part of a transaction"):
        commit(store, Commit((part,), txn_id="t"))
    whole = sign(store, Commit((replace(CALL, txn_id=None),), txn_id="t"))
    assert commit(store, whole).changed
    changed = replace(whole, calls=(*whole.calls, replace(CALL, txn_id=None)), txn_id="t2")
    with pytest.raises(PermissionDenied):
        commit(store, changed)


def test_a_server_may_shorten_the_time_that_a_commit_has(store: Store) -> None:
    call = sign(store, Commit((replace(CALL, txn_id=None),), timeout=29.5, txn_id="t"))
    with pytest.raises(PermissionDenied):
        commit(store, replace(call, since=0))
    assert commit(store, replace(call, timeout=3.0)).changed


def test_wrong_signatures_are_recorded_with_the_key_and_not_too_often(store: Store) -> None:
    for _ in range(12):
        with pytest.raises(PermissionDenied):
            commit(store, with_flipped("signature")(sign(store)))
    notes = refused(store)
    assert (
        notes
        == [
            {
                "what": "signature.refused",
                "by": "ann",
                "about": [ANN.public.id.hex()],
                "left_out": 0,
            }
        ]
        * 10
    )
    types = [event.event_type for event in store.audit_events(event_type="signature.*")]
    assert types == ["signature.refused"] * 10


def test_a_wrong_one_is_refused_though_the_txn_id_is_known(store: Store) -> None:
    commit(store, sign(store))
    with pytest.raises(PermissionDenied):
        commit(store, with_flipped("salt")(sign(store)))


def test_an_agent_that_erases_itself_is_not_named_by_its_signature(store: Store) -> None:
    commit(store, sign(store))
    call = Forget(whole_agent="ann", txn_id="bye")
    with pytest.raises(PermissionDenied):
        commit(store, with_flipped("signature")(sign(store, call)))
    assert store.get_state(agent_id="ann", key="k") is not None
    commit(store, sign(store, call))
    assert store.verify().signed == 0
    assert "ann" not in str([*store.audit_events()])
    with pytest.raises(InvalidInput, match="signs for agent 'forgotten-"):  # captured, and replayed
        commit(store, sign(store))


def test_nothing_is_recorded_of_what_changes_nothing_and_was_not_named(store: Store) -> None:
    store.write(agent_id="ann", key="k", value={})
    memory = store.bind(agent_id="ann").remember("tea", title="tea")
    before = store.stats().commits
    with client_of(store, "ann", ANN).begin_transaction() as transaction:
        transaction.remember("tea", title="tea")
    assert store.stats().commits == before
    assert store.trusted_keys() == []
    assert memory.version == 1


def test_a_call_with_several_commits_is_not_signed_by_a_client() -> None:
    call = Compact("default", 1, confirm=True)
    check_can_sign(call, None)
    check_can_sign(CALL, signing_of(ANN, "ann"))
    with pytest.raises(InvalidInput, match="signer: cannot sign compact"):
        check_can_sign(call, signing_of(ANN, "ann"))


def test_the_canonical_encoding_does_not_depend_on_the_order_of_fields() -> None:
    first = replace(CALL, value={"a": {"x": 1, "y": [1.0, None]}, "b": 2})
    second = replace(CALL, value={"b": 2, "a": {"y": [1.0, None], "x": 1}})
    assert encode_canonically(first) == encode_canonically(second)
    assert encode_canonically(sent(first)) == encode_canonically(first)
    fields = msgspec.msgpack.decode(encode_canonically(first))
    assert [*fields] == sorted(fields)
    assert fields["call"] == "write"
