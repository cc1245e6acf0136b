"""`python -m benchmarks.locomo`: how much of the evidence for a question is recalled.

LoCoMo has ten long conversations and questions about them, each with the turns that hold its
answer. Every conversation is a namespace of one store, every session a transcript, every turn a
memory that cites it, and each question is asked as it stands. Whatever was tuned was tuned on the
first five conversations; the last five say how good it is. The data is read where it lies beside a
checkout and is not part of this project.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import memoranda
from memoranda import Store
from memoranda.search.index.partitions import visibility_of, visible_partitions
from memoranda.search.index.unindexed import scan
from memoranda.search.vectors.embedder import EmbedderSpec
from tests.cores import core_of

FILE = Path(__file__).parents[2] / "shared" / "data" / "locomo" / "locomo10.json"
RESULTS = Path(__file__).parent / "results" / "locomo.md"
DEPTHS = (5, 10, 20)
CATEGORIES = {1: "several hops", 2: "when", 3: "open", 4: "one hop", 5: "adversarial"}
HALVES = {"1-5": range(5), "6-10": range(5, 10)}
EMBEDDER = "wordllama"
_PLACE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


class Turn(NamedTuple):
    """What somebody said."""

    place: str
    speaker: str
    text: str


class Session(NamedTuple):
    """Turns on one occasion."""

    time: datetime
    turns: list[Turn]


class Asked(NamedTuple):
    """A question, and the turns that hold its answer."""

    text: str
    evidence: frozenset[str]
    category: int


class Conversation(NamedTuple):
    """Sessions of two people, and questions about them."""

    sessions: list[Session]
    questions: list[Asked]


class Score(NamedTuple):
    """How much of the evidence of one question was found."""

    conversation: int
    category: int
    recall: dict[int, float]
    """How much of it is among the first hits, by their number."""
    reciprocal: float
    """1 through the rank of the first of it; 0: none was found."""


Search = Callable[[str, str], list[str]]
"""Gives the memories found for a question in a namespace, best first."""


def read(file: Path = FILE) -> list[Conversation] | None:
    """Return the conversations; None where there is no such file."""
    if not file.is_file():
        return None
    return [_conversation(item) for item in json.loads(file.read_text("utf-8"))]


def _conversation(data: dict[str, Any]) -> Conversation:
    text = data["conversation"]
    numbers = sorted(int(result[1]) for name in text if (result := _SESSION.fullmatch(name)))
    sessions = [
        Session(
            datetime.strptime(text[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(
                tzinfo=UTC
            ),
            [_work_lock(turn) for turn in text[f"session_{number}"]],
        )
        for number in numbers
    ]
    places = {turn.place for session in sessions for turn in session.turns}
    return Conversation(sessions, list(_questions(data["qa"], places)))


def _work_lock(data: dict[str, Any]) -> Turn:
    caption = data.get("blip_caption", "")
    shared = f" [shares {caption}]" if caption else ""
    return Turn(data["dia_id"], data["speaker"], data["text"] + shared)


def _questions(data: Iterable[dict[str, Any]], known: set[str]) -> Iterator[Asked]:
    """Yield the questions whose evidence is there."""
    for item in data:
        by_name = [_PLACE.findall(text) for text in item["evidence"]]
        evidence = {f"D{session}:{turn}" for places in by_name for session, turn in places}
        if evidence and evidence <= known:
            yield Asked(item["question"], frozenset(evidence), item["category"])


def fill(store: Store, conversations: Sequence[Conversation]) -> dict[str, str]:
    """Store the conversations, and return which turn each memory is."""
    places: dict[str, str] = {}
    for number, conversation in enumerate(conversations):
        agent = store.bind(agent_id="reader", namespace=f"conversation-{number}")
        for session in conversation.sessions:
            messages = [{"role": turn.speaker, "content": turn.text} for turn in session.turns]
            with agent.begin_transaction() as transaction:
                words = transaction.store_transcript(messages, occurred_at=session.time)
                first = 0
                for turn in session.turns:
                    text = f"{turn.speaker}: {turn.text}"
                    beyond = first + len(text.encode())
                    memory = transaction.remember(
                        text, event_time=session.time, transcript=words, spans=[(first, beyond)]
                    )
                    places[memory] = turn.place
                    first = beyond + 1
    return places


def measure(
    conversations: Sequence[Conversation], places: dict[str, str], search: Search
) -> list[Score]:
    """Ask every question."""
    return [
        _score(
            number, question, [places[result] for result in search(_name(number), question.text)]
        )
        for number, conversation in enumerate(conversations)
        for question in conversation.questions
    ]


def _name(number: int) -> str:
    return f"conversation-{number}"


def _score(number: int, question: Asked, documents: Sequence[str]) -> Score:
    ranks = [rank for rank, place in enumerate(documents, 1) if place in question.evidence]
    recall = {
        depth: sum(rank <= depth for rank in ranks) / len(question.evidence) for depth in DEPTHS
    }
    return Score(number, question.category, recall, 1 / min(ranks) if ranks else 0.0)


def table(rows: dict[str, list[Score]], seconds: float) -> str:
    """Return the report as Markdown."""
    heads = ("conversations", "questions", "searched by", *(f"recall@{d}" for d in DEPTHS), "MRR")
    lines = ["# LoCoMo", "", (__doc__ or "").partition("\n\n")[2].strip(), ""]
    lines += [f"{seconds:.0f} s in all, {len(next(iter(rows.values()))):,} questions.", ""]
    lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for half, numbers in HALVES.items():
        for category in (None, *CATEGORIES):
            for name, scores in rows.items():
                queries = [
                    score
                    for score in scores
                    if score.conversation in numbers and category in (None, score.category)
                ]
                kind = "all" if category is None else CATEGORIES[category]
                if queries:
                    lines.append(_row(half, f"{kind} ({len(queries)})", name, queries))
    return "\n".join(lines) + "\n"


def _row(half: str, kind: str, name: str, scores: Sequence[Score]) -> str:
    figures = [mean(score.recall[depth] for score in scores) for depth in DEPTHS]
    figures.append(mean(score.reciprocal for score in scores))
    cells = (half, kind, name, *(f"{figure:.3f}" for figure in figures))
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locomo", description=__doc__)
    parser.add_argument("--data", type=Path, default=FILE, help="locomo10.json")
    parser.add_argument("--dry-run", action="store_true", help="print the report, write nothing")
    parser.add_argument(
        "--embedder",
        default=EMBEDDER,
        help=f"{EMBEDDER}, onnx:PATH or URL#MODEL; only the report of {EMBEDDER} is written",
    )
    parser.add_argument(
        "--first-half", action="store_true", help="ask about conversations 1 to 5 only, for tuning"
    )
    arguments = parser.parse_args()
    conversations = read(arguments.data)
    if conversations is None:
        print(f"skipped: there is no {arguments.data}", file=sys.stderr)
        return 0
    if arguments.first_half:
        conversations = conversations[: len(HALVES["1-5"])]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        rows = measured(Path(folder) / "store.db", conversations, arguments.embedder)
    report = table(rows, time.perf_counter() - start)
    print(report)
    if not (arguments.dry_run or arguments.first_half) and arguments.embedder == EMBEDDER:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(report, "utf-8")
    return 0


def measured(
    path: Path, conversations: Sequence[Conversation], embedder: EmbedderSpec = EMBEDDER
) -> dict[str, list[Score]]:
    """Store the conversations, and ask every question by words, by vectors, and by both."""
    with memoranda.open(path, durability="relaxed", embedder=embedder) as store:
        places = fill(store, conversations)
        store.reindex()
        rows = {
            "vectors": measure(conversations, places, _nearest(store)),
            "both": measure(conversations, places, _recalling(store)),
        }
    with memoranda.open(path, embedder=None) as store:
        words = measure(conversations, places, _recalling(store))
    return {"words": words, **rows}


def _recalling(store: Store) -> Search:
    agent = store.bind(agent_id="reader")

    def search(namespace: str, question: str) -> list[str]:
        hits = agent.recall(question, k=DEPTHS[-1], namespace=namespace, kinds=["memory"])
        return [hit.id for hit in hits]

    return search


def _nearest(store: Store) -> Search:
    """Return what goes by vectors alone, which nobody is offered."""
    core = core_of(store)

    def search(namespace: str, question: str) -> list[str]:
        visibility = visibility_of(
            namespaces=[namespace], viewer="reader", kinds=["memory"], past=False
        )
        vectors = core.vectors.prepare(question)
        with core.engine.snapshot() as reader:
            match = vectors.search(
                reader,
                visible_partitions(reader, visibility),
                limit=DEPTHS[-1],
                as_of_commit=None,
                unindexed=scan(reader, visibility),
            )
        return [item.document.source for item in match or ()]

    return search


if __name__ == "__main__":
    sys.exit(main())
