"""The operators view on random traces: against the slow reference, all device work in a row."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from tests.helpers.traces import trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from tests.views.selected import Inside
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import View


def rows(view: View) -> list[dict[str, Any]]:
    return view.tables["operators"].frame.to_dicts()


@given(recordings())
def test_random_traces_agree_with_the_reference(recording: Recording) -> None:
    recorded = trace(recording.events)
    read = reference.read(recording.events)
    selection = recording.selection
    inside = Inside(recorded, selection, recording.events)
    for group_by in ("name", "name+input_shape"):
        view = operators(
            recorded,
            Selection(selection.steps, selection.start_ns, selection.end_ns, group_by),
        )

        def key(node: reference.Node, group_by: str = group_by) -> tuple[str, Any]:
            shape = node.args.get("Input Dims") if "shape" in group_by else None
            return node.name, None if shape is None else json.dumps(shape)

        expected = reference.operator_sums(read.operators, key, inside.host, inside.piece)
        result = {
            (row["name"], row["input_shape"]): (
                row["calls"],
                row["device_self_us"] or 0,
                row["device_total_us"] or 0,
                row["host_self_us"],
                row["host_total_us"],
            )
            for row in rows(view)
            if row["kind"] == "operator"
        }
        assert result.keys() == expected.keys()
        for group, values in expected.items():
            assert result[group] == pytest.approx(values, abs=1e-9)


@given(recordings())
def test_every_kernel_copy_and_set_is_in_one_row(recording: Recording) -> None:
    """Device Self over all rows is what ran on the devices, with and without a selection."""
    recorded = trace(recording.events)
    view = operators(recorded, recording.selection)
    table = view.tables["operators"].frame
    mask = device_work_mask(recorded, recording.selection)
    ran_ns = int(recorded.device_work["dur_ns"].filter(pl.Series(mask)).sum())
    assert sum(table["device_self_us"].fill_null(0)) == pytest.approx(ran_ns / 1000)
