"""Checkpoints, proofs and keys, on every kind of store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import memoranda_verify
from memoranda import (
    InvalidInput,
    NotFound,
    NotProven,
    OperationType,
    SignedCheckpoint,
    Signer,
    Store,
)
from memoranda.audit import keys
from memoranda.model.operations import ENGINE_SCOPE
from tests.contract.opener import Opener

NAME = "example.com/agents"


def signer(number: int = 1, name: str = NAME) -> Signer:
    return Signer(name, bytes([number]) * 32)


def write(store: Store, commits: int = 1) -> None:
    for number in range(commits):
        store.write(agent_id="a", key=f"k{number}", value={"n": number})


def exported(store: Store) -> list[memoranda_verify.Key]:
    """The log's keys, as an outsider has them."""
    return [
        memoranda_verify.parse_key(trusted_key.key.line) for trusted_key in store.trusted_keys()
    ]


def checked(store: Store, made: SignedCheckpoint) -> memoranda_verify.Checkpoint:
    result = memoranda_verify.check_checkpoint(made.note.encode(), exported(store))
    assert (result.size, result.root, result.origin) == (made.size, made.root, made.origin)
    return result


def test_a_checkpoint_is_of_all_that_is_committed(store: Store) -> None:
    write(store, 3)
    checkpoint = store.checkpoint(signer=signer())
    assert checkpoint.size == 4  # the first one of a log is trusted by it first
    assert checkpoint.origin == f"recollect/{store.stats().log_id}"
    assert checkpoint.committed_at == store.stats().last_committed_at
    assert checkpoint.signed_by == (f"{NAME}+{signer().public.id.hex()}",)
    checked(store, checkpoint)
    assert list(store.checkpoints()) == [checkpoint]


def test_one_there_is_already_is_given_again(store: Store) -> None:
    write(store)
    ours = signer()
    assert store.checkpoint(signer=ours) == store.checkpoint(signer=ours)
    assert len(list(store.checkpoints())) == 1
    write(store)
    assert [store.checkpoint(signer=ours).size, len(list(store.checkpoints()))] == [3, 2]


def test_of_an_empty_log(store: Store) -> None:
    assert store.checkpoint(signer=signer()).size == 1
    assert store.verify().checkpoints == 1


def test_without_a_signer_there_is_none(store: Store) -> None:
    with pytest.raises(InvalidInput, match="signer: is missing"):
        store.checkpoint()
    assert (store.stats().signing, store.stats().checkpoint_size) == (None, 0)
    write(store)
    with pytest.raises(NotFound, match="no checkpoint covers commit 1 yet"):
        store.prove(1)


def test_stats_tell_of_the_last_one(store: Store) -> None:
    write(store, 2)
    checkpoint = store.checkpoint(signer=signer())
    write(store, 2)
    stats = store.stats()
    assert (stats.checkpoint_size, stats.commits) == (3, 5)
    assert stats.checkpoint_at == checkpoint.committed_at


def test_trusting_is_in_the_log(store: Store) -> None:
    write(store)
    store.checkpoint(signer=signer())
    scope = ENGINE_SCOPE
    *_, event = store.replay(agent_id=scope.agent_id, namespace=scope.namespace)
    (operation,) = event.operations
    assert (operation.type, operation.key) == (OperationType.TRUST, f"key:{NAME}")
    assert store.rebuild().identical


def test_a_second_signer_has_to_be_trusted(store: Store) -> None:
    write(store)
    one, other = signer(1), signer(2)
    store.checkpoint(signer=one)
    with pytest.raises(InvalidInput, match="is not trusted by this log"):
        store.checkpoint(signer=other)
    assert store.trust_key(other).commit_ts == 3
    assert store.trust_key(other.public.text).commit_ts == 3  # it is already
    both = store.checkpoint(signer=one), store.checkpoint(signer=other)
    assert [item.size for item in both] == [3, 3]
    assert len(list(store.checkpoints())) == 3
    assert store.verify().checkpoints == 3


def test_a_key_that_takes_the_place_of_another(store: Store) -> None:
    write(store)
    old, new = signer(1), signer(2)
    first = store.checkpoint(signer=old)
    commit = store.rotate_key(old=old, new=new, reason="yearly").commit_ts
    assert [
        (trusted_key.key.line, trusted_key.retired) for trusted_key in store.trusted_keys()
    ] == [
        (f"{old.public.text} from=2 until={commit - 1}", True),
        (f"{new.public.text} from={commit}", False),
    ]
    with pytest.raises(InvalidInput, match=f"was retired at commit {commit}"):
        store.checkpoint(signer=old)
    second = store.checkpoint(signer=new)
    assert store.verify(checkpoint=first).checkpoints == 2
    assert store.rebuild().identical
    for instance in (first, second):
        checked(store, instance)
    proof = store.prove_growth(first.size, second.size)
    memoranda_verify.check_consistency(proof.json().encode(), exported(store))


