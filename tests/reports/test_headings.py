"""What distinguishes recordings."""

from __future__ import annotations

from torch_tb_profiler.reports.headings import distinct_headings


def test_parts_that_all_share_or_that_repeat_are_left_out() -> None:
    ranks = [f"run · rank{n} · span 1" for n in range(3)]
    assert distinct_headings(ranks) == ["rank0", "rank1", "rank2"]
    files = [f"folder/{name} · {name} · span default" for name in "ab"]
    assert distinct_headings(files) == ["folder/a", "folder/b"]


def test_headings_that_would_be_equal_or_empty_stay() -> None:
    assert distinct_headings(["a · b", "a · b"]) == ["a · b", "a · b"]
    assert distinct_headings(["a · b", "a"]) == ["a · b", "a"]
    assert distinct_headings(["x · a · b", "y · a · c"]) == ["x · b", "y · c"]
