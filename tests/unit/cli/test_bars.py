"""Bars over time: as they look at several widths and spans, and what always holds of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from memoranda.cli.render.timeline_chart import ASCII, BLOCKS, Bar, Glyphs, draw, glyphs_for


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


JOBS = [
    Bar("Acme", utc(2019, 3, 1), utc(2021, 6, 1), "0.90"),
    Bar("Globex Corporation", utc(2021, 6, 1), utc(2024, 2, 1), "0.30"),
    Bar("Initech", utc(2024, 2, 1), utc(2024, 2, 1)),
    Bar("東京", utc(2024, 2, 1), None, "1.00"),
]


def plain(
    rows: list[Bar], width: int, *, until: datetime | None = None, glyphs: Glyphs = BLOCKS
) -> list[str]:
    return [click.unstyle(line).rstrip() for line in draw(rows, width, until=until, glyphs=glyphs)]


EVENING = utc(2024, 2, 3, 21, 14)


def dates(length: timedelta, width: int = 80, start: datetime = EVENING) -> str:
    """The line of dates over one bar of some length, without the room before the first."""
    return plain([Bar("x", start, start + length)], width)[0].strip()


def test_a_picture() -> None:
    assert plain(JOBS, 60) == [
        "                         2020   2021  2022   2023 2024",
        "                    ─────┬──────┬─────┬──────┬─────┬──",
        "Acme                ███████████████                     0.90",
        "Globex Corporation                 █████████████████    0.30",
        "Initech                                             │",
        "東京                                                █▶  1.00",
    ]


def test_a_picture_in_ascii() -> None:
    blocks = [line.translate(str.maketrans("█▶│─┬…", "#>|-+~")) for line in plain(JOBS, 44)]
    assert plain(JOBS, 44, glyphs=ASCII) == blocks
    assert "~" in blocks[3]


def test_nothing_is_nothing() -> None:
    assert draw([], 80) == []


def test_what_ends_meets_what_begins_and_what_goes_on_goes_on() -> None:
    _, ruler, acme, globex, initech, tokyo = plain(JOBS, 100)
    assert acme.rindex("█") + 1 == globex.index("█")
    assert globex.rindex("█") + 1 == initech.index("│")
    assert tokyo.count("▶") == 1
    assert cell_len(tokyo.partition("▶")[0]) + 1 == len(ruler)
    assert "▶" not in acme + globex + initech


def test_what_is_open_is_coloured() -> None:
    lines = draw(JOBS, 80)
    assert [click.style("", fg="green", reset=False) in line for line in lines[2:]] == [
        False,
        False,
        False,
        True,
    ]


def test_a_short_bar_is_a_block_and_not_a_moment() -> None:
    rows = [
        Bar("long", utc(1000, 1, 1), utc(2000, 1, 1)),
        Bar("short", utc(1500, 1, 1), utc(1500, 1, 2)),
        Bar("none", utc(1500, 1, 1), utc(1500, 1, 1)),
        Bar("last", utc(2000, 1, 1), utc(2000, 1, 1)),
        Bar("back", utc(1500, 1, 1), utc(1400, 1, 1)),
    ]
    _, ruler, _, short, none, last, back = plain(rows, 80)
    assert (short.count("█"), none.count("│"), back.count("│")) == (1, 1, 1)
    assert short.index("█") == none.index("│") == back.index("│")
    assert len(last) == len(ruler)


def test_one_instant() -> None:
    day = utc(2024, 2, 1)
    assert plain([Bar("a", day, day), Bar("b", day)], 40) == [
        "   2024-02-01",
        "   ┬" + "─" * 36,
        "a  │",
        "b  " + "█" * 36 + "▶",
    ]
    time = utc(2024, 2, 1, 10, 30)
    assert plain([Bar("a", time, time)], 40)[0] == "2024-02-01  10:30:00"
    exact = time + timedelta(microseconds=5)
    assert plain([Bar("a", exact, exact)], 40)[0] == "2024-02-01  10:30:00.000005"


def test_the_axis_reaches_a_later_time_that_is_told() -> None:
    rows = [Bar("a", utc(2020, 1, 1))]
    assert plain(rows, 60, until=utc(2026, 1, 1))[0].split()[0] == "2020"
    assert plain(rows, 60, until=utc(2010, 1, 1))[0].split() == ["2020-01-01"]


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (timedelta(microseconds=7), "21:14:00.000002"),
        (timedelta(milliseconds=90), "21:14:00.02"),
        (timedelta(seconds=8), "21:14:02"),
        (timedelta(minutes=50), "21:20"),
        (timedelta(hours=20), "02-04"),
        (timedelta(days=4), "2024-02-04"),
        (timedelta(days=25), "2024-02-05"),
        (timedelta(days=200), "2024-03"),
        (timedelta(days=3000), "2025"),
        (timedelta(days=9000), "2030"),
        (timedelta(days=300_000), "2100"),
        (timedelta(days=2_000_000), "3000"),
    ],
)
def test_dates_are_as_fine_as_the_span_asks_for(length: timedelta, labels: str) -> None:
    assert labels in dates(length).split()


def test_the_day_stands_beside_times() -> None:
    assert dates(timedelta(minutes=50)).startswith("2024-02-03 ")
    assert dates(timedelta(hours=40)).split()[1] == "02-04"


def test_two_dates_at_least_where_no_round_ones_have_room() -> None:
    assert dates(timedelta(days=27), 40, utc(2024, 2, 6)).split() == ["2024-02-06", "2024-03-04"]


def test_other_offsets_are_shown_in_utc() -> None:
    east = timezone(timedelta(hours=9))
    rows = [Bar("a", datetime(2024, 1, 1, 9, tzinfo=east), datetime(2025, 1, 1, 9, tzinfo=east))]
    assert rows[0].start.year == 2024
    assert plain(rows, 60) == plain([Bar("a", utc(2024, 1, 1), utc(2025, 1, 1))], 60)


def test_labels_are_cut_and_aligned_and_obey_nobody() -> None:
    rows = [
        Bar("x" * 300, utc(2020, 1, 1), utc(2021, 1, 1), "n" * 300),
        Bar("\x1b[31mred", utc(2020, 1, 1), utc(2021, 1, 1), "a\nb"),
    ]
    _, _, long, red = plain(rows, 80)
    assert long.startswith("x" * 23 + "…  █")
    assert long.endswith("█  " + "n" * 19 + "…")
    assert red.startswith("\\u001b[31mred")
    assert red.endswith("a\\u000ab")
    assert long.index("█") == red.index("█")


def test_notes_give_way_on_a_narrow_terminal() -> None:
    rows = [Bar("a long label here", utc(2020, 1, 1), utc(2021, 1, 1), "a long note here")]
    assert "note" in plain(rows, 80)[2]
    assert plain(rows, 40)[2] == "a long labe…  " + "█" * 26


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [
        ("utf-8", BLOCKS),
        ("UTF8", BLOCKS),
        ("utf-16", BLOCKS),
        ("ascii", ASCII),
        ("iso-8859-1", ASCII),
        ("cp1252", ASCII),
        ("no such encoding", ASCII),
        (None, ASCII),
    ],
)
def test_blocks_where_the_terminal_can_show_them(encoding: str | None, glyphs: Glyphs) -> None:
    assert glyphs_for(encoding) is glyphs


instants = st.datetimes(timezones=st.just(UTC)) | st.datetimes(
    utc(2024, 2, 3).replace(tzinfo=None),
    utc(2024, 2, 5).replace(tzinfo=None),
    timezones=st.just(UTC),
)
texts = st.text(st.characters(exclude_characters="█▶│"), max_size=40)
rows_of_any_kind = st.lists(
    st.builds(Bar, texts, instants, st.none() | instants, texts), min_size=1, max_size=5
)


@pytest.mark.slow
@given(rows_of_any_kind, st.integers(40, 200), st.none() | instants)
def test_whatever_it_is_it_fits_and_can_be_seen(
    rows: list[Bar], width: int, until: datetime | None
) -> None:
    dates, ruler, *bars = (click.unstyle(line) for line in draw(rows, width, until=until))
    assert all(cell_len(line) <= width for line in (dates, ruler, *bars))
    assert len(bars) == len(rows)
    assert "┬" in ruler
    assert any(character.isdigit() for character in dates)
    for row, bar in zip(rows, bars, strict=True):
        assert ("▶" in bar) == (row.end is None)
        assert ("│" in bar) == (row.end is not None and row.end <= row.start)
        assert "█" in bar or "│" in bar
