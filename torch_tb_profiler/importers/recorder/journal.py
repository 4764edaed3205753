"""Collects the blocks of a journal; they may come in any order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.importers.recorder.rows import ROW_SCHEMAS, RowCollector
from torch_tb_profiler.importers.recorder.samples import SampleCollector
from torch_tb_profiler.importers.recorder.values import COUNT, INVALID_VALUE, TIME, flag, text
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

IGNORED_KINDS = frozenset({"cost"})
"""Kinds of blocks that are not used."""


class Header(Struct, frozen=True):
    """The process of a journal; None where a value is missing."""

    pid: int | None = None
    host: str | None = None
    rank: int | None = None
    world_size: int | None = None
    program: str | None = None
    recorder_version: str | None = None


class ProfilerWindow(Struct, frozen=True):
    """A time during which a profiler ran.

    Attributes:
        state: ``"recording"``, ``"written"`` or ``"lost"``; ``"profiler"`` outside of windows.
        start_ns: Start, since 1970.
        end_ns: End; None if it has not ended or the end was not recorded.
    """

    state: str
    start_ns: int | None
    end_ns: int | None


class JournalData(Struct):
    """The content of all blocks so far.

    Attributes:
        quality: Issues of the data.
        budget: The limits of the file.
        rows: Kind of block → its rows.
        samples: The samples.
        header: The first header; None without one.
        settings: Settings of the program by the recorder's names, not validated.
        missing: (what was not recorded, reason).
        loaders: Data loader number → its fields.
        windows: Name of a trace → its window.
        other_profiling: Start → other times when the recorder ran a profiler (warm-up, failures).
        warmup_steps: Number of training steps that are warm-up; None if unknown.
        is_ended: Whether the journal has an end.
        blocks: Number of blocks.
    """

    quality: QualityReport
    budget: Budget
    rows: dict[str, RowCollector]
    samples: SampleCollector
    header: Header | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    missing: dict[tuple[str, str], None] = field(default_factory=dict)
    loaders: dict[int, dict[str, Any]] = field(default_factory=dict)
    windows: dict[str, ProfilerWindow] = field(default_factory=dict)
    other_profiling: dict[int, ProfilerWindow] = field(default_factory=dict)
    warmup_steps: int | None = None
    is_ended: bool = False
    blocks: int = 0

    @classmethod
    def empty(cls, quality: QualityReport, budget: Budget) -> JournalData:
        """Without a block; issues of those to come are counted in ``quality``."""
        rows = {kind: RowCollector(spec, quality) for kind, spec in ROW_SCHEMAS.items()}
        return cls(quality, budget, rows, SampleCollector(quality, budget))

    def add_blocks(self, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Add blocks; damaged and unknown ones are counted."""
        for block in blocks:
            kind = block.get("kind")
            if isinstance(kind, str) and kind in BLOCK_READERS:
                BLOCK_READERS[kind](self, dict(block))
                self.blocks += 1
            elif not (isinstance(kind, str) and kind in IGNORED_KINDS):
                self.quality.add("journal_unknown")
        self._limit_loaders()

    def _limit_loaders(self) -> None:
        """Leave out the data loaders with the fewest batches: views sum up each by itself."""
        limit = self.budget.count("loaders")
        counts = (self.rows[kind].frame()["loader"].value_counts() for kind in ("batches", "work"))
        numbers = pl.DataFrame({"loader": list(self.loaders)}, {"loader": pl.Int64})
        known = pl.concat([*counts, numbers.with_columns(count=pl.lit(0, pl.UInt32))])
        loaders = known.group_by("loader", maintain_order=True).sum().drop_nulls("loader")
        if loaders.height <= limit:
            return
        remaining = loaders.sort("count", descending=True, maintain_order=True)["loader"][:limit]
        for kind in ("batches", "work"):
            self.rows[kind].keep_loaders(remaining)
        chosen = set(remaining.to_list())
        self.loaders = {number: each for number, each in self.loaders.items() if number in chosen}
        self.quality.add(
            "loaders_left_out", loaders.height - limit, self.budget.described("loaders")
        )

    def has_room(self, entries: Mapping[Any, Any], key: Hashable, limit: str) -> bool:
        """Whether ``key`` is in ``entries`` or may be added; if not, that is counted."""
        if key in entries or len(entries) < self.budget.count(limit):
            return True
        self.quality.add("entries_left_out", 1, self.budget.described(limit))
        return False

    def frame(self, kind: str) -> pl.DataFrame:
        """The rows of ``"steps"``, ``"batches"`` or ``"work"``, by start; times since 1970."""
        return self.rows[kind].frame()

    def first_ns(self) -> int:
        """The earliest time in the journal; 0 if it has none."""
        starts = [self.frame(kind)["start_ns"].min() for kind in self.rows]
        times = [each for each in (*starts, self.samples.first_ns()) if isinstance(each, int)]
        return min(times, default=0)


