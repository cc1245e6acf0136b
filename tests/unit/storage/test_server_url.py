"""URLs of stores that a server has."""

from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput
from memoranda.storage.server_url import ServerUrl, is_server_url, parse_server_url
from memoranda.storage.store_url import path_of


@pytest.mark.parametrize(
    ("url", "parts", "target"),
    [
        ("grpc://host:7000/acme", ServerUrl("host", 7000, "acme"), "host:7000"),
        ("GRPC://host:7000/acme/", ServerUrl("host", 7000, "acme"), "host:7000"),
        ("grpc://host", ServerUrl("host", 7420), "host:7420"),
        ("grpc://10.0.0.7:1", ServerUrl("10.0.0.7", 1), "10.0.0.7:1"),
        ("grpcs://a.b:65535/", ServerUrl("a.b", 65535, "", True), "a.b:65535"),
        ("grpc://[::1]:7000/acme", ServerUrl("[::1]", 7000, "acme"), "[::1]:7000"),
        (
            "grpc://[fe80::1%25eth0]/x",
            ServerUrl("[fe80::1%25eth0]", 7420, "x"),
            "[fe80::1%eth0]:7420",
        ),
        ("grpc://host:7000/a%2Fb%20%C3%BC", ServerUrl("host", 7000, "a/b ü"), "host:7000"),
        ("http://host/acme", ServerUrl("host", 80, "acme", is_http=True), "host:80"),
        ("HTTPS://a.b", ServerUrl("a.b", 443, "", True, True), "a.b:443"),
        ("http://[::1]:7421/x", ServerUrl("[::1]", 7421, "x", is_http=True), "[::1]:7421"),
    ],
)
def test_its_parts(url: str, parts: ServerUrl, target: str) -> None:
    assert is_server_url(url)
    assert parse_server_url("url", url) == parts
    assert parts.target == target
    assert parse_server_url("url", str(parts)) == parts


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("grpc://", "no valid host"),
        ("grpc:///acme", "no valid host"),
        ("grpc://:7000/acme", "no valid host"),
        ("grpc://host:0/acme", "no valid host"),
        ("grpc://host:70000/acme", "no valid host"),
        ("grpc://host:port/acme", "no valid host"),
        ("grpc://::1:7000/acme", "no valid host"),
        ("grpc://a b:7000/acme", "no valid host"),
        ("grpc://host:7000/acme/more", "has a slash"),
        ("grpc://host:7000/acme?token=1", "question mark"),
        ("grpc://host:7000/acme#x", "number sign"),
        ("grpc://secret@host:7000/acme", "give a token as `token`"),
        ("grpc://host:7000/%FF", "not UTF-8"),
        ("grpc://host:7000/%00", "url: "),
        ("http://", "give http://host:port/store"),
        ("https://secret@host/acme", "give a token as `token`"),
        ("https://host/prefix/acme", "has a slash"),
    ],
)
def test_what_is_wrong_is_said(url: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as refused:
        parse_server_url("url", url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["store.db", "grpc:/x", "sqlite:///x.db", ":memory:", "http:", "httpx://h", 5]
)
def test_others_are_of_no_server(url: object) -> None:
    assert not is_server_url(url)


def test_where_a_file_is_needed_it_is_refused() -> None:
    with pytest.raises(InvalidInput, match="here a file is needed"):
        path_of("path", "grpc://host:7000/acme")
