"""The module tree of TorchScript traces: each operator tells the modules it ran in.

``Module Hierarchy`` (``with_modules=True``, scripted models only) holds calls from the outside
in, ``instance(Class)::method`` joined by dots: ``TOP(C)::forward.A0(A)::forward.``; ``SELF`` calls
another method of the same module. There are no ranges of the modules themselves, so calls and
the modules' own host time are not known.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import (
    gather,
    indices,
    nearest_marked,
    with_descendants,
)
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

UNTOLD_COLUMNS = ("occurrences", "host_self_ns")
"""What a recording of modules tells and such a trace does not."""

_CALL_END = ")::"
_BEFORE_INSTANCE = ".()"


def has_hierarchy(trace: Trace) -> bool:
    """True when operators tell the modules they ran in."""
    return bool(trace.operators["module_hierarchy_code"].is_not_null().any())


def modules_of(text: str) -> tuple[str, ...]:
    """The modules of a hierarchy from the outside in, ``("TOP(C)", "A0(A)")``."""
    calls = map(_call_at_end, text.split(_CALL_END)[:-1])
    return tuple(f"{instance}({kind})" for instance, kind in calls if instance not in ("", "SELF"))


def _call_at_end(text: str) -> tuple[str, str]:
    """Instance and class of ``…instance(Class``, both empty when it does not end so. A pattern
    would take time by the square of a hostile text."""
    before, _, kind = text.rpartition("(")
    start = max(before.rfind(character) for character in _BEFORE_INSTANCE) + 1
    return ("", "") if ")" in kind else (before[start:], kind)


def hierarchy_frame(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Every module: path, name, parent, and in ns the sums over the selected operators.

    An operator counts where it ran; what operators of other modules inside it took is taken off
    and counts there. Parents stand before their children.
    """
    lines, node = _nodes(trace)
    row_of_line = {line: row for row, line in enumerate(lines)}
    parent = np.array([row_of_line.get(line[:-1], -1) for line in lines], np.int64)
    chosen = slice_mask(trace, selection)
    slices = trace.slices
    around = gather(nearest_marked(indices(slices["parent"]), node >= 0), indices(slices["parent"]))
    outer = gather(node, around)
    direct = np.flatnonzero((node >= 0) & (outer != node) & chosen)

    def totals(values: Int64) -> Int64:
        own = np.zeros(len(lines), np.int64)
        np.add.at(own, node[direct], values[direct])
        nested = direct[outer[direct] >= 0]
        np.subtract.at(own, outer[nested], values[nested])
        return own

    device = totals(slices["device_total_ns"].fill_null(0).to_numpy())
    backward_host, backward_device = _backward(trace, node, chosen, len(lines))
    sums = {
        "host_total_ns": with_descendants(totals(slices["dur_ns"].to_numpy()), parent),
        "device_total_ns": with_descendants(device, parent),
        "device_self_ns": device,
        "backward_host_total_ns": with_descendants(backward_host, parent),
        "backward_host_self_ns": backward_host,
        "backward_device_total_ns": with_descendants(backward_device, parent),
        "backward_device_self_ns": backward_device,
    }
    return pl.DataFrame(
        {
            "path": ["/".join(line) for line in lines],
            "name": [line[-1] for line in lines],
            "parent": ["/".join(line[:-1]) or None for line in lines],
            "operators": np.bincount(node[direct], minlength=len(lines)),
            **sums,
        },
        schema_overrides={"path": pl.String, "name": pl.String, "parent": pl.String},
    )


def _nodes(trace: Trace) -> tuple[list[tuple[str, ...]], Int64]:
    """Every module as its line from the outside in, sorted so that parents come first; and the
    module of each slice, -1 for none."""
    codes = indices(trace.operators["module_hierarchy_code"])
    rows = np.flatnonzero(codes >= 0)
    distinct, inverse = factorize(codes[rows])
    lines_of_text = [modules_of(str(trace.strings[code])) for code in distinct]
    lines = sorted({line[:depth] for line in lines_of_text for depth in range(1, len(line) + 1)})
    row_of_line = {line: row for row, line in enumerate(lines)}
    of_text = np.array([row_of_line.get(line, -1) for line in lines_of_text], np.int64)
    node = np.full(trace.slices.height, -1, np.int64)
    if len(rows):
        node[trace.operators["slice"].to_numpy()[rows]] = of_text[inverse]
    node[~operator_mask(trace)] = -1
    return lines, node


def _backward(trace: Trace, node: Int64, chosen: Bools, count: int) -> tuple[Int64, Int64]:
    """Host and device time of the autograd nodes of each module's selected operators."""
    nodes = backward_nodes(trace)
    known = (nodes.forward >= 0) & (nodes.outer < 0)
    roots, forward = nodes.slice[known], nodes.forward[known]
    belongs = (node[forward] >= 0) & chosen[forward]
    sums = []
    for column in ("dur_ns", "device_total_ns"):
        values = trace.slices[column].fill_null(0).to_numpy()
        total = np.zeros(count, np.int64)
        np.add.at(total, node[forward[belongs]], values[roots[belongs]])
        sums.append(total)
    return sums[0], sums[1]
