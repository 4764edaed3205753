"""Trees and Chrome traces of Proton against the decoded JSON. ``scopes.*`` in ``tests/data/proton``
were written by Proton itself (Triton 3.9), the others after the forms of its writers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import proton as pt
from tests.helpers.discovered import looked_into
from tests.helpers.sums import work
from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.importers.proton import layout
from torch_tb_profiler.importers.proton.chrome import lane_of, without_metrics
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Track
from torch_tb_profiler.trace.model import Trace

DATA = Path(__file__).resolve().parents[2] / "data" / "proton"
PROFILE = pt.decode()


def trace_of(data: bytes) -> Trace:
    return build_trace(read_bytes(data))


def kernels(trace: Trace) -> dict[str, tuple[int, int]]:
    return {name: (count, int(ns)) for (_, _, _, name), (count, ns) in work(trace).items()}


def times_by_path(trace: Trace) -> dict[tuple[str, ...], int]:
    """Path of a range → the device time in it, in ns."""
    ranges = trace.slices.filter(pl.col("category") == Category.ANNOTATION)
    rows = {row["id"]: row for row in ranges.to_dicts()}

    def path(number: int | None) -> tuple[str, ...]:
        row = rows.get(number) if number is not None else None
        return () if row is None else (*path(row["parent"]), str(trace.text(row["name_code"])))

    return {path(number): row["device_total_ns"] for number, row in rows.items()}


@pytest.mark.parametrize("form", [pt.as_json, pt.as_msgpack])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_calls_and_times_are_those_of_the_file(form: Any, pack: Any) -> None:
    trace = trace_of(pack(form(PROFILE)))
    assert kernels(trace) == pt.sums_by_kernel(PROFILE)


def test_scopes_are_ranges_with_the_time_of_all_in_them() -> None:
    expected = {path: ns for path, ns in pt.time_by_path(PROFILE).items() if ns}
    assert times_by_path(trace_of(pt.as_json(PROFILE))) == expected


def test_work_that_a_scope_or_a_kernel_states_is_an_operator_with_its_time() -> None:
    trace = trace_of(pt.as_json(PROFILE))
    operators = trace.slices.filter(pl.col("category") == Category.OPERATOR)
    times = operators.select("name_code", "device_self_ns").iter_rows()
    assert sorted((trace.text(name), ns) for name, ns in times) == [
        ("attention", 60_001), ("attention", 60_002),
        ("matmul_kernel", 100_000), ("matmul_kernel", 100_000),
    ]  # fmt: skip
    assert trace.stated["flops"].sum() == 2 * (4.0e9 + 8.0e9)
    assert trace.stated["bytes"].sum() == 2 * 8_000_000


def test_other_values_are_arguments() -> None:
    trace = trace_of(pt.as_json(PROFILE))
    rows = trace.arguments.select("key_code", "value").iter_rows()
    assert [(trace.text(key), value) for key, value in rows] == [("tokens", 20.0)]


def test_devices_and_what_is_not_recorded() -> None:
    columns = read_bytes(pt.as_json(PROFILE))
    (device,) = columns.info.devices
    assert (device.compute_major, device.compute_minor, device.sm_count) == (9, 0, 132)
    assert "moments" in {each.capability for each in columns.info.not_recorded}
    assert columns.quality.counts == {}


def test_several_devices_are_apart() -> None:
    root = pt.node("ROOT", pt.kernel("k", 10, 2), pt.kernel("k", 30, 1, device=1))
    rocm = pt.kernel("k", 5, 1, device=1)
    rocm["metrics"]["device_type"] = "HIP"
    root["children"].append(rocm)
    trace = trace_of(pt.as_json([root, {}]))
    assert work(trace) == {(0, 0, "KERNEL", "k"): (2, 10), (1, 0, "KERNEL", "k"): (2, 35)}
    assert set(trace.tracks["process_label"]) - {None} == {"GPU 0", "GPU 1", "AMD GPU 1"}


def test_the_first_releases_named_values_differently() -> None:
    former = {"time (ns)": "Time (ns)", "count": "Count", "device_id": "DeviceId",
              "device_type": "DeviceType"}  # fmt: skip
    text = pt.as_json(PROFILE).decode()
    for current, name in former.items():
        text = text.replace(f'"{current}"', f'"{name}"')
    trace = trace_of(text.encode())
    assert kernels(trace) == pt.sums_by_kernel(PROFILE)
    assert [trace.text(key) for key in trace.arguments["key_code"]] == ["tokens"]


def test_keys_of_nodes_stand_in_any_order() -> None:
    text = pt.as_json(PROFILE).decode()

    def reordered(each: dict[str, Any]) -> dict[str, Any]:
        return {key: each[key] for key in ("metrics", "frame", "children")}

    data = json.dumps(json.loads(text, object_hook=lambda each: reordered(each)
                                 if "frame" in each else each))  # fmt: skip
    assert kernels(trace_of(data.encode())) == pt.sums_by_kernel(PROFILE)


def test_files_that_proton_wrote_without_a_device_say_so() -> None:
    for name in ("scopes.hatchet", "scopes.hatchet_msgpack"):
        with pytest.raises(TraceFormatError, match="without kernels") as raised:
            import_trace([(DATA / name).read_bytes()], name=name)
        assert raised.value.code == "no_events"
    trace = trace_of((DATA / "scopes.chrome_trace").read_bytes())
    assert {trace.text(code) for code in trace.slices["name_code"]} == {"outer", "inner"}
    assert trace.meta.base_ns == 1_795_920_935_564_939_136


def test_cycles_inside_kernels_are_no_times() -> None:
    root = pt.node("ROOT", pt.node("k", cycles=100, normalized_cycles=1.5))
    with pytest.raises(TraceFormatError, match="inside kernels"):
        read_bytes(pt.as_json([root, {}]))


def test_calls_beyond_the_limit_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_tb_profiler.importers.proton.reader.MAX_CALLS", 40)
    columns = read_bytes(pt.as_json(PROFILE))
    assert columns.quality.counts["calls_merged"]
    trace = build_trace(columns)
    times = {name: ns for name, (_, ns) in pt.sums_by_kernel(PROFILE).items()}
    assert {name: ns for name, (_, ns) in kernels(trace).items()} == times
    assert trace.device_work.height <= 40


NAMES = st.sampled_from(["a", "b", "matmul", "ü"])


def _nodes(children: st.SearchStrategy[list[pt.Node]]) -> st.SearchStrategy[pt.Node]:
    metrics: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.just({}),
        st.fixed_dictionaries(
            {"time (ns)": st.integers(0, 10**9), "count": st.integers(1, 50)},
            optional={"flops16": st.floats(0, 1e12), "bytes": st.integers(0, 10**9),
                      "device_id": st.sampled_from(["0", "1"])},
        ),
        st.fixed_dictionaries({"flops": st.floats(0, 1e12)}),
    )  # fmt: skip
    return st.builds(
        lambda name, below, own: pt.node(name, *below, **own), NAMES, children, metrics
    )


TREES = st.recursive(
    _nodes(st.just([])), lambda inner: _nodes(st.lists(inner, max_size=3)), max_leaves=15
)


@given(st.lists(TREES, max_size=4))
def test_random_trees_have_the_sums_of_their_nodes(trees: list[pt.Node]) -> None:
    profile = [pt.node("ROOT", *trees), {}]
    expected = pt.sums_by_kernel(profile)
    if not expected:
        return
    for data in (pt.as_json(profile), pt.as_msgpack(profile)):
        trace = trace_of(data)
        summed: dict[str, tuple[int, int]] = {}
        for (_, _, _, name), (count, ns) in work(trace).items():
            calls, total = summed.get(name, (0, 0))
            summed[name] = calls + count, total + int(ns)
        assert summed == expected


def test_a_chrome_trace_of_several_objects_is_read_whole() -> None:
    trace = trace_of(pt.streams())
    objects = [json.loads(line) for line in pt.streams().splitlines()]
    total = sum(event["dur"] for each in objects for event in each["traceEvents"])
    assert trace.device_work["dur_ns"].sum() / 1000 == total == 312
    assert set(trace.device_work["stream"]) == {7, 13}
    assert set(trace.device_work["device"]) == {0}


def test_kernels_of_a_chrome_trace_belong_to_the_scopes_they_name() -> None:
    times = times_by_path(trace_of(pt.streams()))
    assert times["decode",] == 192_000  # of the second stream; equal paths hide the first


def test_lanes_are_threads_graphs_and_streams_of_devices() -> None:
    trace = trace_of(pt.lanes())
    assert work(trace) == {(0, 7, "KERNEL", "k0"): (1, 6000), (1, 3, "KERNEL", "k1"): (1, 6000)}
    names = trace.slices.select("name_code", "category").iter_rows()
    categories = {(trace.text(name), Category(each).name) for name, each in names}
    assert {("outer", "ANNOTATION"), ("inner", "ANNOTATION"), ("replay", "DEVICE_ANNOTATION")} <= (
        categories
    )


def test_names_of_scopes_lose_their_metrics() -> None:
    assert without_metrics("a: b: <flops, 1.0>, <x, [1,2]>") == "a: b"
    assert without_metrics("void f<int, 3>: <x") == "void f<int, 3>: <x"
    assert lane_of(Track("0", "abc")).tid == "abc"


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("proton_worker0.hatchet", "proton_worker1.hatchet"):
        (tmp_path / name).write_bytes(pt.as_json(PROFILE))
    (tmp_path / "streams.chrome_trace").write_bytes(pt.streams())
    (tmp_path / "other.json").write_bytes(pt.streams())
    listing = looked_into(open_location(str(tmp_path)))
    by_name = {each.location.name: each for each in listing.files}
    assert len(by_name) == 4
    assert by_name["proton_worker0.hatchet"].run == by_name["proton_worker1.hatchet"].run
    assert by_name["proton_worker0.hatchet"].format == "proton"


def test_layout_keeps_sums_exact() -> None:
    trace = trace_of(pt.as_json([pt.node("ROOT", pt.kernel("k", 10, 3)), {}]))
    assert trace.device_work["dur_ns"].to_list() == [4, 3, 3]
    assert layout.SCOPES.thread_name is not None


def test_scopes_alone_say_nothing_of_the_host(tmp_path: Path) -> None:
    path = tmp_path / "streams.chrome_trace"
    path.write_bytes(pt.streams())
    with open_trace(path, cache=False) as opened:
        answer = opened.view("overview").answer
    assert answer is not None
    assert "what the host did is not recorded" in answer


def parts_of_a_kernel(kernel: str) -> bytes:
    """What Proton writes of scopes inside a kernel: per block and warp, the kernel as category."""
    events = [
        {"name": "load", "cat": kernel, "ph": "X", "cname": "cq_build_passed",
         "pid": f"{kernel} Core{block} CTA{block}", "tid": f"warp {warp} (line 0)",
         "ts": 0.5 + block, "dur": 0.25,
         "args": {"Finalization Time (ns)": 12, "Frequency (MHz)": 1000.0,
                  "call_stack": ["ROOT", "scope", kernel]}}
        for block in range(2) for warp in range(4)
    ]  # fmt: skip
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()


@pytest.mark.parametrize("kernel", ["matmul", "kernel", "gpu_memcpy", "cpu_op", "scope"])
def test_parts_of_kernels_are_no_work_whatever_the_kernel_is_called(kernel: str) -> None:
    columns = import_trace([parts_of_a_kernel(kernel)], name="inside.chrome_trace")
    assert set(columns.tables["slices"]["category"]) == {Category.DEVICE_OTHER}
    assert columns.quality.counts["unknown_category"] == 8
    assert build_trace(columns).device_work.is_empty()
