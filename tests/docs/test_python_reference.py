"""The Python reference is what the source says of itself, and leaves no public name out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, Transaction, testing
from scripts import generate_python_docs as generator
from scripts.generate_python_docs import FOLDER, Undocumented, generate
from scripts.python_pages import ERRORS, INTERNAL, PAGES


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return generate()


@pytest.mark.slow
def test_the_reference_is_up_to_date(pages: dict[Path, str]) -> None:
    for path, text in pages.items():
        assert path.read_text("utf-8") == text, "run `make generate`"
    assert generator.stale(pages) == []


def test_every_public_name_has_an_entry(pages: dict[Path, str]) -> None:
    headings = set(re.findall(r"^### (.*)$", "\n".join(pages.values()), re.MULTILINE))
    for name in memoranda.__all__:
        assert name in headings or f"memoranda.{name}" in headings
    for owner in (Store, Transaction):
        for name in dir(owner):
            is_internal = f"{owner.__name__}.{name}" in INTERNAL
            if not name.startswith("_") and not is_internal:
                assert f"{owner.__name__.casefold()}.{name}" in headings
    for name in testing.__all__:
        assert {f"testing.{name}"} & headings


@pytest.mark.slow
def test_every_entry_begins_with_its_purpose(pages: dict[Path, str]) -> None:
    for path in sorted(FOLDER.glob("*.md")):
        for purpose in re.findall(r"^### .*\n\n(.*)$", pages[path], re.MULTILINE):
            assert re.match(r"[A-Z`\"]", purpose), f"{path.name}: {purpose}"
            assert purpose.endswith((".", ":")), f"{path.name}: {purpose}"


def test_links_between_the_pages_lead_to_headings(pages: dict[Path, str]) -> None:
    anchors = {
        path.name: {
            re.sub(r"[^\w -]", "", heading.casefold()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        }
        for path, text in pages.items()
    }
    links = 0
    for text in pages.values():
        for page, anchor in re.findall(r"\]\((?:python/)?(\w+\.md)#([\w-]+)\)", text):
            links += 1
            assert anchor in anchors[page]
    assert links > 100


def test_a_name_without_a_docstring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store.recall, "__doc__", None)
    with pytest.raises(Undocumented, match=r"Store\.recall has no docstring"):
        generate()


def test_a_name_without_a_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "remember_all", Store.remember, raising=False)
    with pytest.raises(Undocumented, match=r"Store\.remember_all is on no page"):
        generate()


def test_a_name_that_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = PAGES[0]._replace(names=("Store.vanish", *PAGES[0].names))
    monkeypatch.setattr(generator, "PAGES", (gone, *PAGES[1:]))
    with pytest.raises(Undocumented, match=r"Store\.vanish is not public"):
        generate()


def test_the_errors_of_calls_are_errors() -> None:
    for names in ERRORS.values():
        for name in names:
            assert issubclass(getattr(memoranda, name), memoranda.MemorandaError)
