"""Generate `recollect/sdk/aio.py` from the synchronous SDK.

What may wait goes through `self._calls`, so a method that uses it, or calls one that does, becomes
`async def` and its callers await it. Run without arguments to write the file, with `--check` to
learn whether it is up to date.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SDK = Path(__file__).parents[1] / "src" / "recollect" / "sdk"
SOURCES = ("transaction.py", "subscription.py", "store.py")
TARGET = SDK / "aio.py"
DOCSTRING = """\
\"""The store for asyncio.

Generated from store.py, subscription.py and transaction.py: change those.
\"""
"""

RENAMED = {
    "Store": "AsyncStore",
    "Subscription": "AsyncSubscription",
    "Transaction": "AsyncTransaction",
    "Calls": "AsyncCalls",
    "paged": "async_paged",
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "__iter__": "__aiter__",
    "__next__": "__anext__",
    "StopIteration": "StopAsyncIteration",
}
RECEIVERS = {"transaction": "Transaction"}
"""The class a variable holds, where a method of it is called."""
AWAITED_ARGUMENT = "work"
"""A function the caller gives, which in the asynchronous store is asynchronous too."""
ASYNC_CONTEXTS = ("begin_transaction",)

Method = tuple[str, str]


def main() -> int:
    """Write the file, or compare it."""
    generated = generate()
    if "--check" not in sys.argv:
        TARGET.write_text(generated, "utf-8")
        return 0
    if TARGET.read_text("utf-8") == generated:
        return 0
    print(f"{TARGET.name} is not what {', '.join(SOURCES)} give: run `make generate`")
    return 1


def generate() -> str:
    """Return the text of the asynchronous SDK."""
    trees = [ast.parse((SDK / name).read_text("utf-8")) for name in SOURCES]
    waiting = find_waiting(trees)
    imports: list[str] = []
    bodies: list[str] = []
    for tree in trees:
        for node in tree.body[1:]:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports.append(ast.unparse(ToAsync(waiting).visit(node)))
            else:
                bodies.append(ast.unparse(ToAsync(waiting).visit(node)))
    own = tuple(f"from recollect.sdk.{Path(name).stem} import " for name in SOURCES)
    extra = "from collections.abc import Awaitable"
    lines = [DOCSTRING, *(line for line in imports if not line.startswith(own)), extra, *bodies]
    return tidy("\n".join(lines))


def find_waiting(trees: list[ast.Module]) -> set[Method]:
    """Return the methods that may wait, as (class, name)."""
    methods = {
        (item.name, method.name): method
        for tree in trees
        for item in tree.body
        if isinstance(item, ast.ClassDef)
        for method in item.body
        if isinstance(method, ast.FunctionDef)
    }
    waiting = {method for method in methods if method[1] in ("__enter__", "__exit__")}
    while True:
        found = {
            method
            for method, body in methods.items()
            if any(may_wait(node, method[0], waiting) for node in ast.walk(body))
        }
        if found <= waiting:
            return waiting
        waiting |= found


def may_wait(node: ast.AST, owner: str, waiting: set[Method]) -> bool:
    """Say whether a node is a call that may wait."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id == AWAITED_ARGUMENT
    if not isinstance(called, ast.Attribute):
        return False
    if isinstance(called.value, ast.Attribute):
        return called.value.attr == "_calls"
    if isinstance(called.value, ast.Name):
        receiver = {**RECEIVERS, "self": owner}.get(called.value.id, "")
        return (receiver, called.attr) in waiting
    return False


class ToAsync(ast.NodeTransformer):
    """Rewrites one statement of a synchronous module."""

    def __init__(self, waiting: set[Method]) -> None:
        self._waiting = waiting
        self._owner = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remember whose methods follow."""
        self._owner = node.name
        self.generic_visit(node)
        node.name = RENAMED.get(node.name, node.name)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Make a method that may wait asynchronous."""
        waits = (self._owner, node.name) in self._waiting
        self.generic_visit(node)
        node.name = RENAMED.get(node.name, node.name)
        if not waits:
            return node
        fields = {name: getattr(node, name) for name in node._fields}
        return ast.copy_location(ast.AsyncFunctionDef(**fields), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Let the function the caller gives be asynchronous."""
        self.generic_visit(node)
        if node.arg == AWAITED_ARGUMENT and isinstance(node.annotation, ast.Subscript):
            arguments = node.annotation.slice
            assert isinstance(arguments, ast.Tuple)
            result = ast.unparse(arguments.elts[1])
            arguments.elts[1] = ast.parse(f"Awaitable[{result}]", mode="eval").body
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Await a call that may wait."""
        waits = may_wait(node, self._owner, self._waiting)
        self.generic_visit(node)
        return ast.Await(node) if waits else node

    def visit_With(self, node: ast.With) -> ast.AST:
        """Enter transactions asynchronously."""
        entered = ast.unparse(node.items[0].context_expr)
        self.generic_visit(node)
        if not any(f".{name}(" in entered for name in ASYNC_CONTEXTS):
            return node
        return ast.copy_location(ast.AsyncWith(node.items, node.body), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename what has an asynchronous twin."""
        node.id = RENAMED.get(node.id, node.id)
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        """Import the twins."""
        node.name = RENAMED.get(node.name, node.name)
        return node


def tidy(text: str) -> str:
    """Return the text as ruff would have it."""
    ruff = [sys.executable, "-m", "ruff"]
    fix = ["check", "--quiet", "--fix", "--select", "I,F401,UP", "--stdin-filename", str(TARGET)]
    for command in (fix, ["format", "--stdin-filename", str(TARGET)]):
        text = subprocess.run(
            [*ruff, *command, "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    sys.exit(main())
