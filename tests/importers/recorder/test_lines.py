"""Lines of journals: blank ones cost nothing, whatever the pieces of the text."""

from __future__ import annotations

import itertools
import random

from torch_tb_profiler.importers.recorder.lines import split_lines


def test_blank_lines_are_left_out_and_others_stay() -> None:
    rng = random.Random(3)
    text = b"".join(rng.choice([b"\n", b" \n", b"\r\n", b"\t", b"a", b"\0\n"]) for _ in range(500))
    expected = [line.strip(b" \t\r") for line in text.split(b"\n")]
    for size in (1, 2, 7, 600):
        parts = (text[at : at + size] for at in range(0, len(text), size))
        lines = [line.strip(b" \t\r") for line, _ in split_lines(parts)]
        assert [line for line in lines if line] == [line for line in expected if line]


def test_few_of_many_blank_lines_remain() -> None:
    assert len(list(split_lines([b"a", b"\n" * 100_000, b" \n" * 100_000, b"b"]))) < 10


def test_a_hole_in_a_file_ends_it_and_a_long_line_does_not() -> None:
    holes = iter([bytes(1 << 20)] * 1000)
    (first, _), (hole, is_ended) = split_lines(itertools.chain([b"a\n"], holes))
    assert (first, set(hole), is_ended) == (b"a", {0}, False)
    assert len(list(holes)) > 900
    long = [b"x" * (1 << 20)] * 40
    assert [line[:1] for line, _ in split_lines([*long, b"", b"\nb"])] == [b"x", b"b"]
