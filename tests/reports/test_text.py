"""Text for people: nothing a terminal acts on, true widths, shortened in the middle."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.export_readers import terminal_controls
from tests.helpers.hostile_names import ALL_NAMES
from torch_tb_profiler.reports.text import display_width, shortened, visible


def test_escape_sequences_bidi_overrides_and_line_ends_become_readable() -> None:
    assert visible("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert visible("a\nb\r\tc") == "a\\nb\\r\\tc"
    assert visible("a\u202eb\u2028\udcff") == "a\\u202eb\\u2028\\udcff"
    assert visible("\x9b31m") == "\\x9b31m"
    assert visible("\U000e0001") == "\\U000e0001"


@pytest.mark.parametrize(
    "code",
    [0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF],
)
def test_what_turns_text_or_has_no_width_is_a_mark(code: int) -> None:
    assert visible(f"a{chr(code)}b") == f"a\\u{code:04x}b"


def test_ordinary_text_of_any_script_is_left_alone() -> None:
    text = "void cutlass::Kernel<float, 2>(…) 内核 é –"
    assert visible(text) == text


@given(st.text())
def test_no_control_or_format_character_survives(text: str) -> None:
    assert all(unicodedata.category(c)[0] != "C" for c in visible(text))


def test_no_hostile_name_acts_on_a_terminal() -> None:
    for name in ALL_NAMES:
        assert terminal_controls(visible(name)) == set(), ascii(name[:80])


def test_wide_and_combining_characters_have_their_true_width() -> None:
    assert display_width("内核") == 4
    assert display_width("e\u0301") == 1


def test_the_middle_goes() -> None:
    assert shortened("abcdefghij", 5) == "abc…j"
    assert shortened("abcdefghij", 7) == "abcd…ij"
    assert shortened("short", 5) == "short"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.integers(0, 30))
def test_what_is_shortened_fits_and_keeps_start_and_end(text: str, width: int) -> None:
    short = shortened(text, width)
    assert display_width(short) <= width
    if short != text and width > 1:
        head, ellipsis, tail = short.partition("…") if "…" not in text else ("", "…", "")
        assert ellipsis == "…"
        assert text.startswith(head)
        assert text.endswith(tail)
