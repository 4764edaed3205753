"""FLOPs of operators, scopes and the model.

Format: docs/format-mindspore.md#flops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import BILLIONS, MILLIONS, number
from torch_tb_profiler.importers.mindspore.parsing import (
    UnreadableFileError,
    child,
    column_key,
    csv_lines,
    objects,
    parse_name,
)
from torch_tb_profiler.trace.quality import QualityReport

_NAME_KEYS = ("full_kernel_name", "op_full_name", "full_op_name", "op_name")
_COLUMNS_OF_ONE_KIND = 4
_COLUMNS_OF_BOTH_KINDS = 7


def read_flops(text: str, quality: QualityReport) -> Iterator[dict[str, object]]:
    """``flops_*.txt``: a name, then FLOPs (10⁶), FLOPS (10⁹ per second) and utilization (%), in
    total or for cube and vector units. Titles differ only in case, so columns are read by position.

    Raises:
        UnreadableFileError: it has another header.
    """
    lines = csv_lines(text, quality)
    header = next(lines, [])
    columns = len(header)
    is_known = bool(header) and column_key(header[0]) in _NAME_KEYS
    if not is_known or columns not in (_COLUMNS_OF_ONE_KIND, _COLUMNS_OF_BOTH_KINDS):
        raise UnreadableFileError("its header does not have an operator and its FLOPs")
    kinds = (None,) if columns == _COLUMNS_OF_ONE_KIND else ("cube", "vector")
    for cells in lines:
        name = parse_name(cells[0])
        if len(cells) < columns or name is None:
            quality.add("side_row_left_out")
            continue
        for position, kind in enumerate(kinds):
            flops, per_s, utilization = cells[1 + 3 * position : 4 + 3 * position]
            yield {
                "level": "operator",
                "name": name,
                "kind": kind,
                "flops": number(flops, MILLIONS),
                "flops_per_s": number(per_s, BILLIONS),
                "utilization_pct": number(utilization),
            }


def read_scopes(value: Any) -> Iterator[dict[str, object]]:
    """``flops_scope_*.json``: links from a scope to the scopes inside it, with their FLOPs (10⁶).

    Raises:
        UnreadableFileError: it has no links.
    """
    links = objects(child(child(value, "data"), "links"))
    if not links:
        raise UnreadableFileError("it has no links of scopes")
    for link in links:
        yield {
            "level": "scope",
            "name": parse_name(link.get("target")),
            "parent": parse_name(link.get("source")),
            "flops": number(link.get("value"), MILLIONS),
        }


def read_model_flops(value: Any) -> Iterator[dict[str, object]]:
    """``flops_summary_*.json``: the model, in total or for cube and vector units.

    Raises:
        UnreadableFileError: it has no FLOPs.
    """
    has_flops = False
    for kind, ending in ((None, ""), ("cube", "_cube"), ("vector", "_vec")):
        keys = [f"{key}{ending}" for key in ("FLOPs", "FLOPS", "FLOPS_Utilization")]
        flops, per_s, utilization = (child(value, key) for key in keys)
        if flops is None and per_s is None:
            continue
        has_flops = True
        yield {
            "level": "model",
            "kind": kind,
            "flops": number(flops, MILLIONS),
            "flops_per_s": number(per_s, BILLIONS),
            "utilization_pct": number(utilization),
        }
    if not has_flops:
        raise UnreadableFileError("it has no FLOPs")
