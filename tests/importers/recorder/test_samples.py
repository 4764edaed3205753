"""Samples of a journal against the counter that they are rates of."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.helpers.recorder import START_NS, journal_columns
from torch_tb_profiler.analysis.recording.samples import samples
from torch_tb_profiler.trace.build import build_trace

READ_AT_MS = [0, 800, 803, 900, 1000, 1130, 1200, 1300, 1400]
"""A process that is sampled rarely before its first step, then often, never evenly."""

CPU_MS = [0, 760, 760, 800, 820, 822, 830, 830, 835]


def test_the_mean_of_a_rate_is_what_its_counter_grew_in_all_of_the_time() -> None:
    reads = [*zip(READ_AT_MS, CPU_MS, strict=True)]
    rates = [
        (after - before) / (end - begin) * 100 for (begin, before), (end, after) in pairwise(reads)
    ]
    block = {
        "kind": "samples",
        "source": "process",
        "time_ns": [START_NS + at * 10**6 for at in READ_AT_MS],
        "metrics": {
            "CPU": {"unit": "%", "values": [None, *rates]},
            "threads": {"unit": "", "values": [8, 1, 1, 1, 1, 1, 1, 1, 3]},
            "CPU limit": {"unit": "%", "values": [None] * len(READ_AT_MS)},
        },
    }
    trace = build_trace(journal_columns([block]))
    by_metric = {each.metric: each for each in samples(trace).series}
    assert sorted(by_metric) == ["CPU", "threads"], "the limit has no values"
    cpu = by_metric["CPU"]
    assert cpu.mean() == pytest.approx(835 / 1400 * 100)
    begins_ms = (cpu.time_ns + trace.meta.base_ns - START_NS) / 10**6
    assert begins_ms.tolist() == READ_AT_MS[:-1]
    assert by_metric["threads"].mean() == 2, "of a moment each counts once"
