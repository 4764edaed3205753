"""What files of workers tell of collectives and links, also from summaries."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import call, kernel, op, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.recorded import FIRST_ROWS
from torch_tb_profiler.views.distributed.view import SPEC, distributed
from torch_tb_profiler.views.querying import complete

EVENTS = [step(1, 0, 10), op("a", 1, 5), step(2, 10, 10), op("a", 11, 5)]


def worker(elapse_us: float, rows: int = 1) -> Trace:
    calls = [
        {"step": str(1 + n % 2), "kind": "collective", "name": "hcom_allReduce", "elapse_us": us}
        for n in range(rows)
        for us in (elapse_us + n,)
    ]
    links = [{"step": "1", "source_rank": 0, "transport": "HCCS", "bandwidth_gbps": 15.5}]
    side = [
        side_table("recorded_collectives", "communication.json", calls),
        side_table("links", "communication_matrix.json", links),
    ]
    return recorded(EVENTS, side=side, recorder="torch_npu.profiler")


@pytest.mark.parametrize("summarised", [False, True])
def test_rows_of_every_worker(summarised: bool, tmp_path: Path) -> None:
    traces = {"rank0": worker(5, 2), "rank1": worker(9)}
    if summarised:
        for name, trace in traces.items():
            (tmp_path / name).mkdir()
            save_summary(trace, tmp_path / name)
        traces = {name: load_summary(tmp_path / name) for name in traces}
    assert all(SPEC.missing(trace) is None for trace in traces.values())
    tables = distributed(traces, Selection()).tables
    calls = tables["recorded_collectives"].frame
    assert calls.select("worker", "step", "elapse_us").rows() == [
        ("rank1", "1", 9), ("rank0", "2", 6), ("rank0", "1", 5)
    ]  # fmt: skip
    assert set(calls["source"]) == {"communication.json"}
    link = tables["links"].frame.row(0, named=True)
    assert not any(column.additive for column in tables["links"].spec.columns), "totals lie beside"
    assert (link["worker"], link["transport"], link["bandwidth_gb_per_s"]) == (
        "rank0",
        "HCCS",
        15.5,
    )
    second = distributed(traces, Selection(steps="2")).tables["recorded_collectives"].frame
    assert second["worker"].to_list() == ["rank0"]


def communicating(*moved: tuple[float, float, float]) -> Trace:
    """Collectives of 40 µs at 100, 200 and 300 µs; a file states starts, lengths and how long data
    moved, in µs."""
    kernels = [
        event
        for number in range(1, 4)
        for event in (
            call("AscendCL@aclrtLaunch", 10 * number, 5, corr=number),
            kernel("hcom_allReduce__1_0", 100 * number, 40, corr=number),
        )
    ]
    calls = [
        {
            "step": "1",
            "name": "hcom_allReduce__1_0",
            "start_us": start,
            "elapse_us": elapse,
            "transit_us": transit,
        }
        for start, elapse, transit in moved
    ]
    side = [side_table("recorded_collectives", "communication.json", calls)] if calls else []
    return recorded([step(1, 0, 1000), *kernels], side=side)


def test_data_moved_as_long_as_the_file_states() -> None:
    """Of one worker alone nothing else is known of transfers. The file has another clock; what it
    states of the third call is of another one, by its length."""
    trace = communicating((5100, 40, 3), (5200.4, 40.3, 60), (5300, 44, 7))
    frame = distributed({"w": trace}, Selection()).tables["wait"].frame
    assert frame.filter(step="1").select("transfer_us", "wait_us").rows() == [(3 + 40, 37)]
    alone = distributed({"w": communicating()}, Selection()).tables["wait"].frame
    assert alone["transfer_us"].to_list() == [None, None]


def test_of_many_rows_the_longest_come_first() -> None:
    table = distributed({"w": worker(5, FIRST_ROWS + 9)}, Selection()).tables[
        "recorded_collectives"
    ]
    assert (table.frame.height, table.row_count) == (FIRST_ROWS, FIRST_ROWS + 9)
    whole = complete(table).frame
    assert whole.height == FIRST_ROWS + 9
    assert_frame_equal(whole.head(FIRST_ROWS), table.frame)


def test_without_files_there_are_no_such_tables() -> None:
    tables = distributed({"w": recorded(EVENTS)}, Selection()).tables
    assert not {"recorded_collectives", "links"} & set(tables)
