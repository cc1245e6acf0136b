"""Generate the asynchronous SDK, `sdk/aio/`: one file for each file of the synchronous SDK.

Everything that may wait goes through `self._calls`. A method that uses it, or that calls such a
method, becomes `async def`, and its callers await it. The source text is edited in place, so
comments, blank lines and the order of definitions stay. Run without arguments to write the files,
with `--check` to learn whether they are up to date.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "memoranda.sdk"
SDK = Path(__file__).parents[1] / "src" / Path(*PACKAGE.split("."))
TARGET = SDK / "aio"
CALLS, ASYNC_CALLS = f"{PACKAGE}.calls", f"{PACKAGE}.async_calls"
"""The modules through which the two SDKs do what may wait."""
SOURCES = (
    "transaction/staging.py",
    "transaction/memories.py",
    "transaction/links.py",
    "transaction/facts.py",
    "transaction/transaction.py",
    "store/subscriptions.py",
    "store/handle.py",
    "store/memories.py",
    "store/links.py",
    "store/facts.py",
    "store/graph.py",
    "store/transcripts.py",
    "store/conversations.py",
    "store/fact_reads.py",
    "store/why.py",
    "store/erasure.py",
    "store/audit.py",
    "store/recall.py",
    "store/directory.py",
    "store/store.py",
)
"""The modules whose classes have an asynchronous counterpart, relative to `sdk/`."""

RENAMED = {
    "Calls": "AsyncCalls",
    "listed": "async_listed",
    "listed_as": "async_listed_as",
    "listed_within": "async_listed_within",
    "open_transaction": "async_open_transaction",
    "check_signer": "async_check_signer",
    "stage_call": "async_stage_call",
    "stage_new": "async_stage_new",
    "feed_of": "async_feed_of",
    "Opened": "AsyncOpened",
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "__iter__": "__aiter__",
    "__next__": "__anext__",
    "StopIteration": "StopAsyncIteration",
}
RECEIVERS = {"transaction": "Transaction", "transcript": "Transcript"}
"""The class of the object a variable or an attribute of this name holds."""
EAGER = ("stage_call", "stage_new")
"""Functions that do their work without being awaited; the asynchronous ones return an awaitable."""
CALLBACK = "work"
"""A parameter that is a function of the caller's: asynchronous in the asynchronous SDK."""
ASYNC_CONTEXTS = ("begin_transaction", "_begin")
"""Methods that return an asynchronous context manager."""

Method = tuple[str, str]
"""A class and the name of a method of it."""


class Module(NamedTuple):
    """One source file."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Return the dotted name of the synchronous module."""
        return ".".join((PACKAGE, *self.path.with_suffix("").parts))

    @property
    def target(self) -> str:
        """Return the dotted name of the generated module."""
        return ".".join((PACKAGE, TARGET.name, *self.path.with_suffix("").parts))

    @property
    def definitions(self) -> dict[str, ast.stmt]:
        """Return the top-level definitions by name."""
        return {name: node for node in self.tree.body for name in names_of(node)}


def main() -> int:
    """Write the files, or compare them."""
    generated = generate()
    present = {path for path in TARGET.rglob("*.py") if path.name != "__init__.py"}
    stale = present - generated.keys()
    drift = [path for path, text in generated.items() if not is_current(path, text)]
    if "--check" in sys.argv:
        for path in sorted([*stale, *drift]):
            print(f"{path.relative_to(SDK)} is out of date: run `make generate`")
        return 1 if stale or drift else 0
    for path in stale:
        path.unlink()
    for path in drift:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(generated[path], "utf-8")
    return 0


def is_current(path: Path, text: str) -> bool:
    """Return whether the file holds this text."""
    return path.exists() and path.read_text("utf-8") == text


def generate() -> dict[Path, str]:
    """Return the text of every generated file by its path."""
    modules = []
    for name in SOURCES:
        text = (SDK / name).read_text("utf-8")
        modules.append(Module(Path(name), text, ast.parse(text)))
    bases = bases_of(modules)
    awaited = find_awaited(modules, bases)
    copied = find_copied(modules, awaited, bases)
    RENAMED.update({name: f"Async{name}" for name in copied if name in bases})
    homes = {name: module for module in modules for name in module.definitions}
    return {
        TARGET / module.path: tidy(Rewriter(module, awaited, copied, homes).rewrite())
        for module in modules
    }


