"""FLOPs per operator, per scope and of the model.

Format: docs/format-mindspore.md#flops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import BILLIONS, MILLIONS, number
from torch_tb_profiler.importers.mindspore.texts import (
    UnreadableError,
    child,
    csv_lines,
    key_of,
    name_of,
    objects,
)
from torch_tb_profiler.trace.quality import QualityReport

_NAME_KEYS = ("full_kernel_name", "op_full_name", "full_op_name", "op_name")
_OF_ONE_KIND = 4
_OF_BOTH_KINDS = 7


def read_flops(text: str, quality: QualityReport) -> Iterator[dict[str, object]]:
    """``flops_*.txt``: a name, then FLOPs (10⁶), FLOPS (10⁹ a second) and utilization (%), once or
    for cube and vector apart. Titles differ by case alone, so the place of a column counts.

    Raises:
        UnreadableError: it has another head.
    """
    lines = csv_lines(text, quality)
    head = next(lines, [])
    columns = len(head)
    is_known = bool(head) and key_of(head[0]) in _NAME_KEYS
    if not is_known or columns not in (_OF_ONE_KIND, _OF_BOTH_KINDS):
        raise UnreadableError("its head is none of an operator and its FLOPs")
    kinds = (None,) if columns == _OF_ONE_KIND else ("cube", "vector")
    for cells in lines:
        name = name_of(cells[0])
        if len(cells) < columns or name is None:
            quality.add("side_row_left_out")
            continue
        for place, kind in enumerate(kinds):
            flops, per_s, utilization = cells[1 + 3 * place : 4 + 3 * place]
            yield {
                "level": "operator",
                "name": name,
                "kind": kind,
                "flops": number(flops, MILLIONS),
                "flops_per_s": number(per_s, BILLIONS),
                "utilization_pct": number(utilization),
            }


def read_scopes(value: Any) -> Iterator[dict[str, object]]:
    """``flops_scope_*.json``: links from a scope to those inside it, with their FLOPs (10⁶).

    Raises:
        UnreadableError: it holds no links.
    """
    links = objects(child(child(value, "data"), "links"))
    if not links:
        raise UnreadableError("it holds no links of scopes")
    for link in links:
        yield {
            "level": "scope",
            "name": name_of(link.get("target")),
            "parent": name_of(link.get("source")),
            "flops": number(link.get("value"), MILLIONS),
        }


def read_summary(value: Any) -> Iterator[dict[str, object]]:
    """``flops_summary_*.json``: the model, of both kinds of cores or of each.

    Raises:
        UnreadableError: it holds none.
    """
    told = False
    for kind, ending in ((None, ""), ("cube", "_cube"), ("vector", "_vec")):
        keys = [f"{key}{ending}" for key in ("FLOPs", "FLOPS", "FLOPS_Utilization")]
        flops, per_s, utilization = (child(value, key) for key in keys)
        if flops is None and per_s is None:
            continue
        told = True
        yield {
            "level": "model",
            "kind": kind,
            "flops": number(flops, MILLIONS),
            "flops_per_s": number(per_s, BILLIONS),
            "utilization_pct": number(utilization),
        }
    if not told:
        raise UnreadableError("it holds no FLOPs")
