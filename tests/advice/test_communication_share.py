"""Much of the step is communication."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.advice.scenes import context, finding, load, one_step
from tests.helpers.traces import annotation, kernel, op
from torch_tb_profiler.advice import exposed_communication
from torch_tb_profiler.advice.communication_share import detect
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.distributed.view import distributed


def test_communication_above_the_threshold_is_advised() -> None:
    events = [annotation("gloo:all_reduce", 0, 101, tid=2), annotation("gloo:barrier", 300, 20)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(12.1)
    assert advice.gain_us == pytest.approx(121)
    assert [(row["name"], row["calls"], row["total_us"]) for row in advice.rows] == [
        ("gloo:all_reduce", 1, 101.0),
        ("gloo:barrier", 1, 20.0),
    ]


def test_at_the_threshold_or_behind_computation_it_is_not() -> None:
    assert detect(context(one_step([annotation("gloo:all_reduce", 0, 100)]))) is None
    hidden = [annotation("gloo:all_reduce", 0, 500), kernel("gemm", 0, 500)]
    assert detect(context(one_step(hidden))) is None


def test_on_the_host_the_gain_is_what_nothing_computes_beside() -> None:
    """Communication from 0 to 400, an operator of another thread from 150 to 900."""
    events = [annotation("gloo:all_reduce", 0, 400, tid=2), op("aten::mm", 150, 750)]
    of = context(one_step(events))
    advice = finding(detect(of))
    assert advice.measured == pytest.approx(40.0)
    assert advice.gain_us == pytest.approx(150)
    assert advice.note().text.startswith(
        "Communication runs during 40.0 % of the step, and for 150.0 µs of it nothing computes"
    )
    beside = finding(exposed_communication.detect(of))
    assert beside.measured == pytest.approx(15.0)
    assert beside.gain_us == advice.gain_us
    assert beside.note().text.startswith(
        "No computation hides 38 % of the communication (15.0 % of the step), while the step has "
        "computation that could run beside 150.0 µs of it."
    )


def test_hidden_on_the_host_it_promises_nothing() -> None:
    events = [annotation("gloo:all_reduce", 0, 400, tid=2), op("aten::mm", 0, 900)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(40.0)
    assert advice.gain_us is None
    assert "always beside computation" in advice.note().text


def test_beside_kernels_operators_of_the_host_do_not_hide_it() -> None:
    """The kernel hides the first 100; what the host does meanwhile computes nothing."""
    events = [
        annotation("gloo:all_reduce", 0, 400, tid=2),
        op("aten::mm", 0, 900),
        kernel("gemm", 0, 100),
    ]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(30.0)
    assert advice.gain_us == pytest.approx(300)
    assert advice.variant == "default"


def test_calls_that_run_at_the_same_time_count_once_in_the_evidence() -> None:
    events = [
        annotation("gloo:all_reduce", 0, 200, tid=2),
        annotation("gloo:all_reduce", 150, 100, tid=3),
    ]
    (row,) = finding(detect(context(one_step(events)))).rows
    assert (row["calls"], row["total_us"]) == (2, 250.0)


def test_the_findings_of_a_cpu_run_agree_with_the_overlap_table(samples: Path) -> None:
    """rank0 of the sample run: no more to gain than its communication beside no computation."""
    path = min((samples / "cpu_ddp4_gloo").glob("rank0.*"))
    of = context(load(path))
    advice = finding(detect(of))
    overlap = distributed({"rank0": of.trace}, Selection()).tables["overlap"].frame
    mean = overlap.filter(overlap["step"] == "all").row(0, named=True)
    assert advice.gain_us == pytest.approx(mean["communication_us"])
    assert advice.measured == pytest.approx(
        (mean["communication_us"] + mean["overlap_us"]) / (of.step_ns / 1000) * 100
    )