def names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement defines; imports do not count."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def bases_of(modules: list[Module]) -> dict[str, list[str]]:
    """Return the names of the bases of every class."""
    return {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }


def related(name: str, bases: dict[str, list[str]]) -> set[str]:
    """Return the classes whose methods `self` may have where it is of this class."""
    family = {name}
    while True:
        relatives = {base for member in family for base in bases.get(member, ())}
        relatives |= {member for member, own in bases.items() if family.intersection(own)}
        if relatives <= family:
            return family
        family |= relatives


def find_awaited(modules: list[Module], bases: dict[str, list[str]]) -> set[Method]:
    """Return the methods that may wait, for every class that has them."""
    methods = {
        (item.name, method.name): method
        for module in modules
        for item in module.tree.body
        if isinstance(item, ast.ClassDef)
        for method in item.body
        if isinstance(method, ast.FunctionDef)
    }
    awaited = {method for method in methods if method[1] in ("__enter__", "__exit__")}
    while True:
        additions = {
            method
            for method, body in methods.items()
            if any(may_wait(node, method[0], awaited) for node in ast.walk(body))
        }
        additions |= {
            (member, name) for owner, name in additions for member in related(owner, bases)
        }
        if additions <= awaited:
            return awaited
        awaited |= additions


def find_copied(
    modules: list[Module], awaited: set[Method], bases: dict[str, list[str]]
) -> set[str]:
    """Return the definitions that differ in the asynchronous SDK; the others are imported.

    These are the classes with methods that may wait, and whatever mentions one of them.
    """
    copied = {member for owner, _ in awaited for member in related(owner, bases)}
    while True:
        additions = {
            name
            for module in modules
            for name, node in module.definitions.items()
            if any(isinstance(part, ast.Name) and part.id in copied for part in ast.walk(node))
        }
        if additions <= copied:
            return copied
        copied |= additions


def may_wait(node: ast.AST, owner: str, awaited: set[Method]) -> bool:
    """Return whether a node is a call that may wait."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Name):
        return function.id == CALLBACK
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Attribute):
        holder = function.value.attr
        return holder == "_calls" or (RECEIVERS.get(holder, ""), function.attr) in awaited
    if isinstance(function.value, ast.Name):
        receiver = {**RECEIVERS, "self": owner}.get(function.value.id, "")
        return (receiver, function.attr) in awaited
    return False


def is_eager(node: ast.AST) -> bool:
    """Return whether a node is a call of a function that need not be awaited."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EAGER


class Edit(NamedTuple):
    """Replace the text between two offsets (bytes of UTF-8)."""

    start: int
    end: int
    text: str


