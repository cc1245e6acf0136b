"""Style that matters, as tests: these numbers only go down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
FILES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if "aio" not in path.parts and not path.name.endswith("_pb2.py")
]
LONGEST_FUNCTION = 70
LONGEST_FILE = 600
LONGER_FILES = {"memoranda_verify.py": 1400}
"""One file is what an auditor can copy and read, so it is not cut in parts."""
VAGUE_NAMES = re.compile(
    "_*(asked|each|found|given|gone|how|kept|known|many|meant|most|ones|said|seen|sent|shown|spent|"
    "taken|there|told|used|wanted|when|where|who|whom|whose)_*"
)
"""Participles and pronouns: such a name tells what was done to a value, and not what it is."""
UNITS = {"_KIB", "_MIB", "_KILOBYTE"}
"""Numbers whose names are their whole meaning."""


@cache
def texts() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in FILES}


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's tree, its module first."""
    return [*ast.walk(ast.parse(texts()[path]))]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_files_are_small_and_say_what_they_own() -> None:
    for path, text in texts().items():
        module = nodes(path)[0]
        assert isinstance(module, ast.Module)
        assert ast.get_docstring(module), f"{path}: a module says what it owns"
        assert text.count("\n") <= LONGER_FILES.get(path.name, LONGEST_FILE), path
        for function in functions(path):
            assert function.end_lineno is not None
            size = function.end_lineno - function.lineno + 1
            assert size <= LONGEST_FUNCTION, f"{path}: {function.name} has {size} lines"


def test_names_tell_what_they_hold() -> None:
    for path in FILES:
        for node in nodes(path):
            name = node.arg if isinstance(node, ast.arg) else ""
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            assert not VAGUE_NAMES.fullmatch(name), f"{path}: {name}: name what it holds"


def is_number(value: ast.expr | None) -> bool:
    """Say whether an expression is a number, a sum of numbers, or several of them."""
    match value:
        case ast.Constant():
            return type(value.value) in (int, float)
        case ast.BinOp():
            return is_number(value.left) or is_number(value.right)
        case ast.UnaryOp():
            return is_number(value.operand)
        case ast.Tuple():
            return all(map(is_number, value.elts))
    return False


def numbers(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt, ast.stmt | None]]:
    """Yield the numeric constants of a module and its classes, with the statements behind them."""
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.ClassDef():
                yield from numbers(statement.body)
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                name = ast.unparse(target)
                if name.isupper() and is_number(statement.value):
                    yield name, statement, following


def test_numbers_have_a_unit_and_a_reason() -> None:
    for path, text in texts().items():
        module, lines = nodes(path)[0], text.splitlines()
        assert isinstance(module, ast.Module)
        for name, statement, following in numbers(module.body):
            has_docstring = isinstance(following, ast.Expr)
            around = lines[statement.lineno - 2 : statement.end_lineno]
            has_comment = "#" in around[0] or "#" in around[-1]
            assert name in UNITS or has_docstring or has_comment, (
                f"{path}: {name}: of what, and why"
            )


def test_queries_are_described_in_the_imperative() -> None:
    own = [path for path in SOURCE.rglob("*.sql") if not path.name.startswith("generated_")]
    headings = [
        (path, *heading)
        for path in own
        for heading in re.findall(r"^-- name: (\w+)\n(?:-- ?(.*))?", path.read_text("utf-8"), re.M)
    ]
    assert len(headings) > 600
    for path, name, description in headings:
        verb = re.match(r"[A-Z][a-z]+\b(?<!s)(?<!ed)(?<!ing)", description)
        assert verb, f"{path}: {name}: {description!r} does not say what the query does"


def test_time_and_chance_have_one_source() -> None:
    sources = ("memoranda/model/clock.py", "memoranda/model/ids.py")
    pattern = r"\bdatetime\.now\(|\btime\.\w+\(|\buuid\w*\.\w|\brandom\b|\bsecrets\b|os\.urandom"
    for path, text in texts().items():
        if path.relative_to(SOURCE).as_posix() not in sources:
            assert re.findall(pattern, text) == [], path


def test_nothing_is_caught_broadly_or_kept_globally() -> None:
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, path
                assert ast.unparse(node.type) not in ("Exception", "BaseException"), path
            assert not isinstance(node, ast.Global), path


def test_sql_stands_in_sql_files() -> None:
    statement = re.compile(r"\" *(SELECT|INSERT|UPDATE|DELETE|CREATE)\s")
    names = [path.name for path, text in texts().items() if statement.search(text)]
    assert names == []


SQLITE_WORDS = re.compile(
    r"\b(sqlite_\w+|pragma|json_\w+|rowid|zeroblob|glob|indexed by|without rowid|vacuum|typeof|"
    r"insert or \w+|data_version|bm25|match|ifnull|instr|julianday|strftime|last_insert_\w+)\b",
    re.IGNORECASE,
)
INDEX_QUERIES = re.compile(r"\b(words|words_content|word_count)\b")
"""The full-text index is SQLite's on every engine: in the file itself, or in a file beside."""


def test_shared_queries_have_no_word_of_sqlite() -> None:
    from memoranda.storage import query_loader

    for folder in ("audit", "graph", "log", "memory", "search", "state"):
        for name, text in query_loader.load(f"memoranda.{folder}").items():
            if not INDEX_QUERIES.search(text):
                assert SQLITE_WORDS.findall(text) == [], name


def test_only_the_composition_root_names_an_engine() -> None:
    """Nothing else above storage knows a library or a module of one, nor its queries' dialect."""
    word = re.compile(r"\b(apsw|sqlite3|psycopg|json_each|PRAGMA|rowid)\b")
    strangers = {
        path.relative_to(SOURCE).as_posix()
        for path, text in texts().items()
        if "storage" not in path.parts and word.search(re.sub(r'"""[\s\S]*?"""|#.*', "", text))
    }
    assert strangers == {"memoranda/sdk/open.py"}


def test_every_query_is_used_and_every_used_one_is_there() -> None:
    from memoranda.sdk.open import load_queries
    from memoranda.storage import query_loader

    own = query_loader.load("memoranda.storage.postgres")
    names = {*load_queries(), *(name.removesuffix("_within") for name in own)}
    source = "\n".join(texts().values())
    used = set(re.findall(r"\"([a-z_]+)\"", source))
    assert names <= used
    matches = re.findall(
        r"(?:reader\.find|\.(?:add|put|row|rows|run|stream))\(\s*\"(\w+)\"", source
    )
    assert set(matches) <= names
