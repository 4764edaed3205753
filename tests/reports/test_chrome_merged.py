"""Several ranks in one file: what each rank has, links that never meet, one clock, read back."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.merged import merge
from torch_tb_profiler.reports.chrome_merged import FIRST_THREAD, merged_json
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

RUN = "dlrm_8_ranks"


def merged(samples: Path, workers: str, **given: str) -> tuple[dict[str, Any], list[Trace]]:
    """The document, and the traces of its ranks."""
    catalog = Catalog([TraceRoot(str(samples / RUN))], cache=None)
    try:
        merge_ = merge(catalog, parameters.subject(given), workers, None)
        document: dict[str, Any] = json.loads(b"".join(merged_json(merge_)))
        return document, [merge_.open_trace(each.worker) for each in merge_.ranks]
    finally:
        catalog.store.close()


def slices_of(document: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    by_process: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            by_process[event["pid"]].append(event)
    return by_process


def test_every_rank_is_a_process_with_its_own_slices(samples: Path) -> None:
    document, traces = merged(samples, "1,3-4")
    slices = slices_of(document)
    assert [each["rank"] for each in document["mergedRanks"]] == [1, 3, 4]
    assert sorted(slices) == [1, 2, 3]
    for pid, trace in enumerate(traces, 1):
        written = Counter((event["name"], round(1000 * event["dur"])) for event in slices[pid])
        own = trace.slices.select("name_code", "dur_ns").iter_rows()
        assert written == Counter((trace.text(code), dur_ns) for code, dur_ns in own)
    names = [event for event in document["traceEvents"] if event["name"] == "process_name"]
    assert [event["args"]["name"] for event in names] == [
        f"rank {rank} (worker{rank}_step_12)" for rank in (1, 3, 4)
    ]
    threads = [e for e in document["traceEvents"] if e["name"] == "thread_name"]
    tids = [event["tid"] for event in threads]
    assert len(set(tids)) == len(tids)
    assert min(tids) >= FIRST_THREAD


def test_links_of_two_ranks_never_meet(samples: Path) -> None:
    document, _ = merged(samples, "0-2")
    for name in ("correlation", "External id", "device"):
        used = {
            pid: {event["args"][name] for event in events if name in event.get("args", {})}
            for pid, events in slices_of(document).items()
        }
        assert all(used.values())
        assert len(set.union(*used.values())) == sum(map(len, used.values())), name
    flows: dict[tuple[str, int], set[int]] = defaultdict(set)
    for event in document["traceEvents"]:
        if event["ph"] in "sf":
            flows[event["cat"], event["id"]].add(event["pid"])
    assert flows
    assert {len(pids) for pids in flows.values()} == {1}


def test_counters_are_of_their_rank_and_its_device_number(samples: Path) -> None:
    document, traces = merged(samples, "0-2")
    numbers = {
        pid: {event["args"]["device"] for event in events if "device" in event.get("args", {})}
        for pid, events in slices_of(document).items()
    }
    counters: dict[int, set[int]] = defaultdict(set)
    for event in document["traceEvents"]:
        if event["ph"] == "C":
            counters[event["pid"]].add(int(event["name"].removeprefix("GPU ").split()[0]))
    assert counters == numbers
    assert len(set.union(*counters.values())) == len(traces)


def test_read_back_it_holds_the_work_and_the_launches_of_every_rank(
    samples: Path, tmp_path: Path
) -> None:
    document, traces = merged(samples, "0-2")
    path = tmp_path / "merged.pt.trace.json"
    path.write_text(json.dumps(document))
    again = open_file(open_location(str(path)), cache=None)
    used = again.devices.filter("used")["device"].to_list()
    assert len(used) == 3
    for device, trace in zip(used, traces, strict=True):
        work = again.device_work.filter(device=device)
        assert work.height == trace.device_work.height
        assert work["dur_ns"].sum() == trace.device_work["dur_ns"].sum()
        assert work["launch"].null_count() == trace.device_work["launch"].null_count()
    assert again.operators.height == sum(trace.operators.height for trace in traces)


def test_collectives_end_together_on_the_common_clock(samples: Path) -> None:
    """Their clocks are those of one machine: moved by some µs at most, so that ends meet."""
    document, _ = merged(samples, "all")
    ends = {
        pid: [e["ts"] + e["dur"] for e in events if e["name"].startswith("ncclKernel_AllReduce")]
        for pid, events in slices_of(document).items()
    }
    counts = Counter(map(len, ends.values()))
    ((common, _),) = counts.most_common(1)
    same = [sorted(times) for times in ends.values() if len(times) == common]
    spreads = sorted(max(times) - min(times) for times in zip(*same, strict=True))
    assert spreads[len(spreads) // 2] < 10


def test_times_of_a_selection_are_those_of_the_first_rank(samples: Path) -> None:
    whole, _ = merged(samples, "0-1")
    times = [event["ts"] for event in slices_of(whole)[1]]
    base_us = whole["baseTimeNanoseconds"] / 1000
    middle = base_us + (min(times) + max(times)) / 2
    part, _ = merged(samples, "0-1", start_us=str(round(middle)))
    for pid, events in slices_of(part).items():
        first = middle - part["baseTimeNanoseconds"] / 1000
        assert min(event["ts"] + event["dur"] for event in events) >= first - 1
        assert 0 < len(events) < len(slices_of(whole)[pid])


def test_what_no_rank_has_is_refused(samples: Path) -> None:
    for workers, given in (("99", {}), ("0-1", {"steps": "77"}), ("0", {"phase": "forward"})):
        with pytest.raises(LoadingError):
            merged(samples, workers, **given)
