"""Each data loader of a selection, summed up: what it was asked for, waited for, and worked."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.recording.samples import samples
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.batches import (
    TRAIN,
    WORK_COLUMNS,
    selected_batches,
    started_late,
    work_of,
)
from torch_tb_profiler.knowledge.data_loading import data_loading
from torch_tb_profiler.trace.model import Trace

WORK = tuple(key.removesuffix("_us") for key in WORK_COLUMNS)
"""The stages of the work on a batch."""

IN_WORKER = ("fetch", "transform", "collate")
"""Those that one worker does, one after the other."""


class StageSummary(Struct, frozen=True):
    """The times of one stage, in µs.

    Attributes:
        calls: Batches.
        total_us, mean_us, min_us, max_us: Of them.
    """

    calls: int
    total_us: float
    mean_us: float
    min_us: float
    max_us: float


class Loading(Struct, frozen=True):
    """A data loader in a phase.

    Attributes:
        loader: Its number.
        phase: ``"train"`` or ``"evaluation"``.
        settings: Its row of the side table ``loaders``; empty where there is none.
        batches: Batches that were asked for.
        samples: Samples of them; None where it is not told of all.
        periods: Batches whose period is known (:func:`~.batches.batch_rows`), at least 1.
        elapsed_us: Sum of these.
        waiting_us: Waiting in these.
        wait: Times of waiting for them.
        start_us: Likewise, for batches that no worker had begun with: epochs begin.
        waited: Batches whose wait took a good part of their period (``waited-pct``).
        capacity: Batches that can be ready; None without workers.
        empty_pct: Share of the batches that found none ready; None where nobody counted.
        fill_pct: How full the queue was in the mean, when a batch was asked for; likewise None.
        ready_wait_pct: Share of the waiting, without the start of epochs, while batches were
            ready; likewise None.
        stages: Stage → its times, of stages that are told.
        cpu_pct: Mean CPU of a worker; None where it was not sampled.
        process_pct: Mean CPU of the program's process; likewise None.
        cores: Of the machine, as many as the program may use; None where it is not recorded.
        idle_cores: Cores that had nothing to do, in the mean; None where it was not sampled.
    """

    loader: int
    phase: str
    settings: dict[str, Any]
    batches: int
    samples: int | None
    periods: int
    elapsed_us: float
    waiting_us: float
    wait: StageSummary
    start_us: float
    waited: int
    capacity: int | None
    empty_pct: float | None
    fill_pct: float | None
    ready_wait_pct: float | None
    stages: dict[str, StageSummary]
    cpu_pct: float | None
    process_pct: float | None
    cores: int | None
    idle_cores: float | None

    @property
    def workers(self) -> int | None:
        """Its workers; None where its settings are not told."""
        count: int | None = self.settings.get("workers")
        return count

    @property
    def wait_pct(self) -> float:
        """Share of the time that was spent waiting."""
        return self.waiting_us / self.elapsed_us * 100 if self.elapsed_us > 0 else 0.0

    @property
    def step_us(self) -> float:
        """Mean period of a batch."""
        return self.elapsed_us / self.periods

    @property
    def model_us(self) -> float:
        """Mean part of a period in which nothing was waited for."""
        return (self.elapsed_us - self.waiting_us) / self.periods

    @property
    def steady_us(self) -> float:
        """Mean period of a batch, without the start of epochs."""
        return (self.elapsed_us - self.start_us) / self.periods

    @property
    def steady_wait_us(self) -> float:
        """Mean wait for a batch, without the start of epochs."""
        return (self.waiting_us - self.start_us) / self.periods

    @property
    def work_us(self) -> float:
        """Mean time that a worker works on a batch."""
        return sum(self.stages[name].mean_us for name in IN_WORKER if name in self.stages)

    @property
    def workers_busy_pct(self) -> float | None:
        """Busy time of the workers ÷ (elapsed time × workers)."""
        if self.elapsed_us <= 0 or not any(name in self.stages for name in IN_WORKER):
            return None
        return self.work_us * self.periods / (self.elapsed_us * max(self.workers or 1, 1)) * 100

    @property
    def has_no_core_left(self) -> bool:
        """Whether the cores are known to be busy, by this program or others."""
        if self.cores is None or self.idle_cores is None:
            return False
        return self.idle_cores < self.cores * data_loading().idle_cores_pct / 100

    @property
    def computing_pct(self) -> float | None:
        """Share of the work on batches that used a core; None where nothing tells it, as where the
        process that loads does much else."""
        if self.workers == 0:
            is_significant = self.wait_pct >= data_loading().computing_pct
            return min(self.process_pct, 100.0) if is_significant and self.process_pct else None
        if self.cpu_pct is None or not self.workers_busy_pct:
            return None
        return min(self.cpu_pct / self.workers_busy_pct * 100, 100.0)

    @property
    def computes(self) -> bool:
        """Whether the work on batches is known to compute, rather than to wait for storage."""
        share, known = self.computing_pct, data_loading()
        limit = known.starved_pct if self.has_no_core_left else known.computing_pct
        return share is not None and share >= limit

    def workers_of(self, stage: str) -> int | None:
        """How many work on a stage: the process itself where it has no workers, a thread that pins;
        None where nothing tells, or nobody works."""
        if stage not in self.stages:
            return None
        if stage in IN_WORKER:
            return None if self.workers is None else max(self.workers, 1)
        return 1 if stage == "pin" else None

    def busy_pct(self, stage: str) -> float | None:
        """Busy time of a stage ÷ (elapsed time × its workers)."""
        if stage == "wait":
            return self.wait_pct
        times = self.stages.get(stage)
        if times is None or self.elapsed_us <= 0:
            return None
        several = self.workers_of(stage) or 1
        return times.mean_us * self.periods / (self.elapsed_us * several) * 100


def loadings(trace: Trace, selection: Selection) -> list[Loading]:
    """The loaders of a selection, those of training first; none where no recorder told of any.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    batches = selected_batches(trace, selection)
    if batches.is_empty():
        return []
    work = work_of(trace, batches)
    batches = _with_parts(batches, work)
    rows = batches.partition_by("phase", "loader", as_dict=True)
    worked = work.partition_by("phase", "loader", as_dict=True)
    settings = trace.side.get("loaders")
    known: dict[int, dict[str, Any]] = {}
    for row in () if settings is None else settings.frame.rows(named=True):
        known.setdefault(row["loader"], row)
    machine = _Machine(*_cores(trace), _process_mean(trace, "CPU"))
    results = []
    for key in sorted(rows, key=lambda key: (key[0] != TRAIN, key[1])):
        loader = int(key[1])
        cpu_pct = _worker_cpu(trace, loader, only=len(known) <= 1)
        mine = worked.get(key, work.clear())
        results.append(_loading(rows[key], mine, known.get(loader, {}), machine, cpu_pct))
    return results


