"""``dynamic_shape_info_*.json``: time and input shapes of each operator call.

Format: docs/format-mindspore.md#shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import integer, number
from torch_tb_profiler.importers.mindspore.parsing import (
    MAX_TEXT_CHARS,
    UnreadableFileError,
    child,
    objects,
    parse_name,
)
from torch_tb_profiler.trace.quality import QualityReport


def read_shapes(value: Any, quality: QualityReport) -> Iterator[dict[str, object]]:
    """Read a row per call, in file order. Times are µs.

    Raises:
        UnreadableFileError: it has no operators.
    """
    iterations = child(value, "operator")
    if not isinstance(iterations, dict):
        raise UnreadableFileError("it has no operators")
    for key, calls in iterations.items():
        for call in objects(calls):
            iteration = integer(call.get("step", key))
            kind, name = parse_name(call.get("op_type")), parse_name(call.get("op_name"))
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


def _shapes(shapes: object) -> str | None:
    """``["[32, 1]", "[8]"]`` → ``"[[32, 1], [8]]"``; None if no shapes were recorded."""
    if not isinstance(shapes, list) or not shapes:
        return None
    return f"[{', '.join(_shape(shape) for shape in shapes)}]"[:MAX_TEXT_CHARS]


def _shape(shape: object) -> str:
    if isinstance(shape, list):
        return f"[{', '.join(str(integer(each)) for each in shape)}]"
    return shape if isinstance(shape, str) else "[]"
