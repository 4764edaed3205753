"""The bottleneck of a pipeline, worked out by hand on pipelines that were recorded and made."""

from __future__ import annotations

import polars as pl
import pytest

from tests.importers.mindspore.folders import opened, recorded
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS
from torch_tb_profiler.views.data.bottleneck import bottlenecks, pipeline_of
from torch_tb_profiler.views.data.view import data


def found(rows: list[tuple[int, str, int | None, float | None]]) -> list[tuple[int, ...]]:
    """Numbers of the bottlenecks of (operation, type, parent, queue fill)."""
    keys = ("operation", "type", "parent", "queue_pct")
    frame = pl.DataFrame(
        [dict(zip(keys, row, strict=True)) for row in rows], schema=SIDE_SCHEMAS["pipeline"]
    )
    return [each.operations for each in bottlenecks(pipeline_of(frame))]


@pytest.mark.parametrize(
    ("device", "operations", "why", "advice"),
    [
        # 60 of 64 before Shuffle (4), 10 of 64 behind it.
        (0, [4], "its input queue is 94 % full and its output queue 16 %", "Shuffle has one"),
        # 60 of 64 behind both readers, 10 of 64 behind Shuffle (1).
        (1, [1], "its input queue is 94 % full and its output queue 16 %", "Shuffle has one"),
        # 60 of 64 everywhere: the last operation.
        (2, [0], "its input queue is 94 % full", "Give batch more workers"),
        # 10 of 64 everywhere: the first operations.
        (3, [2, 3], "no queue after them is more than 16 % full", "Reading is slow"),
    ],
)
def test_recorded_pipelines(device: int, operations: list[int], why: str, advice: str) -> None:
    view = data(opened(recorded("minddata_pipelines", device)), Selection())
    (note,) = [note for note in view.notes if note.code == "data_bottleneck"]
    assert note.kind == "advice"
    assert note.evidence["operations"] == operations
    assert why in note.text
    assert advice in note.text
    table = view.tables["pipeline"].frame
    slow = table.filter("bottleneck")["operation"].to_list()
    assert slow == [str(number) for number in operations]


def test_an_operation_without_a_queue_is_looked_through() -> None:
    assert found(
        [(0, "Batch", None, 10), (1, "Repeat", 0, None), (2, "Map", 1, 90), (3, "TFReader", 2, 90)]
    ) == [(0,)]


def test_a_pipeline_that_is_full_to_its_end_waits_for_the_model() -> None:
    rows = [(0, "EpochCtrl", None, None), (1, "Batch", 0, 95.0), (2, "TFReader", 1, 95.0)]
    assert found(rows) == []


def test_nothing_is_told_without_queues() -> None:
    assert found([(0, "Batch", None, None), (1, "TFReader", 0, None)]) == []
    assert found([]) == []


def test_circles_unknown_parents_and_long_chains_end() -> None:
    assert found([(0, "Map", 1, 10), (1, "Map", 0, 90), (2, "Map", 2, 90), (3, "Map", 9, 90)]) == [
        (0,)
    ]
    chain = [(n, "Map", n - 1 if n else None, None) for n in range(20_000)]
    assert found([*chain, (20_000, "TFReader", 19_999, 5.0)]) == [(20_000,)]
