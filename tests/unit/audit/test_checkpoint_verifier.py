"""What an attacker with write access to the file can hide from `verify`, and what not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memoranda import ChainBroken, NotProven, SignedCheckpoint, Signer
from memoranda.audit import checkpoints
from memoranda.audit.checkpoints import Checkpoint
from memoranda.model.event import SealedEvent
from tests.unit.audit.logs import NAME, open_store, rechain, seeded, spoil, write

SIGNER = seeded(NAME, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def made(path: Path) -> list[SignedCheckpoint]:
    """Checkpoints of 11, 51 and 91 commits, of a log with a hundred."""
    with open_store(path) as store:
        write(store, 10)
        result = [store.checkpoint(signer=SIGNER)]
        for _ in range(2):
            write(store, 40)
            result.append(store.checkpoint(signer=SIGNER))
        write(store, 9)
    assert [item.size for item in result] == [11, 51, 91]
    return result


def later(event: SealedEvent) -> SealedEvent:
    """Change an event in a way that nothing but its hash shows."""
    return msgspec.structs.replace(event, committed_at=event.committed_at + 1)


def truncate(path: Path, commits: int) -> None:
    spoil(path, "DELETE FROM event WHERE commit_ts > ?", commits)


def tidy_up(path: Path) -> None:
    """Remove everything that would give the log away: what an attacker does who reads this."""
    spoil(path, "DELETE FROM checkpoint")
    spoil(path, "DELETE FROM tree_node")
    spoil(path, "DELETE FROM meta WHERE name = 'tree'")
    with open_store(path) as store:
        store.rebuild()


def test_an_untouched_log_is_no_alarm(path: Path, made: list[SignedCheckpoint]) -> None:
    with open_store(path) as store:
        for item in made:
            report = store.verify(checkpoint=item)
            assert (report.commits, report.checkpoints, report.last_checkpoint) == (100, 3, 91)


@pytest.mark.parametrize("commits", [0, 10, 50, 90])
def test_a_truncated_log(path: Path, made: list[SignedCheckpoint], commits: int) -> None:
    truncate(path, commits)
    with open_store(path) as store, pytest.raises((ChainBroken, NotProven)) as caught:
        store.verify()
    if commits > 10:  # else the log does not even say whom it trusted
        assert isinstance(caught.value, ChainBroken)
        assert caught.value.commit_ts == commits + 1
        assert "the log was truncated" in str(caught.value)
        assert caught.value.last_checkpoint == {50: 11, 90: 51}[commits]


def test_a_truncated_log_without_a_trace(path: Path, made: list[SignedCheckpoint]) -> None:
    truncate(path, 60)
    tidy_up(path)
    with open_store(path) as store:
        assert store.verify().commits == 60  # nothing in the file tells
        assert store.verify(checkpoint=made[1]).checkpoints == 1  # nor does an older checkpoint
        with pytest.raises(ChainBroken, match=r"commit 61: it is missing.*of 91 commits"):
            store.verify(checkpoint=made[2])


@pytest.mark.parametrize("commit", [2, 11, 12, 40, 51, 52, 91])
def test_a_log_that_was_chained_anew(path: Path, made: list[SignedCheckpoint], commit: int) -> None:
    rechain(path, commit, later)
    with open_store(path) as store, pytest.raises(ChainBroken, match="re-chained") as caught:
        store.verify()
    good = max((item.size for item in made if item.size < commit), default=0)
    assert caught.value.last_checkpoint == good
    assert caught.value.commit_ts == good + 1
    if commit == 40:  # a node of the tree, which nobody touched, tells more
        assert "matches up to commit 32" in str(caught.value)


@pytest.mark.parametrize("commit", [2, 40, 91])
def test_a_log_that_was_chained_anew_without_a_trace(
    path: Path, made: list[SignedCheckpoint], commit: int
) -> None:
    rechain(path, commit, later)
    tidy_up(path)
    with open_store(path) as store:
        assert store.verify().commits == 100  # nothing in the file tells
        for item in made:
            if item.size < commit:
                assert store.verify(checkpoint=item).checkpoints == 1
                continue
            with pytest.raises(ChainBroken, match="history is not the signed one") as caught:
                store.verify(checkpoint=item)
            assert caught.value.commit_ts <= commit


def test_what_was_never_signed_can_be_chained_anew(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    rechain(path, 97, later)  # where no complete node covers it either
    with open_store(path) as store:
        assert store.verify(checkpoint=made[2]).commits == 100


def test_a_broken_chain_names_the_last_checkpoint_before_it(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    spoil(path, "UPDATE event SET hash = zeroblob(32) WHERE commit_ts = 70")
    with open_store(path) as store, pytest.raises(ChainBroken, match="of 51 commits") as caught:
        store.verify()
    assert (caught.value.commit_ts, caught.value.last_checkpoint) == (70, 51)


def test_a_broken_chain_without_checkpoints(path: Path) -> None:
    with open_store(path) as store:
        write(store, 5)
    spoil(path, "DELETE FROM event WHERE commit_ts = 3")
    with open_store(path) as store, pytest.raises(ChainBroken, match="commit 3") as caught:
        store.verify()
    assert caught.value.last_checkpoint is None
    assert "checkpoint" not in str(caught.value)


def forged(path: Path, note: str, size: int = 51) -> None:
    spoil(path, "INSERT INTO checkpoint (size, note) VALUES (?, ?)", size, note)


def signed(made: SignedCheckpoint, signer: Signer, **changes: object) -> str:
    plain = Checkpoint(made.origin, made.size, bytes.fromhex(made.root))
    return checkpoints.sign(msgspec.structs.replace(plain, **changes), [signer])


def test_checkpoints_that_do_not_count_are_refused(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    other = seeded(NAME, 2)
    for note, size, reports in (
        (signed(made[1], other), 51, "none of these keys is trusted"),
        (signed(made[1], seeded("example.com/other", 1)), 51, "none of these keys is trusted"),
        (signed(made[1], SIGNER, origin="recollect/other"), 51, "is of the log"),
        (signed(made[1], SIGNER), 52, "is stored with size 52, but its note says 51"),
        (signed(made[1], SIGNER), -1, "the impossible size -1"),
        (made[1].note.replace("— ", "- "), 51, "is not a checkpoint"),
        (made[1].note.partition("— ")[0], 51, "is not a checkpoint"),
        ("", 51, "is not a checkpoint"),
    ):
        spoil(path, "DELETE FROM checkpoint WHERE size = 51 OR size < 0")
        forged(path, note, size)
        with open_store(path) as store, pytest.raises(NotProven, match=reports):
            store.verify()
        spoil(path, "DELETE FROM checkpoint WHERE size = 52")


def test_a_checkpoint_that_an_agents_key_signed(path: Path, made: list[SignedCheckpoint]) -> None:
    agents = seeded("example.com/ann", 3)
    with open_store(path) as store:
        commit = store.trust_key(agents, agent_id="ann").commit_ts
        checkpoint = store.checkpoint(signer=SIGNER)
    forged(path, signed(checkpoint, agents), commit)
    with open_store(path) as store, pytest.raises(NotProven, match="none of these keys is trusted"):
        store.verify()


def test_a_checkpoint_of_before_its_key_was_trusted(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    with open_store(path) as store:
        store.trust_key(seeded(NAME, 2))
    forged(path, signed(made[1], seeded(NAME, 2)))
    with open_store(path) as store, pytest.raises(NotProven, match="none of these keys is trusted"):
        store.verify()


def test_a_checkpoint_of_after_its_key_was_retired(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    with open_store(path) as store:
        commit = store.retire_key(SIGNER).commit_ts
        write(store, 3)
        late = store.prove(50)  # what it signed before still counts
        assert late.checkpoint == made[2].note
        assert store.verify().checkpoints == 3
    root = made[2].root  # a thief does not even need the right one
    forged(
        path,
        checkpoints.sign(Checkpoint(made[0].origin, commit + 1, bytes.fromhex(root)), [SIGNER]),
        commit + 1,
    )
    with open_store(path) as store, pytest.raises(NotProven, match=f"until={commit - 1} only"):
        store.verify()


def test_the_table_of_keys_is_not_believed(path: Path, made: list[SignedCheckpoint]) -> None:
    thief = seeded(NAME, 2)
    spoil(path, "UPDATE public_key SET public_key = ?", thief.public.key)
    spoil(path, "DELETE FROM checkpoint")
    forged(path, signed(made[1], thief))
    with open_store(path) as store:
        with pytest.raises(NotProven, match="none of these keys is trusted"):
            store.verify()
        assert store.rebuild().differing == ("keys",)


@pytest.mark.slow
def test_every_altered_character_of_a_kept_note_is_found(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    note = made[1].note
    for place in range(0, len(note), 7):
        altered = note[:place] + ("x" if note[place] != "x" else "y") + note[place + 1 :]
        spoil(path, "UPDATE checkpoint SET note = ? WHERE size = 51", altered)
        with open_store(path) as store, pytest.raises(NotProven):
            store.verify()


@pytest.mark.parametrize("size", [-(2**63) + 1, -1, 0, 12, 2**63 - 1])
def test_a_checkpoint_kept_under_another_size_is_found(
    path: Path, made: list[SignedCheckpoint], size: int
) -> None:
    spoil(path, "INSERT INTO checkpoint VALUES (?, ?)", size, made[0].note)
    with open_store(path) as store, pytest.raises((NotProven, ChainBroken)):
        store.verify(deep=True)


def test_a_checkpoint_that_was_deleted_is_missed_by_nobody_here(
    path: Path, made: list[SignedCheckpoint]
) -> None:
    spoil(path, "DELETE FROM checkpoint WHERE size = 51")
    with open_store(path) as store:
        assert store.verify().checkpoints == 2


def test_verifying_changes_nothing(path: Path, made: list[SignedCheckpoint]) -> None:
    before = path.read_bytes()
    with open_store(path) as store:
        store.verify(checkpoint=made[0])
    assert path.read_bytes() == before
