"""Communication and pipelines of clusters, made by hand after the documented layout.

docs/format-mindspore.md#communication and #steps-of-a-cluster."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.importers.mindspore.folders import folder_of, on_disk, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import SPEC, distributed

TITLES = (
    "step_num", "communication_cost", "wait_cost", "link_info", "communication_operator_cost",
)  # fmt: skip
ALL_REDUCE, RECEIVE = "stream_36_0_AllReduce-op45", "stream_48_0_Receive-op66"

# MindSpore 1: ms, kB, and kB/s; 2.5 ms for 5000 kB are 2 GB/s.
LINK = {"1-0": {"SDMA": [2.5, 5000.0, 2_000_000.0]}}
OWN = {"0-0": {"SDMA": [0.5, 2500.0, 5_000_000.0]}}
REMOTE = {"4-0": {"RDMA": [4.0, 1000.0, 250_000.0, 1.5]}}
OPERATORS = {
    ALL_REDUCE: ["1", 3.0, 0.25, {**LINK, **OWN}],
    RECEIVE: ["1", 4.0, 40.5, REMOTE],
}
STEP = [1, 7.0, 40.75, {**LINK, **OWN, **REMOTE}, OPERATORS]

PIPELINE = """computation_time,communication_alone_time,stage_time,receive_alone_time,\
collective_communication_alone_time
10.0,30.0,25.5,14.5,15.5
11.0,31.0,26.0,16.0,15.0
12.5,32.0,27.0,17.5,14.5
11.75,31.5,26.5,16.75,14.75
"""
"""Three steps, and the mean of the last two."""


def hccl(rows: Sequence[Sequence[Any]], titles: Sequence[str] = TITLES) -> str:
    """The text of ``hccl_raw_*.csv``."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(titles)
    for row in rows:
        writer.writerow(json.dumps(each) if isinstance(each, dict) else each for each in row)
    return out.getvalue()


