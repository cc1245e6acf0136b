"""The reference of exported logs lists the lines and fields there are, in their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import memoranda_verify
from memoranda.audit.log_file.format import Line

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "log-format.md"
SECTION = re.compile(r"^### `([a-z.]+)`\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)


def test_the_page_has_every_line_and_its_fields() -> None:
    documented = {
        name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
        for name, text in SECTION.findall(PAGE.read_text("utf-8"))
    }
    writes = {
        str(kind.__struct_config__.tag): ["type", *kind.__struct_fields__]
        for kind in get_args(Line)
    }
    assert documented == writes
    read = {name: memoranda_verify._field_lists(name)[-1] for name in memoranda_verify._LINE_FIELDS}
    assert read == writes
