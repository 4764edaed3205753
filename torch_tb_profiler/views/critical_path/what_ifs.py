"""What would be saved, as a table and for one chosen change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.idle.critical_path.node_names import (
    key_texts,
    node_keys,
    short_texts,
)
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.analysis.idle.critical_path.what_if import (
    CHANGES,
    ChangeKind,
    WhatIf,
    estimate_step_ns,
)
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.critical_path.columns import WHAT_IF
from torch_tb_profiler.views.critical_path.sums import PART_TITLES, NameSums
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Fact, Note, Table

ROWS = 10
"""Names of the table."""

MAX_EDGES = 200_000
"""A step with more edges between threads and streams is not computed in the time of a click."""

TOO_LARGE = "The graph of these steps is too large to estimate all what-ifs; choose one."

ASSUMES = (
    "Estimated: the same work in the same order with the same dependencies; only the chosen time "
    "changes. Launches and gaps that were hidden get the usual cost of the others."
)

_SHOWN = 60


def saved_ns(
    paths: list[CriticalPath], changes_of: Callable[[CriticalPath], list[WhatIf]], count: int
) -> list[int]:
    """Per change what all steps together would save, ns."""
    saved = [0] * count
    for path in paths:
        for index, time in enumerate(estimate_step_ns(path, changes_of(path))):
            saved[index] += path.step_graph.graph.length_ns - time
    return saved


def what_if_table(trace: Trace, paths: list[CriticalPath], sums: NameSums) -> Table:
    """The rows of ``WHAT_IF``."""
    frame = pl.DataFrame(schema=WHAT_IF.polars_schema())
    if sum(len(path.step_graph.graph.edge_to) for path in paths) > MAX_EDGES:
        return Table(replace(WHAT_IF, when_empty=TOO_LARGE), frame)
    keys = sums.key[:ROWS][sums.path_ns[:ROWS] > 0].tolist()

    def changes(path: CriticalPath) -> list[WhatIf]:
        of_node = node_keys(trace, path.step_graph)
        masks = (of_node == key for key in keys)
        return [WhatIf(mask, None, way) for mask in masks for way in CHANGES]

    saved = np.array(saved_ns(paths, changes, len(keys) * len(CHANGES))).reshape(-1, len(CHANGES))
    whole = max(sum(path.step_graph.graph.length_ns for path in paths), 1)
    frame = pl.DataFrame(
        {
            "name": short_texts(trace, keys, PART_TITLES),
            "path_us": sums.path_ns[: len(keys)] / NS_PER_US,
            **{f"{way}_us": saved[:, index] / NS_PER_US for index, way in enumerate(CHANGES)},
            "halve_pct": 100.0 * saved[:, 0] / whole,
            "remove_pct": 100.0 * saved[:, 1] / whole,
            "full_name": key_texts(trace, keys, PART_TITLES),
        },
        schema=WHAT_IF.polars_schema(),
    )
    return in_default_order(Table(WHAT_IF, frame))


def evaluate_what_if(
    trace: Trace, paths: list[CriticalPath], sums: NameSums, text: str
) -> tuple[tuple[Fact, ...], tuple[Note, ...]]:
    """The facts of one change, ``ROW:halve``, ``ROW:remove`` or ``ROW:overlap``.

    Raises:
        SelectionError: the text is none, or names no row of the path.
    """
    row, _, named = text.rpartition(":")
    way: ChangeKind | None = next((each for each in CHANGES if each == named.strip()), None)
    if way is None or not row:
        raise SelectionError(
            f"what_if: {text[:_SHOWN]!r} is not a name followed by :halve, :remove or :overlap"
        )
    matches, kind = _matching(trace, sums, row.strip())

    def changes(path: CriticalPath) -> list[WhatIf]:
        return [WhatIf(matches(path), kind, way)]

    saved = saved_ns(paths, changes, 1)[0]
    whole = sum(path.step_graph.graph.length_ns for path in paths)
    change = f"{row.strip()[:_SHOWN]}: {way}"
    return (
        Fact("what_if", "What If", change, None, None, "The requested change."),
        Fact(
            "what_if_step_us",
            "New step time (est.)",
            (whole - saved) / NS_PER_US,
            "us",
            None,
            f"Time that the selected steps would take. {ASSUMES}",
        ),
        Fact(
            "what_if_saved_us",
            "Saved (est.)",
            saved / NS_PER_US,
            "us",
            None,
            f"Time by which the selected steps would be shorter. {ASSUMES}",
        ),
        Fact(
            "what_if_saved_pct",
            "Saved Share (est.)",
            100 * saved / whole if whole else None,
            "pct",
            None,
            "Saved time as share of the selected steps.",
            None if whole else "The selection is empty.",
        ),
    ), (Note("quality", "what_if_estimate", "info", ASSUMES),)


def _matching(
    trace: Trace, sums: NameSums, row: str
) -> tuple[Callable[[CriticalPath], Bools], int | None]:
    """Which nodes a row means, and the kind of edges where it is a category."""
    chosen = next(
        (each for each in PathPart if row in (each.name.lower(), PART_TITLES[each])), None
    )
    if chosen is not None:
        return (lambda path: path.step_graph.part == chosen), int(chosen)
    keys = sums.key.tolist()
    names = zip(
        keys,
        key_texts(trace, keys, PART_TITLES),
        short_texts(trace, keys, PART_TITLES),
        strict=True,
    )
    wanted = [key for key, full, short in names if row in (full, short)]
    if not wanted:
        have = ", ".join(each[:_SHOWN] for each in short_texts(trace, keys[:5], PART_TITLES))
        raise SelectionError(
            f"what_if: these steps have no row {row[:_SHOWN]!r}; the rows with most time are {have}"
        )
    return (lambda path: np.isin(node_keys(trace, path.step_graph), wanted)), None
