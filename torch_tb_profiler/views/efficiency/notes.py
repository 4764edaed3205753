"""Notes on limits of the efficiency figures."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.efficiency.calls import holding_calls
from torch_tb_profiler.analysis.efficiency.fewer_operations import makes_fewer_operations
from torch_tb_profiler.analysis.efficiency.model import ModelWork
from torch_tb_profiler.knowledge.gpus import specification
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Fact, Note

MIN_COVERED_PCT = 50.0
"""Below this share of device time with known work the model's figures are of a minor part."""

MIN_DIFFERENCE_PCT = 1.0
"""Smaller differences are due to rounding."""

_MAX_NAMED = 5


MIN_SM_SHARE = 0.9
"""Some cards of a model have a few multiprocessors less; a MIG slice has half or less."""


def efficiency_notes(
    trace: Trace, mask: Bools, model: ModelWork, facts: tuple[Fact, ...], operators: pl.DataFrame
) -> tuple[Note, ...]:
    """The notes of the view, of the calls of ``mask`` (over ``holding_calls``)."""
    candidates = (
        _unknown_products(model),
        _covered(facts),
        _fewer_operations(trace, mask),
        _differences(operators),
    )
    return (*_slices(trace, model), *(note for note in candidates if note is not None))


def _slices(trace: Trace, model: ModelWork) -> list[Note]:
    """That a device is a part of the GPU whose peaks it is compared with (MIG)."""
    used = {one.device for one in model.devices}
    notes = []
    rows = trace.devices.select("device", "name", "memory_bytes", "sm_count").iter_rows()
    for device, name, memory_bytes, count in rows:
        known = specification(name or "", memory_bytes)
        if device not in used or known is None or count is None:
            continue
        if count < MIN_SM_SHARE * known.sm_count:
            text = (
                f"GPU {device} has {count} of the {known.sm_count} multiprocessors of its model, "
                "like a MIG slice, but is compared with the peaks of the whole GPU: shares are "
                "too low. Specify its peaks with --peak."
            )
            evidence = {"device": device, "sm_count": count, "columns": ["mfu_pct", "roof_pct"]}
            notes.append(Note("quality", "part_of_a_gpu", "warning", text, evidence))
    return notes


def _unknown_products(model: ModelWork) -> Note | None:
    if not model.unknown_calls:
        return None
    time_us = model.unknown_time_ns / NS_PER_US
    timed = f" with {duration_text(time_us)} of device time" if time_us else ""
    text = (
        f"{model.unknown_calls} matrix products{timed} have unknown FLOPs: FLOPs of the model "
        "and MFU are too low."
    )
    evidence = {
        "calls": model.unknown_calls,
        "time_us": time_us,
        "columns": ["model_flops_per_step", "mfu_pct"],
    }
    return Note("quality", "unknown_flops", "warning", text, evidence)


def _covered(facts: tuple[Fact, ...]) -> Note | None:
    """That most of the device time is of work nothing is known of."""
    neither = next((fact.value for fact in facts if fact.key == "time_without_work_pct"), None)
    if not isinstance(neither, float) or 100 - neither >= MIN_COVERED_PCT:
        return None
    text = (
        f"{neither:.0f} % of the device time has unknown work: no formula, no recorded shapes, "
        "or no operator that launched it. FLOPs of the model and MFU cover only the rest."
    )
    evidence = {"pct": neither, "columns": ["model_flops_per_step", "mfu_pct"]}
    return Note("quality", "work_unknown", "warning", text, evidence)


def _fewer_operations(trace: Trace, mask: Bools) -> Note | None:
    """That kernels computed convolutions with fewer operations than are counted."""
    chosen = mask & makes_fewer_operations(trace)
    time_us = int(holding_calls(trace).time_ns[chosen].sum()) / NS_PER_US
    if not time_us:
        return None
    calls = int(chosen.sum())
    text = (
        f"{calls} convolutions with {duration_text(time_us)} of device time used Winograd or FFT "
        "kernels, which do fewer operations than the counted direct convolution. They may "
        "exceed the peak, and their possible gain is larger than shown."
    )
    columns = ["tflops_per_s", "roof_pct", "peak_pct", "recoverable_us", "mfu_pct"]
    evidence = {"calls": calls, "time_us": time_us, "columns": columns}
    return Note("quality", "fewer_operations", "info", text, evidence)


def _differences(operators: pl.DataFrame) -> Note | None:
    """That the recording states other FLOPs than the formulas."""
    off = operators.filter(pl.col("stated_difference_pct").abs() > MIN_DIFFERENCE_PCT)
    if off.is_empty():
        return None
    first = off.head(_MAX_NAMED)
    named = ", ".join(
        f"{name} {pct:+.0f} %"
        for name, pct in first.select("name", "stated_difference_pct").iter_rows()
    )
    more = "" if off.height <= _MAX_NAMED else f" and {off.height - _MAX_NAMED} more rows"
    text = (
        f"Recorded FLOPs differ from those of the formulas: {named}{more}. The table shows both "
        "(Recorded FLOPs); all other figures use the formulas."
    )
    evidence = {"rows": off.height, "columns": ["stated_flops", "stated_difference_pct"]}
    return Note("quality", "stated_flops_differ", "info", text, evidence)