def calls(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of the collectives as recorded."""
    return trace.side["recorded_collectives"].frame.select(columns).rows()


def test_collectives_and_links_of_each_step_in_our_units() -> None:
    mean = ["-", *STEP[1:4], {name: ["-", *value[1:]] for name, value in OPERATORS.items()}]
    trace = opened(folder_of({"hccl_raw_0.csv": hccl([STEP, mean])}))
    assert calls(trace, "step", "kind", "name", "transit_us", "wait_us") == [
        ("1", "collective", ALL_REDUCE, 3000.0, 250.0),
        ("1", "p2p", RECEIVE, 4000.0, 40500.0),
    ]
    assert trace.side["links"].source == "hccl_raw_0.csv"
    assert trace.side["links"].frame.drop("group", "large_packet_pct").rows() == [
        ("1", ALL_REDUCE, 1, 0, "SDMA", 5e6, 2500.0, 2.0),
        ("1", ALL_REDUCE, 0, 0, "SDMA", 2.5e6, 500.0, 5.0),
        ("1", RECEIVE, 4, 0, "RDMA", 1e6, 4000.0, 0.25),
    ]
    assert not trace.quality.counts


def test_later_releases_write_costs_in_microseconds() -> None:
    """MindSpore 2: µs, bandwidths in GB/s, RDMA as a list of its thread, the last step repeated."""
    links = {
        "1-0": {"SDMA": [2.5, 5000.0, 2.0], "RDMA": [[4.0, 1000.0, 250_000.0, 1.5]]},
        "2-0": {},
    }
    step = [2, 3000.0, 250.0, links, {"allReduce_1": ["2", 3000.0, 250.0, links]}]
    trace = opened(folder_of({"hccl_raw_0.csv": hccl([step, ["-", *step[1:]]])}))
    assert calls(trace, "step", "name", "transit_us", "wait_us") == [
        ("2", "allReduce_1", 3000.0, 250.0)
    ]
    assert trace.side["links"].frame.select("transport", "bandwidth_gbps").rows() == [
        ("SDMA", 2.0),
        ("RDMA", 0.25),
    ]


@pytest.mark.parametrize(("cost", "expected_us"), [(3.5, 3500.0), (3500.0, 3500.0)])
def test_without_sdma_the_cost_tells_its_unit(cost: float, expected_us: float) -> None:
    step = [1, cost, 0.0, REMOTE, {"a": ["1", cost, 0.0, REMOTE]}]
    assert calls(opened(folder_of({"hccl_raw_0.csv": hccl([step])})), "transit_us") == [
        (expected_us,)
    ]


def test_a_unit_that_nothing_tells_is_null_and_noted() -> None:
    trace = opened(
        folder_of({"hccl_raw_0.csv": hccl([[1, 3.0, 1.0, {}, {"a": ["1", 3.0, 1.0, {}]}]])})
    )
    assert calls(trace, "name", "transit_us", "wait_us") == [("a", None, None)]
    assert trace.quality.counts["communication_unit_unknown"] == 1


def test_without_collectives_apart_their_sum_is_shown() -> None:
    trace = opened(folder_of({"hccl_raw_0.csv": hccl([STEP[:4]], TITLES[:4])}))
    assert calls(trace, "step", "kind", "name", "transit_us", "wait_us") == [
        ("1", None, None, 7000.0, 40750.0)
    ]
    view = distributed({"rank0": trace}, Selection())
    reasons = view.tables["recorded_collectives"].null_reasons
    assert reasons["name"] == "The file has the sum of all collectives of the step."


def test_of_a_single_step_the_last_row_may_be_all_there_is() -> None:
    only = ["-", *STEP[1:]]
    trace = opened(folder_of({"hccl_raw_0.csv": hccl([only])}))
    assert calls(trace, "step", "name") == [(None, ALL_REDUCE), (None, RECEIVE)]


def test_a_cut_cell_costs_its_row_only() -> None:
    text = hccl([STEP, [2, *STEP[1:]]])
    trace = opened(folder_of({"hccl_raw_0.csv": text[:-60]}))
    assert {step for (step,) in calls(trace, "step")} == {"1", "2"}
    assert calls(trace, "step", "name")[:2] == [("1", ALL_REDUCE), ("1", RECEIVE)]
    assert trace.quality.counts["side_row_left_out"] == 1


def test_damaged_links_cost_themselves_only() -> None:
    links = {
        **LINK,
        "x": {"SDMA": [1, 2, 3]},
        "1-99999999": {"SDMA": [1, 2, 3]},
        "3-0": {"SDMA": [1]},
    }
    text = hccl([[1, 3.0, 0.0, links, {"a": ["1", 3.0, 0.0, links], "b": "?", "c": [1]}]])
    trace = opened(folder_of({"hccl_raw_0.csv": text}))
    assert trace.side["links"].frame.height == 1
    assert calls(trace, "name") == [("a",)]
    assert trace.quality.counts["side_row_left_out"] == 5


def test_a_cell_longer_than_the_usual_limit_is_read() -> None:
    links = {f"{rank}-0": {"SDMA": [2.5, 5000.0, 2e6]} for rank in range(6000)}
    text = hccl([[1, 3.0, 0.0, links, {"a": ["1", 3.0, 0.0, links]}]])
    assert len(json.dumps(links)) > 128 << 10
    assert opened(folder_of({"hccl_raw_0.csv": text})).side["links"].frame.height == 6000


def test_steps_of_a_pipeline_without_the_row_of_their_mean() -> None:
    name = "ascend_cluster_analyse_pipeline-parallel_2_4_3.csv"
    trace = opened(folder_of({name: PIPELINE}))
    assert trace.side["cluster_steps"].frame.rows() == [
        ("1", "pipeline-parallel", 1, 10000.0, 30000.0, 25500.0, 14500.0, 15500.0),
        ("2", "pipeline-parallel", 1, 11000.0, 31000.0, 26000.0, 16000.0, 15000.0),
        ("3", "pipeline-parallel", 1, 12500.0, 32000.0, 27000.0, 17500.0, 14500.0),
    ]
    job = trace.meta.info.job
    assert job is not None
    assert (job.rank, job.world_size) == (3, 4)


TRACE = "step_num,start_point,end_point,total\n" + "".join(
    f"{step},{step}00,{step}90,90\n" for step in (1, 2, 3)
)


def test_the_step_trace_tells_whether_the_last_row_is_a_mean() -> None:
    name = "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv"
    files = {name: PIPELINE.rsplit("\n", 2)[0] + "\n", "step_trace_raw_0_detail_time.csv": TRACE}
    trace = opened(folder_of(files))
    assert trace.side["cluster_steps"].frame["step"].to_list() == ["1", "2", "3"]
    assert not trace.quality.counts


@pytest.mark.parametrize("cells", ["11.75,31.5,26.5,16.75,14.75", "11.75,31.5,26.5"])
def test_of_a_cut_file_the_last_row_is_a_step(cells: str) -> None:
    name = "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv"
    cut = PIPELINE[: PIPELINE.index(cells) + len(cells)]
    trace = opened(folder_of({name: cut}))
    is_whole = cells.count(",") == 4
    assert trace.side["cluster_steps"].frame.height == 3 + is_whole
    assert trace.quality.counts.get("side_row_left_out", 0) == (not is_whole)


def test_a_mean_of_other_steps_is_noted() -> None:
    name = "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv"
    lines = PIPELINE.splitlines(keepends=True)
    trace = opened(folder_of({name: "".join(lines[:2] + lines[3:])}))
    assert trace.side["cluster_steps"].frame["step"].to_list() == ["1", "2"]
    assert trace.quality.counts["recorded_mean_differs"] == 1


def test_a_row_without_numbers_keeps_its_place() -> None:
    name = "ascend_cluster_analyse_model-parallel_1_2_0.csv"
    text = "computation_time,communication_alone_time\n1,2\n?,?\n3,4\n3,4\n"
    trace = opened(folder_of({name: text}))
    assert trace.side["cluster_steps"].frame["step"].to_list() == ["1", "3"]
    assert trace.quality.counts["side_row_left_out"] == 1


@pytest.mark.parametrize("numbers", ["2_4_4", "0_4_1", "5_4_1", "1_999999999_0"])
def test_numbers_of_a_name_that_cannot_be_are_not_shown(numbers: str) -> None:
    name = f"ascend_cluster_analyse_pipeline-parallel_{numbers}.csv"
    frame = opened(folder_of({name: PIPELINE})).side["cluster_steps"].frame
    assert frame["stage"].null_count() == frame.height == 3


def test_distributed_shows_every_rank_of_the_folder(tmp_path: Path) -> None:
    for rank in range(4):
        name = f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv"
        (tmp_path / name).write_text(PIPELINE)
        (tmp_path / f"hccl_raw_{rank}.csv").write_text(hccl([STEP]))
    traces = {f"rank{rank}": opened(on_disk(tmp_path, rank)) for rank in range(4)}
    assert {SPEC.missing(trace) for trace in traces.values()} == {None}
    view = distributed(traces, Selection())
    stages = view.tables["cluster_steps"].frame.select("worker", "step", "stage").rows()
    assert stages == [
        (f"rank{rank}", str(step), rank // 2) for rank in range(4) for step in (1, 2, 3)
    ]
    assert {fact.key: fact.value for fact in view.facts}["world_size"] == 4
    assert view.tables["recorded_collectives"].frame["worker"].n_unique() == 4


def test_a_file_alone_is_a_recording_too() -> None:
    name = "some/folder/ascend_cluster_analyse_pipeline-parallel_2_4_3.csv"
    trace = build_trace(import_source(Source(name, [PIPELINE.encode()])))
    assert trace.side["cluster_steps"].frame.height == 3


@pytest.mark.parametrize("seed", range(30))
def test_damage_is_an_issue_and_never_an_error(seed: int) -> None:
    chance = random.Random(seed)
    files = {
        "hccl_raw_0.csv": hccl([STEP, [2, *STEP[1:]]]),
        "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv": PIPELINE,
    }
    damaged: dict[str, str | bytes] = {"flops_summary_0.json": '{"FLOPs": 1}'}
    for name, text in files.items():
        data = bytearray(text.encode())
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.choice(b'",{}[]0-\n\xff\x00e')
        damaged[name] = bytes(data[: chance.randrange(len(data) // 2, len(data))])
    trace = opened(folder_of(damaged))
    assert "recorded_flops" in trace.side
    distributed({"rank0": trace}, Selection())
