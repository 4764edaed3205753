"""``dynamic_shape_info_*.json``: time and shapes of each operator in each iteration.

Format: docs/format-mindspore.md#shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import number, whole
from torch_tb_profiler.importers.mindspore.texts import (
    MAX_TEXT_CHARS,
    UnreadableError,
    child,
    name_of,
    objects,
)
from torch_tb_profiler.trace.quality import QualityReport


def read_shapes(value: Any, quality: QualityReport) -> Iterator[dict[str, object]]:
    """A row per call, in the order of the file. Times are µs.

    Raises:
        UnreadableError: it holds no operators.
    """
    iterations = child(value, "operator")
    if not isinstance(iterations, dict):
        raise UnreadableError("it holds no operators")
    for key, calls in iterations.items():
        for call in objects(calls):
            iteration = whole(call.get("step", key))
            kind, name = name_of(call.get("op_type")), name_of(call.get("op_name"))
            if iteration is None or (kind is None and name is None):
                quality.add("side_row_left_out")
                continue
            yield {
                "type": kind,
                "name": name,
                "iteration": iteration,
                "time_us": number(call.get("dur")),
                "input_shapes": _shapes(call.get("shape_info")),
            }


def _shapes(told: object) -> str | None:
    """``["[32, 1]", "[8]"]`` → ``"[[32, 1], [8]]"``; None where nothing was recorded."""
    if not isinstance(told, list) or not told:
        return None
    return f"[{', '.join(_shape(shape) for shape in told)}]"[:MAX_TEXT_CHARS]


def _shape(told: object) -> str:
    if isinstance(told, list):
        return f"[{', '.join(str(whole(each)) for each in told)}]"
    return told if isinstance(told, str) else "[]"
