"""The steps, waits and work of a journal as slices, and the rows that they stand on.

The stages of a batch are laid one behind the other in the time in which it was made: their lengths
are measured, their order is a model (docs/format-record.md#what-is-read-of-it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.importers.recorder.journal import Header, Journal
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, SLICE_COLUMNS, ColumnArrays, Int64, Track

MAIN = 0
"""The place of the main thread among the tracks."""

STEP_NAMES = {"train": "ProfilerStep", "evaluation": "Evaluation"}
WAIT_NAME = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
"""As torch names it, so that the whole run and its windows compare."""

ANNOTATION, LOADING = "user_annotation", "data_loading"
STAGES = ("fetch", "transform", "collate")


@dataclass(frozen=True, slots=True)
class Look:
    """What slices that are added together have in common.

    Attributes:
        category: Their kind.
        raw: Their category as the journal would write it.
        track: The row they stand on.
    """

    category: Category
    raw: str
    track: int = MAIN


@dataclass(slots=True)
class Drawn:
    """Slices so far.

    Attributes:
        code_of: Gives the code of a text.
        base_ns: The time that their times count from.
        tracks: The rows they stand on.
    """

    code_of: Callable[[str], int]
    base_ns: int
    tracks: list[Track]
    _parts: list[ColumnArrays] = field(default_factory=list)

    def add(self, look: Look, names: Any, start_ns: Int64, dur_ns: Int64) -> None:
        """Add slices; ``names`` are codes, or one for all."""
        size = len(start_ns)
        given = {
            "category": look.category,
            "raw_category_code": self.code_of(look.raw),
            "name_code": names,
            "track": look.track,
            "start_ns": start_ns - self.base_ns,
            "dur_ns": dur_ns,
            "correlation": ABSENT,
            "external_id": ABSENT,
        }
        self._parts.append(
            {
                name: np.broadcast_to(np.asarray(given[name], dtype), size)
                for name, dtype in SLICE_COLUMNS.items()
            }
        )

    def table(self) -> ColumnArrays:
        """The slices."""
        return {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._parts)])
            for name, dtype in SLICE_COLUMNS.items()
        }


def draw(journal: Journal, base_ns: int, code_of: Callable[[str], int]) -> Drawn:
    """All slices of a journal.

    Args:
        journal: What was read.
        base_ns: The time that times count from.
        code_of: Gives the code of a text.
    """
    drawn = Drawn(code_of, base_ns, [_main_track(journal.header or Header())])
    _draw_steps(drawn, journal.frame("steps"))
    _draw_waits(drawn, journal)
    work = journal.frame("work")
    made = work.partition_by("loader", "worker", as_dict=True)
    for (loader, worker), some in sorted(made.items(), key=lambda item: _numbers_first(item[0])):
        _draw_work(drawn, some, _track_of(drawn, loader, worker))
    return drawn


def _draw_waits(drawn: Drawn, journal: Journal) -> None:
    """Each call of an iterator: the program waits in it."""
    batches = journal.frame("batches")
    for (loader,), some in batches.partition_by("loader", as_dict=True).items():
        workers = journal.loaders.get(loader, {}).get("workers")
        has_workers = some["worker"].is_not_null().any() if workers is None else workers > 0
        name = WAIT_NAME.format("MultiProcessing" if has_workers else "SingleProcess")
        start, wait = _numbers(some, "start_ns", "wait_ns")
        look = Look(Category.DATALOADER, ANNOTATION)
        drawn.add(look, drawn.code_of(name), start, np.maximum(wait, 0))


def _main_track(header: Header) -> Track:
    pid = "" if header.pid is None else str(header.pid)
    return Track(
        pid,
        pid,
        process_name=header.program or "program",
        thread_name="main thread",
        process_sort_index=0,
    )


def _draw_steps(drawn: Drawn, steps: pl.DataFrame) -> None:
    for phase, name in STEP_NAMES.items():
        some = steps.filter(pl.col("phase") == phase)
        numbers, place = np.unique(some["step"].to_numpy(), return_inverse=True)
        codes = np.array([drawn.code_of(f"{name}#{each}") for each in numbers.tolist()], np.int32)
        start, end = _numbers(some, "start_ns", "end_ns")
        look = Look(Category.STEP if phase == "train" else Category.ANNOTATION, ANNOTATION)
        drawn.add(look, codes[place], start, end - start)


def _track_of(drawn: Drawn, loader: int | None, worker: int | None) -> int:
    """The row of a worker; without workers the program itself makes batches, in its main thread."""
    if worker is None:
        return MAIN
    name = f"loader {'?' if loader is None else loader} worker {worker}"
    drawn.tracks.append(Track(name, name, process_name=name, process_sort_index=len(drawn.tracks)))
    return len(drawn.tracks) - 1


def _draw_work(drawn: Drawn, work: pl.DataFrame, track: int) -> None:
    """The stages of batches, one behind the other."""
    (at,) = _numbers(work, "start_ns")
    for stage in STAGES:
        (dur,) = _numbers(work, f"{stage}_ns")
        dur = np.maximum(dur, 0)
        is_there = dur > 0
        look = Look(Category.HOST_OTHER, LOADING, track)
        drawn.add(look, drawn.code_of(stage), at[is_there], dur[is_there])
        at = at + dur


def _numbers_first(key: tuple[Any, ...]) -> list[tuple[bool, int]]:
    return [(each is None, each or 0) for each in key]


def _numbers(frame: pl.DataFrame, *columns: str) -> Sequence[Int64]:
    """Columns with :data:`ABSENT` for null."""
    return [frame[name].fill_null(ABSENT).to_numpy() for name in columns]
