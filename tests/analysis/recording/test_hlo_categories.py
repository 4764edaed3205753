"""Kinds of kernels and types of operators of XLA programs, by the categories they state."""

from __future__ import annotations

from tests.helpers import xplane as xp
from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.analysis.communication.roles import Role, role_intervals
from torch_tb_profiler.analysis.idle.host_threads import host_threads
from torch_tb_profiler.analysis.operators.identity import operator_types_of_calls
from torch_tb_profiler.analysis.recording.device_terms import device_word
from torch_tb_profiler.analysis.recording.hlo_categories import hlo_texts
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.knowledge.operator_types import TYPES
from torch_tb_profiler.trace.build import build_trace


def test_operations_have_the_kind_of_their_category() -> None:
    trace = build_trace(read_bytes(xp.tpu_file(devices=1)))
    known = kernel_name_kinds(trace)
    kinds = {
        trace.text(code): known.kinds[known.index[code]].kind
        for code in trace.device_work["name_code"].to_list()
    }
    assert kinds == {
        "fusion.1": "gemm", "fusion.3": "elementwise", "all-reduce.4": "communication",
    }  # fmt: skip
    assert kernel_kinds(trace).is_communication.sum() == 3
    types = {TYPES[each] for each in operator_types_of_calls(trace)}
    assert types == {"matrix_product", "elementwise", "communication"}


def test_a_tpu_is_called_so() -> None:
    assert device_word(build_trace(read_bytes(xp.tpu_file()))) == "TPU"


def test_other_formats_have_no_such_categories() -> None:
    event = b'{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1, "dur": 2}'
    assert hlo_texts(build_trace(read_bytes(b'{"traceEvents": [' + event + b"]}"))) == {}


def test_scopes_of_devices_are_no_activity_of_the_host() -> None:
    planes = (xp.tpu_plane(), xp.environment_plane())
    trace = build_trace(read_bytes(xp.space(*planes)))
    assert len(role_intervals(trace)[Role.CPU_EXEC].start_ns) == 0
    assert host_threads(trace) == {}
