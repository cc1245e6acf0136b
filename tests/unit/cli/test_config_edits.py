"""Edits of other programs' files: one entry changes, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.cli.assistants.json_edits import JsonText, Uneditable
from memoranda.cli.assistants.toml_edits import TomlText

SERVER = ("mcpServers", "memoranda")
ENTRY = {"command": "/bin/memoranda", "args": ["mcp", "--project", "."]}
COMMENTED = """\
{
    // servers that I use
    "mcpServers": {
        "other": {"command": "x"}, // the first one
    },
    /* the end */
}
"""
WITH_ENTRY = """\
{
    // servers that I use
    "mcpServers": {
        "other": {"command": "x"}, // the first one
        "memoranda": {
            "command": "/bin/memoranda",
            "args": ["mcp", "--project", "."]
        }
    },
    /* the end */
}
"""


def test_comments_stay_where_they_are() -> None:
    edited = JsonText(COMMENTED, comments=True).with_value(SERVER, ENTRY)
    assert edited.text == WITH_ENTRY
    assert edited.value == {"mcpServers": {"other": {"command": "x"}, "memoranda": ENTRY}}
    again = edited.without(SERVER)
    assert again.value == {"mcpServers": {"other": {"command": "x"}}}
    assert "// the first one" in again.text
    assert "/* the end */" in again.text


def test_a_value_is_replaced_where_it_is() -> None:
    text = '{"a": 1, "mcpServers": {"memoranda": {"command": "old"}, "z": {}}, "b": [1,2]}'
    edited = JsonText(text).with_value(SERVER, {"command": "new"})
    assert edited.text == (
        '{"a": 1, "mcpServers": {"memoranda": {\n      "command": "new"\n    }, "z": {}}, '
        '"b": [1,2]}'
    )
    assert edited.without(SERVER).value == {"a": 1, "mcpServers": {"z": {}}, "b": [1, 2]}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_the_manner_of_the_file_is_kept(indent: str, newline: str) -> None:
    text = f'{{{newline}{indent}"a": {{}}{newline}}}{newline}'
    edited = JsonText(text).with_value(("s", "m"), {"c": 1})
    lines = ['"a": {},', '"s": {', f'{indent}"m": {{', f'{indent * 2}"c": 1', f"{indent}}}", "}"]
    assert edited.text == newline.join(("{", *(indent + line for line in lines), "}", ""))


def test_lists_get_and_lose_items() -> None:
    start = JsonText('{"hooks": {"Start": [{"command": "mine"}]}}')
    place = ("hooks", "Start")
    more = start.with_item(place, {"command": "ours"}).with_item(("hooks", "End"), {"x": 1})
    assert more.get(place) == [{"command": "mine"}, {"command": "ours"}]
    assert more.get(("hooks", "End")) == [{"x": 1}]
    assert more.with_value((*place, 1), {"command": "new"}).get((*place, 1)) == {"command": "new"}
    assert more.without((*place, 0)).get(place) == [{"command": "ours"}]
    assert more.without((*place, 1)).get(place) == [{"command": "mine"}]


@pytest.mark.parametrize(
    "text", ['{"mcpServers": 3}', '{"mcpServers": "x"}', '{"mcpServers": [1]}', "[]"]
)
def test_what_is_no_object_is_not_overwritten(text: str) -> None:
    with pytest.raises(Uneditable):
        JsonText(text).with_value(SERVER, ENTRY)


@pytest.mark.parametrize("text", ["{", '{"a": 1,}', '{"a": 1} // no', "{'a': 1}", '{"a": 1}}'])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        JsonText(text)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.text(), _JSON, max_size=5),
    name=st.text(),
    indent=st.sampled_from([None, 1, 4, "\t"]),
)
def test_any_file_gets_and_loses_an_entry(
    value: dict[str, Any], name: str, indent: int | str | None
) -> None:
    value.pop("servers", None)
    text = JsonText(json.dumps(value, indent=indent))
    edited = text.with_value(("servers", name), ENTRY)
    assert edited.value == {**value, "servers": {name: ENTRY}}
    assert edited.without(("servers",)).value == value


# TOML.

TABLE = ("mcp_servers", "memoranda")
CODEX = """\
# my settings
model = "gpt"  # the newest

[mcp_servers.other]
command = 'x'

# what I trust
[projects."/home/me"]
trust_level = "trusted"
"""


def test_a_table_is_added_replaced_and_removed() -> None:
    added = TomlText(CODEX).with_table(TABLE, ENTRY)
    block = '[mcp_servers.memoranda]\ncommand = "/bin/memoranda"\nargs = ["mcp", "--project", "."]'
    assert added.text == f"{CODEX}\n{block}\n"
    assert added.without_table(TABLE).text == CODEX
    changed = added.with_table(TABLE, {**ENTRY, "env": {"TOKEN": 'a"b\\'}})
    assert changed.get(TABLE)["env"] == {"TOKEN": 'a"b\\'}
    assert changed.with_table(TABLE, ENTRY).text == added.text


def test_a_table_between_others_is_replaced_with_those_below_it() -> None:
    text = (
        "[mcp_servers.memoranda]\ncommand = 'old'\n[mcp_servers.memoranda.env]\nA = 'b'\n\n"
        "# keep me\n[z]\na = 1\n"
    )
    changed = TomlText(text).with_table(TABLE, {"command": "new"})
    assert changed.text == '[mcp_servers.memoranda]\ncommand = "new"\n\n# keep me\n[z]\na = 1\n'
    assert changed.without_table(TABLE).text.strip() == "# keep me\n[z]\na = 1"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { memoranda = { command = 'x' } }\n",
        "mcp_servers.memoranda.command = 'x'\n",
        "[mcp_servers]\nmemoranda = { command = 'x' }\n",
        'a = """\n[mcp_servers.memoranda]\n"""\n[mcp_servers]\nmemoranda.command = "x"\n',
    ],
)
def test_another_form_of_the_table_is_not_guessed_at(text: str) -> None:
    with pytest.raises(Uneditable, match="edited in place"):
        TomlText(text).with_table(TABLE, ENTRY)


def test_a_text_that_looks_like_a_header_is_none() -> None:
    text = 'a = """\n[mcp_servers.memoranda]\ncommand = 1\n"""\n'
    added = TomlText(text).with_table(TABLE, ENTRY)
    assert added.text.startswith(text)
    assert added.get(TABLE) == ENTRY
