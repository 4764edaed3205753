"""Operators by name against the frames of all calls, for any selection."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.helpers.traces import call, kernel, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.operators.by_name import inside_of_names, operators_by_name
from torch_tb_profiler.analysis.operators.calls import operator_groups, selected_operator_calls
from torch_tb_profiler.analysis.selection import Selection

OWN = ("calls", "device_self_ns", "host_self_ns")


@given(recordings())
def test_sums_are_those_of_the_groups(recording: Recording) -> None:
    recorded, selection = trace(recording.events), recording.selection
    calls = selected_operator_calls(recorded, selection)
    groups = {row["name_code"]: row for row in operator_groups(calls, ["name_code"]).to_dicts()}
    mine = operators_by_name(recorded, selection)
    for row in mine.to_dicts():
        assert {key: row[key] for key in OWN} == {key: groups[row["name_code"]][key] for key in OWN}
    left = groups.keys() - set(mine["name_code"])
    assert all(groups[code][key] == 0 for code in left for key in OWN)
    names = mine["name_code"].to_numpy()
    inside = inside_of_names(recorded, selection, names)
    for place, code in enumerate(names.tolist()):
        group = groups[code]
        assert inside.device_ns[place] == group["device_total_ns"]
        assert inside.eligible[place] == group["eligible"]
        if group["tensor_core_total_ns"]:
            assert inside.used[place] == codes.YES
        elif group["tensor_core_unknown_total_ns"]:
            assert inside.used[place] == codes.UNKNOWN


def test_a_direction_is_told_where_all_calls_have_it() -> None:
    recorded = trace(
        [
            step(1, 0, 500),
            op("aten::mm", 10, 20, seq=7),
            op("MmBackward0", 100, 40, seq=7, tid=2, fwd=1),
            op("aten::mm", 110, 20, tid=2),
            op("aten::t", 112, 3, tid=2),
            call("cudaLaunchKernel", 115, 2, tid=2, corr=1),
            kernel("k", 130, 5, corr=1),
        ]
    )
    shown = operators_by_name(recorded, Selection())["name_code"].to_numpy()
    told = inside_of_names(recorded, Selection(), shown).direction
    by_name = dict(zip((recorded.text(code) for code in shown.tolist()), told, strict=True))
    assert by_name["MmBackward0"] == by_name["aten::t"] == "backward"
    assert by_name["aten::mm"] is None


def test_of_nothing_there_is_nothing() -> None:
    assert operators_by_name(trace([]), Selection()).is_empty()
    inside = inside_of_names(trace([]), Selection(), np.empty(0, np.int64))
    assert inside.direction == []
