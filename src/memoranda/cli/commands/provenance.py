"""Commands about why: what something rests on, as a tree, and values whose ground is gone."""

from __future__ import annotations

from itertools import islice

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_moment, takes_target
from memoranda.cli.output import note, write_each


@click.command()
@click.argument("ref", metavar="REF")
@takes_moment
@takes_target
def why(target: Target, *, ref: str, at: str | None) -> None:
    """Show what a key, a memory or a fact rests on, down to the words.

    REF is KEY[@VERSION], memory:ID[@VERSION] or fact:ID; a key that begins with `memory:`, `fact:`
    or `key:` is named with `key:` before it. What is no longer believed is marked as stale, and so
    is whatever rests on it. As JSON, each part of the tree is an object of its own and names its
    `parent`. Of a very large or deep tree the beginning is drawn; as JSON, all of it is there.
    """
    from memoranda.cli import reason_lines, reason_shapes, refs
    from memoranda.model.refs import KeyRef
    from memoranda.why.reason import left_out

    named = refs.parse(ref)
    opened = target.agents_store() if isinstance(named, KeyRef) else target.store()
    with opened as store:
        found = store.why(named, at=inputs.moment(at))
    places, left = reason_shapes.places(found), 0
    if not target.as_json:
        places, left = reason_shapes.drawn(places)
    write_each(
        places,
        as_json=target.as_json,
        shape=reason_shapes.place,
        lines=reason_lines.place,
        nothing="",
    )
    if left:
        note(f"{left_out(left)}: with --json they are all there")


def list_stale_keys(target: Target, *, at: str | None, limit: int | None) -> None:
    """Show the keys that rest on something stale, and on what."""
    from memoranda.cli import reason_lines, reason_shapes

    with target.agents_store() as store:
        write_each(
            islice(store.stale_keys(at=inputs.moment(at)), limit),
            as_json=target.as_json,
            shape=reason_shapes.stale_key,
            lines=reason_lines.stale_key,
            nothing=f"no key {target.whose} rests on anything stale",
        )
