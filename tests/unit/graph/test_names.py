"""Names: which spellings are one, and that the form of a form is itself."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoranda.graph.entities import normal_name

ODD = st.sampled_from(
    [chr(mark) for mark in range(0x300, 0x370)] + list("_ \t İßſΣςͅΐᾳﬁ\uff21\uff3f¨\u3000")
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("works at", "works at"),
        ("Works_At", "works at"),
        ("  works \t\n at ", "works at"),
        ("__works__at__", "works at"),
        ("works _ at", "works at"),
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("ﬁnance", "finance"),
        ("\uff21\uff43\uff4d\uff45\uff3f\uff29\uff4e\uff43", "acme inc"),
        ("Acme\u00a0Inc\u3000KK", "acme inc kk"),
        ("Zoe\u0308", "zoë"),
        ("Acme-Inc.", "acme-inc."),
        ("№ 5", "no 5"),
    ],
)
def test_spellings_of_one_name_have_one_form(text: str, form: str) -> None:
    assert normal_name(text) == form


@pytest.mark.parametrize("text", ["", " ", "_", " _\t_ ", "\u3000\uff3f"])
def test_what_has_nothing_to_compare_is_empty(text: str) -> None:
    assert normal_name(text) == ""


def test_names_that_differ_stay_apart() -> None:
    names = ["acme", "acme inc", "acmeinc", "acme-inc", "acmé", "acme 2"]
    assert len({normal_name(name) for name in names}) == len(names)


def test_folding_leaves_nothing_to_compose() -> None:
    """Folded, this letter is three characters, which would not be asked for by its form."""
    assert len("ΐ".casefold()) == 3
    assert normal_name("ΐ") == normal_name("\u0399\u0308\u0301") == "ΐ"


@given(st.text(st.characters() | ODD))
@example("\u0345\u0308\u0301")
@example("ΐ")
def test_the_form_of_a_form_is_itself(text: str) -> None:
    form = normal_name(text)
    assert normal_name(form) == form
    assert unicodedata.is_normalized("NFKC", form)
    assert form == form.strip()
    assert "_" not in form
    assert "  " not in form


@given(st.text(st.characters() | ODD))
def test_neither_case_nor_the_way_it_is_composed_counts(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert normal_name(composed.casefold()) == normal_name(text)
    assert normal_name(unicodedata.normalize("NFKD", text)) == normal_name(text)


@pytest.mark.slow
def test_every_character_comes_to_rest() -> None:
    for point in range(sys.maxunicode + 1):
        form = normal_name(f"a{chr(point)}b")
        assert normal_name(form) == form, hex(point)
