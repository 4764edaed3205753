"""What of a recording is in a selection, told of single events."""

from __future__ import annotations

from collections.abc import Sequence

from tests.helpers.traces import Event
from tests.views import reference
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace


class Inside:
    """What is in a selection: the host by its start; device work by the step of its launch, and of
    a time range by its own start."""

    def __init__(self, recorded: Trace, selection: Selection, events: Sequence[Event]) -> None:
        self.first = selection.start_ns if selection.start_ns is not None else -1
        self.last = selection.end_ns if selection.end_ns is not None else 10**18
        self.step: tuple[int, int] | None = None
        for row in recorded.steps.iter_rows(named=True):
            if row["name"] == selection.steps:
                self.step = row["host_start_ns"], row["host_end_ns"]
        self.launched_at = {
            event["args"]["correlation"]: reference.ns(event["ts"])
            for event in events
            if event["cat"] == "cuda_runtime"
        }

    def host(self, start: int) -> bool:
        """Whether what starts then on the host is selected."""
        return self._holds(start, start)

    def piece(self, piece: Event) -> bool:
        """Whether a piece of device work is selected."""
        launch = self.launched_at.get(piece["args"]["correlation"])
        return self._holds(reference.ns(piece["ts"]), launch)

    def _holds(self, start: int, launch: int | None) -> bool:
        in_step = self.step is None or (
            launch is not None and self.step[0] <= launch < self.step[1]
        )
        return in_step and self.first <= start < self.last