class _Machine(Struct, frozen=True):
    cores: int | None
    idle_cores: float | None
    process_pct: float | None


def _with_parts(batches: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Batches with what the sums of a loader are made of, for all loaders at once."""
    share = pl.col("wait_us") >= pl.col("period_us") * (data_loading().waited_pct / 100)
    is_queued = pl.col("capacity") > 0
    rows: pl.DataFrame = batches.with_columns(late_us=started_late(batches, work)).with_columns(
        steady_us=pl.col("wait_us") - pl.col("late_us"),
        is_waited=share & (pl.col("wait_us") > 0),
        fill=pl.when(is_queued).then(pl.col("ready") / pl.col("capacity")),
    )
    return rows


def _loading(
    rows: pl.DataFrame,
    work: pl.DataFrame,
    settings: dict[str, Any],
    machine: _Machine,
    cpu_pct: float | None,
) -> Loading:
    wait = times_of(rows["wait_us"])
    assert wait is not None  # rows without a wait are left out
    timed = rows.filter(rows["period_us"].is_not_null())
    if timed.is_empty():  # of a batch alone nobody knows what came after it
        timed = rows.with_columns(period_us=rows["wait_us"])
    waited = rows.filter(rows["ready"].is_not_null())
    steady_us = float(waited["steady_us"].sum())
    ready_wait_us = float(waited["steady_us"].filter(waited["ready"] > 0).sum())
    fill = waited["fill"].drop_nulls()
    empty = int((waited["ready"] == 0).sum())
    stages = {name: times_of(work[f"{name}_us"]) for name in WORK} if work.height else {}
    return Loading(
        loader=rows["loader"][0],
        phase=rows["phase"][0],
        settings=settings,
        batches=rows.height,
        samples=None if rows["samples"].null_count() else int(rows["samples"].sum()),
        periods=timed.height,
        elapsed_us=float(timed["period_us"].sum()),
        waiting_us=float(timed["wait_us"].sum()),
        wait=wait,
        start_us=float(timed["late_us"].sum()),
        waited=int(rows["is_waited"].sum()),
        capacity=rows["capacity"].max(),  # type: ignore[arg-type]
        empty_pct=empty / waited.height * 100 if waited.height else None,
        fill_pct=float(np.mean(fill.to_numpy())) * 100 if len(fill) else None,
        ready_wait_pct=ready_wait_us / steady_us * 100 if steady_us else None,
        stages={name: times for name, times in stages.items() if times is not None},
        cpu_pct=cpu_pct,
        process_pct=machine.process_pct,
        cores=machine.cores,
        idle_cores=machine.idle_cores,
    )


def times_of(times_us: pl.Series) -> StageSummary | None:
    """The times of a stage; None where none is told."""
    known = times_us.drop_nulls()
    if not len(known):
        return None
    mean, shortest, longest = known.mean(), known.min(), known.max()
    return StageSummary(
        len(known),
        float(known.sum()),
        float(mean),  # type: ignore[arg-type]
        float(shortest),  # type: ignore[arg-type]
        float(longest),  # type: ignore[arg-type]
    )


def _worker_cpu(trace: Trace, loader: int, *, only: bool) -> float | None:
    """Mean CPU of the workers of a loader, as far as their samples name it."""
    prefixes = ("loader worker ",) if loader == 0 or only else ()
    prefixes = (*prefixes, f"loader {loader} worker ")
    means = [
        each.mean()
        for each in samples(trace).series
        if each.metric == "CPU" and each.unit == "%" and each.source.startswith(prefixes)
    ]
    return sum(means) / len(means) if means else None


def _cores(trace: Trace) -> tuple[int | None, float | None]:
    """The cores of the machine, and how many of them had nothing to do."""
    recorded_cores: int | None = getattr(trace.meta.info.settings, "cpu_cores", None)
    limit = _process_mean(trace, "CPU limit")
    usable = (
        recorded_cores
        if recorded_cores is None or limit is None
        else min(recorded_cores, max(int(limit / 100), 1))
    )
    for each in samples(trace).series:
        if (
            recorded_cores
            and each.source == "host"
            and each.metric == "CPU idle"
            and each.unit == "%"
        ):
            return usable, min(each.mean() / 100 * recorded_cores, usable or recorded_cores)
    return usable, None


def _process_mean(trace: Trace, metric: str) -> float | None:
    """The mean of a metric in percent of the program's process; None where it was not sampled."""
    for each in samples(trace).series:
        if (each.source, each.metric, each.unit) == ("process", metric, "%"):
            return each.mean()
    return None
