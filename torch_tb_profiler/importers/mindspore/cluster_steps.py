"""``ascend_cluster_analyse_*.csv``: how much of each step of a rank is communication, in ms.

Format: docs/format-mindspore.md#steps-of-a-cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from torch_tb_profiler.importers.mindspore.files import CLUSTER_STEPS
from torch_tb_profiler.importers.mindspore.numbers import MS, decimal, mean, number
from torch_tb_profiler.importers.mindspore.parsing import csv_rows
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

COLUMNS = {
    "without_communication_us": "computation_time",
    "communication_alone_us": "communication_alone_time",
    "stage_us": "stage_time",
    "receive_alone_us": "receive_alone_time",
    "collective_alone_us": "collective_communication_alone_time",
}
"""Column of the side table → that of the file; the last three are of pipelines only."""

NEEDED = ("computation_time", "communication_alone_time")

ROUNDED_MS = Decimal("0.0002")
"""The file rounds to 0.0001 ms, its mean as well as its steps."""


class Cluster(Struct, frozen=True):
    """What the name of a file says of the job.

    Attributes:
        mode: How it is parallel: ``"data-parallel"``, ``"model-parallel"`` or
            ``"pipeline-parallel"``.
        rank: The rank of the file.
        ranks: Number of ranks.
        stage: The pipeline stage of the rank, from 0; None where stages are not of equal size.
    """

    mode: str
    rank: int
    ranks: int
    stage: int | None


def cluster_of(name: str) -> Cluster | None:
    """The job that the name of a file describes; None if its numbers cannot be."""
    match = CLUSTER_STEPS.fullmatch(name)
    if match is None:
        return None
    stages, ranks, rank = (int(match[key]) for key in ("stages", "ranks", "worker"))
    if not rank < ranks <= MAX_RANKS or not 0 < stages <= ranks:
        return None
    stage = rank * stages // ranks if ranks % stages == 0 else None
    return Cluster(match["mode"], rank, ranks, stage)


def read_cluster_steps(
    text: str, cluster: Cluster | None, step_count: int, quality: QualityReport
) -> list[dict[str, object]]:
    """The steps, in order. The last row of several steps is their mean, and only compared.

    Args:
        text: The file.
        cluster: What its name says.
        step_count: The number of steps in the step trace; 0 if it is not known.
        quality: Gets damaged rows, and a mean that is not that of the steps.

    Raises:
        UnreadableFileError: it has another header.
    """
    steps: list[Mapping[str, Decimal | None]] = []
    for cells in csv_rows(text, NEEDED, quality):
        step = {key: decimal(cells.get(column)) for key, column in COLUMNS.items()}
        # A row has no number but its place, so a damaged one stays until all are numbered.
        if step["without_communication_us"] is None or step["communication_alone_us"] is None:
            quality.add("side_row_left_out")
        steps.append(step)
    is_whole = len(steps) > 2 and text.endswith("\n")
    if len(steps) > step_count if step_count else is_whole:
        quality.add("recorded_mean_differs", int(not _is_mean(steps.pop(), steps[1:])))
    return [
        {
            "step": str(position),
            "parallel": None if cluster is None else cluster.mode,
            "stage": None if cluster is None else cluster.stage,
            **{key: number(value, MS) for key, value in step.items()},
        }
        for position, step in enumerate(steps, start=1)
        if any(value is not None for value in step.values())
    ]


def _is_mean(last: Mapping[str, Decimal | None], steps: list[Mapping[str, Decimal | None]]) -> bool:
    """Whether each value is the mean of those of the steps, where both are known."""
    for key, value in last.items():
        expected = mean([known for step in steps if (known := step[key]) is not None])
        if value is not None and expected is not None and abs(value - expected) > ROUNDED_MS:
            return False
    return True
