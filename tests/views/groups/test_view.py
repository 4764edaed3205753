"""The view of groups: a worked recording, the choice of hierarchy and domain, equal siblings
folded, and what is null and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.operators.hierarchies import walk
from tests.helpers import traces as t
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.groups import rows as rows_module
from torch_tb_profiler.views.groups.rows import NO_API, NO_RANGE
from torch_tb_profiler.views.groups.view import NOTHING, SPEC, groups
from torch_tb_profiler.views.schema import View

GEMM = "sm90_xmma_gemm_f16f16_tn_n"
FIGURES = ("total", "mean", "min", "max")


def rows(view: View, table: str = "groups") -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in view.tables[table].frame.rows(named=True)}


def test_without_a_device_nobody_knows_what_used_tensor_cores() -> None:
    events = [t.step(1, 0, 100), t.annotation("net", 10, 50), t.op("aten::mm", 20, 30)]
    table = groups(t.trace(events), Selection()).tables["groups"]
    (row,) = table.frame.rows(named=True)
    assert (row["tensor_core_eligible_operators"], row["tensor_core_using_operators"]) == (1, None)
    assert table.null_reasons["tensor_core_using_operators"] == NO_DEVICE_WORK


def model() -> Trace:
    """Two steps of a net of four layers, one of them slow; an optimizer beside it."""
    events: list[t.Event] = []
    corr = 0
    for number in (1, 2):
        base = 1000 * number
        events += [
            t.step(number, base, 1000),
            t.frame("nn.Module: Net_0", base + 10, 700, python_id=base, module=0),
        ]
        for layer in range(4):
            at, corr = base + 20 + 100 * layer, corr + 1
            name = f"nn.Module: Layer_{layer}"
            events += [
                t.frame(name, at, 60, python_id=base + 1 + layer, module=layer + 1),
                t.op("aten::mm", at + 5, 40),
                t.call("cudaLaunchKernel", at + 10, 6, corr=corr),
                t.kernel(
                    "sm90_xmma_gemm_f16f16_tn_n", at + 20, 15 if layer == 2 else 10, corr=corr
                ),
            ]
        corr += 1
        events += [
            t.annotation("my loss", base + 720, 20),
            t.annotation("Optimizer.step#SGD.step", base + 750, 50),
            t.op("aten::add_", base + 760, 20),
            t.call("cudaLaunchKernel", base + 765, 5, corr=corr),
            t.kernel("add", base + 790, 5 * number, corr=corr),
        ]
    return t.trace(events)


def test_a_worked_recording() -> None:
    view = groups(model(), Selection(steps="1:2"))
    got = rows(view)
    assert list(got) == [
        "Net_0",
        *(f"Net_0/Layer_{i}" for i in range(4)),
        "unassociated_aten::add_",
    ]
    net, slow, outside = got["Net_0"], got["Net_0/Layer_2"], got["unassociated_aten::add_"]
    assert [net[f"cpu_{figure}_us"] for figure in FIGURES] == [1400, 700, 700, 700]
    assert [net[f"gpu_{figure}_us"] for figure in FIGURES] == [90, 45, 45, 45]
    assert [net[f"cpu_overhead_{figure}_us"] for figure in FIGURES] == [1352, 676, 676, 676]
    assert net["gpu_idle_mean_us"] == 310 - 45
    assert (slow["gpu_mean_us"], slow["gpu_idle_mean_us"], slow["calls"]) == (15, 0, 2)
    assert [outside[f"gpu_{figure}_us"] for figure in FIGURES] == [15, 7.5, 5, 10]
    assert (net["operator_calls"], net["iterations"], net["kind"]) == (8, 2, "group")
    assert (net["tensor_core_eligible_operators"], net["tensor_core_using_operators"]) == (4, 4)
    assert (outside["operator_calls"], outside["kind"]) == (2, "outside")
    assert slow["equal_siblings"] == 4
    assert round(outside["gpu_pct"], 3) == round(15 / 105 * 100, 3)
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts == {"gpu_time_outside_pct": 15 / 105 * 100, "iterations": 2}
    assert [row[:2] for row in view.tables["hierarchies"].frame.rows()] == [
        ("modules", None),
        ("ranges", "user"),
        ("ranges", "pytorch"),
        ("call_stacks", None),
    ]


def test_equal_siblings_folded() -> None:
    got = rows(groups(model(), Selection(steps="1:2")), "folded_groups")
    assert list(got) == ["Net_0", "Net_0/Layer ×4", "unassociated_aten::add_"]
    layers = got["Net_0/Layer ×4"]
    assert (layers["members"], layers["gpu_mean_us"], layers["calls"]) == (4, 45, 8)
    assert [layers[f"member_{figure}_us"] for figure in ("mean", "min", "max")] == [11.25, 10, 15]
    assert (layers["odd_one"], layers["odd_one_pct"]) == ("Net_0/Layer_2", 50)


def test_one_step_and_its_share() -> None:
    view = groups(model(), Selection(steps="2"))
    got = rows(view)
    assert got["Net_0"]["gpu_total_us"] == got["Net_0"]["gpu_mean_us"] == 45
    assert {fact.key: fact.value for fact in view.facts}["iterations"] == 1
    assert got["unassociated_aten::add_"]["gpu_total_us"] == 10


def test_ranges_of_each_domain_are_a_tree_of_their_own() -> None:
    trace = model()
    user = rows(groups(trace, Selection(group_by="ranges", steps="1:2")))
    assert next(iter(user)) == "my loss"
    assert user["my loss"]["gpu_total_us"] == 0
    pytorch = rows(groups(trace, Selection(steps="1:2"), domain="pytorch"))
    assert pytorch["Optimizer.step#SGD.step"]["gpu_total_us"] == 15
    with pytest.raises(SelectionError, match="there are user, pytorch"):
        groups(trace, Selection(), domain="nvtx")
    with pytest.raises(SelectionError, match="group_by"):
        groups(trace, Selection(group_by="layers"))


def test_call_stacks() -> None:
    frames = rows(groups(model(), Selection(group_by="call_stacks", steps="1:2")))
    assert frames["nn.Module: Net_0"]["gpu_mean_us"] == 45
    assert frames["nn.Module: Net_0;nn.Module: Layer_2"]["cpu_mean_us"] == 60


def test_what_a_recording_does_not_tell_is_null() -> None:
    view = groups(t.trace([t.annotation("mine", 0, 50), t.op("aten::mm", 10, 20)]), Selection())
    row = rows(view)["mine"]
    assert (row["cpu_total_us"], row["gpu_total_us"], row["cpu_overhead_total_us"]) == (
        50,
        None,
        None,
    )
    reasons = view.tables["groups"].null_reasons
    assert reasons["cpu_overhead_mean_us"] == NO_API
    assert "no device work" in reasons["gpu_idle_max_us"]
    assert view.tables["group_flame"].frame["device_width_us"].to_list() == [None]
    unlinked = t.trace([t.annotation("mine", 0, 9), t.call("cudaLaunchKernel", 1, 2, corr=1),
                        t.kernel("k", 5, 5, corr=1), t.kernel("lost", 11, 5)])  # fmt: skip
    view = groups(unlinked, Selection())
    assert rows(view)["unassociated_lost"]["cpu_total_us"] is None
    assert view.tables["groups"].null_reasons["cpu_total_us"] == NO_RANGE


def test_nothing_to_group_by() -> None:
    trace = t.trace([t.op("aten::mm", 0, 5)])
    assert str(SPEC.missing(trace)).startswith(NOTHING.removesuffix("."))
    assert SPEC.missing(model()) is None


def test_a_range_over_the_border_of_an_iteration_is_cut_and_nothing_is_lost() -> None:
    trace = t.trace(walk.recording(3).events)
    both = rows(groups(trace, Selection(steps="1:2", group_by="ranges")))
    parts = [rows(groups(trace, Selection(steps=step, group_by="ranges"))) for step in "12"]
    for path, row in both.items():
        for key in ("cpu", "gpu", "cpu_overhead", "gpu_idle"):
            apart = [part[path][f"{key}_total_us"] for part in parts if path in part]
            assert sum(apart) == pytest.approx(row[f"{key}_total_us"], abs=1e-6)


def test_a_large_tree_shows_what_takes_most_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "MAX_ROWS", 3)
    view = groups(model(), Selection(steps="1:2"))
    assert list(rows(view))[:2] == ["Net_0", "Net_0/Layer_0"]
    assert view.tables["groups"].frame.height == 3
    (note,) = (note for note in view.notes if note.code == "groups_left_out")
    assert note.evidence == {"groups": 3}


def reduced(launched_by: str = "backward") -> Trace:
    """A convolution in a net, and beside it a layer; the gradient of the convolution launches an
    all-reduce of 26.8 ms (or its forward a gather of that length)."""
    numbered: dict[str, Any] = {"Sequence number": 7}
    backward: dict[str, Any] = {**numbered, "Fwd thread id": 1}
    node = "autograd::engine::evaluate_function: ConvolutionBackward0"
    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": t.HOST}
    tid, at = (2, 325) if launched_by == "backward" else (1, 40)
    return t.trace(
        [
            t.step(1, 0, 40000),
            t.frame("nn.Module: Net_0", 10, 100, python_id=1, module=0),
            t.frame("nn.Module: Conv2d_0", 20, 50, python_id=2, module=1),
            t.op("aten::conv2d", 25, 30, **numbered),
            t.call("cudaLaunchKernel", 30, 5, corr=1),
            t.kernel("implicit_convolve_sgemm", 40, 150, corr=1),
            t.frame("nn.Module: Linear_0", 80, 20, python_id=3, module=2),
            t.op("aten::linear", 82, 10),
            t.call("cudaLaunchKernel", 84, 5, corr=2),
            t.kernel("gemm", 200, 3000, corr=2),
            t.op(node, 300, 50, tid=2),
            t.op("ConvolutionBackward0", 305, 40, tid=2, **backward),
            t.call("cudaLaunchKernel", 310, 5, tid=2, corr=3),
            t.kernel("cudnn_wgrad", 3210, 250, corr=3),
            t.call("cudaLaunchKernelExC", at, 5, tid=tid, corr=4),
            t.kernel(walk.ALL_REDUCE, 3500, 26800, corr=4, stream=20),
            {**link, "ph": "s", "tid": 1, "ts": 25},
            {**link, "ph": "f", "tid": 2, "ts": 305},
        ]
    )


def test_a_group_of_mostly_communication_says_what_launched_it() -> None:
    view = groups(reduced(), Selection())
    got = rows(view)
    assert {path: (row["gpu_total_us"], row["communication_us"]) for path, row in got.items()} == {
        "Net_0": (30200, 26800),
        "Net_0/Conv2d_0": (27200, 26800),
        "Net_0/Linear_0": (3000, 0),
    }
    (note,) = (note for note in view.notes if note.code == "groups_mostly_communication")
    assert "'Net_0/Conv2d_0' 26.8 ms of 27.2 ms (launched by the backward pass):" in note.text
    assert note.evidence["groups"] == ["Net_0/Conv2d_0"]  # the net only has what it has
    folded = rows(view, "folded_groups")
    assert folded["Net_0/Conv2d_0"]["communication_us"] == 26800


def test_communication_of_the_forward_pass_is_not_laid_on_the_backward() -> None:
    (note,) = (
        note
        for note in groups(reduced("forward"), Selection()).notes
        if note.code == "groups_mostly_communication"
    )
    assert "26.8 ms of 27.2 ms:" in note.text


def test_groups_that_compute_have_no_note_on_communication() -> None:
    assert all(
        note.code != "groups_mostly_communication" for note in groups(model(), Selection()).notes
    )
