"""Where what we come from does not run as it stands, or where we do otherwise: the whole list.

A test that applies a correction says so with `@corrected`; the lineage page shows both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


class Correction(NamedTuple):
    """One departure: where, what is said there, what we do, and why."""

    id: str
    block: str
    it_says: str
    we_do: str
    why: str


CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        id="one-event-many-operations",
        block="Overview, block 1",
        it_says="an event has one `operation` and one `key`",
        we_do="an event has `operations`; each of them has a `type` and a `key`",
        why="An event is a transaction, and the event structure it gives later has a list as well.",
    ),
    Correction(
        id="comments-are-no-body",
        block="2. Ordering, block 1",
        it_says="the body of the loop is only comments, which Python does not accept",
        we_do="what the comments state is asserted",
        why="The order is the guarantee, so it has to be checked.",
    ),
    Correction(
        id="names-left-open",
        block="Streaming, block 1; 4. Testing, block 1; the four best practices",
        it_says="`process`, `agent`, `MyAgent`, `tx`, `step` and others are used, never defined",
        we_do="the tests define them: small agents, and a transaction around each write",
        why="A fragment cannot run.",
    ),
    Correction(
        id="placeholder-values",
        block="1. Structure Keys for Replay, block 1",
        it_says="`value={...}`",
        we_do="JSON objects stand there; the placeholder itself is refused",
        why="In Python it is a set that holds an ellipsis, and JSON has neither.",
    ),
    Correction(
        id="frozen-values",
        block="Event Structure, blocks 1 and 2",
        it_says="events and operations are mutable dataclasses, `operations` is a list",
        we_do="both are frozen and compare by value, `operations` is a tuple",
        why="History is not edited, and neither is the copy of it that a caller holds.",
    ),
    Correction(
        id="end-bounds",
        block="By Time Range, block 1",
        it_says="the bounds are clock times, yet compare with commit numbers; the document "
        "excludes the end, its server includes it",
        we_do="`from_timestamp` and `to_timestamp` are `[from, to)` over the time of the commit; "
        "commit numbers have names of their own, `after_commit` (exclusive) and `through_commit` "
        "(inclusive)",
        why="Ranges of time that adjoin should share no event and miss none; a number names a "
        "commit, so one can resume behind it or stop at it.",
    ),
    Correction(
        id="determinism",
        block="4. Testing, block 1",
        it_says="`events_1 == events_2`, where both are replays of one log that has grown between",
        we_do="`same_behaviour(events_1, events_2)` compares what two runs did in one log; replays "
        "of two stores with equal clocks and ids are equal with `==`",
        why="The second replay holds the first run too, and no two commits share a number.",
    ),
    Correction(
        id="delete-takes-a-version",
        block="Storage, the state table",
        it_says="a deleted key stands at version 1, as if a deletion had no version of its own",
        we_do="a deletion takes the key's next version: 1 if it was never written, 2 behind a "
        "first write",
        why="A version that names one change for good can be compared and asked for.",
    ),
    Correction(
        id="log-first",
        block="vs. Event Sourcing",
        it_says="state comes first, and the log is kept beside it for replay",
        we_do="the log is the truth; state is a view of it, committed with the event and as quick "
        "to read",
        why="Two truths can differ. One that the other is rebuilt from cannot.",
    ),
    Correction(
        id="nothing-to-snapshot",
        block="Scan Efficiency; Snapshots",
        it_says="snapshots are made now and then, for old agents",
        we_do="there are none to make: the current state is kept with every commit, and any past "
        "moment can be read with `at`",
        why="An optimisation the user has to remember is a chore.",
    ),
    Correction(
        id="only-the-agents-own-part",
        block="the published server",
        it_says="a transaction of two agents shows each of them the operations of both",
        we_do="each sees its own part, under the same `txn_id` and `commit_ts`",
        why="The document's fourth guarantee says so.",
    ),
    Correction(
        id="versions-go-on",
        block="the published server",
        it_says="the versions of a key can start again",
        we_do="a version is never used twice",
        why="Otherwise a compare-and-set can succeed on a value nobody has read.",
    ),
    Correction(
        id="timeout-in-seconds",
        block="the wire, BeginTransaction",
        it_says="`timeout_ms`, 30000 unless given",
        we_do="`timeout`, 30.0 unless given",
        why="Python measures time in seconds.",
    ),
    Correction(
        id="answers-are-paged",
        block="the wire, ListKeys and ScanPrefix",
        it_says="the answer is one list",
        we_do="an iterator, in the order of the keys' UTF-8 bytes, read a page at a time",
        why="An agent may have more keys than fit in memory.",
    ),
    Correction(
        id="missing-is-none",
        block="the wire, ErrorCode",
        it_says="KEY_NOT_FOUND and VERSION_NOT_FOUND are errors",
        we_do="`get_state` gives `None`",
        why="That a key has no value is an answer, as the document's own example has it.",
    ),
    Correction(
        id="integers-stay-integers",
        block="the wire, Write",
        it_says="every number in a value is a double",
        we_do="integers stay integers, up to 64 bits",
        why="A count of 9007199254740993 should not come back as another one.",
    ),
)

AI_MEMORY_CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        id="an-unloadable-root-is-empty",
        block="replay, Non-Reflection passthrough",
        it_says="in its text a root that cannot be loaded falls back to its links; in its code, "
        "and in its test, the union is empty",
        we_do="the union is empty",
        why="What is not there has no words, and a caller who wants its links can ask for them.",
    ),
    Correction(
        id="every-anchor-is-listed",
        block="replay, replay_transcript_union",
        it_says="of a transcript that several memories cite, only the first one's span is kept",
        we_do="the entry is anchored at the first and lists every memory that cites it, with the "
        "distance and the spans of each",
        why="The other memories' spans are evidence too.",
    ),
    Correction(
        id="instants-not-text",
        block="replay, the order of the entries",
        it_says="times are compared as RFC 3339 text",
        we_do="times are compared as instants; what was said at a known time is ordered by that, "
        "not by when it was stored",
        why="As text, one instant in two offsets is two, and in the wrong order.",
    ),
    Correction(
        id="times-over-is-not-gone",
        block="replay, unreachable ids in the chain",
        it_says="a memory whose time is over is collected, and what lies behind it is not found",
        we_do="expired memories are walked and marked as expired",
        why="Evidence does not vanish under a belief that holds.",
    ),
    Correction(
        id="text-when-asked-for",
        block="replay, ReplayEntry",
        it_says="an entry has `link` and `meta`; a handler unpacks the text",
        we_do="an entry has `spans` and `transcript`; `text()` and `excerpts()` read the text",
        why="Whoever holds an entry can get at its words without another call.",
    ),
    Correction(
        id="told-once",
        block="invalidation, Idempotency",
        it_says="running it twice makes the attempt, and an audit row, twice",
        we_do="the same dependent, invalidated and invalidating memory make one notice and one "
        "audit event, ever",
        why="Who has decided once is not asked again.",
    ),
    Correction(
        id="a-notice-per-superseder",
        block="invalidation, write_notification",
        it_says="the title names the invalidated and the dependent memory, so a notice of a second "
        "superseder replaces the first one's",
        we_do="the title also names the superseding memory, and each has its notice",
        why="To judge a dependent one has to know everything that its ground gave way to.",
    ),
    Correction(
        id="all-or-none-are-told",
        block="invalidation, propagate_reflection_invalidation, Errors",
        it_says="an error leaves the notices written before it",
        we_do="the link and all notices are one event: all are there, or none is",
        why="A supersede of which some are not told is the failure that notices are to prevent.",
    ),
    Correction(
        id="the-audit-is-the-log",
        block="invalidation, signed_events",
        it_says="the audit row is written if it can be, beside the data",
        we_do="audit events are a projection of the log's operations, each with its leaf hash",
        why="What is done and what is recorded cannot differ.",
    ),
    Correction(
        id="who-is-told",
        block="invalidation, metadata",
        it_says="a notice belongs to who superseded (`agent_id`)",
        we_do="it belongs to the agent of the dependent memory, `target_agent_id`; who superseded "
        "stands beside it as `agent_id`",
        why="It is the dependent's owner who has to decide.",
    ),
    Correction(
        id="open-notices-stay",
        block="invalidation, write_notification",
        it_says="a notice expires after seven days, decided or not",
        we_do="an open notice does not expire; from its resolution on it lasts seven days",
        why="A question does not go away because nobody looked.",
    ),
    Correction(
        id="every-stale-belief-is-announced",
        block="invalidation, trigger",
        it_says="only a reflection that supersedes a reflection notifies anybody",
        we_do="that notice is the same; what rests on other memories gets a `stale_memory` notice",
        why="A belief is as stale if the memory it rests on is an observation.",
    ),
    Correction(
        id="reads-count-nothing",
        block="invalidation, `access_count`",
        it_says="reading a memory counts",
        we_do="`touch` counts, and is in the log",
        why="Reads never write.",
    ),
)

MEMOIR_CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        id="both-sides-are-compared-by-form",
        block="edge, CardinalityPolicy and TemporalEdgeResolver",
        it_says="the policy ignores case, while subjects, relations and objects are compared as "
        "they are written",
        we_do="names are compared by one form on both sides: NFKC, case folded, spaces and "
        "underscores alike",
        why="A relation that is single-valued however it is written has to find its edges however "
        "they are written.",
    ),
    Correction(
        id="an-answer-says-more",
        block="edge, EdgeResolution",
        it_says="an answer is one edge to open and a list of edges to close",
        we_do="these come first, frozen; `changed`, `folded` and `reopened` follow, and `open` may "
        "be none",
        why="A fact that arrives late can move the ends of others, or open nothing at all.",
    ),
    Correction(
        id="nothing-is-awaited",
        block="edge, EdgeCatalog and EdgeResolver",
        it_says="`current_edges` and `resolve` are asynchronous",
        we_do="both are plain calls",
        why="Deciding runs under the store's commit lock, where nothing may be waited for.",
    ),
    Correction(
        id="the-cause-is-kept",
        block="edge, EdgeError",
        it_says="the error has a text alone",
        we_do="it has the catalog's own error as its cause, and says whether trying again may help",
        why="Whoever has to mend it needs to know what failed.",
    ),
    Correction(
        id="timelines-from-all-assertions",
        block="edge, TemporalEdgeResolver",
        it_says="a backdated edge closes the current one, which then ends before it begins, and "
        "closed edges are never reconsidered",
        we_do="a timeline is derived from every assertion that stands, in the order in which they "
        "became true",
        why="What is learned late would otherwise rewrite the present and leave the past wrong.",
    ),
    Correction(
        id="a-scope-is-a-path",
        block="edge, Scope",
        it_says="a scope has three parts: agent, organisation and user",
        we_do="it has two, a namespace that is a path and an agent; organisation and user are two "
        "segments of it, escaped",
        why="Three fixed levels fit one kind of product, a path fits all of them.",
    ),
)

EVERY = (*CORRECTIONS, *AI_MEMORY_CORRECTIONS, *MEMOIR_CORRECTIONS)


def corrected(*names: str) -> Callable[[Test], Test]:
    """Say which corrections a test applies; a name that is not in the list is an error."""
    if unknown := set(names) - {correction.id for correction in EVERY}:
        raise KeyError(f"no such correction: {sorted(unknown)}")
    return lambda test: test


def applied() -> dict[str, list[str]]:
    """Return the tests that apply each correction, as `file::name`, read from their source."""
    tests: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for name in _corrections_of(node):
                    tests.setdefault(name, []).append(f"{path.name}::{node.name}")
    return tests


def _corrections_of(test: ast.FunctionDef) -> Iterator[Any]:
    for call in test.decorator_list:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "corrected":
            yield from (ast.literal_eval(name) for name in call.args)
