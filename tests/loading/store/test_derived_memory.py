"""What is derived from many summaries is estimated from some of them; the one that holds what is
derived from all ranks counts alone."""

from __future__ import annotations

import numpy as np

from tests.helpers.traces import op, trace
from torch_tb_profiler.loading.store.derived_memory import MOST_SUMMARIES, measured_derived
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import FileState, Location
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

OWN, OF_ALL = 1000, 10_000_000
COUNT = 5 * MOST_SUMMARIES


@per_trace
def of_one(_trace: Trace) -> Int64:
    return np.zeros(OWN // 8, np.int64)


@per_trace
def of_all(_trace: Trace) -> Int64:
    return np.zeros(OF_ALL // 8, np.int64)


def test_what_one_rank_holds_for_all_counts_once() -> None:
    for holder in (0, 7):  # among those that are measured anyway, and not
        opened = [(_entry(number), trace([op("x", 0, 1)])) for number in range(COUNT)]
        for _, each in opened:
            of_one(each)
        of_all(opened[holder][1])
        sizes = [size for _, _, size in measured_derived(opened)]
        assert sizes[holder] >= OF_ALL
        assert COUNT * OWN < sum(sizes) - OF_ALL < 2 * COUNT * OWN


def _entry(number: int) -> Entry:
    url = f"/{number}.json"
    return Entry(
        SpanFile("run", str(number), "1", Location(url, url), FileState(1, "")), "summary", 1
    )
