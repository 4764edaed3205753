"""API calls and what they launched, against a look at every moment of every thread.

Cases: nesting, calls that outlast the one around them, equal names inside one another, threads
apart; launches of a graph; work of a call before the selection; random calls; real files.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, kernel, memcpy, memset, op, trace
from torch_tb_profiler.analysis.kernels.api_calls import api_call_groups
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

HOST = ("calls", "self_ns", "total_ns", "dur_ns", "min_ns", "max_ns")
DEVICE = ("launched", "device_ns", "kernels", "copies", "sets")


def groups(
    recorded: Trace, *keys: str, selection: Selection | None = None
) -> dict[str | None, tuple[Any, ...]]:
    frame = api_call_groups(recorded, selection or Selection())
    return {
        recorded.text(row["name_code"]): tuple(row[key] for key in keys)
        for row in frame.iter_rows(named=True)
    }


def test_time_of_calls_inside_one_another_counts_once() -> None:
    recorded = trace(
        [
            op("aten::mm", 0, 100),
            call("cudaLaunchKernel", 10, 20, corr=1),
            call("cuLaunchKernel", 12, 10, corr=1),
            call("cudaLaunchKernel", 14, 2, corr=9),
            call("cudaLaunchKernel", 40, 5, tid=2, corr=2),
            kernel("k", 200, 7, corr=1),
        ]
    )
    assert groups(recorded, *HOST) == {
        "cudaLaunchKernel": (3, 17_000, 25_000, 27_000, 2000, 20_000),
        "cuLaunchKernel": (1, 8000, 10_000, 10_000, 10_000, 10_000),
    }


def test_what_calls_launched() -> None:
    recorded = trace(
        [
            call("cudaGraphLaunch", 0, 5, corr=1),
            kernel("a", 10, 3, corr=1),
            kernel("b", 10, 4, corr=1, stream=8),
            memset(20, 2, corr=1),
            call("cudaMemcpyAsync", 30, 5, corr=2),
            memcpy(40, 8, corr=2),
            call("cudaMalloc", 50, 5),
            kernel("nobody's", 60, 1, corr=99),
        ]
    )
    assert groups(recorded, *DEVICE) == {
        "cudaGraphLaunch": (3, 9000, 2, 0, 1),
        "cudaMemcpyAsync": (1, 8000, 0, 1, 0),
        "cudaMalloc": (0, 0, 0, 0, 0),
    }


def test_work_in_the_selection_of_a_call_before_it() -> None:
    recorded = trace([call("cudaLaunchKernel", 0, 5, corr=1), kernel("k", 100, 5, corr=1)])
    later = Selection(start_ns=50_000)
    assert groups(recorded, *HOST, *DEVICE, selection=later) == {
        "cudaLaunchKernel": (0, 0, 0, 0, None, None, 1, 5000, 1, 0, 0)
    }
    assert groups(recorded, *DEVICE, selection=Selection(end_ns=50_000)) == {
        "cudaLaunchKernel": (0, 0, 0, 0, 0)
    }


NAMES = ("cudaLaunchKernel", "cuLaunchKernel", "hipMalloc")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES), st.integers(0, 30), st.integers(0, 15), st.integers(1, 2)
        ),
        max_size=8,
    )
)
def test_every_moment_belongs_to_the_call_that_started_last(
    calls: list[tuple[str, int, int, int]],
) -> None:
    calls = sorted(set(calls), key=lambda of: (of[3], of[1], -of[2], of[0]))
    events = [call(name, at / 1000, dur / 1000, tid=tid) for name, at, dur, tid in calls]
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for tid in (1, 2):
        for moment in range(50):
            active = [of for of in calls if of[3] == tid and of[1] <= moment < of[1] + of[2]]
            if active:
                latest = max(active, key=lambda of: (of[1], -of[2]))
                tied = [of for of in active if (of[1], of[2]) == (latest[1], latest[2])]
                own[max(tied, key=calls.index)[0]] += 1
    result = groups(trace(events), "calls", "self_ns", "dur_ns")
    for name in NAMES:
        durations = [of[2] for of in calls if of[0] == name]
        total[name] = sum(durations)
        if durations:
            assert result[name][::2] == (len(durations), total[name])
    assert sum(row[1] for row in result.values()) == sum(own.values())
    assert {name: row[1] for name, row in result.items()} == {
        name: own[str(name)] for name in result
    }


@pytest.mark.parametrize(
    "name", ["h100_bert_small", "mi300_bert_small", "dlrm_8_ranks", "torch_compile_triton"]
)
def test_real_files(samples: Path, name: str) -> None:
    path = sorted((samples / name).glob("*.gz"))[0]
    with gzip.open(path) as file:
        events: list[Event] = json.load(file)["traceEvents"]
    calls = [each for each in events if each.get("cat") in ("cuda_runtime", "cuda_driver")]
    durations: dict[str, list[int]] = defaultdict(list)
    for each in calls:
        durations[each["name"]].append(round(each["dur"] * 1000))
    result = groups(trace(events), "calls", "dur_ns", "min_ns", "max_ns")
    assert result == {
        name: (len(taken), sum(taken), min(taken), max(taken)) for name, taken in durations.items()
    }
    launched: Counter[str] = Counter()
    callers = {each["args"]["correlation"]: each["name"] for each in calls}
    for each in events:
        if each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            caller = callers.get(each["args"]["correlation"])
            launched[str(caller)] += caller is not None
    counts = groups(trace(events), "launched")
    assert {name: row[0] for name, row in counts.items()} == {
        name: launched[str(name)] for name in counts
    }
