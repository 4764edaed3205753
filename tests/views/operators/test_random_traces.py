"""The operators view on random traces: against the slow reference, all device work in a row."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from tests.helpers.traces import Event, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.selection import Selection, device_work_mask
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import View


def rows(view: View) -> list[dict[str, Any]]:
    return view.tables["operators"].frame.to_dicts()


@given(recordings())
def test_random_traces_agree_with_the_reference(recording: Recording) -> None:
    recorded = trace(recording.events)
    read = reference.read(recording.events)
    selection = recording.selection
    inside = Inside(recorded, selection)
    launched_at = {
        e["args"]["correlation"]: reference.ns(e["ts"])
        for e in recording.events
        if e["cat"] == "cuda_runtime"
    }

    def is_selected(piece: Event) -> bool:
        launch = launched_at.get(piece["args"]["correlation"])
        return inside.work(reference.ns(piece["ts"]), launch)

    for group_by in ("name", "name+input_shape"):
        view = operators(
            recorded,
            Selection(selection.steps, selection.start_ns, selection.end_ns, group_by),
        )

        def key(node: reference.Node, group_by: str = group_by) -> tuple[str, Any]:
            shape = node.args.get("Input Dims") if "shape" in group_by else None
            return node.name, None if shape is None else json.dumps(shape)

        expected = reference.operator_sums(read.operators, key, inside.host, is_selected)
        found = {
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
        assert found.keys() == expected.keys()
        for group, values in expected.items():
            assert found[group] == pytest.approx(values, abs=1e-9)


class Inside:
    """What is in a selection: the host by its start; device work by the step of its launch, and of
    a time range by its own start."""

    def __init__(self, recorded: Trace, selection: Selection) -> None:
        self.first = selection.start_ns if selection.start_ns is not None else -1
        self.last = selection.end_ns if selection.end_ns is not None else 10**18
        self.step: tuple[int, int] | None = None
        for row in recorded.steps.iter_rows(named=True):
            if row["name"] == selection.steps:
                self.step = row["host_start_ns"], row["host_end_ns"]

    def host(self, start: int) -> bool:
        return self.work(start, start)

    def work(self, start: int, launch: int | None) -> bool:
        in_step = self.step is None or (
            launch is not None and self.step[0] <= launch < self.step[1]
        )
        return in_step and self.first <= start < self.last


@given(recordings())
def test_every_kernel_copy_and_set_is_in_one_row(recording: Recording) -> None:
    """Device Self over all rows is what ran on the devices, with and without a selection."""
    recorded = trace(recording.events)
    view = operators(recorded, recording.selection)
    table = view.tables["operators"].frame
    mask = device_work_mask(recorded, recording.selection)
    ran_ns = int(recorded.device_work["dur_ns"].filter(pl.Series(mask)).sum())
    assert sum(table["device_self_us"].fill_null(0)) == pytest.approx(ran_ns / 1000)
