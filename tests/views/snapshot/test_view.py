"""The view of a snapshot: its sums against the file's own blocks, its advice, its moments."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from tests.helpers.snapshots import START_US, simulated, trace_of
from tests.helpers.traces import op
from tests.helpers.traces import trace as built
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.where_time_goes import where_time_goes
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.registry import first_view, view_named
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.snapshot.view import SPEC, snapshot

KIB = 1024


def view_of(whole: Any, at_us: Decimal | None = None, **selected: Any) -> View:
    return snapshot(trace_of(pickle.dumps(whole, 4)), Selection(**selected), at_us=at_us)


def by_hand(oom_asks: int = 0, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Two segments of 8 KiB: 3 KiB + 1 KiB in use and 4 KiB free; 2 KiB pending and 6 KiB free."""
    own = [
        {"name": "empty", "filename": "/x/site-packages/torch/__init__.py", "line": 9},
        {"name": "forward", "filename": "/app/net.py", "line": 12},
    ]
    other = [{"name": "malloc", "filename": "a.cpp", "line": 4}]
    block = {"requested_size": 1000, "frames": own}
    active, free = {"state": "active_allocated"}, {"state": "inactive"}
    first = [
        block | active | {"address": 0x1000, "size": 3 * KIB, "requested_size": 3 * KIB},
        block | active | {"address": 0x1C00, "size": KIB, "frames": other},
        block | free | {"address": 0x2000, "size": 4 * KIB, "frames": []},
    ]
    second = [
        block | {"address": 0x9000, "size": 2 * KIB, "state": "active_pending_free"},
        block | free | {"address": 0x9800, "size": 6 * KIB, "frames": []},
    ]
    segments = [
        {"device": 0, "address": address, "total_size": 8 * KIB, "stream": 0, "blocks": blocks,
         "segment_type": "small", "segment_pool_id": (0, 0), "frames": own}
        for address, blocks in ((0x1000, first), (0x9000, second))
    ]  # fmt: skip
    trace: list[dict[str, Any]] = []
    if oom_asks:
        trace.append({"action": "oom", "device_free": 5, "size": oom_asks, "stream": 0,
                      "time_us": START_US, "frames": own})  # fmt: skip
    return {"segments": segments, "device_traces": [trace], "allocator_settings": settings or {}}


def test_devices_and_segments_by_hand() -> None:
    view = view_of(by_hand())
    (device,) = view.tables["devices"].frame.rows(named=True)
    expected = {
        "device": "GPU 0", "reserved_bytes": 16 * KIB, "allocated_bytes": 4 * KIB,
        "pending_free_bytes": 2 * KIB, "inactive_bytes": 10 * KIB, "largest_free_bytes": 6 * KIB,
        "fragmentation_pct": 62.5, "rounding_bytes": 24, "segments": 2, "blocks": 2,
        "peak_allocated_bytes": None, "peak_reserved_bytes": None, "peak_us": None, "ooms": 0,
    }  # fmt: skip
    assert device == expected
    segments = view.tables["segments"].frame
    assert segments["free_bytes"].to_list() == [6 * KIB, 4 * KIB]
    assert segments["used_pct"].to_list() == [0.0, 50.0]
    assert segments["address"].to_list() == ["0x9000", "0x1000"]
    blocks = view.tables["blocks"].frame
    assert blocks["offset_bytes"].to_list() == [2 * KIB, 4 * KIB, 0, 0, 3 * KIB]
    assert "peak_us" in view.tables["devices"].null_reasons


def test_a_snapshot_says_nothing_of_what_ran() -> None:
    """Its ranges are annotations of memory events: no time of the host."""
    annotations = [
        {"name": "Optimizer.step#AdamW.step", "stage": stage, "device": 0, "time_us": START_US + at}
        for stage, at in (("START", 0), ("END", 100))
    ]
    trace = trace_of(pickle.dumps(by_hand() | {"external_annotations": annotations}, 4))
    assert first_view(trace) == "snapshot"
    for name in ("iterations", "phases", "groups"):
        assert view_named(name).missing(trace) == "A memory snapshot records memory, not execution."
    tables = overview(trace, Selection()).tables
    assert trace.slices.height == 1
    assert trace.steps.is_empty()
    assert "no_steps" not in trace.quality.counts
    for name in ("average_step", "resources"):
        assert tables[name].frame["duration_us"].null_count() == tables[name].frame.height
    assert where_time_goes(Context(trace, Selection())) is None
    assert first_view(built([op("aten::mm", 0, 9)])) == "overview"


def test_who_holds_memory_is_the_program() -> None:
    rows = view_of(by_hand()).tables["by_stack"].frame.rows(named=True)
    found = {(row["moment"], row["frame"]): row["size_bytes"] for row in rows}
    assert found == {
        ("end", "/app/net.py:12 forward"): 3 * KIB + 1000,
        ("end", "a.cpp:4 malloc"): 1000,
    }
    assert sum(row["pct"] for row in rows) == pytest.approx(100)


@pytest.mark.parametrize(
    ("asked", "settings", "says"),
    [
        (2**40, {}, "would not have been enough"),
        (8 * KIB, {}, "expandable_segments:True"),
        (8 * KIB, {"expandable_segments": True}, "Fewer different block sizes"),
    ],
)
def test_why_memory_ran_out(asked: int, settings: dict[str, Any], says: str) -> None:
    view = view_of(by_hand(asked, settings))
    (note,) = [note for note in view.notes if note.code == "snapshot_out_of_memory"]
    assert says in note.text
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["oom_requested_bytes"] == asked
    assert facts["oom_free_bytes"] == 5
    unused = 16 * KIB - (3 * KIB + 1000 + 1000)
    assert facts["oom_unused_bytes"] == unused


def test_its_recorded_steps_stay() -> None:
    annotations = [
        {"name": "ProfilerStep#3", "stage": stage, "device": 0, "time_us": START_US + at}
        for stage, at in (("START", 0), ("END", 100))
    ]
    trace = trace_of(pickle.dumps(by_hand() | {"external_annotations": annotations}, 4))
    assert view_named("iterations").missing(trace) is None


def test_a_chosen_moment() -> None:
    whole, states = simulated(3, events=200)
    entries = whole["device_traces"][0]
    view = view_of(whole, at_us=Decimal(entries[120]["time_us"]))
    alive = view.tables["alive_blocks"].frame
    found = {int(row["address"], 16): row["size_bytes"] for row in alive.rows(named=True)}
    assert found == states[0][120]
    by_stack = view.tables["by_stack"].frame
    assert set(by_stack["moment"]) == {"peak", "end", "chosen"}


def test_the_history_is_paged_and_narrowed() -> None:
    whole, _ = simulated(3, events=2600)
    view = view_of(whole)
    history = view.tables["history"]
    assert history.row_count == len(whole["device_traces"][0])
    assert history.all_rows is not None
    everything = history.all_rows().frame
    assert everything["action"].to_list() == [e["action"] for e in whole["device_traces"][0]]
    narrowed = view_of(whole, start_ns=0, end_ns=1).tables["history"]
    assert narrowed.frame.height == 0


def test_other_recordings_say_how_to_make_one() -> None:
    trace: Trace = trace_of(pickle.dumps(by_hand(), 4))
    assert SPEC.missing(trace) is None
    assert "_dump_snapshot" in (SPEC.missing(replace(trace, side={})) or "")
