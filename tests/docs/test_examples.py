"""Every Python example in the documentation runs, and every promise of the README has a test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.runner import Cli

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")


def blocks() -> Iterator[object]:
    for page in PAGES:
        text = page.read_text("utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield pytest.param(found.group(1), id=f"{page.relative_to(ROOT)}:{line}")


@pytest.mark.parametrize("source", list(blocks()))
def test_examples_run(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().err == ""


def test_the_first_example_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source, *_) = BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    assert len(source.strip().splitlines()) <= 13
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README", "exec"), {})
    first, second, past, verified = capsys.readouterr().out.splitlines()
    assert first.startswith("1 ")
    assert "'goal'" in first
    assert second.startswith("2 ")
    assert "value={'n': 1}" in past
    assert "commits=2" in verified


def test_the_second_example_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    source = BLOCK.findall(page)[1]
    (expected,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README", "exec"), {})
    printed = re.sub(r"memory [0-9a-f-]{36}", "memory 01a1e27a-…", capsys.readouterr().out)
    assert printed == expected


def test_the_example_of_an_embedder_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source, *_) = BLOCK.findall((ROOT / "docs/howto/embeddings.md").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        exec(compile(source, "example", "exec"), {"__name__": "example"})


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
    cli.env |= dict(each.split("=", 1) for each in shlex.split(export, comments=True)[1:])
    for command in commands:
        assert "Ann" in cli(*shlex.split(command)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for text, target in LINK.findall(page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{text} → {target}"


def test_every_guarantee_names_a_test_that_is_there() -> None:
    rows = [
        line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "](tests/" in line
    ]
    assert len(rows) > 10
    for row in rows:
        for name, target in LINK.findall(row):
            source = (ROOT / target).read_text("utf-8")
            defined = re.search(rf"^ *(def|class) {name}\b|^{name} = ", source, re.MULTILINE)
            assert defined, f"{target} has no {name}"
