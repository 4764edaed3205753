"""Whether shapes cost time, in a sentence."""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import View

MAX_SHAPES = 2
"""Shapes of an operator's inputs in the sentence."""
_SHAPE = re.compile(r"\[(\d+(?:, \d+)*)\]")


def answer(view: View) -> str | None:
    """How many operators change their shapes, and the shape that loses most time."""
    dynamic, count = (value_of(view, key) for key in ("dynamic_operators", "operator_count"))
    if not count:
        return None
    changing = (
        f"{dynamic:,} of {count:,} operators run with more than one input shape."
        if dynamic
        else "No operator changes its input shapes."
    )
    return joined((changing, _slowest(rows_of(view, "shapes"))))


def _slowest(rows: pl.DataFrame) -> str | None:
    first = top_row(rows, "lost_us")
    if first is None:
        return None
    name, slower = quoted(first["name"]), first["slower"]
    inputs = _spoken_inputs(first["input_shapes"])
    times = f"{slower:,.0f}" if slower >= 100 else f"{slower:.1f}"
    lost = duration_text(first["lost_us"])
    text = f"{name} runs {times} times slower with {inputs} than at its best shape"
    return f"{text}: {lost} lost (est.)."


def _spoken_inputs(input_shapes: str) -> str:
    """``"inputs of 32×64 and 32×3"``: the first :data:`MAX_SHAPES` different shapes; inputs without
    one, as numbers are, say nothing."""
    shapes = [shape.replace(", ", "×") for shape in _SHAPE.findall(input_shapes)]
    shown = list(dict.fromkeys(shapes))[:MAX_SHAPES]
    return f"inputs of {' and '.join(shown)}" if shown else f"inputs {quoted(input_shapes)}"
