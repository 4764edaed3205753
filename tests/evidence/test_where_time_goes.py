"""Where no check finds anything that costs time, the first line says where it goes.

Worked by hand on small traces: of devices, of operators, of ranges alone, of rows of unknown kind;
shares add up, what no rule knows has its share, and a remark about the recording comes second.
"""

from __future__ import annotations

import json

from tests.detectors.scenes import launched, one_step
from tests.helpers.traces import annotation, kernel, memcpy, op, slice_event, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

GEMM = "ampere_sgemm_128x64_nn"


def first_note(of: Trace) -> Note:
    return run_detectors(of, Selection()).notes[0]


def test_a_busy_device_by_kind_and_name() -> None:
    """976 of 1000 µs: 650 in a known product, 300 in a private kernel, 26 in a copy."""
    work = [
        *launched(GEMM, 4, 650, 1, launch_at=0),
        *launched("acme::secret_kernel", 654, 300, 2, launch_at=2),
        memcpy(954, 26, name="Memcpy DtoD (Device -> Device)"),
    ]
    note = first_note(one_step(work))
    assert note.code == "where_time_goes"
    assert note.text.startswith(
        "The GPU runs kernels or copies for 98 % of a step of 1.00 ms. By kind"
    )
    assert "matrix products 67 %, copies 3 %, not recognized 31 %." in note.text
    assert "(1×), acme::secret_kernel 31 % (1×), Memcpy DtoD (Device -> Device) 3 %" in note.text
    rows = note.evidence["rows"]
    assert isinstance(rows, list)
    assert [(row["total_us"], row["calls"]) for row in rows] == [(650, 1), (300, 1), (26, 1)]
    assert round(sum(row["share_pct"] for row in rows)) == 100
    spot = note.evidence["timeline"]
    assert isinstance(spot, dict)
    assert spot["end_ns"] - spot["start_ns"] == 650_000


def test_several_devices_have_their_range() -> None:
    work = [
        *launched(GEMM, 0, 1000, 1),
        kernel(GEMM, 0, 900, device=1),
    ]
    assert (
        "Each of 2 GPUs runs kernels or copies for 90 to 100 % of"
        in first_note(one_step(work)).text
    )


def test_without_device_time_the_operators_of_the_host() -> None:
    """The product's own time is 400 of 500 µs, an addition is inside."""
    note = first_note(one_step([op("aten::mm", 0, 500), op("aten::add", 100, 100)]))
    assert note.text == (
        "No device work is recorded. Operators of the host run for 50 % of a step of 1.00 ms. "
        "By kind: matrix products 80 %, elementwise operations 20 %. "
        "Most time: aten::mm 80 % (1×), aten::add 20 % (1×)."
    )


def test_without_steps_and_operators_the_ranges_of_the_recording() -> None:
    note = first_note(trace([annotation("solve", 0, 300), annotation("read", 0, 100)]))
    assert note.text == (
        "No device work is recorded. This is what the host does in the 300 µs of the recording. "
        "Most time: solve 67 % (1×), read 33 % (1×)."
    )


def test_rows_of_unknown_kind_are_called_so() -> None:
    row = slice_event("acme", "Iteration", 0, 100, pid=0, tid=7, device=0, stream=7)
    text = json.dumps({"traceEvents": [row]}).encode()
    note = first_note(build_trace(read_text([text], name="w.pt.trace.json")))
    assert "only rows whose kind is not known. Most time: Iteration 100 % (1×)." in note.text


def test_a_text_of_the_trace_stays_on_its_line() -> None:
    note = first_note(one_step([op("evil\n## heading " + "x" * 5000, 0, 500)]))
    assert "\n" not in note.text
    assert len(note.text) < 1000


def test_device_work_without_launches_is_device_work() -> None:
    """Only the kernels and one operator: what launched them is not in the file."""
    work = [op("aten::mm", 0, 500), kernel(GEMM, 10, 700)]
    note = first_note(one_step(work))
    assert note.text.startswith("The GPU runs kernels or copies for 70 % of a step of 1.00 ms.")


def test_few_operators_do_not_stand_for_the_host() -> None:
    """One of 10 µs in a range of 900 µs."""
    note = first_note(one_step([annotation("prepare", 0, 900), op("aten::add", 100, 10)]))
    assert "This is what the host does in a step of 1.00 ms." in note.text
    assert "prepare 99 % (1×), aten::add 1 % (1×)." in note.text
