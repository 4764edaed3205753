"""The tables of compiled code and of compilations.

Definitions: ``docs/views-compiled.md#regions``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.compiled.compilations import PARTS, compilations
from torch_tb_profiler.analysis.kernels.compiled.regions import KINDS, compiled_calls
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.compiled.filled import filled, in_us
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NO_REGIONS = (
    "Nothing that torch.compile made is called in the selection: the program does not use it, or "
    "its recorder wrote no operators."
)
NO_COMPILATION = (
    "No compilation is in the selection: everything was compiled before, or the recorder (torch "
    "before 2.1, or one without operators) does not tell."
)
NO_RANGES = "The recorder did not time this part."
NO_ID = "The recorder did not say which region it made, and none is called behind it."


def _time(key: str, title: str, text: str, family: str, *, additive: bool = True) -> Column:
    return Column(key, title, "number", "us", text, family=family, additive=additive)


def _count(key: str, title: str, text: str, *, additive: bool = True) -> Column:
    return Column(key, title, "integer", "count", text, additive=additive)


# Rows of different kinds lie in one another: sums of all rows would count the same time twice.
REGIONS = TableSpec(
    "regions",
    "Compiled code",
    "One row per region, graph of Inductor and function of autograd that torch.compile made.",
    (
        Column("kind", "Kind", "string", None, "Region, Inductor graph, or autograd's function."),
        Column(
            "name",
            "Name",
            "string",
            None,
            "Its name; of a region the number of its function and how often that was compiled "
            "before: 0/1 is the second code for the first function.",
        ),
        _count("calls", "Calls", "How often it was called.", additive=False),
        _count(
            "resumed",
            "After a Break",
            "Calls inside a call of another region: code that goes on after a graph break.",
            additive=False,
        ),
        Column(
            "calls_per_step",
            "Per Step",
            "number",
            "count",
            "Calls, divided among the steps of the selection in which it was called.",
        ),
        _time(
            "host_self_us",
            "Host Self",
            "Time on the host, without calls of the same kind inside.",
            "host",
            additive=False,
        ),
        Column(
            "host_mean_us",
            "Host Mean",
            "number",
            "us",
            "Mean duration of a call on the host, what is inside included.",
            family="host",
        ),
        _time(
            "device_us",
            "Device Time",
            "Summed duration of the device work launched inside it, but not inside another call of "
            "the same kind. Rows of one kind add up.",
            "device",
            additive=False,
        ),
        _count("kernels", "Kernels", "Kernels among that.", additive=False),
    ),
    sort="kind,-host_self_us,name",
    is_summary=True,
    when_empty=NO_REGIONS,
)

COMPILATIONS = TableSpec(
    "compilations",
    "Compilations",
    "One row per time that the program compiled, in order.",
    (
        Column("start_us", "Start", "number", "us", "Start, from the start of the recording."),
        Column("step", "Step", "string", None, "The step that waited for it."),
        Column("region", "Region", "string", None, "The region that it made, as in its name."),
        Column(
            "what",
            "What",
            "string",
            None,
            "first: code of a function for the first time; again: for other inputs (a guard "
            "failed); backward: of its backward pass by itself.",
        ),
        _time("host_us", "Host Time", "How long the program waited.", "time"),
        _time("tracing_us", "Tracing", "Dynamo reads the function's code.", "time"),
        _time(
            "aot_us",
            "Autograd",
            "The backend's own time: autograd traces forward and backward. Without Inductor.",
            "time",
        ),
        _time("inductor_us", "Inductor", "Inductor plans kernels and writes their code.", "time"),
        _time("code_us", "Code", "Waiting for Triton or the C++ compiler.", "time"),
        _time("guards_us", "Guards", "Writing the checks of the inputs.", "time"),
        _count("attempts", "Attempts", "How often Dynamo began: again after a graph break."),
        _count("graphs", "Graphs", "Graphs that Inductor was given."),
        _count(
            "cache_misses",
            "Cache Misses",
            "Graphs that were not in Inductor's cache, so that code was made for them.",
        ),
    ),
    sort="start_us",
    is_summary=True,
    when_empty=NO_COMPILATION,
)


def regions_table(trace: Trace, in_selection: Bools) -> Table:
    """The rows of :data:`REGIONS` of the calls that begin in the selection (a mask over slices)."""
    calls = compiled_calls(trace)
    chosen = np.flatnonzero(in_selection[calls.slice])
    slices = calls.slice[chosen]
    steps = slice_steps(trace)[slices]
    groups = (
        pl.DataFrame(
            {
                "kind": calls.kind[chosen],
                "name_code": trace.slices["name_code"].to_numpy()[slices],
                "resumed": calls.is_resumed[chosen],
                "step": pl.Series(steps).set(pl.Series(steps < 0), None),
                "dur_ns": trace.slices["dur_ns"].to_numpy()[slices],
                "self_ns": calls.self_ns[chosen],
                "device_ns": calls.device_ns[chosen],
                "kernels": calls.kernels[chosen],
            }
        )
        .group_by("kind", "name_code", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("resumed").sum().cast(pl.Int64),
            pl.col("step").count().cast(pl.Int64).alias("in_steps"),
            pl.col("step").drop_nulls().n_unique().cast(pl.Int64).alias("steps"),
            pl.col("dur_ns", "self_ns", "device_ns", "kernels").sum(),
        )
    )
    per_step = pl.select(
        pl.when(groups["steps"] > 0).then(groups["in_steps"] / groups["steps"])
    ).to_series()
    unknown = no_device_time(trace)
    values: dict[str, Any] = {
        "kind": [KINDS[kind] for kind in groups["kind"].to_list()],
        "name": codes.texts(trace, groups["name_code"]),
        "calls": groups["calls"],
        "resumed": groups["resumed"],
        "calls_per_step": per_step,
        "host_self_us": microseconds(groups["self_ns"]),
        "host_mean_us": microseconds(groups["dur_ns"], groups["calls"]),
        "device_us": microseconds(groups["device_ns"]),
        "kernels": groups["kernels"],
    }
    if unknown is not None:
        values |= dict.fromkeys(("device_us", "kernels"), [None] * groups.height)
    reasons = dict.fromkeys(("device_us", "kernels"), unknown or "")
    return filled(REGIONS, values, reasons)


def compilations_table(trace: Trace, in_selection: Bools) -> Table:
    """The rows of :data:`COMPILATIONS` of those that begin in the selection."""
    found = compilations(trace)
    chosen = np.flatnonzero(in_selection[found.slice])
    slices = found.slice[chosen]
    part = dict(zip(PARTS, found.part_ns[:, chosen], strict=True))
    start_ns = trace.slices["start_ns"].to_numpy()[slices]
    names: list[str | None] = [*trace.steps["name"].to_list(), None]

    def timed(ns: Int64) -> pl.Series:
        return pl.Series(np.where(ns > 0, in_us(ns), np.nan), nan_to_null=True)

    values: dict[str, Any] = {
        "start_us": in_us(start_ns - trace.meta.start_ns),
        "step": [names[step] for step in slice_steps(trace)[slices].tolist()],
        "region": [found.region[at] for at in chosen.tolist()],
        "what": [_what(found.is_backward[at], found.is_again[at]) for at in chosen.tolist()],
        "host_us": in_us(trace.slices["dur_ns"].to_numpy()[slices]),
        "tracing_us": timed(part["tracing"]),
        "aot_us": timed(part["aot"]),
        "inductor_us": timed(part["inductor"]),
        "code_us": timed(part["code"]),
        "guards_us": timed(part["guards"]),
        "attempts": _positive(found.attempts[chosen]),
        "graphs": found.graphs[chosen],
        "cache_misses": found.generated[chosen],
    }
    parts = ("tracing_us", "aot_us", "inductor_us", "code_us", "guards_us", "attempts")
    return filled(COMPILATIONS, values, dict.fromkeys(parts, NO_RANGES) | {"region": NO_ID})


def _what(is_backward: bool, is_again: bool) -> str:
    if is_backward:
        return "backward"
    return "again" if is_again else "first"


def _positive(values: Int64) -> list[int | None]:
    return [value or None for value in values.tolist()]