@pytest.mark.parametrize("argument", ["old", "new"])
def test_a_wrong_key_is_named_by_its_argument(store: Store, argument: str) -> None:
    keys = {"old": signer(1).public.text, "new": signer(2).public.text, argument: "nonsense"}
    with pytest.raises(InvalidInput, match=f"^{argument}: 'nonsense' is not like"):
        store.rotate_key(**keys)


def test_who_is_retired_never_comes_back(store: Store) -> None:
    ours = signer()
    store.checkpoint(signer=ours)
    commit = store.retire_key(ours, reason="stolen").commit_ts
    assert store.retire_key(ours).commit_ts == commit  # as it is already
    with pytest.raises(InvalidInput, match="permanently"):
        store.trust_key(ours)
    with pytest.raises(InvalidInput, match="is not trusted by this log"):
        store.checkpoint(signer=signer(2))  # it is not the first of this log
    with pytest.raises(NotFound, match="is not a key that this log trusts"):
        store.retire_key(signer(3))
    with pytest.raises(InvalidInput, match="requested twice"):
        store.rotate_key(old=ours, new=ours)


def test_an_agents_key_does_not_sign_for_the_log(store: Store) -> None:
    store.trust_key(signer(2), agent_id="ann")
    with pytest.raises(InvalidInput, match="signs for agent 'ann' already"):
        store.checkpoint(signer=signer(2))
    store.checkpoint(signer=signer(1))
    assert [trusted_key.agent_id for trusted_key in store.trusted_keys()] == ["ann", None]
    assert store.verify().checkpoints == 1


def test_every_commit_can_be_proven(store: Store) -> None:
    write(store, 40)
    checkpoint = store.checkpoint(signer=signer())
    write(store, 3)
    key = exported(store)
    hashes = {
        event.commit_ts: event.hash
        for agent in (("a", "default"), (ENGINE_SCOPE.agent_id, ENGINE_SCOPE.namespace))
        for event in store.replay(agent_id=agent[0], namespace=agent[1])
    }
    for commit in range(1, 42):
        proof = store.prove(commit).json().encode()
        result = memoranda_verify.check_inclusion(proof, key, held=checkpoint.note.encode())
        assert result["event_hash"] == hashes[commit].hex()
    with pytest.raises(NotFound, match="no checkpoint covers commit 43 yet"):
        store.prove(43)
    with pytest.raises(NotFound, match="there is no commit 45"):
        store.prove(45)
    with pytest.raises(InvalidInput, match="commit 43 is later"):
        store.prove(43, checkpoint=checkpoint)
    with pytest.raises(InvalidInput, match="commit_ts"):
        store.prove(0)


def test_growth_between_all_checkpoints(store: Store) -> None:
    ours, instance = signer(), []
    for size in range(12):
        write(store, size % 4)
        instance.append(store.checkpoint(signer=ours))
    key = exported(store)
    for old in instance:
        for new in (item for item in instance if item.size >= old.size):
            proof = store.prove_growth(old, new.size).json().encode()
            result = memoranda_verify.check_consistency(proof, key, held=old.note.encode())
            assert json.loads(json.dumps(result))["new"]["size"] == new.size
    assert store.prove_growth(instance[0]).new_checkpoint == instance[-1].note
    with pytest.raises(InvalidInput, match="fewer than"):
        store.prove_growth(instance[-1], instance[0])
    with pytest.raises(NotFound, match="there is no checkpoint of 3 commits"):
        store.prove_growth(3)
    with pytest.raises(InvalidInput, match="neither a size nor a checkpoint"):
        store.prove_growth(1.5)  # type: ignore[arg-type]


def test_a_checkpoint_of_another_log_is_refused(open_store: Opener, tmp_path: Path) -> None:
    import memoranda

    ours = signer()
    with memoranda.open(tmp_path / "other.db") as other:
        foreign = other.checkpoint(signer=ours)
    store = open_store()
    write(store, 3)
    store.checkpoint(signer=ours)
    for use in (store.prove_growth, lambda note: store.verify(checkpoint=note)):
        with pytest.raises(NotProven, match="is of the log"):
            use(foreign.note)


