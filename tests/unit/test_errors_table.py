"""Every error is reported in one way: over gRPC, over HTTP, and by commands."""

from __future__ import annotations

import importlib
import pkgutil
import re
from contextlib import suppress
from pathlib import Path

import pytest

import memoranda
from memoranda import errors
from memoranda.cli.exit_codes import MEANINGS, exit_code
from memoranda.errors import ERROR_TABLE, MemorandaError, report_of
from memoranda.log.commit.conflict_queue import OutOfTurn

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python" / "errors.md"
GRPC_STATUSES = {
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}  # fmt: skip


def all_classes() -> list[type[MemorandaError]]:
    """Return every error class of the package, wherever it is defined."""
    for module in pkgutil.walk_packages(memoranda.__path__, "memoranda."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # what it needs is an extra
                importlib.import_module(module.name)
    classes = [MemorandaError]
    for kind in classes:
        classes.extend(kind.__subclasses__())
    return [kind for kind in classes if kind.__module__.startswith("memoranda.")]


def test_every_class_of_the_tree_has_one_row() -> None:
    tree = re.findall(r"^[ │├└─]*(\w+)(?=  +\w|$)", (errors.__doc__ or "").split("\n\n")[1], re.M)
    in_module = {kind for kind in all_classes() if kind.__module__ == errors.__name__}
    assert ERROR_TABLE.keys() == in_module
    assert sorted(tree) == sorted(kind.__name__ for kind in ERROR_TABLE), "the tree is drawn so"


def test_a_class_outside_the_tree_is_not_public_and_is_reported_as_its_base() -> None:
    others = {kind for kind in all_classes() if kind not in ERROR_TABLE}
    assert OutOfTurn in others
    assert {kind.__name__ for kind in others}.isdisjoint(memoranda.__all__)
    assert report_of(OutOfTurn) == ERROR_TABLE[errors.TransactionConflict]


def test_a_new_class_without_a_row_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgotten(MemorandaError):
        """An error that nobody gave a row."""

    monkeypatch.setattr(Forgotten, "__module__", errors.__name__)
    with pytest.raises(AssertionError):
        test_every_class_of_the_tree_has_one_row()


@pytest.mark.parametrize("kind", ERROR_TABLE, ids=lambda kind: str(kind.__name__))
def test_rows_are_of_the_protocols(kind: type[MemorandaError]) -> None:
    report = ERROR_TABLE[kind]
    assert report.grpc_status in GRPC_STATUSES
    assert 400 <= report.http_status < 600
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", report.problem_type)
    assert report.title
    assert report.exit_code in MEANINGS
    assert exit_code(kind.__new__(kind)) == report.exit_code
    if kind.retryable:
        assert report.grpc_status in ("ABORTED", "UNAVAILABLE", "RESOURCE_EXHAUSTED")


def test_problem_types_and_titles_are_unique() -> None:
    reports = ERROR_TABLE.values()
    assert len({report.problem_type for report in reports}) == len(reports)
    assert len({report.title for report in reports}) == len(reports)


def test_the_page_has_the_table() -> None:
    rows = re.findall(
        r"^\| \[`(\w+)`\]\(#\w+\) \| `(\w+)` \| (\d+) \| `([\w-]+)` \| (.+?) \| (\d+) \| (\w+) \|$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    assert rows == [
        (
            kind.__name__,
            report.grpc_status,
            str(report.http_status),
            report.problem_type,
            report.title,
            str(report.exit_code),
            "yes" if kind.retryable else "no",
        )
        for kind, report in ERROR_TABLE.items()
    ]
