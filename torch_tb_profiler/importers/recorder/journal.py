"""What the blocks of a journal tell, in whatever order they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from torch_tb_profiler.importers.recorder.rows import KINDS, Rows
from torch_tb_profiler.importers.recorder.sampled import Sampled
from torch_tb_profiler.importers.recorder.values import COUNT, TIME, WRONG, flag, text
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

IGNORED = frozenset({"cost"})
"""Kinds that nothing here shows."""

MAX_LOADERS = 10_000
MAX_REASONS = 1000
MAX_WINDOWS = 100_000


@dataclass(frozen=True, slots=True)
class Header:
    """Whose journal it is; None is what it does not say."""

    pid: int | None = None
    host: str | None = None
    rank: int | None = None
    world_size: int | None = None
    program: str | None = None
    recorder_version: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A window of the profiler.

    Attributes:
        state: ``"recording"``, ``"written"`` or ``"lost"``; ``"profiler"`` of what is none.
        start_ns: Since 1970.
        end_ns: None where it is not over, or nobody saw its end.
    """

    state: str
    start_ns: int | None
    end_ns: int | None


@dataclass(slots=True)
class Journal:
    """Everything that blocks told so far.

    Attributes:
        quality: What was odd.
        header: The first header; None without one.
        settings: What the program had set, by the recorder's names, unchecked.
        missing: (what, reason) of what was not recorded.
        loaders: Number of a data loader → its fields.
        windows: Name of the trace → the window.
        profiled: When the recorder ran a profiler otherwise, to warm up or in vain: begin → the
            stretch.
        warmup_steps: How many training steps are warm-up; None where no timer said.
        is_ended: Whether the end was told.
        blocks: How many blocks there were.
        rows: Kind of block → its rows.
        sampled: The samples.
    """

    quality: QualityReport
    header: Header | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    missing: dict[tuple[str, str], None] = field(default_factory=dict)
    loaders: dict[int, dict[str, Any]] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    profiled: dict[int, Window] = field(default_factory=dict)
    warmup_steps: int | None = None
    is_ended: bool = False
    blocks: int = 0
    rows: dict[str, Rows] = field(init=False)
    sampled: Sampled = field(init=False)

    def __post_init__(self) -> None:
        """No rows yet."""
        self.rows = {kind: Rows(spec, self.quality) for kind, spec in KINDS.items()}
        self.sampled = Sampled(self.quality)

    def take(self, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Take blocks; those that are damaged or unknown are counted."""
        for block in blocks:
            kind = block.get("kind")
            if isinstance(kind, str) and kind in TAKERS:
                TAKERS[kind](self, dict(block))
                self.blocks += 1
            elif not (isinstance(kind, str) and kind in IGNORED):
                self.quality.add("journal_unknown")

    def frame(self, kind: str) -> pl.DataFrame:
        """The rows of ``"steps"``, ``"batches"`` or ``"work"``, by start; times since 1970."""
        return self.rows[kind].frame()

    def first_ns(self) -> int:
        """The earliest time of anything; 0 where nothing has one."""
        starts = [self.frame(kind)["start_ns"].min() for kind in self.rows]
        times = [each for each in (*starts, self.sampled.first_ns()) if isinstance(each, int)]
        return min(times, default=0)


def _header(journal: Journal, block: dict[str, Any]) -> None:
    if journal.header is not None:
        return
    quality = journal.quality
    rank = COUNT.one(block.get("rank"), quality)
    world_size = COUNT.one(block.get("world_size"), quality)
    journal.header = Header(
        pid=COUNT.one(block.get("pid"), quality),
        host=text(block.get("host"), quality),
        rank=rank if rank is not None and rank < MAX_RANKS else None,
        world_size=world_size if world_size is not None and world_size <= MAX_RANKS else None,
        program=text(block.get("program"), quality),
        recorder_version=text(block.get("recorder_version"), quality),
    )


def _settings(journal: Journal, block: dict[str, Any]) -> None:
    values = block.get("values")
    if isinstance(values, dict):
        journal.settings.update(values)
    else:
        journal.quality.add(WRONG)


def _missing(journal: Journal, block: dict[str, Any]) -> None:
    what, reason = (text(block.get(key), journal.quality) for key in ("what", "reason"))
    if what and reason and len(journal.missing) < MAX_REASONS:
        journal.missing[what, reason] = None


def _loader(journal: Journal, block: dict[str, Any]) -> None:
    quality = journal.quality
    number = COUNT.one(block.get("loader"), quality)
    if number is None or len(journal.loaders) >= MAX_LOADERS:
        quality.add("side_row_left_out")
        return
    journal.loaders[number] = {
        **{key: text(block.get(key), quality) for key in ("dataset", "style", "start_method")},
        **{
            key: COUNT.one(block.get(key), quality)
            for key in ("workers", "batch_size", "prefetch_factor")
        },
        **{key: flag(block.get(key), quality) for key in ("pin_memory", "persistent_workers")},
    }


def _timer(journal: Journal, block: dict[str, Any]) -> None:
    warmup_steps = COUNT.one(block.get("warmup_steps"), journal.quality)
    journal.warmup_steps = journal.warmup_steps if warmup_steps is None else warmup_steps


def _rows(journal: Journal, block: dict[str, Any]) -> None:
    journal.rows[block["kind"]].add(block)


def _samples(journal: Journal, block: dict[str, Any]) -> None:
    journal.sampled.add(block)


def _window(journal: Journal, block: dict[str, Any]) -> None:
    quality = journal.quality
    trace, state = text(block.get("trace"), quality), block.get("state")
    if trace is None or state not in ("recording", "written", "lost"):
        quality.add("side_row_left_out")
        return
    if trace not in journal.windows and len(journal.windows) >= MAX_WINDOWS:
        return
    before = journal.windows.get(trace)
    start_ns = TIME.one(block.get("start_ns"), quality)
    end_ns = TIME.one(block.get("end_ns"), quality)
    if before is not None:
        start_ns = before.start_ns if start_ns is None else start_ns
        end_ns = before.end_ns if end_ns is None else end_ns
    journal.windows[trace] = Window(state, start_ns, end_ns)


def _profiler(journal: Journal, block: dict[str, Any]) -> None:
    start_ns, end_ns = (TIME.one(block.get(key), journal.quality) for key in ("start_ns", "end_ns"))
    if start_ns is not None and len(journal.profiled) < MAX_WINDOWS:
        journal.profiled[start_ns] = Window("profiler", start_ns, end_ns)


def _end(journal: Journal, _: dict[str, Any]) -> None:
    journal.is_ended = True


TAKERS: Mapping[str, Callable[[Journal, dict[str, Any]], None]] = {
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
"""Kind of a block → what takes it."""