def test_a_checkpoint_that_was_altered_is_refused(store: Store) -> None:
    write(store, 3)
    checkpoint = store.checkpoint(signer=signer())
    origin, size, root, *rest = checkpoint.note.split("\n")
    for altered in (
        "\n".join([origin, "3", root, *rest]),
        "\n".join([origin, size, "A" + root[1:], *rest]),
        "\n".join([origin, size, root, "more", *rest]),
        checkpoint.note[:-3] + ("A" if checkpoint.note[-3] != "A" else "B") + checkpoint.note[-2:],
        f"{origin}\n{size}\n{root}\n\n",
        f"{origin}\n{size}\n{root}\n",
        checkpoint.note + checkpoint.note,
        "",
        "hello",
    ):
        with pytest.raises(NotProven):
            store.verify(checkpoint=altered)
    assert store.verify(checkpoint=checkpoint.note).checkpoints == 1


def test_keys_from_outside_are_the_only_ones_that_count(store: Store) -> None:
    write(store, 3)
    ours, foreign = signer(1), signer(2)
    checkpoint = store.checkpoint(signer=ours)
    for trusted in (ours.public, ours.public.text, f"{ours.public.text} from=4 until=4"):
        assert store.verify(checkpoint=checkpoint, keys=[trusted]).checkpoints == 1
    for wrong in (foreign.public, f"{ours.public.text} until=3", f"{ours.public.text} from=5"):
        with pytest.raises(NotProven):
            store.verify(checkpoint=checkpoint, keys=[wrong])
        with pytest.raises(NotProven):  # also those that the store keeps
            store.verify(keys=[wrong])
    with pytest.raises(NotProven, match="but no key is trusted"):
        store.verify(keys=[])
    with pytest.raises(InvalidInput, match="key"):
        store.verify(keys=["x"])


def test_a_signer_is_given_as_its_file(store: Store, tmp_path: Path) -> None:
    import memoranda

    instance = memoranda.create_signer(tmp_path / "ours.key", name=NAME)
    assert memoranda.load_signer(tmp_path / "ours.key").public == instance.public
    assert store.checkpoint(signer=tmp_path / "ours.key").size == 1
    (trusted,) = store.trusted_keys()
    assert keys.parse(trusted.key.line) == trusted.key
    with pytest.raises(NotFound, match="there is no signer"):
        store.checkpoint(signer=str(tmp_path / "none.key"))
    with pytest.raises(InvalidInput, match="neither a signer nor a path"):
        store.checkpoint(signer=7)  # type: ignore[arg-type]


def test_what_is_open_with_a_signer_is_signed_when_it_is_closed(reopen: Opener) -> None:
    ours = signer()
    store = reopen(signer=ours)
    assert store.stats().signing == ours.public.text
    write(store, 3)
    assert store.checkpoint().size == 4
    write(store, 2)
    store.close()
    store.close()
    later = reopen()
    assert [checkpoint.size for checkpoint in later.checkpoints()] == [4, 6]
    assert later.verify().last_checkpoint == 6


def test_nothing_is_signed_where_nothing_was_written(reopen: Opener) -> None:
    store = reopen(signer=signer())
    store.close()
    assert list(reopen().checkpoints()) == []


def test_what_was_forgotten_breaks_no_checkpoint_and_no_proof(store: Store) -> None:
    write(store, 20)
    ours = signer()
    checkpoint = store.checkpoint(signer=ours)
    before = store.prove(5)
    assert store.verify(checkpoint=checkpoint).warnings == ()
    store.bind(agent_id="a").forget(key="k4", reason="asked to")
    assert store.prove(5, checkpoint=checkpoint) == before
    report = store.verify(checkpoint=checkpoint)
    assert report.checkpoints == 1
    warning = "2 places were erased behind it"  # the operation, and its envelope
    assert [warning in item for item in report.warnings] == [True]
    assert store.verify().warnings == ()
    assert store.checkpoint(signer=ours).size == checkpoint.size + 1
    assert store.verify(checkpoint=checkpoint).last_checkpoint == checkpoint.size + 1


def test_what_was_summed_up_breaks_no_checkpoint_and_no_proof(store: Store) -> None:
    agent = store.bind(agent_id="a")
    for number in range(20):
        agent.write(key="k", value={"n": number})
    ours = signer()
    checkpoint = store.checkpoint(signer=ours)
    before = [store.prove(commit) for commit in (5, 20)]
    agent.compact(before=15, confirm=True)
    assert [store.prove(commit, checkpoint=checkpoint) for commit in (5, 20)] == before
    report = store.verify(checkpoint=checkpoint)
    assert report.checkpoints == 1
    assert ["places were erased behind it" in warning for warning in report.warnings] == [True]
    later = store.checkpoint(signer=ours)
    assert store.prove_growth(checkpoint, later).new_checkpoint == later.note
