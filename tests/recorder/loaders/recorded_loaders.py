"""A recording of this process in a test, and a loop that measures its loader itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.helpers.loading import FIELDS
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, loadings
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.recorder import session
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.trace.build import build_trace

Block = dict[str, Any]


class Recording:
    """A session of this process and its journal."""

    def __init__(self, folder: Path) -> None:
        begun = session.begin(Options(folder=str(folder), sample_every_ms=0, timer_only=True))
        assert begun is not None
        self.session = begun

    def blocks(self, kind: str) -> list[Block]:
        """The blocks of a kind; ends the recording."""
        text = self.end()
        actual = [json.loads(line) for line in text.splitlines()]
        return [block for block in actual if block["kind"] == kind]

    def end(self) -> bytes:
        """End the recording and return its journal."""
        path = Path(self.session.journal.path)
        session.end("exit")
        return path.read_bytes() if path.exists() else b""

    def loadings(self) -> list[Loading]:
        """The result of the analysis of the journal."""
        trace = build_trace(import_trace([self.end()], name="rank0.record.jsonl"))
        return loadings(trace, Selection())


def taken(loader: Any, step_s: float = 0.0, count: int | None = None) -> dict[str, list[int]]:
    """Iterate over batches; returns the fields of each and the measured wait."""
    result: dict[str, list[int]] = {key: [] for key in (*FIELDS, "wait_ns")}
    batches = iter(loader)
    while count is None or len(result["wait_ns"]) < count:
        started = time.perf_counter_ns()
        try:
            batch = next(batches)
        except StopIteration:
            break
        result["wait_ns"].append(time.perf_counter_ns() - started)
        for key, value in zip(FIELDS, batch, strict=True):
            result[key].append(value)
        time.sleep(step_s)
    return result
