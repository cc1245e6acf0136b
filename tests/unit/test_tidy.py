"""Style that matters, as tests: these numbers only go down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "aio.py"]
LONGEST_FUNCTION = 50
LONGEST_FILE = 350
LONGER_FILES = {"recollect_verify.py": 900}
"""One file is what an auditor can copy and read, so it is not cut in parts."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_small_and_says_what_it_owns(path: Path) -> None:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module says what it owns"
    assert text.count("\n") <= LONGER_FILES.get(path.name, LONGEST_FILE)
    for function in functions(tree):
        assert function.end_lineno is not None
        size = function.end_lineno - function.lineno + 1
        assert size <= LONGEST_FUNCTION, f"{function.name} has {size} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_time_and_chance_have_one_source(path: Path) -> None:
    if path.relative_to(SOURCE).as_posix() in (
        "recollect/model/clock.py",
        "recollect/model/ids.py",
    ):
        return
    found = re.findall(
        r"\bdatetime\.now\(|\btime\.\w+\(|\buuid\w*\.\w|\brandom\b|\bsecrets\b|os\.urandom",
        path.read_text("utf-8"),
    )
    assert found == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_is_caught_broadly_or_kept_globally(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert ast.unparse(node.type) not in ("Exception", "BaseException")
        assert not isinstance(node, ast.Global)


def test_sql_stands_in_sql_files() -> None:
    statement = re.compile(r"\" *(SELECT|INSERT|UPDATE|DELETE|CREATE)\s")
    found = [path.name for path in FILES if statement.search(path.read_text("utf-8"))]
    assert found == []


def test_every_query_is_used_and_every_used_one_is_there() -> None:
    from recollect.sdk.open import load_queries

    named = set(load_queries())
    texts = "\n".join(path.read_text("utf-8") for path in FILES)
    used = set(re.findall(r"\"([a-z_]+)\"", texts))
    assert named <= used
    called = re.findall(r"(?:reader\.find|\.(?:add|put|row|rows|run|stream))\(\s*\"(\w+)\"", texts)
    assert set(called) <= named
