"""Side tables have the values of the files; the constants here were read from the files by hand."""

from __future__ import annotations

import polars as pl
import pytest

from tests.importers.mindspore.folders import folder_of, opened, recorded
from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.model import Trace


def rows(trace: Trace, table: str) -> pl.DataFrame:
    return trace.side[table].frame


def test_step_trace_in_ticks_of_10_ns() -> None:
    trace = opened(recorded("profiler", 0))
    assert trace.side["recorded_step_trace"].source == "step_trace_raw_0_detail_time.csv"
    steps = rows(trace, "recorded_step_trace")
    assert steps["step"].to_list() == [str(n) for n in range(1, 21)], "the mean is no step"
    # 2,45004033128,45017085658,13052530,…,9037809,1714377,2300344: ticks
    second = steps.row(1, named=True)
    assert second["total_us"] == 130525.30
    assert second["interval_us"] == 90378.09
    assert second["forward_backward_us"] == 17143.77
    assert second["tail_us"] == 23003.44
    # Four reductions: [13085379, 13105429] and [13084925, 13118334] overlap; the others are
    # 298017 and 207283 long.
    assert second["communication_us"] == (13118334 - 13084925 + 298017 + 207283) / 100
    assert "recorded_mean_differs" not in trace.quality.counts


def test_the_mean_of_the_file_is_a_table_of_its_own() -> None:
    trace = opened(recorded("profiler", 0))
    (mean,) = rows(trace, "recorded_mean_step").rows(named=True)
    # -,45121436513,45134482124,13045611,45130471874,45132181322,9035360,1709449,2300802
    assert mean["total_us"] == 130456.11
    assert (mean["interval_us"], mean["forward_backward_us"]) == (90353.60, 17094.49)
    assert mean["tail_us"] == 23008.02
    without_first = rows(trace, "recorded_step_trace")["total_us"].slice(1)
    assert without_first.mean() == pytest.approx(mean["total_us"], abs=0.01)
    # Of device 10 every step from 21 on is without transfers.
    trace = opened(recorded("profiler", 10))
    communication = rows(trace, "recorded_step_trace")["communication_us"].slice(1)
    (mean,) = rows(trace, "recorded_mean_step").rows(named=True)
    assert mean["communication_us"] == pytest.approx(communication.mean()) != 0


def test_reductions_that_are_zero_did_not_happen() -> None:
    steps = rows(opened(recorded("profiler", 10)), "recorded_step_trace")
    assert steps.height == 40
    assert steps["communication_us"][39] == 0
    assert steps["total_us"][39] == 130452.44


def test_transfers_by_name_count_inside_their_step() -> None:
    text = (
        "step_num,start_point,end_point,total,stream_48_0_Receive-op663,"
        "stream_48_0_Receive-op663_start_point,stream_48_0_Receive-op663_end_point,"
        "stream_36_0_AllReduce-op4542,stream_36_0_AllReduce-op4542_start_point,"
        "stream_36_0_AllReduce-op4542_end_point\n1,1000,2000,1000,300,800,1100,400,1800,2200\n"
    )
    trace = opened(folder_of({"step_trace_raw_0_detail_time.csv": text}))
    assert rows(trace, "recorded_step_trace")["communication_us"].to_list() == [1 + 2]


def test_steps_of_inference_have_a_forward_pass_alone() -> None:
    text = (
        "step_num,start_point,end_point,total,fp_point,iteration_interval,fp\n1,10,60,50,20,10,40\n"
    )
    (step,) = rows(
        opened(folder_of({"step_trace_raw_3_detail_time.csv": text})), "recorded_step_trace"
    ).rows(named=True)
    assert step == {
        "step": "1",
        "total_us": 0.5,
        "interval_us": 0.1,
        "forward_backward_us": 0.4,
        "tail_us": None,
        "communication_us": None,
    }