def _header(journal: JournalData, block: dict[str, Any]) -> None:
    if journal.header is not None:
        return
    quality = journal.quality
    rank = COUNT.validate(block.get("rank"), quality)
    world_size = COUNT.validate(block.get("world_size"), quality)
    journal.header = Header(
        pid=COUNT.validate(block.get("pid"), quality),
        host=text(block.get("host"), quality),
        rank=rank if rank is not None and rank < MAX_RANKS else None,
        world_size=world_size if world_size is not None and world_size <= MAX_RANKS else None,
        program=text(block.get("program"), quality),
        recorder_version=text(block.get("recorder_version"), quality),
    )


def _settings(journal: JournalData, block: dict[str, Any]) -> None:
    values = block.get("values")
    if isinstance(values, dict):
        journal.settings.update(values)
    else:
        journal.quality.add(INVALID_VALUE)


def _missing(journal: JournalData, block: dict[str, Any]) -> None:
    what, reason = (text(block.get(key), journal.quality) for key in ("what", "reason"))
    if what and reason and journal.has_room(journal.missing, (what, reason), "reasons"):
        journal.missing[what, reason] = None


def _loader(journal: JournalData, block: dict[str, Any]) -> None:
    quality = journal.quality
    number = COUNT.validate(block.get("loader"), quality)
    if number is None:
        quality.add("side_row_left_out")
        return
    journal.loaders[number] = {
        **{key: text(block.get(key), quality) for key in ("dataset", "style", "start_method")},
        **{
            key: COUNT.validate(block.get(key), quality)
            for key in ("workers", "batch_size", "prefetch_factor")
        },
        **{key: flag(block.get(key), quality) for key in ("pin_memory", "persistent_workers")},
    }


def _timer(journal: JournalData, block: dict[str, Any]) -> None:
    warmup_steps = COUNT.validate(block.get("warmup_steps"), journal.quality)
    journal.warmup_steps = journal.warmup_steps if warmup_steps is None else warmup_steps


def _rows(journal: JournalData, block: dict[str, Any]) -> None:
    journal.rows[block["kind"]].add(block)


def _samples(journal: JournalData, block: dict[str, Any]) -> None:
    journal.samples.add(block)


def _window(journal: JournalData, block: dict[str, Any]) -> None:
    quality = journal.quality
    trace, state = text(block.get("trace"), quality), block.get("state")
    if trace is None or state not in ("recording", "written", "lost"):
        quality.add("side_row_left_out")
        return
    if not journal.has_room(journal.windows, trace, "windows"):
        return
    previous = journal.windows.get(trace)
    start_ns = TIME.validate(block.get("start_ns"), quality)
    end_ns = TIME.validate(block.get("end_ns"), quality)
    if previous is not None:
        start_ns = previous.start_ns if start_ns is None else start_ns
        end_ns = previous.end_ns if end_ns is None else end_ns
    journal.windows[trace] = ProfilerWindow(state, start_ns, end_ns)


def _profiler(journal: JournalData, block: dict[str, Any]) -> None:
    start_ns, end_ns = (
        TIME.validate(block.get(key), journal.quality) for key in ("start_ns", "end_ns")
    )
    if start_ns is not None and journal.has_room(journal.other_profiling, start_ns, "windows"):
        journal.other_profiling[start_ns] = ProfilerWindow("profiler", start_ns, end_ns)


def _end(journal: JournalData, _: dict[str, Any]) -> None:
    journal.is_ended = True


BLOCK_READERS: Mapping[str, Callable[[JournalData, dict[str, Any]], None]] = {
    "header": _header,
    "settings": _settings,
    "missing": _missing,
    "loader": _loader,
    "timer": _timer,
    "steps": _rows,
    "batches": _rows,
    "work": _rows,
    "samples": _samples,
    "window": _window,
    "profiler": _profiler,
    "end": _end,
}
"""Kind of block → function that adds it to the journal."""
