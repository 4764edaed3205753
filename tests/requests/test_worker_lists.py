"""Lists of workers: ranks, ranges, names, all; and what names none."""

from __future__ import annotations

import pytest

from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.worker_lists import chosen_workers

RANKS = {"w0": 0, "w2": 2, "w4": 4, "w9": 9}
UNRANKED = {"alpha": None, "beta": None, "3": None}


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("all", ["w0", "w2", "w4", "w9"]),
        ("4,0", ["w0", "w4"]),
        ("1-4", ["w2", "w4"]),
        ("0:2, 9", ["w0", "w2", "w9"]),
        ("w9,0", ["w0", "w9"]),
    ],
)
def test_numbers_are_ranks(text: str, workers: list[str]) -> None:
    assert chosen_workers(text, RANKS) == workers


def test_without_ranks_numbers_count_workers_and_names_come_first() -> None:
    assert chosen_workers("0-1", UNRANKED) == ["alpha", "beta"]
    assert chosen_workers("3", UNRANKED) == ["3"]


@pytest.mark.parametrize("text", ["5", "w1", "9-5", "-3", "0x1", ",", ""])
def test_what_names_no_worker_is_refused(text: str) -> None:
    with pytest.raises(LoadingError):
        chosen_workers(text, RANKS)
