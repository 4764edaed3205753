"""Which kernel takes the most time, in a sentence."""

from __future__ import annotations

from torch_tb_profiler.views.answering import joined, largest_part, rows_of, value_of
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The kernel with the largest time, and how much of the time runs on matrix units."""
    largest = largest_part(
        rows_of(view, "kernels"), name="short_name", time="total_us", whole="the kernel time"
    )
    if largest is None:
        return largest_part(
            rows_of(view, "api_calls"),
            name="name",
            time="host_self_us",
            whole="the host time of device API calls",
        )
    return joined((largest, _matrix_units(view)))


def _matrix_units(view: View) -> str | None:
    least, most = (value_of(view, f"tensor_core_time_{end}_pct") for end in ("min", "max"))
    if least is None or most is None or most - least > 50:
        return None
    share = (
        percent_text(least)
        if most - least < 0.1
        else f"{percent_text(least)} to {percent_text(most)}"
    )
    return f"Tensor Cores run {share} of the kernel time."
