"""Every Python example in the documentation runs, and every guarantee names its tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server_process import ServerThread
from tests.unit.cli.runner import Cli

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(BLOCK.pattern + r"\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
"""A block of the tutorial, and the output below it, if there is one."""
SERVER = "127.0.0.1:7420"
"""The address of the server in examples."""
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")


def blocks() -> Iterator[object]:
    for page in PAGES:
        if page == TUTORIAL:
            continue  # its blocks continue each other
        text = page.read_text("utf-8")
        for result in BLOCK.finditer(text):
            line = text.count("\n", 0, result.start()) + 1
            yield pytest.param(result.group(1), id=f"{page.relative_to(ROOT)}:{line}")


@pytest.mark.every_case
@pytest.mark.parametrize("source", list(blocks()))
def test_examples_run(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(source, tmp_path) as example:
        exec(compile(example, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().err == ""


@contextmanager
def served(source: str, folder: Path) -> Iterator[str]:
    """Yield an example, with the address of a server if it needs one."""
    if SERVER not in source:
        yield source
        return
    with ServerThread(folder=folder, create=["acme"]) as server:
        yield source.replace(SERVER, server.address)


def test_the_first_example_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    (source,) = BLOCK.findall(page)
    (expected,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(source.strip().splitlines()) <= 13
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README", "exec"), {})
    assert capsys.readouterr().out == expected


def test_the_tutorial_prints_what_stands_below_each_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = TUTORIAL.read_text("utf-8")
    steps = STEP.findall(page)
    assert len(steps) == len(BLOCK.findall(page)) > 10
    assert sum(1 for _, output in steps if output) == page.count("```text")
    monkeypatch.chdir(tmp_path)
    variables: dict[str, object] = {"__name__": "tutorial"}
    for source, output in steps:
        exec(compile(source, "tutorial", "exec"), variables)
        assert capsys.readouterr() == (output, "")


def test_the_example_of_an_embedder_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source, *_) = BLOCK.findall((ROOT / "docs/howto/embeddings.md").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        exec(compile(source, "example", "exec"), {"__name__": "example"})


@pytest.mark.slow
def test_what_is_typed_behind_the_example_of_recall_finds_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/howto/recall.md").read_text("utf-8")
    (source, *_) = BLOCK.findall(page)
    (typed,) = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "example", "exec"), {"__name__": "example"})
    cli, (export, *commands) = Cli(tmp_path), typed.splitlines()
    cli.env["MEMORANDA_AGENT"] = None
    cli.env |= dict(part.split("=", 1) for part in shlex.split(export, comments=True)[1:])
    for command in commands:
        assert "Ann" in cli(*shlex.split(command)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for text, target in LINK.findall(page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{text} → {target}"


def test_the_list_for_language_models_has_every_page() -> None:
    linked = {target for _, target in LINK.findall((ROOT / "llms.txt").read_text("utf-8"))}
    apart = ("docs/adr/", "docs/reference/python/")
    pages = {str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md")}
    assert {page for page in pages if not page.startswith(apart)} <= linked
    assert all((ROOT / target).exists() for target in linked)


def test_every_guarantee_names_a_test_that_is_there() -> None:
    page = ROOT / "docs/reference/guarantees.md"
    rows = [line for line in page.read_text("utf-8").splitlines() if "](../../tests/" in line]
    assert len(rows) > 50
    for row in rows:
        for name, target in LINK.findall(row):
            source = (page.parent / target).read_text("utf-8")
            defined = re.search(rf"^ *(def|class) {name}\b|^{name} = ", source, re.MULTILINE)
            assert defined, f"{target} has no {name}"