def test_operators_of_the_ai_core() -> None:
    trace = opened(recorded("profiler", 1))
    operators = rows(trace, "recorded_operators")
    matmul = operators.filter(pl.col("name").is_null(), type="MatMul").row(0, named=True)
    assert matmul["unit"] == "AI Core"
    assert (matmul["calls"], matmul["total_us"], matmul["pct"]) == (9, 1085.0, 73.8)
    cast = operators.filter(name="Default/Cast-op10").row(0, named=True)
    assert (cast["type"], cast["calls"], cast["mean_us"]) == ("Cast", 1, 4.66)
    # 0.00177 ms a call, three calls; its type comes from its name.
    excerpt = rows(opened(recorded("run_1_excerpt", 1)), "recorded_operators")
    moved = excerpt.filter(name="Default/TensorMove-op89").row(0, named=True)
    assert (moved["mean_us"], moved["total_us"], moved["calls"]) == (1.77, 5.31, 3)
    of_type = excerpt.filter(pl.col("name").is_null(), type="TensorMove").row(0, named=True)
    assert of_type["total_us"] == 5.31


def test_operators_of_the_text_file_where_no_other_has_them() -> None:
    text = recorded("run_1_excerpt", 1).files["output_op_compute_time_1.txt"]()
    lines = b"".join(text.unpacked())
    trace = opened(folder_of({"output_op_compute_time_1.txt": lines}))
    first = rows(trace, "recorded_operators").row(0, named=True)
    assert first["name"] == "Default/AssignAdd-op414"
    assert (first["type"], first["mean_us"], first["calls"]) == ("AssignAdd", 1.688, None)
    assert first["total_us"] is None
    assert rows(trace, "recorded_operators").height == 3, "the sum below them is no operator"
    assert "side_row_left_out" not in trace.quality.counts


def test_operators_of_the_ai_cpu() -> None:
    text = (
        "serial_number,op_type,total_time,dispatch_time,run_start,run_end\n"
        "1,InitData,0.159,0.1,1,2\n2,GetNext,0.518,0.01,3,4\n3,GetNext,0.3,0.01,5,6\n"
    )
    operators = rows(opened(folder_of({"aicpu_intermediate_0.csv": text})), "recorded_operators")
    get_next = operators.filter(type="GetNext").row(0, named=True)
    assert get_next == {
        "unit": "AI CPU",
        "type": "GetNext",
        "name": None,
        "calls": 2,
        "total_us": 818.0,
        "mean_us": 409.0,
        "min_us": 300.0,
        "max_us": 518.0,
        "pct": 818 / 977 * 100,
    }


def test_operators_of_the_host() -> None:
    files = {
        "cpu_op_type_info_0.csv": "op_type,type_occurrences,execution_frequency(per-step),"
        "total_compute_time,avg_time(ms),percent\nCast,4,2,0.08,0.02,40\nAdd,0,0,1,1,1\n",
        "cpu_op_detail_info_0.csv": "op_side,op_type,op_name,full_op_name,op_occurrences,"
        "op_total_time(ms),op_avg_time(ms),total_proportion,subgraph,pid\n"
        "Host,Cast,Cast-op1,Default/Cast-op1,4,0.08,0.02,0.4,Default,12\n",
    }
    trace = opened(folder_of(files))
    samples = rows(trace, "recorded_operators").select("unit", "type", "name", "calls", "total_us")
    assert samples.rows() == [
        ("host CPU", "Cast", None, 4, 80.0),
        ("host CPU", "Cast", "Default/Cast-op1", 4, 80.0),
    ]
    assert trace.quality.counts["side_row_left_out"] == 1


def test_flops_of_one_kind_and_of_both() -> None:
    one = rows(opened(recorded("profiler", 0)), "recorded_flops")
    cast = one.filter(name="Default/Cast-op6").row(0, named=True)
    assert (cast["kind"], cast["flops"], cast["flops_per_s"]) == (None, 333e6, 333e9)
    assert cast["utilization_pct"] == 33
    both = rows(opened(recorded("profiler", 1)), "recorded_flops")
    assert both.filter(name="Default/Cast-op10")["kind"].to_list() == ["cube", "vector"]


def test_flops_of_scopes_and_of_the_model() -> None:
    flops = rows(opened(recorded("profiler", 0)), "recorded_flops")
    scope = flops.filter(level="scope", name="_backbone-LeNet5(Default)").row(0, named=True)
    assert (scope["parent"], scope["flops"]) == ("network-WithLossCell(Default)", 2179.927e6)
    model = flops.filter(level="model").row(0, named=True)
    assert (model["flops"], model["flops_per_s"]) == (8167.743e6, 9868.936e9)
    assert model["utilization_pct"] == 3.765


