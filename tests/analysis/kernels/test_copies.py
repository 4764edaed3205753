"""Copies and sets by kind, memory of the host and device, against sums over the events themselves.

Cases: kinds and memories of one trace; bytes that some lack, or all; who launched most; random
copies; real files.
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

from tests.helpers.traces import Event, call, kernel, memcpy, memset, trace
from torch_tb_profiler.analysis.kernels.copies import copy_groups
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
KEYS = ("kind", "host_memory", "device")
NAMES = {
    PAGEABLE: ("HtoD", "pageable"),
    "Memcpy DtoH (Device -> Pinned)": ("DtoH", "pinned"),
    "Memcpy DtoD (Device -> Device)": ("DtoD", None),
    "Memcpy": (None, None),
    "Memset (Device)": ("set", None),
}


def groups(recorded: Trace, *keys: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    frame = copy_groups(recorded, Selection())
    return {
        tuple(row[key] for key in KEYS): tuple(row[key] for key in keys)
        for row in frame.iter_rows(named=True)
    }


def test_kinds_sizes_and_who_launched_most() -> None:
    recorded = trace(
        [
            call("cudaMemcpy", 0, 1, corr=1),
            call("cudaMemcpyAsync", 2, 1, corr=2),
            call("cudaMemcpyAsync", 4, 1, corr=3),
            memcpy(10, 4, name=PAGEABLE, corr=1, bytes=1000),
            memcpy(20, 6, name=PAGEABLE, corr=2, bytes=2000),
            memcpy(30, 5, name=PAGEABLE, corr=3),
            memcpy(40, 5, name="CopyDeviceToHost", device=1),
            memset(50, 2, bytes=64),
            kernel("copy_kernel", 60, 5),
        ]
    )
    result = groups(recorded, "calls", "total_bytes", "total_ns", "sized_ns", "launch_code")
    assert {key: (*row[:4], recorded.text(row[4])) for key, row in result.items()} == {
        ("HtoD", "pageable", 0): (3, 3000, 15_000, 10_000, "cudaMemcpyAsync"),
        ("DtoH", None, 1): (1, None, 5000, 0, None),
        ("set", None, 0): (1, 64, 2000, 2000, None),
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(NAMES)),
            st.integers(0, 1),
            st.integers(0, 20),
            st.none() | st.integers(0, 10**9),
        ),
        max_size=10,
    )
)
def test_random_copies(copies: list[tuple[str, int, int, int | None]]) -> None:
    events = [
        (memset if "Memset" in name else memcpy)(
            10 * at, dur / 1000, name=name, device=device, bytes=size
        )
        for at, (name, device, dur, size) in enumerate(copies)
    ]
    expected: dict[tuple[Any, ...], list[tuple[int, int | None]]] = defaultdict(list)
    for name, device, dur, size in copies:
        key = (*NAMES[name], device)
        expected[key].append((dur, size))
    assert groups(trace(events), "calls", "total_bytes", "total_ns", "sized_ns") == {
        key: (
            len(rows),
            None if not any(size is not None for _, size in rows) else sum(s or 0 for _, s in rows),
            sum(dur for dur, _ in rows),
            sum(dur for dur, size in rows if size is not None),
        )
        for key, rows in expected.items()
    }


@pytest.mark.parametrize(
    "name", ["dlrm_8_ranks", "h100_bert_small", "mi300_bert_small", "torch_compile_triton"]
)
def test_real_files(samples: Path, name: str) -> None:
    path = sorted((samples / name).glob("*.gz"))[0]
    with gzip.open(path) as file:
        events: list[Event] = json.load(file)["traceEvents"]
    copied = [each for each in events if each.get("cat") in ("gpu_memcpy", "gpu_memset")]
    kinds: Counter[tuple[str, int]] = Counter()
    for each in copied:
        kind = "set" if each["cat"] == "gpu_memset" else each["name"].split()[1]
        kinds[kind, int(each["args"]["bytes"])] += 1
    sizes: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for (kind, size), count in kinds.items():
        sizes[kind] += size * count
        calls[kind] += count
    counts: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for (kind, _, _), (count, size) in groups(trace(events), "calls", "total_bytes").items():
        counts[kind] += size
        counted[kind] += count
    assert (counts, counted) == (sizes, calls)
