"""The map of nodes: devices with the shares of their step, and all that went over links, once."""

from __future__ import annotations

import polars as pl

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.schema import Table


def tables(traces: dict[str, Trace], selection: Selection | None = None) -> dict[str, Table]:
    return distributed(traces, selection or Selection()).tables


def link(name: str | None, pair: tuple[int, int], size: float, **more: object) -> dict[str, object]:
    source, destination = pair
    row = {"step": "1", "name": name, "source_rank": source, "destination_rank": destination}
    return {**row, "transport": "HCCS", "size_bytes": size, "time_us": size / 1000, **more}


def with_links(*rows: dict[str, object]) -> Trace:
    events = [step(1, 0, 10), op("a", 1, 5)]
    side = [side_table("links", "communication_matrix.json", list(rows))]
    return recorded(events, side=side, recorder="torch_npu.profiler")


def sizes(traces: dict[str, Trace]) -> dict[tuple[int, int], float]:
    frame = tables(traces)["node_links"].frame
    return {(row[0], row[1]): row[3] for row in frame.rows()}


def test_devices_with_host_and_the_shares_of_a_step() -> None:
    def rank(number: int, communicates: int) -> Trace:
        events = [
            step(1, 0, 100),
            call("cudaLaunchKernel", 0, 1, corr=1),
            kernel("gemm", 0, 40, corr=1),
            annotation("gloo:all_reduce", 50, communicates, tid=2, shape=[[4]]),
        ]
        return trace(events, distributedInfo={"rank": number, "world_size": 2})

    frame = tables({"h1_10": rank(0, 10), "h2_20": rank(1, 30)})["node_map"].frame
    shown = frame.select("node", "rank", "device", "busy_pct", "exposed_pct", "wait_pct").rows()
    assert shown == [("h1", 0, 0, 50, 10, 0), ("h2", 1, 0, 70, 30, 20)]


def test_traffic_of_totals_alone_and_of_both_ends_once() -> None:
    total = link("allreduce-total@1", (0, 1), 600, group="1")
    part = link("allreduce-top1@1", (0, 1), 500, group="1")
    local = link("allreduce-total@1", (0, 0), 900, group="1")
    back = link("allreduce-total@1", (1, 0), 300, group="1")
    first = with_links(
        {**total, "name": "allreduce-total"}, {**part, "name": "allreduce-top1"}, local
    )
    second = with_links(
        {**total, "name": "allreduce-total", "size_bytes": 500.0},
        {**back, "name": "allreduce-total"},
    )
    assert sizes({"a": first, "b": second}) == {(0, 1): 600, (1, 0): 300}


def test_the_row_of_a_whole_step_stands_for_its_collectives() -> None:
    one = with_links(
        link(None, (0, 1), 700), link("allReduce", (0, 1), 400), link("b", (0, 1), 300)
    )
    frame = tables({"a": one})["node_links"].frame
    assert frame.rows() == [(0, 1, "HCCS", 700, 0.7, 1.0)]


def test_links_by_transport_and_of_single_collectives_add_up() -> None:
    one = with_links(
        link("a", (0, 1), 100), link("b", (0, 1), 50), link("a", (0, 1), 10, transport="RDMA")
    )
    frame = tables({"a": one})["node_links"].frame
    assert frame.select("transport", "size_bytes").rows() == [("HCCS", 150), ("RDMA", 10)]


def test_no_links_have_a_reason() -> None:
    plain = trace([annotation("gloo:all_reduce", 0, 5, tid=2, shape=[[4]])])
    result = tables({"a": plain})["node_links"]
    assert result.frame.height == 0
    assert "link" in (result.why_empty or "")
    assert tables({"a": plain})["node_map"].frame["worker"].to_list() == ["a"]
    assert isinstance(result.frame, pl.DataFrame)
