"""Cases: a snapshot joined to its trace: planted operators, steps and offsets; refusals."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from tests.helpers.snapshot_pairs import BASE_US, Pair, planted_pair
from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.snapshot.agreement import snapshot_agreement
from torch_tb_profiler.analysis.memory.snapshot.joining import join_snapshot
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.owners import block_owners, record_of_event
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace


def traces(pair: Pair) -> tuple[Trace, Trace]:
    texts = json.dumps(pair.trace).encode(), pickle.dumps(pair.snapshot)
    trace, snapshot = (
        build_trace(import_trace([text], name=name))
        for text, name in zip(texts, ("trace.json", "snapshot.pickle"), strict=True)
    )
    return trace, snapshot


def joined(pair: Pair) -> Trace:
    result = join_snapshot(*traces(pair), "snapshot.pickle")
    assert isinstance(result, Trace), result
    return result


def owners_by_allocation(trace: Trace) -> dict[tuple[int, int], dict[str, Any]]:
    """(Address, us since the base) → owner, of blocks that an event allocated."""
    lived = lifetimes(trace)
    times = side_frame(trace, "snapshot_events")["time_ns"].to_list()
    base_us = trace.meta.base_ns // 1000 - BASE_US
    return {
        (int(lived.address[row]), base_us + round(times[int(lived.born[row])] / 1000)): owner
        for row, owner in enumerate(block_owners(trace).iter_rows(named=True))
        if lived.born[row] >= 0
    }


@pytest.mark.parametrize("offset_us", [0, 350, -5_000, 2_000_000])
def test_operators_and_steps_are_those_planted(offset_us: int) -> None:
    pair = planted_pair(3, offset_us=offset_us)
    trace = joined(pair)
    known = snapshot_agreement(trace)
    assert known is not None
    assert (known.offset_ns, known.residual_ns) == (offset_us * 1000, 0)
    here, compared = owners_by_allocation(trace), 0
    for each in pair.planted:
        owner = here.get((each.address, each.at))
        if owner is None:
            continue  # one of the first events, which the snapshot lost
        compared += 1
        assert owner["operator"] == each.operator
        assert owner["step"] == each.step
        wanted = None if each.operator is None else ("allocation" if each.in_trace else "time")
        assert owner["owner_by"] == wanted
    assert compared > 250


def test_categories_are_those_of_the_memory_page() -> None:
    pair = planted_pair(4)
    trace = joined(pair)
    blocks, both, lived = memory_blocks(trace), record_of_event(trace), lifetimes(trace)
    record = dict(zip(both.event.tolist(), both.record.tolist(), strict=True))
    shown = 0
    for row, owner in enumerate(block_owners(trace).iter_rows(named=True)):
        if int(lived.born[row]) in record:
            number = record[int(lived.born[row])]
            assert owner["category"] == CATEGORY_NAMES[int(blocks.category[number])]
            shown += 1
    assert shown > 150


def test_shares_and_curves_are_those_of_the_pair() -> None:
    pair = planted_pair(5, dropped=0.25)
    known = snapshot_agreement(joined(pair))
    assert known is not None
    recorded = [each for each in pair.planted if each.in_trace]
    first, last = recorded[0].at, recorded[-1].at
    inside = [each for each in pair.planted if first <= each.at <= last]
    assert (known.matched, known.own, known.other) == (len(recorded), len(recorded), len(inside))
    (curve,) = known.curves

    def rounded(at: int) -> int:
        live = [e for e in pair.planted if e.at <= at and (e.end is None or e.end > at)]
        return sum(-(-e.size // 512) * 512 for e in live)

    def requested(at: int) -> int:
        return sum(e.size for e in pair.planted if e.at <= at and (e.end is None or e.end > at))

    marks = sorted(
        {e.at for e in recorded} | {e.end for e in recorded if e.end and e.end < 4 * 2000}
    )
    area, largest, begin, end = 0, 0, marks[0], marks[-1]
    shown = rounded(begin)
    for at in range(begin, end):
        shown = rounded(at) if at in marks else shown
        apart = abs(shown - requested(at))
        area, largest = area + apart, max(largest, apart)
    assert curve.common_ns == (end - begin) * 1000
    assert curve.max_bytes == largest
    assert curve.mean_bytes == pytest.approx(area / (end - begin))


def test_without_memory_events_operators_follow_from_the_time() -> None:
    pair = planted_pair(6, offset_us=0, memory_events=False)
    trace = joined(pair)
    here = owners_by_allocation(trace)
    for each in pair.planted:
        owner = here.get((each.address, each.at))
        if owner is not None:
            assert owner["operator"] == each.operator
            assert owner["owner_by"] == (None if each.operator is None else "time")
    known = snapshot_agreement(trace)
    assert known is not None
    assert (known.residual_ns, known.matched, known.curves) == (None, 0, ())


def test_two_threads_with_operators_are_ambiguous() -> None:
    pair = planted_pair(7, offset_us=0, memory_events=False)
    whole = {"ph": "X", "cat": "cpu_op", "name": "aten::other", "pid": 10, "tid": 11, "ts": 0,
             "dur": 1e6, "args": {}}  # fmt: skip
    pair.trace["traceEvents"].append(whole)
    owners = block_owners(joined(pair))
    assert set(owners["operator"].drop_nulls()) <= {"aten::other"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("addresses", "another process"),
        ("sizes", "no allocation"),
        ("hour", "no allocation"),
        ("untimed", "no times"),
        ("no_base", "1970"),
        ("empty", "1970"),
    ],
)
def test_what_is_not_of_the_process_is_refused(change: str, reason: str) -> None:
    pair = planted_pair(8)
    (entries,) = pair.snapshot["device_traces"]
    for number, entry in enumerate(entries):
        if change == "addresses" and number % 4:
            entry["addr"] += 256
        if change == "sizes":
            entry["size"] += 10 << 20
        if change == "hour":
            entry["time_us"] += 3_600_000_000
        if change == "untimed":
            del entry["time_us"]
    if change == "no_base":
        del pair.trace["baseTimeNanoseconds"]
    if change == "empty":
        pair.snapshot["device_traces"] = [[]]
    result = join_snapshot(*traces(pair), "snapshot.pickle")
    assert isinstance(result, str)
    assert reason in result


def test_a_snapshot_of_another_time_without_memory_events() -> None:
    pair = planted_pair(8, memory_events=False)
    for entry in pair.snapshot["device_traces"][0]:
        entry["time_us"] += 3_600_000_000
    result = join_snapshot(*traces(pair), "x")
    assert result == "the snapshot was recorded at another time"
