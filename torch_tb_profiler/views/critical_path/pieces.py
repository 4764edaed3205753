"""The pieces of paths as a table."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.idle.critical_path.node_names import node_keys, short_texts
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.analysis.recording.device_terms import device_word
from torch_tb_profiler.analysis.recording.module_tree import modules_around
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.critical_path.columns import PIECES
from torch_tb_profiler.views.critical_path.sums import PART_TITLES
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

FIRST_ROWS = 2_000
"""Rows that are made where nobody asks for the table itself."""

NO_MODULE = "No enclosing module is known."
NO_SLICE = "No activity was recorded at that time."


def pieces_table(trace: Trace, names: list[str], paths: list[CriticalPath]) -> Table:
    """The rows of ``PIECES``, step after step."""
    count = sum(len(path.pieces.part) for path in paths)
    table = _table(trace, names, paths, FIRST_ROWS)
    if count <= FIRST_ROWS:
        return table
    return replace(table, row_count=count, all_rows=lambda: _table(trace, names, paths, count))


def _table(trace: Trace, names: list[str], paths: list[CriticalPath], limit: int) -> Table:
    frames = [PIECES_EMPTY]
    for name, path in zip(names, paths, strict=True):
        if limit > 0:
            frames.append(_of_path(trace, name, path, limit))
            limit -= frames[-1].height
    frame = pl.concat(frames)
    reasons = {"where": NO_SLICE, "module": NO_MODULE, "slice": NO_SLICE}
    return Table(PIECES, frame, needed(frame, reasons))


PIECES_EMPTY = pl.DataFrame(schema=PIECES.polars_schema())


def _of_path(trace: Trace, name: str, path: CriticalPath, limit: int) -> pl.DataFrame:
    pieces = path.pieces
    node, part = pieces.node[:limit], pieces.part[:limit]
    start, end = pieces.start_ns[:limit], pieces.end_ns[:limit]
    # The piece of a step without any work has node -1: the row behind the last one.
    nothing = len(trace.strings) + PathPart.UNKNOWN
    keys, key = factorize(np.append(node_keys(trace, path.step_graph), nothing)[node])
    slices = np.append(path.step_graph.slice, -1)[node]
    tracks, track = factorize(np.append(path.step_graph.track, -1)[node])
    parts = pl.Series([PART_TITLES[each] for each in sorted(PART_TITLES)], dtype=pl.String)
    modules, module = factorize(_modules(trace, slices))
    return pl.DataFrame(
        {
            "step": [name] * len(node),
            "start_us": (start - trace.meta.start_ns) / NS_PER_US,
            "duration_us": (end - start) / NS_PER_US,
            "title": parts.gather(part),
            "name": pl.Series(short_texts(trace, keys.tolist(), PART_TITLES)).gather(key),
            "where": pl.Series(track_texts(trace, tracks), dtype=pl.String).gather(track),
            "module": pl.Series(
                [trace.text(code) for code in modules.tolist()], dtype=pl.String
            ).gather(module),
            "slice": pl.Series(slices, dtype=pl.Int64).set(pl.Series(slices < 0), None),
        },
        schema=PIECES.polars_schema(),
    )


def _modules(trace: Trace, slices: Int64) -> Int64:
    """The code of the name of the module around each slice, of device work that around its owner;
    -1 for none."""
    work = trace.device_work
    of_work = work["slice"].to_numpy()  # ascending
    row = np.searchsorted(of_work, slices)
    is_work = np.append(of_work, -1)[row] == np.maximum(slices, 0)
    owned = gather(indices(work["owner"]), np.where(is_work, row, -1))
    around = gather(modules_around(trace), np.where(owned >= 0, owned, slices))
    return gather(trace.slices["name_code"].to_numpy(), around).astype(np.int64)


def track_texts(trace: Trace, tracks: Int64) -> list[str | None]:
    """What tracks are called: a stream of a device, or a thread; None for -1, which is none."""
    texts: list[str | None] = [None] * int((tracks < 0).sum())  # first, as tracks ascend
    word = device_word(trace)
    rows = trace.tracks.sort("track")
    for row in rows[tracks[tracks >= 0].tolist()].iter_rows(named=True):
        if row["is_device"]:
            device = word if row["device"] is None else f"{word} {row['device']}"
            stream = row["tid"] if row["stream"] is None else f"stream {row['stream']}"
            texts.append(f"{device}, {stream}")
        else:
            texts.append(row["thread_name"] or f"thread {row['tid']}")
    return texts
