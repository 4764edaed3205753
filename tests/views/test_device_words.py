"""Recordings whose devices are no GPUs."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers import traces as t
from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.device_terms import device_kinds
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.reports.two_sides import on_two_sides
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.checks import CHECKED
from torch_tb_profiler.views.critical_path.pieces import track_texts
from torch_tb_profiler.views.device_words import localize_device_terms
from torch_tb_profiler.views.schema import Column, Note, Table, TableSpec, View
from torch_tb_profiler.views.timeline.tracks import assign_tracks

REASON = device_kinds()["Ascend"].no_matrix_units
EVENTS = [
    t.annotation("train", 0, 95),
    t.op("aten::mm", 0, 90, ext=1),
    t.call("aclnnMm", 10, 5, corr=1, ext=1),
    t.kernel("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn", 30, 40, corr=1, ext=1),
    t.kernel("hcom_allReduce__1", 80, 10, corr=2),
]


def of_devices(label: str) -> Trace:
    """Work of device 0, whose track the recording gives ``label``."""
    name = {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": label}}
    return t.trace([*EVENTS, name])


def shown(trace: Trace, name: str) -> View:
    return trace_view(view_spec(name), trace, Selection())


def test_the_kind_of_a_recording() -> None:
    assert device_terms(of_devices("GPU 0")) is None
    assert device_terms(t.trace(EVENTS[:2])) is None
    for events in (EVENTS[:1], EVENTS):  # without devices, and with one that has no label
        trace = t.trace(events)
        info = msgspec.structs.replace(trace.meta.info, recorder="torch_npu.profiler")
        actual = device_terms(replace(trace, meta=replace(trace.meta, info=info)))
        assert actual is not None
        assert actual.device == "NPU"


def test_nothing_is_known_of_tensor_cores_that_are_not_there() -> None:
    gpu, npu = of_devices("GPU 0"), of_devices("NPU 0")
    assert kernel_kinds(gpu).tensor_core.tolist() == [codes.YES, codes.NO]
    assert kernel_kinds(npu).tensor_core.tolist() == [codes.UNKNOWN, codes.UNKNOWN]
    assert codes.YES in eligible_slices(gpu)
    assert codes.YES not in eligible_slices(npu)


@pytest.mark.parametrize("name", ["overview", "iterations", "operators", "kernels", "groups"])
def test_numbers_of_tensor_cores_are_null_with_the_reason(name: str) -> None:
    view = shown(of_devices("NPU 0"), name)
    for fact in view.facts:
        if "tensor_core" in fact.key:
            assert (fact.value, fact.reason) == (None, REASON), fact.key
    for table in view.tables.values():
        for key in table.frame.columns:
            if "tensor_core" in key and table.frame.height:
                assert table.frame[key].null_count() == table.frame.height, key
                assert table.null_reasons[key] == REASON
    assert "tensor_core_use_unknown" not in {note.code for note in view.notes}


def test_rows_of_tensor_cores() -> None:
    view = shown(of_devices("NPU 0"), "overview")
    classes = view.tables["kernel_classes"].frame
    assert classes["kernels"].to_list() == [2, None, 0, 2]
    assert shown(of_devices("GPU 0"), "overview").tables["kernel_classes"].frame[
        "kernels"
    ].to_list() == [2, 1, 0, 1]
    table = shown(of_devices("NPU 0"), "kernels").tables["tensor_core_time"]
    assert (table.frame.height, table.why_empty) == (0, REASON)


def test_devices_are_called_what_they_are() -> None:
    npu, gpu = (shown(of_devices(label), "overview") for label in ("NPU 0", "GPU 0"))
    facts = {(fact.key, fact.scope): fact for fact in npu.facts}
    assert facts["gpu_utilization_pct", "NPU 0"].title == "NPU Utilization"
    assert facts["device_type", None].value == "NPU"
    assert npu.tables["gpus"].spec.title == "NPUs"
    titles = [view.tables["guidance"].frame["title"] for view in (npu, gpu)]
    assert [pages.str.contains("GPU").any() for pages in titles] == [False, True]
    assert "GPU" not in " ".join(note.text for note in npu.notes)
    assert gpu.tables["gpus"].spec.title == "GPUs"


def test_devices_in_cells_are_called_so_too() -> None:
    spec = TableSpec(
        "rows",
        "Rows",
        "",
        (
            Column("name", "Name", "string", None, ""),
            Column("device", "Device", "string", None, ""),
        ),
    )
    names = ["GPU 3", "pinned memory", "GPU 0 of another", None]
    frame = pl.DataFrame({"name": ["GPU 3"] * 4, "device": names})
    view = View({"rows": Table(spec, frame)}, {}, (), ())
    localized = localize_device_terms({"": of_devices("NPU")}, view).tables["rows"].frame
    assert localized["device"].to_list() == ["NPU 3", "pinned memory", "GPU 0 of another", None]
    assert localized["name"].to_list() == ["GPU 3"] * 4


def test_pages_on_other_devices_are_not_linked() -> None:
    links = ["https://docs.nvidia.com/cuda/", "https://pytorch.org/docs/"]
    note = Note("advice", "x", "info", "The GPU waits.", {"links": links})
    [npu], [gpu] = (
        localize_device_terms({"": of_devices(label)}, View(notes=(note,))).notes
        for label in ("NPU 0", "GPU 0")
    )
    assert (npu.evidence["links"], npu.text) == (links[1:], "The NPU waits.")
    assert gpu is note


def test_tracks_of_devices_are_called_so_too() -> None:
    for label in ("NPU 0", "GPU 0"):
        titles = {group.title for group in assign_tracks(of_devices(label)).groups}
        assert label in titles


def test_the_answer_is_in_the_terms_of_the_device_and_pending_findings_stay_pending() -> None:
    view = View(findings_pending=True, answer="The GPU is busy.")
    npu = localize_device_terms({"": of_devices("NPU 0")}, view)
    assert npu.answer == "The NPU is busy."
    assert npu.findings_pending


def test_findings_and_checks_are_in_the_terms_of_the_device() -> None:
    note = Note(
        "advice",
        "x",
        "info",
        "NCCL waits: set PYTORCH_CUDA_ALLOC_CONF, or torch.cuda.empty_cache() on the GPUs.",
        {"title": "Blocking copies from the GPU"},
    )
    [npu] = localize_device_terms({"": of_devices("NPU 0")}, View(notes=(note,))).notes
    assert npu.evidence["title"] == "Blocking copies from the NPU"
    assert npu.text == (
        "HCCL waits: set PYTORCH_NPU_ALLOC_CONF, or torch.npu.empty_cache() on the NPUs."
    )
    frame = pl.DataFrame(
        [("GPU imbalance", "passed", "One GPU.", None, None, "gpu_imbalance")],
        schema=CHECKED.polars_schema(),
        orient="row",
    )
    view = View(tables={CHECKED.name: Table(CHECKED, frame)})
    shown_checks = localize_device_terms({"": of_devices("NPU 0")}, view).tables[CHECKED.name]
    assert shown_checks.frame.row(0) == (
        "NPU imbalance", "passed", "One NPU.", None, None, "gpu_imbalance",
    )  # fmt: skip


def test_causes_of_idle_time_are_in_the_terms_of_the_device() -> None:
    def words(label: str) -> str:
        frame = shown(of_devices(label), "idle").tables["causes"].frame
        return " ".join(str(text) for key in ("meaning", "remedy") for text in frame[key])

    assert "CUDA graphs" in words("GPU 0")
    assert not {"GPU", "CUDA"} & set(words("NPU 0").replace(",", " ").replace(".", " ").split())


def test_software_of_other_devices_is_not_missed() -> None:
    others = {"cuda_driver_version", "cuda_runtime_version", "cudnn_version"}
    keys = [
        {fact.key for fact in shown(of_devices(label), "overview").facts}
        for label in ("NPU 0", "GPU 0")
    ]
    assert not others & keys[0]
    assert others <= keys[1]


def test_streams_on_the_critical_path_are_of_the_device() -> None:
    trace = of_devices("NPU 0")
    device = int(trace.tracks.filter("is_device")["track"][0])
    assert track_texts(trace, np.array([device])) == ["NPU 0, stream 7"]


def test_two_tables_for_a_terminal_are_called_after_the_device() -> None:
    tables = on_two_sides(shown(of_devices("NPU 0"), "groups")).tables
    assert any(table.spec.title.endswith(", NPU") for table in tables.values())
    assert not any(table.spec.title.endswith(", GPU") for table in tables.values())
