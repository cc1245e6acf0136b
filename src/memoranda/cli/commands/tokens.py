"""Commands about the tokens of a server."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.call_limits import parse_limits, takes_limits
from memoranda.cli.output import note, safe, takes_wide, warn, write_json
from memoranda.cli.render.table import Row, write_table
from memoranda.cli.server_location import ServerLocation, takes_server
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.server.tokens import Token

ALL = "*"


@click.group()
def token() -> None:
    """Create, list, rotate and revoke tokens of a server.

    A token identifies a caller: its store, the agent that it acts for, and the namespaces and verbs
    that it covers. A running server sees every change within a second.
    """


takes_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
takes_expiry = click.option(
    "--expires", metavar="DURATION|TIME", help="When it expires, such as 30d or 2030-01-01."
)


@token.command()
@click.option("--store", metavar="NAME", help="The store it reaches; '*' for all.")
@click.option(
    "--agent",
    metavar="ID",
    help="The agent in whose name it acts, and whose own data it covers.",
)
@click.option(
    "--covers",
    metavar="ID",
    multiple=True,
    help="Another agent whose own data it covers; '*' for all. Repeatable.",
)
@click.option(
    "--namespace",
    "namespaces",
    metavar="PATTERN",
    multiple=True,
    default=(ALL,),
    show_default=True,
    help="A namespace with those below it, such as 'team/*'; '*' for all. Repeatable.",
)
@click.option(
    "--can",
    metavar="VERBS",
    default="read,write",
    show_default=True,
    help="What it may do: some of read, write, forget and admin, with commas.",
)
@takes_expiry
@takes_limits("A limit other than the server's")
@click.option("--note", "text", metavar="TEXT", help="What it is for.")
@takes_json
@takes_server
def create(
    server: ServerLocation,
    *,
    store: str | None,
    agent: str | None,
    covers: tuple[str, ...],
    namespaces: tuple[str, ...],
    can: str,
    expires: str | None,
    limits: tuple[str, ...],
    text: str | None,
    as_json: bool,
) -> None:
    """Create a token, and print its secret, which is not shown again.

    Without --agent each call acts in the name of the agent that it names: only a token for every
    agent and namespace can do that.
    """
    from memoranda.server.token_limits import TokenLimits

    name = _store_of(server, store)
    with server.control_store(create=True) as control:
        secret, new = control.tokens.create(
            store=name,
            agent=agent,
            covers=covers,
            namespaces=namespaces,
            verbs=[verb.strip() for verb in can.split(",")],
            expires=expires,
            limits=TokenLimits(**parse_limits(limits)),
            note=text,
        )
    if name is not None and not server.has_store(name):
        warn(f"there is no store {name!r} yet: `memoranda stores create {name}`")
    _write_secret(secret, new, as_json=as_json)


@token.command("list")
@click.option("--store", metavar="NAME", help="Only tokens that reach this store.")
@takes_wide
@takes_json
@takes_server
def list_tokens(server: ServerLocation, *, store: str | None, as_json: bool) -> None:
    """List the tokens, oldest first; the secret of none is shown."""
    with server.control_store() as control:
        tokens, now = control.tokens.list(), control.tokens.now()
    rows = [item for item in tokens if store is None or item.covers_store(store)]
    if as_json:
        for item in rows:
            write_json(_json_of(item, now))
    elif not write_table(_row(item, now) for item in rows):
        note("no tokens: `memoranda token create` makes one")


@token.command()
@click.argument("token_id", metavar="TOKEN")
@click.option("--grace", metavar="DURATION", help="How long the old secret is accepted, too.")
@takes_expiry
@takes_json
@takes_server
def rotate(
    server: ServerLocation, *, token_id: str, grace: str | None, expires: str | None, as_json: bool
) -> None:
    """Give a token another secret, and print it.

    TOKEN is the id of a token. The old secret is refused at once, or after --grace. Everything else
    about the token stays as it is.
    """
    with server.control_store() as control:
        secret, new = control.tokens.rotate(token_id, grace=grace, expires=expires)
    _write_secret(secret, new, as_json=as_json)


@token.command()
@click.argument("token_id", metavar="TOKEN")
@takes_json
@takes_server
def revoke(server: ServerLocation, *, token_id: str, as_json: bool) -> None:
    """Revoke a token for good.

    Within a second no server accepts it. TOKEN is the id of a token, or its secret if that is all
    you have.
    """
    with server.control_store() as control:
        revoked, now = control.tokens.revoke(token_id), control.tokens.now()
    if as_json:
        write_json(_json_of(revoked, now))
    else:
        click.echo(f"revoked {safe(revoked.id)}")


def _store_of(server: ServerLocation, store: str | None) -> str | None:
    """Return the store that a token reaches; None: all."""
    if not server.has_many:
        if store is not None:
            raise InvalidInput("store", "a server of one store has no other: leave it out")
        return None
    if store is None:
        raise InvalidInput("store", "is missing: name the store, or '*' for all of the folder")
    return None if store == ALL else store


def _write_secret(secret: str, new: Token, *, as_json: bool) -> None:
    """Write only the secret to stdout, and the explanation to stderr."""
    if as_json:
        write_json({"secret": secret, **_json_of(new, new.rotated_at or new.created_at)})
        return
    click.echo(secret)
    note(f"this is the secret of token {new.id}: keep it, it is not shown again")


def _json_of(item: Token, now: datetime) -> dict[str, Any]:
    """Return a token as JSON; a member that is null stands for all."""
    from memoranda.calls.as_json import time_text

    def time(moment: datetime | None) -> str | None:
        return None if moment is None else time_text(moment)

    limits = {name: getattr(item.limits, name) for name in item.limits.__struct_fields__}
    return {
        "id": item.id,
        "state": item.state(now),
        "store": item.store,
        "agent": item.grant.actor,
        "agents": _sorted(item.grant.agents),
        "namespaces": _sorted(item.grant.namespaces),
        "can": _verbs(item),
        "limits": {name: limit for name, limit in limits.items() if limit is not None},
        "created_at": time(item.created_at),
        "expires_at": time(item.expires_at),
        "rotated_at": time(item.rotated_at),
        "revoked_at": time(item.revoked_at),
        "note": item.note,
    }


def _sorted(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _verbs(item: Token) -> list[str]:
    return [verb for verb in ("read", "write", "forget", "admin") if verb in item.grant.verbs]


def _row(item: Token, now: datetime) -> Row:
    grant = item.grant
    covered_agents = [ALL] if grant.agents is None else sorted(grant.agents - {grant.actor or ""})
    places = [f"{name}/*" for name in _sorted(grant.namespaces) or ()] or [ALL]
    return {
        "token": item.id,
        "state": item.state(now),
        "store": item.store or ALL,
        "agent": grant.actor or ALL,
        "covers": "" if grant.actor is None else ", ".join(covered_agents),
        "namespaces": ", ".join(places),
        "can": ",".join(_verbs(item)),
        "expires": "" if item.expires_at is None else f"{item.expires_at:%Y-%m-%d %H:%M}Z",
        "note": item.note,
    }
