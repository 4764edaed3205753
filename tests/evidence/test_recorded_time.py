"""Without a timeline, the tables that a tool wrote while recording say where the time goes.

Truth: the parts of MindSpore's step trace and its own percentages, worked by hand.
"""

from __future__ import annotations

from tests.importers.mindspore.folders import folder_of, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.loading.queries.views import trace_view
from torch_tb_profiler.views.registry import view_named

STEPS = (
    "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail,"
    "stream_9_parallel_0_start_point,stream_9_parallel_0_end_point,stream_9_parallel_0\n"
    "1,0,10000000,10000000,0,9000000,0,9000000,1000000,100000,9800000,9700000\n"
    "2,10000000,20000000,10000000,10000000,19000000,0,9000000,1000000,10100000,19800000,9700000\n"
)
"""Two steps of 100 ms (a tick is 10 ns): 97 ms of communication, a tail of 10 ms."""


def test_a_step_that_is_communication_is_said_to_be_so() -> None:
    trace = opened(folder_of({"step_trace_raw_0_detail_time.csv": STEPS}))
    (note,) = run_detectors(trace, Selection()).notes
    assert note.severity == "info"
    assert note.text == (
        "The recording has no timeline; its own tables say where the time goes. A step takes "
        "100 ms (median of 2): forward and backward 90 %, tail 10 %; communication, inside "
        "these, 97 %."
    )
    view = trace_view(view_named("overview"), trace, Selection())
    assert [each.code for each in view.notes if each.kind == "advice"] == ["recorded_time"]


def test_types_of_operators_have_the_shares_that_the_file_states() -> None:
    types = (
        "kernel_type,total_time,execution_frequency,percent\n"
        "MatMul,5000.0,25,57.6\nCast,100.0,27,2.14\n"
    )
    trace = opened(folder_of({"aicore_intermediate_0_type.csv": types}))
    (note,) = run_detectors(trace, Selection()).notes
    assert note.text.endswith("Most operator time of AI Core: MatMul 58 %, Cast 2 %.")