def test_pipeline_with_its_queues_and_cpu() -> None:
    trace = opened(recorded("profiler", 0))
    pipeline = rows(trace, "pipeline")
    assert trace.side["pipeline"].source == (
        "minddata_pipeline_raw_0.csv, minddata_cpu_utilization_0.json"
    )
    batch, shuffle, *_ = pipeline.rows(named=True)
    assert (batch["type"], batch["queue_pct"], batch["parent"]) == ("Batch", None, None)
    assert (shuffle["queue_mean"], shuffle["queue_capacity"]) == (20.0, 64)
    assert (shuffle["queue_pct"], shuffle["queue_empty_pct"]) == (31.25, 0)
    assert shuffle["cpu_pct"] == 40, "user 20 and system 20 in the mean"
    assert pipeline["parent"].to_list() == [None, 0, 1, 1]


def test_pipeline_of_the_json_file() -> None:
    text = recorded("profiler", 0).files["pipeline_profiling_0.json"]()
    trace = opened(folder_of({"pipeline_profiling_0.json": b"".join(text.unpacked())}))
    pipeline = rows(trace, "pipeline")
    assert pipeline["type"].to_list() == ["Batch", "Map", "Map", "ImageFolder", "EpochCtrl"]
    assert pipeline["parent"].to_list() == [4, 0, 1, 2, None]
    assert pipeline["queue_mean"].to_list() == [1.0, 0.0, 0.0, 0.0, None]
    assert pipeline["queue_empty_pct"].to_list() == [50.0, 100.0, 100.0, 100.0, None]


def test_queues_of_the_host_and_of_the_device() -> None:
    (batch,) = rows(opened(recorded("profiler", 0)), "queues").rows(named=True)
    assert batch == {
        "queue": "host", "step": 1, "size": 0, "capacity": 64,
        "get_us": 0.0, "push_us": 4000.0, "total_us": 4000.0,
    }  # fmt: skip
    lines = "GetNext_dequeue_wait 100 138 7\nOther 1 2 3\nGetNext_dequeue_wait 200 260 0\n"
    on_npu = rows(opened(folder_of({"minddata_aicpu_0.txt": lines})), "queues")
    assert on_npu.select("queue", "step", "size", "total_us").rows() == [
        ("device", 1, 7, 38.0),
        ("device", 2, 0, 60.0),
    ]
    on_gpu = rows(opened(folder_of({"minddata_getnext_profiling_0.txt": lines})), "queues")
    assert on_gpu["total_us"].to_list() == [0.038, 0.06], "these are nanoseconds"


def test_samples_of_the_cpu_keep_their_times() -> None:
    trace = opened(recorded("profiler", 0))
    samples = {
        (trace.text(source), trace.text(metric), trace.text(unit), time_ns): value
        for source, metric, unit, time_ns, value in trace.samples.rows()
    }
    assert samples["host", "CPU user", "%", 20_000_000] == 20
    assert samples["host", "CPU I/O wait", "%", 30_000_000] == 10
    assert samples["host", "context switches", "", 30_000_000] == 30
    assert samples["process", "CPU system", "%", 10_000_000] == 10
    assert samples["Shuffle (1)", "CPU user", "%", 30_000_000] == 30


def test_queue_sizes_at_each_sample() -> None:
    sizes = rows(opened(recorded("profiler", 0)), "queue_sizes")
    assert sizes.filter(operation=2).rows() == [(2, 0, 10), (2, 10_000, 20), (2, 20_000, 30)]
    assert set(sizes["operation"].to_list()) == {1, 2, 3}


def test_shapes_of_each_iteration() -> None:
    shapes = rows(opened(recorded("profiler", 0)), "recorded_shapes")
    assert shapes.height == 19
    assert shapes.row(0) == ("InitDataSetQueue", "InitDataSetQueue-op0", 1, 633.088, None)
    assert shapes.filter(iteration=9).row(0) == ("Add", "Add-op6", 9, 20.608, "[[32, 1], [32, 1]]")


def test_a_rank_and_the_stage_it_is_in() -> None:
    job = opened(recorded("parallel_strategy", 1)).meta.info.job
    assert job is not None
    assert job.rank == 1
    assert job.groups == (
        ProcessGroup(name="stage 0", description="auto_parallel", size=2, ranks=(0, 1)),
    )
