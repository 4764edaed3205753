"""What traces say of kernels, devices, ranges, memory and counters, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers import rocpd, rocprof
from tests.importers.rocprof.opening import import_path, open_path
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

FORMATS = ["json", "db", "new.db"]


def write(folder: Path, ending: str, *processes: rocprof.Process) -> Path:
    """A file of these processes in one of the formats."""
    path = folder / f"100_results.{ending}"
    if ending == "json":
        return rocprof.write_json(path, processes)
    return rocpd.write_rocpd(path, processes, is_new=ending == "new.db")


@pytest.fixture(params=FORMATS)
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Trace:
    return open_path(write(tmp_path, request.param, rocprof.training()))


def first_kernel(trace: Trace) -> dict[str, Any]:
    rows = trace.device_work.filter(pl.col("category") == int(Category.KERNEL))
    return rows.sort("start_ns").row(0, named=True)


def test_sizes_of_a_kernel(trace: Trace) -> None:
    kernel = first_kernel(trace)
    grid, block = (trace.text(kernel[f"{name}_code"]) for name in ("grid", "block"))
    assert (grid, block) == ("[16, 2, 1]", "[64, 2, 1]")  # the file counts work items
    assert kernel["registers_per_thread"] == 20
    assert kernel["shared_memory_bytes"] == 512
    assert kernel["blocks_per_sm"] == pytest.approx(32 / 304)
    assert kernel["warps_per_sm"] == pytest.approx(32 / 304 * 128 / 64)


def test_gpus_that_were_used(trace: Trace) -> None:
    assert [each.device for each in trace.meta.info.devices] == [0, 1]
    gpu = trace.meta.info.devices[0]
    assert (gpu.name, gpu.sm_count, gpu.warp_size) == ("AMD Instinct MI300X", 304, 64)
    assert (gpu.compute_major, gpu.compute_minor) == (9, 4)
    assert (gpu.max_threads_per_sm, gpu.shared_memory_per_sm_bytes) == (2048, 65536)
    assert gpu.memory_bytes == 192 << 30


def test_ranges_are_operators_and_steps(trace: Trace) -> None:
    owners = trace.device_work.select("owner").join(
        trace.slices.select(pl.col("id").alias("owner"), "name_code", "category"), on="owner"
    )
    assert {trace.text(code) for code in owners["name_code"]} >= {"aten::mm"}
    assert trace.steps["name"].to_list() == ["1", "2"]
    mm = trace.operators.filter(pl.col("input_shape_code").is_not_null())
    assert {trace.text(code) for code in mm["input_shape_code"]} == {"[[2, 8], [8, 4]]"}


def test_memory_that_is_released_without_a_size(trace: Trace) -> None:
    rows = trace.memory.select("device", "bytes", "total_allocated_bytes").rows()
    assert rows == [(0, 1 << 20, 1 << 20), (0, -(1 << 20), 0)]


def test_counters_are_summed_over_instances(trace: Trace) -> None:
    rows = trace.arguments.filter(pl.col("slice") == first_kernel(trace)["slice"])
    values = {trace.text(key): value for key, value in rows.select("key_code", "value").rows()}
    assert values == {"SQ_WAVES": 128.0, "GRBM_COUNT": 1000.0}


@pytest.mark.parametrize("ending", FORMATS)
def test_scratch_memory_and_the_programs_own_ids_are_arguments(tmp_path: Path, ending: str) -> None:
    process = rocprof.training()
    process.dispatches[0] |= {"scratch": 256, "external": 41}
    trace = open_path(write(tmp_path, ending, process))
    rows = trace.arguments.filter(pl.col("slice") == first_kernel(trace)["slice"])
    values = {trace.text(key): value for key, value in rows.select("key_code", "value").rows()}
    assert values["private_segment_size"] == 256
    assert values["external_correlation_id"] == 41


def test_the_range_that_names_a_kernel_is_an_argument(tmp_path: Path) -> None:
    process = rocprof.training()
    process.dispatches[0]["external"] = 77
    trace = open_path(write(tmp_path, "json", process))
    texts = trace.arguments.filter(pl.col("text_code").is_not_null())
    named = [
        (trace.text(key), trace.text(text))
        for key, text in texts.select("key_code", "text_code").rows()
    ]
    assert named == [("kernel_rename", "renamed by a range")]


def test_kernels_of_a_recording_of_counters_alone(tmp_path: Path) -> None:
    document = rocprof.to_json([rocprof.training()])
    process = document["rocprofiler-sdk-tool"][0]
    process["buffer_records"]["kernel_dispatch"] = []
    process["callback_records"]["counter_collection"] *= 2  # replayed in two passes
    path = rocprof.write_document(tmp_path / "x_results.json", document)
    trace = open_path(path)
    kernels = trace.device_work.filter(pl.col("category") == int(Category.KERNEL))
    assert kernels["dur_ns"].to_list() == [80_000] * 4
    rows = trace.arguments.filter(pl.col("slice") == first_kernel(trace)["slice"])
    values = {trace.text(key): value for key, value in rows.select("key_code", "value").rows()}
    assert values == {"SQ_WAVES": 128.0, "GRBM_COUNT": 1000.0}  # not again of the second pass


def test_work_that_did_not_complete_has_no_duration(tmp_path: Path) -> None:
    process = rocprof.training()
    process.dispatches[0]["end"] = 0
    process.dispatches[1]["start"] = 0
    columns = import_path(write(tmp_path, "json", process))
    assert columns.quality.counts["missing_duration"] == 1
    assert columns.quality.counts["event_without_time"] == 1


def test_queues_where_all_work_is_on_the_default_stream(tmp_path: Path) -> None:
    process = rocprof.training()
    for number, row in enumerate(process.dispatches):
        row |= {"agent": 1, "stream": 0, "queue": 5 + number % 2}
    process.copies = []
    trace = open_path(write(tmp_path, "json", process))
    tracks = trace.tracks.filter(pl.col("is_device"))["thread_name"].to_list()
    assert tracks == ["queue 5", "queue 6"]


def test_processes_of_two_machines_with_one_number(tmp_path: Path) -> None:
    trace = open_path(write(tmp_path, "db", rocprof.training(), rocprof.training()))
    pids = trace.tracks.filter(~pl.col("is_device"))["pid"].to_list()
    assert pids == ["1.100", "2.100"]


@pytest.mark.parametrize(
    ("environment", "rank", "world_size"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "SLURM_PROCID": "5"}, 3, 8),
        ({"SLURM_PROCID": "5", "API_KEY": "secret"}, 5, None),
        ({"RANK": "secret", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, 1, 2),
        ({"RANK": "99999999999"}, None, None),
        ({}, None, None),
    ],
)
def test_the_rank_in_the_environment(
    tmp_path: Path, environment: dict[str, str], rank: int | None, world_size: int | None
) -> None:
    process = rocprof.training()
    process.environment = environment
    columns = import_path(write(tmp_path, "db", process))
    job = columns.info.job
    stated = (None, None) if job is None else (job.rank, job.world_size)
    assert stated == (rank, world_size)
    assert "secret" not in repr((columns.info, columns.strings))


@pytest.mark.parametrize("ending", FORMATS)
def test_calls_of_other_libraries_are_counted(tmp_path: Path, ending: str) -> None:
    process = rocprof.training()
    process.calls += [
        rocprof.call("rocDecDecodeFrame", 5, 9, 1), rocprof.call("roctxRangePop", 15, 19, 2),
    ]  # fmt: skip
    columns = import_path(write(tmp_path, ending, process))
    assert columns.quality.counts["unknown_category"] == 1
    is_other = columns.tables["slices"]["category"] == Category.HOST_OTHER
    assert int(is_other.sum()) == 2


def test_old_names_of_kernels(tmp_path: Path) -> None:
    document = rocprof.to_json([rocprof.training()])
    symbols = document["rocprofiler-sdk-tool"][0]["kernel_symbols"]
    symbols[0] = {"kernel_id": 1, "kernel_name": "_Z4gemmPf.kd"}
    symbols[1] = {"kernel_id": 2, "demangled_kernel_name": "add(int) [clone .kd]"}
    trace = open_path(rocprof.write_document(tmp_path / "x_results.json", document))
    kernels = trace.device_work.filter(pl.col("category") == int(Category.KERNEL))
    assert {trace.text(code) for code in kernels["name_code"]} == {"_Z4gemmPf", "add(int)"}
