"""The trace of a commit: kept in its envelope, and part of nothing that identifies the request."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import memoranda
import memoranda_verify
from memoranda import Store
from memoranda.errors import Corruption
from memoranda.log.chain import genesis, seal
from memoranda.log.commit.transaction_signature import message
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope
from memoranda.model.operations import Write
from memoranda.model.trace import TraceContext, Tracing, current_trace, current_trace_id
from memoranda.testing import FixedIds

TRACE = TraceContext(bytes(range(1, 17)), bytes(range(1, 9)), 1)
OTHER = TraceContext(bytes(range(101, 117)), bytes(range(1, 9)))
HEX = TRACE.trace_id.hex()


def opened(path: Path) -> Store:
    return memoranda.open(path, embedder=None, durability="relaxed")


def traces(store: Store, agent_id: str = "ann") -> list[str | None]:
    return [event.trace_id for event in store.replay(agent_id=agent_id)]


class FourFields(msgspec.Struct, frozen=True, array_like=True):
    """An envelope as earlier releases know it."""

    txn_id: str
    actor: str
    request_hash: bytes
    signature: bytes | None = None


class TestEnvelope:
    def test_without_a_trace_it_has_the_bytes_that_it_always_had(self) -> None:
        for signature in (None, b"s" * 97):
            envelope = Envelope("t", "ann", b"h" * 32, signature)
            encoded = codec.encode_envelope(envelope)
            assert encoded == msgspec.msgpack.encode(["t", "ann", b"h" * 32, signature])
            assert codec.decode_envelope(encoded) == envelope

    def test_with_a_trace_it_has_a_fifth_field(self) -> None:
        envelope = Envelope("t", "ann", b"h" * 32, None, TRACE.trace_id)
        encoded = codec.encode_envelope(envelope)
        assert encoded == msgspec.msgpack.encode(["t", "ann", b"h" * 32, None, TRACE.trace_id])
        assert codec.decode_envelope(encoded) == envelope
        codec.check_canonical(encoded)

    def test_earlier_releases_read_it(self) -> None:
        envelope = Envelope("t", "ann", b"h" * 32, b"s" * 97, TRACE.trace_id)
        decode = msgspec.msgpack.Decoder(FourFields).decode
        assert decode(codec.encode_envelope(envelope)) == FourFields(
            "t", "ann", b"h" * 32, b"s" * 97
        )

    def test_a_signature_does_not_cover_it(self) -> None:
        envelope = Envelope("t", "ann", b"h" * 32)
        signed = {
            message(one, (1, 1), [], [], None)
            for one in (envelope, replace(envelope, trace_id=TRACE.trace_id))
        }
        assert len(signed) == 1, "or earlier releases would take it for a forgery"

    @pytest.mark.parametrize("trace_id", [b"", b"short", b"x" * 17, b"x" * 4096])
    def test_a_trace_id_of_another_length_is_damage(self, trace_id: bytes) -> None:
        encoded = msgspec.msgpack.encode(["t", "ann", b"h" * 32, None, trace_id])
        with pytest.raises(Corruption):
            codec.decode_envelope(encoded)

    def test_the_chain_covers_it(self) -> None:
        operations = [Write("default", "ann", "k", 1, b"{}")]
        salts, head = SaltSource(FixedIds()).draw(operations), genesis("log")
        hashes = {
            seal(head, 1, salts, Envelope("t", "ann", b"h" * 32, None, trace), operations).hash
            for trace in (None, TRACE.trace_id, OTHER.trace_id)
        }
        assert len(hashes) == 3


class TestCommit:
    def test_every_way_of_writing_keeps_the_trace(self, tmp_path: Path) -> None:
        with opened(tmp_path / "a.db") as store:
            ann = store.bind(agent_id="ann")
            with Tracing(TRACE):
                ann.write(key="k", value={"n": 1})
                ann.remember("Ann lives in Oslo")
                ann.assert_fact(subject="Ann", relation="lives_in", object="Oslo")
                with ann.begin_transaction() as transaction:
                    transaction.write(key="a", value={})
                    transaction.write(key="b", value={})
            ann.write(key="k", value={"n": 2})
            assert traces(store) == [HEX, HEX, HEX, HEX, None]
            assert store.verify(deep=True).commits == 5

    def test_a_retry_with_another_trace_is_the_same_request(self, tmp_path: Path) -> None:
        with opened(tmp_path / "a.db") as store:
            ann = store.bind(agent_id="ann")
            with Tracing(TRACE):
                first = ann.write(key="k", value={"n": 1}, txn_id="once")
            with Tracing(OTHER):
                again = ann.write(key="k", value={"n": 1}, txn_id="once")
            assert ann.write(key="k", value={"n": 1}, txn_id="once") == again
            assert again.commit_ts == first.commit_ts
            assert traces(store) == [HEX]

    def test_the_engine_s_own_notes_have_no_trace(self, tmp_path: Path) -> None:
        with opened(tmp_path / "a.db") as store:
            ann = store.bind(agent_id="ann")
            first, second = (ann.remember(text) for text in ("one", "two"))
            ann.supersede(old=first.id, new=second.id)
            with Tracing(TRACE), pytest.raises(memoranda.LinkCycle):
                ann.supersede(old=second.id, new=first.id)
            (note,) = store.sql(
                "SELECT trace_id FROM events JOIN operations USING (commit_ts) "
                "WHERE type = 'refused'"
            )
            assert note == {"trace_id": None}

    def test_a_signed_commit_is_verified_with_its_trace(self, tmp_path: Path) -> None:
        signer = memoranda.create_signer(tmp_path / "ann.key", name="example.org/ann")
        with opened(tmp_path / "a.db") as store, Tracing(TRACE):
            store.bind(agent_id="ann", signer=signer).write(key="k", value={"n": 1})
            verification = store.verify(deep=True)
            assert verification.signed == 1
            (event,) = store.replay(agent_id="ann")
            assert (event.attest_level, event.trace_id) == ("self-signed", HEX)


class TestCopies:
    def test_exports_imports_forks_and_backups_keep_it(self, tmp_path: Path) -> None:
        with opened(tmp_path / "a.db") as store:
            with Tracing(TRACE):
                store.bind(agent_id="ann").write(key="k", value={"n": 1})
            store.export_log(tmp_path / "log.jsonl")
            store.fork(tmp_path / "fork.db", at=1)
            store.backup(tmp_path / "backup.db")
        with (tmp_path / "log.jsonl").open("rb") as file:
            assert memoranda_verify.check_log(file, [])
        memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "imported.db")
        for name in ("fork", "backup", "imported"):
            with opened(tmp_path / f"{name}.db") as copy:
                assert traces(copy) == [HEX]
                assert copy.verify(deep=True).commits == 1

    def test_it_is_erased_with_its_envelope(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        with opened(path) as store:
            with Tracing(TRACE):
                store.bind(agent_id="ann").write(key="k", value={"n": 1})
                store.bind(agent_id="bob").write(key="k", value={"n": 1})
            with Tracing(OTHER):
                store.bind(agent_id="ann").forget(whole_agent="ann", purge=True)
            assert traces(store, "bob") == [HEX]
            rows = [*store.sql("SELECT commit_ts, trace_id FROM events ORDER BY commit_ts")]
            assert [row["trace_id"] for row in rows] == [None, HEX, None]
            assert store.verify(deep=True).commits == 3
        assert path.read_bytes().count(TRACE.trace_id) == 1, "the other agent's is left"
        assert OTHER.trace_id not in path.read_bytes(), "an agent that leaves is not linked to it"


class TestHeader:
    def test_it_is_read_as_the_standard_says(self) -> None:
        header = f"00-{HEX}-{TRACE.span_id.hex()}-01"
        assert TraceContext.parse(header) == TRACE
        assert TRACE.header == header
        assert TraceContext.parse(f"cc-{HEX}-{TRACE.span_id.hex()}-01-later") == TRACE

    @pytest.mark.parametrize(
        "header",
        [
            None,
            "",
            "nonsense",
            f"00-{HEX}-{TRACE.span_id.hex()}",
            f"00-{HEX.upper()}-{TRACE.span_id.hex()}-01",
            f"00-{'0' * 32}-{TRACE.span_id.hex()}-01",
            f"00-{HEX}-{'0' * 16}-01",
            f"ff-{HEX}-{TRACE.span_id.hex()}-01",
            f"00-{HEX}-{TRACE.span_id.hex()}-01-more",
            f"00-{HEX}-{TRACE.span_id.hex()}-01\n",
            f"cc-{HEX}-{TRACE.span_id.hex()}-01-{'x' * 4096}",
        ],
    )
    def test_what_names_no_trace_is_ignored(self, header: str | None) -> None:
        assert TraceContext.parse(header) is None

    def test_blocks_can_be_nested(self) -> None:
        assert current_trace() is None
        with Tracing(TRACE):
            with Tracing(None):
                assert current_trace_id() is None
            assert current_trace() == TRACE
        assert current_trace_id() is None
