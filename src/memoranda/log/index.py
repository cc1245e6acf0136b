"""The log's own view: which commits touched a scope, what became of a transaction, and horizons."""

from __future__ import annotations

from msgspec.structs import replace

from memoranda.log.scopes import INDEX_VERSION, Scopes, touched
from memoranda.log.views import Commit, Eraser, LookUp, Rewritten, View
from memoranda.model import codec
from memoranda.model.operations import AUDIT_SCOPE, Epoch, Refuse, Summary
from memoranda.model.scope import NOBODY
from memoranda.storage.port import Reader, Writer

_FEW = 16
"""How many operations an event has at most for a replay to look at all of them."""


class _Noting:
    """The rules of what the engine notes, which is decided but for one thing.

    How many refusals were only counted is said later, and their agent may have been forgotten
    since, by whichever process: its name must not come back.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def decide(self, staged: Refuse, /) -> tuple[Refuse]:
        """Return it; a count by nobody in particular, if the log does not know whose it is."""
        only_counted = staged.left_out and not staged.about
        if only_counted and self._reader.row("agent_known", agent_id=staged.by) is None:
            return (replace(staged, by=NOBODY),)
        return (staged,)


class LogIndex(View):
    """What replay, exactly-once and the audit look up.

    What an agent did where no scope of its own was touched, to others or in vain, is found under
    its name in the audit's namespace. A handle that nobody is bound to does no such thing.
    """

    name = "log"
    version = INDEX_VERSION
    staged = (Refuse,)
    clear = ("event_scope_clear", "txn_clear", "horizon_clear")
    prune = ("scope_prune",)
    rows = ("event_scope_rows", "txn_rows", "horizon_rows", "scope_rows")

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Index the commit under its transaction and under every scope it touched."""
        envelope, commit_ts = commit.envelope, commit.commit_ts
        if (name := envelope.indexed) is not None:  # else who asked for it is forgotten
            writer.put("txn_add", *name, commit_ts)
        for operation in commit.operations:
            if type(operation) is Epoch:  # asked of each, and so in the way that costs least
                writer.run("meta_set", name="epoch", value=str(operation.version))
            elif type(operation) is Summary:
                _sum_up(writer, commit_ts, operation)
        places = _places(commit)
        for agent_id, namespace in _touched(commit):
            scope_id = self._scopes.id_of(writer, agent_id, namespace)
            writer.put("event_scope_add", scope_id, commit_ts, places.get((agent_id, namespace)))

    def eraser(self, writer: Writer, /) -> LogIndexEraser:
        """Return what indexes rewritten events under the scopes they have now."""
        return LogIndexEraser(writer, self._scopes)

    def rules(self, reader: Reader, look_up: LookUp, /) -> _Noting:  # noqa: ARG002
        """Return the rules for what the engine notes."""
        return _Noting(reader)

    def forget(self) -> None:
        """Drop the remembered ids."""
        self._scopes.forget()


class LogIndexEraser(Eraser):
    """Keeps the index of rewritten events."""

    def __init__(self, writer: Writer, scopes: Scopes) -> None:
        self._writer = writer
        self._scopes = scopes

    def take(self, rewritten: Rewritten, /) -> None:
        """Index the event under the scopes it has now, and under no transaction if it has none."""
        writer, before, commit_ts = self._writer, rewritten.before, rewritten.before.commit_ts
        known, left = before.envelope.indexed, rewritten.after.envelope.indexed
        if known is not None and known != left:
            writer.run("txn_remove", txn_id=known[0], actor=known[1])
            if left is not None:
                writer.put("txn_add", *left, commit_ts)
        old, new = _touched(before), _touched(rewritten.after)
        for agent_id, namespace in old - new:
            writer.run(
                "event_scope_remove", commit_ts=commit_ts, agent_id=agent_id, namespace=namespace
            )
            if namespace == AUDIT_SCOPE.namespace:  # an actor's name, which nothing else refers to
                writer.run("scope_drop_unused", agent_id=agent_id, namespace=namespace)
        for _, left_out, after in rewritten.changes():
            if isinstance(left_out, Summary) and not isinstance(after, Summary):
                writer.run("horizon_remove", namespace=left_out.namespace)
        places = _places(rewritten.after)
        moved = new if len(before.operations) > _FEW else new - old
        for agent_id, namespace in moved:
            scope_id = self._scopes.id_of(writer, agent_id, namespace)
            writer.put("event_scope_add", scope_id, commit_ts, places.get((agent_id, namespace)))


def _touched(commit: Commit) -> set[tuple[str, str]]:
    return touched(commit.envelope.actor, commit.operations)


def _places(commit: Commit) -> dict[tuple[str, str], bytes]:
    """Return where those scopes' operations stand that have a small part of a large event."""
    if len(commit.operations) <= _FEW:
        return {}
    spans = codec.spans(commit.stored)
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for span, operation in zip(spans or (), commit.operations, strict=False):
        found.setdefault((operation.agent_id, operation.namespace), []).append(span)
    most = len(commit.operations) // 2
    return {scope: codec.pack_spans(own) for scope, own in found.items() if len(own) <= most}


def _sum_up(writer: Writer, commit_ts: int, operation: Summary) -> None:
    writer.run(
        "horizon_set",
        namespace=operation.namespace,
        commit_ts=operation.horizon,
        summed_in=commit_ts,
        unfinished=int(operation.unfinished),
    )
