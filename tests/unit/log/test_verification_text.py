"""A verification as one line."""

from __future__ import annotations

from memoranda import Verification
from memoranda.testing import memory_store


def text(**fields: object) -> str:
    parts: dict[str, object] = {"log_id": "l", "commits": 1, "head_hash": "h"}
    return str(Verification(**{**parts, "last_committed_at": None, **fields}))  # type: ignore[arg-type]


def test_it_says_what_holds() -> None:
    assert text() == "The chain of 1 commit holds."
    assert text(commits=0) == "The chain of 0 commits holds."
    assert text(commits=12345) == "The chain of 12,345 commits holds."


def test_it_says_what_else_was_compared() -> None:
    assert text(commits=3, signed=1, checkpoints=2, rows=40) == (
        "The chain of 3 commits holds; 1 signed by its agent; 2 checkpoints agree; "
        "40 rows of the views match."
    )


def test_it_hides_nothing_that_deserves_a_look() -> None:
    assert text(unproven=1, warnings=("a", "b")).endswith("; 1 part is unproven; 2 warnings.")


def test_a_store_prints_it() -> None:
    with memory_store() as store:
        store.write(agent_id="a", key="k", value={})
        assert str(store.verify()) == "The chain of 1 commit holds."
        assert str(store.verify(deep=True)).startswith("The chain of 1 commit holds; ")
