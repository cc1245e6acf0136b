"""Tokens: kept as hashes, valid until they expire, are rotated or revoked, and audited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, NotFound, Unauthenticated
from memoranda.calls.call import VERBS
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.server import control_store, tokens
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.token_grants import grant_of
from memoranda.server.token_limits import TokenLimits
from memoranda.server.tokens import MAX_AGE_SECONDS, TokenBook
from memoranda.testing import FixedClock
from tests.patience import wait_until

DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "_control.db"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def book(path: Path, clock: FixedClock) -> Iterator[TokenBook]:
    with ControlStore(path, clock=clock) as control:
        yield control.tokens


def refusal(book: TokenBook, secret: str | None) -> str:
    with pytest.raises(Unauthenticated) as caught:
        book.authenticate(secret)
    return str(caught.value)


def test_a_secret_authenticates_its_token_with_its_grant(book: TokenBook) -> None:
    secret, token = book.create(
        store="acme",
        agent="a1",
        namespaces=["team/*"],
        verbs=["read"],
        limits=TokenLimits(requests_per_second=5),
        note="for the planner",
    )
    book.create(store=None)
    assert re.fullmatch(r"mmr_[a-z2-7]{16}_[A-Za-z0-9_-]{43}", secret)
    assert book.authenticate(secret) == token == book.get(token.id)
    assert token.grant == Grant("a1", frozenset(["a1"]), frozenset(["team"]), frozenset(["read"]))
    assert (token.store, token.note) == ("acme", "for the planner")
    assert token.limits.requests_per_second == 5
    assert (token.covers_store("acme"), token.covers_store("other")) == (True, False)


def test_every_token_has_a_secret_of_its_own(book: TokenBook) -> None:
    made = [book.create(store=None) for _ in range(20)]
    assert len({secret for secret, _ in made}) == len({token.id for _, token in made}) == 20
    assert book.list() == sorted((token for _, token in made), key=lambda token: token.id)


def test_no_file_has_a_byte_of_a_secret(path: Path, clock: FixedClock) -> None:
    with ControlStore(path, clock=clock) as control:
        secret, token = control.tokens.create(store=None)
        newer, _ = control.tokens.rotate(token.id, grace="1h")
        control.tokens.authenticate(secret)
        refusal(control.tokens, secret[:-1] + "!")
        control.denials.write()
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert token.id.encode() in data, "the test looks where tokens are"
    for known in (secret, newer):
        tail = known[-43:]
        assert tail[:12].encode() not in data
        assert tail[-12:].encode() not in data


def test_unknown_expired_and_revoked_are_refused_in_the_same_words(
    book: TokenBook, clock: FixedClock
) -> None:
    expired, _ = book.create(store=None, expires="1d")
    revoked, token = book.create(store=None)
    book.revoke(token.id)
    clock.advance(DAY)
    unknown = [
        "",
        "x",
        "mmr__",
        f"mmr_{token.id}_",
        f"mmr_{token.id}",
        revoked[:-1] + ("A" if revoked[-1] != "A" else "B"),
        revoked + "x",
        revoked * 1000,
        "\ud800",
        f"mmr_{token.id}_\udcff",
    ]
    words = {refusal(book, secret) for secret in (expired, revoked, *unknown)}
    assert words == {str(Unauthenticated())}
    assert "`memoranda token create`" in refusal(book, None)


def test_a_token_expires_at_its_time(book: TokenBook, clock: FixedClock) -> None:
    secret, token = book.create(store=None, expires=timedelta(days=1))
    assert token.expires_at == token.created_at + timedelta(days=1)
    clock.advance(DAY - 1)
    assert book.authenticate(secret) == token
    assert book.is_current(token)
    clock.advance(1)
    refusal(book, secret)
    assert not book.is_current(token)
    assert token.state(token.created_at) == "active"
    assert token.state(token.expires_at) == "expired"


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        ("30d", "2026-01-31T00:00:00+00:00"),
        (3600, "2026-01-01T01:00:00+00:00"),
        ("2027-02-03", "2027-02-03T00:00:00+00:00"),
        ("2027-02-03T04:05:06Z", "2027-02-03T04:05:06+00:00"),
    ],
)
def test_the_end_is_a_length_of_time_or_a_time(
    book: TokenBook, expires: Any, expected: str
) -> None:
    _, token = book.create(store=None, expires=expires)
    assert token.expires_at is not None
    assert token.expires_at.isoformat() == expected


@pytest.mark.parametrize("expires", ["soon", "", -1, "2020-01-01", "2026-01-01", True])
def test_an_end_that_is_none_is_refused(book: TokenBook, expires: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^expires: "):
        book.create(store=None, expires=expires)
    assert book.list() == []


def test_a_rotated_secret_replaces_the_old_one_at_once(book: TokenBook, clock: FixedClock) -> None:
    old, token = book.create(store=None, expires="10d", note="kept")
    clock.advance(60)
    new, rotated = book.rotate(token.id)
    refusal(book, old)
    assert book.authenticate(new) == rotated == book.get(token.id)
    assert (rotated.id, rotated.note, rotated.grant) == (token.id, "kept", token.grant)
    assert rotated.rotated_at == token.created_at + timedelta(seconds=60)
    assert rotated.expires_at == token.expires_at
    assert book.rotate(token.id, expires="20d")[1].expires_at == rotated.rotated_at + timedelta(20)


def test_a_grace_period_lets_both_secrets_in(book: TokenBook, clock: FixedClock) -> None:
    old, token = book.create(store=None)
    new, rotated = book.rotate(token.id, grace="1h")
    by_old = book.authenticate(old)
    assert (by_old.id, by_old.grant) == (token.id, token.grant)
    assert book.authenticate(new) == rotated
    assert all(map(book.is_current, (token, by_old, rotated)))
    clock.advance(3600)
    refusal(book, old)
    assert [*map(book.is_current, (token, by_old, rotated))] == [False, False, True]
    assert book.authenticate(new) == rotated
    newest, _ = book.rotate(token.id, grace="1h")
    book.revoke(token.id)
    for secret in (old, new, newest):
        refusal(book, secret)


def test_what_is_over_cannot_be_rotated(book: TokenBook, clock: FixedClock) -> None:
    _, expired = book.create(store=None, expires="1d")
    _, revoked = book.create(store=None)
    clock.advance(DAY)
    assert book.revoke(revoked.id) == book.revoke(revoked.id), "twice is fine"
    for token, state in ((expired, "expired"), (revoked, "revoked")):
        with pytest.raises(InvalidInput, match=f"^token_id: '{token.id}' is {state}: create"):
            book.rotate(token.id)


def test_a_token_that_is_not_there_is_not_found(book: TokenBook) -> None:
    for name in ("absent", "mmr_absent_secretsecret"):
        with pytest.raises(NotFound, match=r"^token_id: there is no token 'absent'"):
            book.revoke(name)
    secret, token = book.create(store=None)
    assert book.revoke(secret).id == token.id, "whoever has only the secret can revoke it"


@pytest.mark.parametrize("store", ["", "_control", "A", "a/b", "a" * 65, "..", 7])
def test_a_name_that_no_store_has_is_refused(book: TokenBook, store: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^store: "):
        book.create(store=store)


def test_a_store_that_is_dropped_or_renamed_takes_its_tokens_along(book: TokenBook) -> None:
    secret, token = book.create(store="acme")
    _, other = book.create(store="other")
    everywhere, _ = book.create(store=None)
    assert [renamed.id for renamed in book.rename_store("acme", "new")] == [token.id]
    assert book.authenticate(secret).store == "new"
    assert book.revoke_store("acme") == []
    assert [revoked.id for revoked in book.revoke_store("new")] == [token.id]
    refusal(book, secret)
    assert book.authenticate(everywhere).store is None
    assert book.get(other.id) == other
    with pytest.raises(InvalidInput, match=r"^new: "):
        book.rename_store("other", "_control")


def test_the_log_of_the_control_store_tells_what_happened(path: Path, clock: FixedClock) -> None:
    with ControlStore(path, clock=clock) as control:
        _, token = control.tokens.create(store="acme", agent="a1")
        control.tokens.rotate(token.id)
        control.tokens.revoke(token.id)
    with memoranda.open(path) as store:
        versions = [*store.history(agent_id=token.id, namespace="tokens", key="token")]
        values: list[Any] = [version.value for version in versions]
        changes = [*store.audit_events(agent_id=tokens.OPERATOR, event_type="state.*")]
    assert [bool(value["token"]["rotated_at"]) for value in values] == [False, True, True]
    assert [bool(value["token"]["revoked_at"]) for value in values] == [False, False, True]
    assert [change.event_type for change in changes] == ["state.written"] * 3


def test_another_process_s_changes_are_seen_within_a_second(path: Path, clock: FixedClock) -> None:
    with ControlStore(path, clock=clock) as server, ControlStore(path) as command:
        secret, token = command.tokens.create(store=None)
        clock.advance(MAX_AGE_SECONDS + 0.01)
        assert server.tokens.authenticate(secret) == token
        command.tokens.revoke(token.id)
        assert server.tokens.is_current(token), "it reads only now and then"
        clock.advance(MAX_AGE_SECONDS + 0.01)
        assert not server.tokens.is_current(token)
        refusal(server.tokens, secret)
    assert MAX_AGE_SECONDS < 1


def test_a_server_follows_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_AGE_SECONDS", 1e9)  # only the thread reads
    monkeypatch.setattr(control_store, "POLL_SECONDS", 0.01)
    with ControlStore(path) as server, ControlStore(path) as command:
        server.start()
        secret, token = command.tokens.create(store=None)
        wait_until(lambda: server.tokens.is_current(token))
        assert server.tokens.authenticate(secret) == token
        command.tokens.revoke(token.id)
        wait_until(lambda: not server.tokens.is_current(token))
        refusal(server.tokens, secret)


def test_a_book_reads_only_what_is_new(book: TokenBook, monkeypatch: pytest.MonkeyPatch) -> None:
    book.create(store=None)
    reads: list[tuple[int, int]] = []
    monkeypatch.setattr(TokenBook, "_read", lambda _, *bounds: reads.append(bounds))
    book.refresh()
    book.list()
    assert reads == [], "nothing is new"


def test_a_control_store_that_was_restored_is_read_anew(tmp_path: Path, clock: FixedClock) -> None:
    path, copy = tmp_path / "_control.db", tmp_path / "copy.db"
    with ControlStore(path, clock=clock) as control:
        secret, _ = control.tokens.create(store=None)
        with memoranda.open(path) as store:
            store.backup(copy)
        lost, _ = control.tokens.create(store=None)
    with ControlStore(path, clock=clock) as control:
        book = control.tokens
        assert len(book.list()) == 2
        with ControlStore(copy, clock=clock) as other:
            monkey: Any = book
            monkey._core = other.core
            clock.advance(1)
            read, sizes = monkey._read, []

            def read_anew(*arguments: Any) -> Any:
                sizes.append(len(monkey._entries))
                return read(*arguments)

            monkey._read = read_anew
            assert book.authenticate(secret) == book.list()[0]
            refusal(book, lost)
            assert sizes == [2], "meanwhile, callers still need a token"


def test_where_the_control_store_is(tmp_path: Path) -> None:
    folder, file = tmp_path / "stores", tmp_path / "acme.db"
    assert control_path(folder=folder) == folder / "_control.db"
    assert control_path(file=file) == tmp_path / "acme.db-control"
    for target in (folder, file):
        (tmp_path / f"link to {target.name}").symlink_to(target)
    assert control_path(folder=tmp_path / "link to stores") == folder / "_control.db"
    assert control_path(file=tmp_path / "link to acme.db") == tmp_path / "acme.db-control"


@pytest.mark.parametrize(
    ("options", "actor", "agents", "namespaces"),
    [
        ({}, None, None, None),
        ({"agent": "a1"}, "a1", {"a1"}, None),
        ({"agent": "a1", "namespaces": ["team/*"]}, "a1", {"a1"}, {"team"}),
        ({"agent": "a1", "covers": ["a2", "a1"]}, "a1", {"a1", "a2"}, None),
        ({"agent": "a1", "namespaces": ["t/e/*", "x/*"]}, "a1", {"a1"}, {"t/e", "x"}),
        ({"agent": "a1", "covers": ["*"]}, "a1", None, None),
        ({"agent": "a1", "covers": ["a2", "*"]}, "a1", None, None),
        ({"agent": "a1", "covers": ["*"], "namespaces": ["team/*"]}, "a1", None, {"team"}),
        ({"agent": "a1", "namespaces": ["*", "team/*"]}, "a1", {"a1"}, None),
    ],
)
def test_what_the_words_of_a_token_grant(
    options: dict[str, Any],
    actor: str | None,
    agents: set[str] | None,
    namespaces: set[str] | None,
) -> None:
    grant = grant_of(**options)
    assert (grant.actor, grant.agents, grant.namespaces) == (actor, agents, namespaces)
    assert grant.verbs == {"read", "write"}


def test_the_verbs_of_a_token() -> None:
    assert grant_of(verbs=["admin", "read", "read"]).verbs == {"read", "admin"}
    assert grant_of(verbs=VERBS) == EVERYTHING


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"namespaces": ["team/*"]}, "agent_id: is missing: name the agent"),
        ({"covers": ["a2"]}, "agent_id: is missing"),
        ({"covers": ["*"], "namespaces": ["*", "team/*"]}, "agent_id: is missing"),
        ({"agent": "*"}, "agent_id: '*' is no agent that could act"),
        ({"agent": ""}, "agent_id: is empty"),
        ({"agent": "a\nb"}, "agent_id: 'a\\nb' has the control character"),
        ({"agent": "a1", "covers": [""]}, "covers: is empty"),
        ({"agent": "a1", "covers": "a2"}, "covers: 'a2' is one text"),
        ({"agent": "a1", "namespaces": ["team"]}, "namespaces: 'team' names one namespace"),
        ({"agent": "a1", "namespaces": ["team*"]}, "namespaces: 'team*' names one namespace"),
        ({"agent": "a1", "namespaces": ["*/team/*"]}, "namespaces: '*/team/*' has a * before"),
        ({"agent": "a1", "namespaces": ["/*"]}, "namespaces: '' has the segment ''"),
        ({"agent": "a1", "namespaces": ["_audit/*"]}, "namespaces: '_audit': segments that begin"),
        ({"agent": "a1", "namespaces": []}, "namespaces: is empty"),
        ({"verbs": []}, "verbs: is empty"),
        ({"verbs": ["raed"]}, "verbs: 'raed' is not one of read, write, forget, admin"),
    ],
)
def test_words_that_grant_nothing_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(problem)}"):
        grant_of(**options)
