"""Names of parts: what people write, and what it means."""

from __future__ import annotations

import pytest

from torch_tb_profiler.importers.parts import END_NS, RecordingPart, Unit
from torch_tb_profiler.importers.protocol import ReadOptions


@pytest.mark.parametrize(
    ("unit", "text", "in_words"),
    [
        ("us", "500:2500000", "0.0005 s to 2.5 s"),
        ("us", "1000000:", "1 s to the end"),
        ("steps", "7", "step 7"),
        ("steps", "7:9", "steps 7 to 9"),
    ],
)
def test_parts_in_words(unit: Unit, text: str, in_words: str) -> None:
    assert RecordingPart.parse(unit, text).text == in_words


@pytest.mark.parametrize(
    ("unit", "text", "first", "last"),
    [
        ("us", "0:10", 0, 10_000),
        ("us", " 1.5 : 2.125 ", 1500, 2125),
        ("us", "5:", 5000, END_NS),
        ("us", ":5", 0, 5000),
        ("steps", "7", 7, 7),
        ("steps", "7:9", 7, 9),
        ("steps", "7-9", 7, 9),
        ("steps", "7..9", 7, 9),
        ("steps", " 0 : 0 ", 0, 0),
    ],
)
def test_what_is_written_is_read(unit: Unit, text: str, first: int, last: int) -> None:
    part = RecordingPart.parse(unit, text)
    assert part == RecordingPart(unit, first, last)
    for frames in (True, False):
        options = ReadOptions(frames, part)
        assert ReadOptions.from_variant(options.variant) == options


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("us", ""), ("us", ":"), ("us", "5"), ("us", "9:5"), ("us", "5:5"), ("us", "-1:5"),
        ("us", "1e3:2e3"), ("us", "1:2:3"), ("us", "٣:٥"), ("us", "1.0005:2"),
        ("us", "9" * 16 + ":"),
        ("steps", ""), ("steps", "x"), ("steps", "3:"), ("steps", "5:4"), ("steps", "-1"),
        ("steps", "1,2"), ("steps", "9" * 19),
    ],
)  # fmt: skip
def test_anything_else_is_refused(unit: Unit, text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        RecordingPart.parse(unit, text)


def test_options_without_a_part_are_the_same_trace_as_before() -> None:
    assert ReadOptions().variant == ""
    assert ReadOptions(python_frames=False).variant == "/no python frames"
    assert ReadOptions.from_variant("") == ReadOptions()
