"""Certificates of erasure, checked without the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
import memoranda_verify
from memoranda import Signer
from memoranda_verify import Refused, check_certificate, parse_key

_SIGNER = Signer("example.com/log", bytes(32))
_KEYS = [parse_key(_SIGNER.public.text)]


@pytest.fixture
def store() -> memoranda.Store:
    store = memoranda.open(":memory:", embedder=None)
    agent = store.bind(agent_id="clerk")
    for place in ("Oslo", "Bergen"):
        agent.assert_fact(subject="Ann", relation="lives in", object=place)
    agent.write(key="other", value={"is": "kept"})
    return store


def erase(store: memoranda.Store, **options: Any) -> dict[str, Any]:
    certificate = store.bind(agent_id="clerk").forget(entity="Ann", reason="she asked", **options)
    proof: dict[str, Any] = json.loads(store.prove_erasure(certificate.erasure_id).json())
    return proof


def check(proof: object, **options: Any) -> dict[str, object]:
    keys = options.pop("keys", ())
    return check_certificate(json.dumps(proof).encode(), keys, **options)


def test_a_certificate_holds(store: memoranda.Store) -> None:
    proof = erase(store)
    report = check(proof)
    assert (report["target"], report["operations"], report["events"]) == ("entity", 2, 2)
    assert (report["by"], report["reason"], report["unproven"]) == ("clerk", "she asked", [])
    assert report["checkpoint"] is None
    with pytest.raises(Refused, match="no checkpoint covers"):
        check(proof, keys=_KEYS)

    store.checkpoint(signer=_SIGNER)
    proof = json.loads(store.prove_erasure(proof["certificate"]["erasure_id"]).json())
    report = check(proof, keys=_KEYS)
    assert isinstance(report["checkpoint"], dict)
    assert report["checkpoint"]["size"] == store.stats().commits
    other = Signer("example.com/log", bytes([1] * 32))
    with pytest.raises(Refused, match="not signed by a key you trust"):
        check(proof, keys=[parse_key(other.public.text)])


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "erasure_id": lambda proof: proof["certificate"].update(erasure_id="another"),
    "target": lambda proof: proof["certificate"].update(target="agent"),
    "commit_ts": lambda proof: proof["certificate"].update(commit_ts=5),
    "committed_at": lambda proof: proof["certificate"].update(
        committed_at="2001-01-01T00:00:00.000000Z"
    ),
    "by": lambda proof: proof["certificate"].update(by="nobody"),
    "reason": lambda proof: proof["certificate"].update(reason=None),
    "operations": lambda proof: proof["certificate"].update(operations=3),
    "events": lambda proof: proof["certificate"].update(events=1),
    "digest": lambda proof: proof["certificate"].update(digest="0" * 64),
    "pseudonym": lambda proof: proof["certificate"].update(pseudonym="forgotten-1"),
    "a field more": lambda proof: proof["certificate"].update(seal="red"),
    "a position less": lambda proof: proof["erased"].pop(),
    "another position": lambda proof: proof["erased"][0].update(digest="0" * 64),
    "another leaf": lambda proof: proof["leaves"].__setitem__(0, "0" * 64),
    "another operation": lambda proof: proof.update(operation=proof["operation"] + "00"),
    "another salt": lambda proof: proof.update(salts="01" * 48),
    "another place": lambda proof: proof.update(position=7),
    "another past": lambda proof: proof.update(previous_hash="0" * 64),
    "another path": lambda proof: proof.update(path=[]),
    "another type": lambda proof: proof.update(type="recollect.inclusion-proof"),
    "no number": lambda proof: proof["certificate"].update(commit_ts="6"),
    "no text": lambda proof: proof.update(operation=7),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_certificate_is_refused(
    store: memoranda.Store, tmp_path: Path, change: str
) -> None:
    erasure = erase(store)["certificate"]["erasure_id"]
    store.write(agent_id="clerk", key="later", value={})
    store.checkpoint(signer=_SIGNER)
    proof = json.loads(store.prove_erasure(erasure).json())
    file = tmp_path / "certificate.json"
    arguments = ["certificate", str(file), "--key", _SIGNER.public.text]
    file.write_text(json.dumps(proof))
    assert memoranda_verify.main(arguments) == memoranda_verify.HOLDS
    CHANGES[change](proof)
    file.write_text(json.dumps(proof))
    assert memoranda_verify.main(arguments) == memoranda_verify.REFUSED


def test_the_name_of_an_eraser_that_is_erased_is_not_proven(store: memoranda.Store) -> None:
    erasure = erase(store)["certificate"]["erasure_id"]
    store.forget(whole_agent="clerk")
    store.checkpoint(signer=_SIGNER)
    report = check(json.loads(store.prove_erasure(erasure).json()), keys=_KEYS)
    assert str(report["by"]).startswith("forgotten-")
    assert report["unproven"] == ["by"]


def test_every_kind_of_erasure_has_a_proof(store: memoranda.Store) -> None:
    agent = store.bind(agent_id="clerk")
    note = agent.remember("a note")
    for target in ({"key": "other"}, {"memory_id": note.id}, {"whole_namespace": "default"}):
        certificate = agent.forget(**target)  # type: ignore[arg-type]
        proof = json.loads(store.prove_erasure(certificate.erasure_id).json())
        report = check(proof)
        assert report["operations"] == certificate.operations > 0
        assert report["pseudonym"] == certificate.pseudonym