class Rewriter(ast.NodeVisitor):
    """Collects the edits that make one module asynchronous."""

    def __init__(
        self, module: Module, awaited: set[Method], copied: set[str], homes: dict[str, Module]
    ) -> None:
        self._module = module
        self._awaited = awaited
        self._copied = copied
        self._homes = homes
        self._source = module.text.encode()
        self._lines = [0]
        for line in self._source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._edits: list[Edit] = []
        self._owner = ""
        self._depth = 0
        self._parent: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)
        }

    def rewrite(self) -> str:
        """Return the text of the asynchronous module."""
        docstring, *statements = self._module.tree.body
        self._replace(docstring, self._docstring())
        imported_names: list[str] = []
        for node in statements:
            names = set(names_of(node))
            if names and not names & self._copied:
                self._drop(node)
                imported_names.extend(names)
            else:
                self.visit(node)
        imports = self._imported(imported_names)
        text = self._apply()
        first = "from __future__ import annotations\n"
        return text.replace(first, first + imports, 1)

    def _docstring(self) -> str:
        return (
            f'"""Asynchronous counterpart of `{self._module.name}`.\n\n'
            'Generated by scripts/generate_async.py: change the source instead.\n"""'
        )

    def _imported(self, names: list[str]) -> str:
        lines = ["from collections.abc import Awaitable", f"from {ASYNC_CALLS} import AsyncCalls"]
        lines += [f"from {self._module.name} import {name}" for name in names]
        return "\n".join(lines) + "\n"

    def _apply(self) -> str:
        """Return the source with all edits; at one place they keep the order of collection."""
        source = self._source
        parts, last = [], 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit.start):
            assert start >= last, f"two edits overlap at byte {start} of {self._module.path}"
            parts += [source[last:start], text.encode()]
            last = end
        return b"".join([*parts, source[last:]]).decode()

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def _start(self, node: ast.stmt | ast.expr | ast.alias | ast.arg) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: ast.stmt | ast.expr | ast.alias | ast.arg) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.end_lineno, node.end_col_offset)

    def _replace(self, node: ast.stmt | ast.expr | ast.alias, text: str) -> None:
        self._edits.append(Edit(self._start(node), self._end(node), text))

    def _insert(self, place: int, text: str) -> None:
        self._edits.append(Edit(place, place, text))

    def _drop(self, node: ast.stmt) -> None:
        """Drop a definition with its decorators, and the string that documents a constant."""
        last = node
        body = self._module.tree.body
        following = body[body.index(node) + 1] if node is not body[-1] else None
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            last = following
        decorators = getattr(node, "decorator_list", [])
        start = self._start(decorators[0]) - 1 if decorators else self._start(node)
        self._edits.append(Edit(start, self._end(last), ""))

    def _rename(self, node: ast.stmt, name: str) -> None:
        """Rename what a `class` or `def` statement defines."""
        if name in RENAMED:
            place = self._source.index(name.encode(), self._start(node))
            self._edits.append(Edit(place, place + len(name.encode()), RENAMED[name]))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Import the asynchronous counterparts from where they are."""
        if node.module == CALLS:
            names = ", ".join(RENAMED.get(alias.name, alias.name) for alias in node.names)
            self._replace(node, f"from {ASYNC_CALLS} import {names}")
            return
        module = next((one for one in self._homes.values() if one.name == node.module), None)
        if module is None:
            self.generic_visit(node)
            return
        lines = []
        for alias in node.names:
            source = module.target if alias.name in self._copied else module.name
            suffix = f" as {alias.asname}" if alias.asname else ""
            lines.append(f"from {source} import {RENAMED.get(alias.name, alias.name)}{suffix}")
        self._replace(node, "\n".join(lines))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Remember whose methods follow."""
        self._owner = node.name
        self._rename(node, node.name)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Make methods that may wait asynchronous, and callbacks that are defined inside them."""
        if (self._owner, node.name) in self._awaited or self._depth > 0:
            self._insert(self._start(node), "async ")
        elif node.returns is not None and any(map(is_eager, ast.walk(node))):
            self._insert(self._start(node.returns), "Awaitable[")
            self._insert(self._end(node.returns), "]")
        self._rename(node, node.name)
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def visit_arg(self, node: ast.arg) -> None:
        """Let the callback be asynchronous."""
        if node.arg != CALLBACK or not isinstance(node.annotation, ast.Subscript):
            self.generic_visit(node)
            return
        arguments = node.annotation.slice
        assert isinstance(arguments, ast.Tuple)
        result = arguments.elts[1]
        self._insert(self._start(result), "Awaitable[")
        self.generic_visit(node)
        self._insert(self._end(result), "]")

    def visit_Call(self, node: ast.Call) -> None:
        """Await a call that may wait."""
        if may_wait(node, self._owner, self._awaited):
            parent = self._parent[node]
            bracketed = isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node
            self._insert(self._start(node), "(await " if bracketed else "await ")
            if bracketed:
                self._insert(self._end(node), ")")
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        """Enter transactions asynchronously."""
        entered = ast.unparse(node.items[0].context_expr)
        if any(f".{name}(" in entered for name in ASYNC_CONTEXTS):
            self._insert(self._start(node), "async ")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Rename what has an asynchronous counterpart."""
        if node.id in RENAMED:
            self._replace(node, RENAMED[node.id])

    def visit_alias(self, node: ast.alias) -> None:
        """Import the counterparts."""
        if node.name in RENAMED:
            self._replace(node, RENAMED[node.name])


def tidy(text: str) -> str:
    """Return the text as ruff formats it, without unused imports."""
    ruff = [sys.executable, "-m", "ruff"]
    name = str(TARGET / "generated.py")
    fix = ["check", "--quiet", "--fix", "--select", "I,F401,UP", "--stdin-filename", name]
    for command in (fix, ["format", "--stdin-filename", name]):
        text = subprocess.run(
            [*ruff, *command, "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    sys.exit(main())
