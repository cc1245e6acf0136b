"""Shell completion of the names and ids that a store holds.

Each function is a `shell_complete` of click. It opens the store of the command line for reading,
and offers nothing if the store is missing or unreadable. It prints neither a message nor a
traceback, which would appear in the line that the user types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete

from memoranda.cli.location import location_of
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
Lookup = Callable[["Store", str], Iterable[str]]

MAX_CANDIDATES = 50
"""Candidates that a shell is offered: more fill the screen."""
_MAX_SCAN = 2000
"""Agents or namespaces that are read to find those with a prefix: there is no query for it."""
_LOCK_WAIT_MS = 200
"""Milliseconds that completion waits for a store that another process has locked."""
_SHELL_SAFE = re.compile(r"[\w+/.,:@%=][\w+/.,:@%=-]*")
"""Names that a shell takes as they are.

Other programs write these names. One such as `$(rm x)` would run when the line is entered, and a
line break would end the candidate; neither is offered. Nor is one that begins as an option does.
"""
_REF_KINDS = ("memory", "fact", "transcript")


def _completes(lookup: Lookup) -> Complete:
    """Return a `shell_complete` that looks names up in the store of the command line."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
        try:
            with _open(ctx) as store:
                names = (name for name in lookup(store, incomplete) if _fits(name, incomplete))
                return list(islice(names, MAX_CANDIDATES))
        except (MemorandaError, OSError):  # no store, locked, or without an agent
            return []

    return complete


def _fits(name: str, incomplete: str) -> bool:
    return name.startswith(incomplete) and _SHELL_SAFE.fullmatch(name) is not None


def _open(ctx: click.Context) -> Store:
    from memoranda.sdk.open import open_without_workers

    location = location_of(ctx.params.get("db"))
    store = open_without_workers(location, read_only=True, lock_wait_ms=_LOCK_WAIT_MS)
    return store.bind(
        agent_id=ctx.params.get("agent"), namespace=ctx.params.get("namespace") or "default"
    )


def _keys(store: Store, prefix: str) -> Iterable[str]:
    return store.list_keys(prefix=prefix)


def _agents(store: Store, prefix: str) -> Iterable[str]:  # noqa: ARG001
    return (summary.agent_id for summary in islice(store.agents(), _MAX_SCAN))


def _namespaces(store: Store, prefix: str) -> Iterable[str]:  # noqa: ARG001
    return (summary.namespace for summary in islice(store.namespaces(), _MAX_SCAN))


def _refs(store: Store, text: str) -> Iterator[str]:
    """Yield references: the ids of a kind after its prefix, else the prefixes and the keys."""
    kind, colon, prefix = text.partition(":")
    if colon and kind in _REF_KINDS:
        matches = store.find_ids(prefix, kinds=kind, limit=MAX_CANDIDATES)
        yield from (f"{kind}:{match.id}" for match in matches)
        return
    if text:
        yield from (f"{name}:" for name in _REF_KINDS)
    keys = store.list_keys(prefix=text)
    yield from (key for key in keys if not key.startswith(tuple(f"{name}:" for name in _REF_KINDS)))


complete_key = _completes(_keys)
complete_agent = _completes(_agents)
complete_namespace = _completes(_namespaces)
complete_ref = _completes(_refs)


def complete_id(*kinds: str) -> Complete:
    """Return a `shell_complete` for ids of some kinds, as `Store.find_ids` names them."""

    def lookup(store: Store, prefix: str) -> Iterable[str]:
        matches = store.find_ids(prefix, kinds=kinds, limit=MAX_CANDIDATES)
        return (match.id for match in matches)

    return _completes(lookup)


class BashScript(BashComplete):
    """The script for bash, which splits words at `:` and `=`: it joins them again.

    Bash replaces only what follows the last of these characters, so the rest is cut off the
    candidates.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value word prefix='' joins=''
    local -a words=()
    COMPREPLY=()

    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && $word =~ ^[:=]+$ ]]; then
            words[-1]+=$word
            joins=1
            prefix=${words[-1]}
        elif [[ $joins ]]; then
            words[-1]+=$word
            joins=''
        else
            words+=("$word")
            prefix=''
        fi
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \\
        %(complete_var)s=bash_complete "$1" 2> /dev/null)

    while IFS=',' read -r type value; do
        if [[ $type == 'dir' ]]; then
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$prefix"}")
        fi
    done <<< "$response"

    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace
    fi
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
