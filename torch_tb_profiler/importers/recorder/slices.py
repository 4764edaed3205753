"""Converts the steps, waits and work of a journal to slices, and creates their tracks.

The stages of a batch are placed one after the other in the time in which it was prepared: their
durations are measured, their order is a model (docs/format-record.md#how-it-is-read).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.importers.recorder.journal import Header, JournalData
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, SLICE_COLUMNS, ColumnArrays, Int32, Int64, Track

MAIN = 0
"""Number of the main thread's track."""

STEP_NAMES = {"train": "ProfilerStep", "evaluation": "Evaluation"}
WAIT_NAME = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
"""torch's name, so that the whole run and its windows can be compared."""

ANNOTATION, LOADING = "user_annotation", "data_loading"
STAGES = ("fetch", "transform", "collate")


class SliceGroup(Struct, frozen=True, eq=False):
    """The values that slices added together have in common.

    Attributes:
        category: Their category.
        raw_category: Their raw category.
        track: Number of their track, or of the track of each.
    """

    category: Category
    raw_category: str
    track: int | Int32 = MAIN


class SliceBuilder(Struct):
    """Collects slices.

    Attributes:
        code_of: Text → its code.
        base_ns: The time from which their times count.
        tracks: The tracks.
    """

    code_of: Callable[[str], int]
    base_ns: int
    tracks: list[Track]
    _parts: list[ColumnArrays] = field(default_factory=list)

    def add(self, group: SliceGroup, names: Any, start_ns: Int64, dur_ns: Int64) -> None:
        """Add slices; ``names`` are codes, or one code for all."""
        size = len(start_ns)
        values = {
            "category": group.category,
            "raw_category_code": self.code_of(group.raw_category),
            "name_code": names,
            "track": group.track,
            "start_ns": start_ns - self.base_ns,
            "dur_ns": dur_ns,
            "correlation": ABSENT,
            "external_id": ABSENT,
        }
        self._parts.append(
            {
                name: np.broadcast_to(np.asarray(values[name], dtype), size)
                for name, dtype in SLICE_COLUMNS.items()
            }
        )

    def table(self) -> ColumnArrays:
        """The slice table."""
        return {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._parts)])
            for name, dtype in SLICE_COLUMNS.items()
        }


def build_slices(journal: JournalData, base_ns: int, code_of: Callable[[str], int]) -> SliceBuilder:
    """Build all slices of a journal.

    Args:
        journal: The journal.
        base_ns: The time from which times count.
        code_of: Text → its code.
    """
    builder = SliceBuilder(code_of, base_ns, [_main_track(journal.header or Header())])
    _add_steps(builder, journal.frame("steps"))
    _add_waits(builder, journal)
    work = journal.frame("work")
    workers = work.select("loader", "worker").unique().sort("loader", "worker", nulls_last=True)
    tracks = [_add_worker_track(builder, *worker) for worker in workers.iter_rows()]
    workers = workers.with_columns(pl.Series("track", tracks, pl.Int32))
    rows = work.join(
        workers, on=["loader", "worker"], how="left", nulls_equal=True, maintain_order="left"
    )
    _add_work(builder, rows, rows["track"].to_numpy())
    return builder


def _add_waits(builder: SliceBuilder, journal: JournalData) -> None:
    """Add the calls of data loader iterators, in which the program waits."""
    loaders = {number: fields.get("workers") for number, fields in journal.loaders.items()}
    workers = pl.DataFrame(
        {"loader": list(loaders), "workers": list(loaders.values())},
        {"loader": pl.Int64, "workers": pl.Int64},
    )
    batches = journal.frame("batches").join(workers, on="loader", how="left", maintain_order="left")
    used = pl.col("worker").is_not_null().any().over("loader")
    has_workers = pl.coalesce(pl.col("workers") > 0, used)
    group = SliceGroup(Category.DATALOADER, ANNOTATION)
    for rows, kind in (
        (batches.filter(has_workers), "MultiProcessing"),
        (batches.filter(~has_workers), "SingleProcess"),
    ):
        if rows.height:
            start, wait = _columns(rows, "start_ns", "wait_ns")
            name = builder.code_of(WAIT_NAME.format(kind))
            builder.add(group, name, start, np.maximum(wait, 0))


def _main_track(header: Header) -> Track:
    pid = "" if header.pid is None else str(header.pid)
    return Track(
        pid,
        pid,
        process_name=header.program or "program",
        thread_name="main thread",
        process_sort_index=0,
    )


def _add_steps(builder: SliceBuilder, steps: pl.DataFrame) -> None:
    for phase, name in STEP_NAMES.items():
        rows = steps.filter(pl.col("phase") == phase)
        numbers, inverse = np.unique(rows["step"].to_numpy(), return_inverse=True)
        codes = np.array([builder.code_of(f"{name}#{each}") for each in numbers.tolist()], np.int32)
        start, end = _columns(rows, "start_ns", "end_ns")
        group = SliceGroup(Category.STEP if phase == "train" else Category.ANNOTATION, ANNOTATION)
        builder.add(group, codes[inverse], start, end - start)


def _add_worker_track(builder: SliceBuilder, loader: int | None, worker: int | None) -> int:
    """Add the track of a worker; without workers the main thread prepares the batches."""
    if worker is None:
        return MAIN
    name = f"loader {'?' if loader is None else loader} worker {worker}"
    builder.tracks.append(
        Track(name, name, process_name=name, process_sort_index=len(builder.tracks))
    )
    return len(builder.tracks) - 1


def _add_work(builder: SliceBuilder, work: pl.DataFrame, track: Int32) -> None:
    """Add the stages of batches, one after the other."""
    (at,) = _columns(work, "start_ns")
    for stage in STAGES:
        (dur,) = _columns(work, f"{stage}_ns")
        dur = np.maximum(dur, 0)
        has_time = dur > 0
        group = SliceGroup(Category.HOST_OTHER, LOADING, track[has_time])
        builder.add(group, builder.code_of(stage), at[has_time], dur[has_time])
        at = at + dur


def _columns(frame: pl.DataFrame, *columns: str) -> Sequence[Int64]:
    """Columns with :data:`ABSENT` for null."""
    return [frame[name].fill_null(ABSENT).to_numpy() for name in columns]
