"""What the views say of a part of a recording, each asked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.schema import Scalar, View
from torch_tb_profiler.views.spec import PairView, RunView, TraceView
from torch_tb_profiler.views.timeline.index import Timeline, timeline
from torch_tb_profiler.views.timeline.range_summary import RangeSummary, range_summary

WORKER = "worker0"


@dataclass
class Answers:
    """The views of a recording under one selection; compared, it is with itself."""

    trace: Trace
    selection: Selection

    @cached_property
    def overview(self) -> View:
        return self._view("overview")

    @cached_property
    def iterations(self) -> View:
        return self._view("iterations")

    @cached_property
    def operators(self) -> View:
        return self._view("operators")

    @cached_property
    def operators_by_shape(self) -> View:
        return self._view("operators", "name+input_shape")

    @cached_property
    def kernels(self) -> View:
        return self._view("kernels")

    @cached_property
    def kernels_by_launch(self) -> View:
        return self._view("kernels", "name+operator+launch")

    @cached_property
    def memory(self) -> View | None:
        return self._view("memory") if self._has("memory") else None

    @cached_property
    def modules(self) -> View | None:
        return self._view("modules") if self._has("modules") else None

    @cached_property
    def data(self) -> View | None:
        return self._view("data") if self._has("data") else None

    @cached_property
    def idle(self) -> View | None:
        return self._view("idle") if self._has("idle") else None

    @cached_property
    def copies(self) -> View | None:
        return self._view("copies") if self._has("copies") else None

    @cached_property
    def distributed(self) -> View | None:
        function = cast(RunView, view_named("distributed").function)
        return function({WORKER: self.trace}, self.selection) if self._has("distributed") else None

    @cached_property
    def compare(self) -> View:
        function = cast(PairView, view_named("compare").function)
        return function(self.trace, self.selection, self.trace, self.selection)

    @cached_property
    def timeline(self) -> Timeline:
        return timeline(self.trace)

    @cached_property
    def whole_range(self) -> RangeSummary:
        # Ranges do not include their end, where kernels of length 0 may lie.
        return range_summary(self.timeline, 0, self.timeline.end_ns + 1)

    @cached_property
    def step_ranges(self) -> list[RangeSummary]:
        """The timeline's summary of each step the overview shows."""
        windows = pl.DataFrame(self.step_edges, schema=["start", "end"], orient="row")
        return [range_summary(self.timeline, start, end) for start, end in windows.iter_rows()]

    @cached_property
    def step_edges(self) -> list[tuple[int, int]]:
        """Start and end of each step the overview shows, from the timeline's origin."""
        shown = self.overview.tables["steps"].frame["step"].to_list()
        steps = self.trace.steps.filter(pl.col("name").is_in(shown))
        origin = self.timeline.origin_ns
        low = self.selection.start_ns or 0
        high = self.selection.end_ns or max(steps["end_ns"].to_list(), default=0)
        return [
            (max(start, low) - origin, min(end, high) - origin)
            for start, end in steps.select("start_ns", "end_ns").iter_rows()
        ]

    def fact(self, key: str, view: View | None = None) -> Scalar:
        """A fact of the whole trace, of the overview unless told otherwise."""
        facts = (view or self.overview).facts
        [value] = [fact.value for fact in facts if fact.key == key and fact.scope is None]
        return value

    def _has(self, name: str) -> bool:
        return view_named(name).missing(self.trace) is None

    def _view(self, name: str, group_by: str | None = None) -> View:
        function = cast(TraceView, view_named(name).function)
        return function(self.trace, replace(self.selection, group_by=group_by))


Quantity = Callable[[Answers], object]
"""A number, or numbers by name; None where it does not apply."""
