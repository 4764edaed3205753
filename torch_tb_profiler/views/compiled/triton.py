"""The table of kernels that ``torch.compile`` generated.

Definitions: ``docs/views-compiled.md#triton-kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.compiled.triton import (
    Provenance,
    generated_calls,
    kernel_provenances,
    parse_source_frames,
    source_line,
)
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.compiled.filled import filled
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import share_columns, with_shares

NO_KERNELS = (
    "The recording names no generated code (kernel_file): the program compiled nothing for a "
    "device, or torch before 2.4 recorded it."
)
NO_SOURCE = (
    "Nothing tells the source: record with TORCH_COMPILE_DEBUG_EXTEND=1, or put Inductor's "
    "provenance files (inductor_provenance_tracking_node_mappings.json, kernel_information.json) "
    "beside the trace."
)
NO_FLOPS = "Inductor stated none for this kernel."
NO_RATE = "Inductor stated no count for it, or no device time of it is known."
GIGA, TERA = 1e9, 1e12
_NS_PER_S = 1e9


def _text(key: str, title: str, text: str, *, hidden: bool = False) -> Column:
    return Column(key, title, "string", None, text, hidden=hidden)


TRITON = TableSpec(
    "triton_kernels",
    "Generated kernels",
    "One row per kernel that Inductor generated, its code and the options it was compiled with.",
    (
        _text("name", "Name", "Name of the kernel."),
        Column("calls", "Calls", "integer", "count", "How often it was launched.", additive=True),
        Column(
            "total_us",
            "Device Time",
            "number",
            "us",
            "Summed duration on the device.",
            family="time",
            additive=True,
        ),
        Column("mean_us", "Mean", "number", "us", "Mean per launch.", family="time"),
        _text(
            "source",
            "Source",
            "Innermost line of the program that it computes, file and line.",
        ),
        _text(
            "call_stack",
            "Call Stack",
            "All lines of the program that it computes, innermost first.",
            hidden=True,
        ),
        _text("nodes", "Nodes", "Nodes of the model's graph that were fused into it."),
        _text("code_file", "Code File", "The file that Inductor wrote its code to."),
        _text("options", "Options", "What it was compiled for: blocks, warps, stages."),
        Column("flops", "FLOPs", "number", "flops", "FLOPs of a launch, as Inductor states them."),
        Column(
            "gbytes",
            "GB",
            "number",
            "count",
            "10⁹ bytes that a launch reads and writes, as Inductor states them.",
        ),
        Column(
            "tflops_per_s",
            "TFLOP/s",
            "number",
            None,
            "10¹² of the stated FLOPs per second of device time.",
        ),
        Column(
            "gbytes_per_s",
            "GB/s",
            "number",
            "gb_per_s",
            "10⁹ of the stated bytes per second of device time.",
        ),
        *share_columns("Device Time", "the device time of generated kernels in the selection"),
    ),
    sort="-total_us,-calls,name",
    is_summary=True,
    when_empty=NO_KERNELS,
)
_KEYS = ("name_code", "kernel_file_code", "kernel_kwargs_code", "stack_code")


def triton_table(trace: Trace, in_selection: Bools) -> Table:
    """The rows of :data:`TRITON` of the launches in the selection (a mask over slices)."""
    calls = generated_calls(trace)
    chosen = calls.filter(pl.Series(in_selection[calls["slice"].to_numpy()]))
    groups = chosen.group_by(_KEYS, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("kernels", "device_ns", "flops", "bytes").sum(),
        pl.col("flops").count().alias("with_flops"),
        pl.col("bytes").count().alias("with_bytes"),
    )
    device_ns = groups["device_ns"].to_numpy()
    is_timed = groups["kernels"].to_numpy() > 0
    names = codes.texts(trace, groups["name_code"])
    known, unknown_place = kernel_provenances(trace), Provenance()
    told = [known.get(name or "", unknown_place) for name in names.to_list()]
    stacks = [
        parse_source_frames([trace.text(code) or ""]) or place.stack
        for code, place in zip(groups["stack_code"].to_list(), told, strict=True)
    ]
    values: dict[str, Any] = {
        "name": names,
        "calls": groups["calls"],
        "total_us": _where(is_timed, microseconds(groups["device_ns"])),
        "mean_us": _where(is_timed, microseconds(groups["device_ns"], groups["calls"])),
        "source": [source_line(stack) for stack in stacks],
        "call_stack": stacks,
        "nodes": [place.nodes for place in told],
        "code_file": codes.texts(trace, groups["kernel_file_code"]),
        "options": codes.texts(trace, groups["kernel_kwargs_code"]),
        "flops": _mean(groups["flops"], groups["with_flops"]),
        "gbytes": _mean(groups["bytes"] / GIGA, groups["with_bytes"]),
        "tflops_per_s": _rate(groups["flops"], groups["with_flops"], device_ns, TERA),
        "gbytes_per_s": _rate(groups["bytes"], groups["with_bytes"], device_ns, GIGA),
    }
    unknown = no_device_time(trace) or "No kernel of it is linked to its launch."
    reasons = dict.fromkeys(("total_us", "mean_us"), unknown)
    reasons |= dict.fromkeys(("source", "call_stack", "nodes"), NO_SOURCE)
    reasons |= dict.fromkeys(("flops", "gbytes"), NO_FLOPS)
    reasons |= dict.fromkeys(("tflops_per_s", "gbytes_per_s"), NO_RATE)
    return with_shares(filled(TRITON, values, reasons), "total_us", unknown)


def _where(is_known: Bools, values: pl.Series) -> pl.Series:
    return pl.Series(np.where(is_known, values.to_numpy(), np.nan), nan_to_null=True)


def _mean(total: pl.Series, count: pl.Series) -> pl.Series:
    return pl.select(pl.when(count > 0).then(total / count)).to_series()


def _rate(total: pl.Series, count: pl.Series, device_ns: Any, unit: float) -> pl.Series:
    is_known = (count.to_numpy() > 0) & (device_ns > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = total.to_numpy() / unit / (device_ns / _NS_PER_S)
    return _where(is_known, pl.Series(rates))
