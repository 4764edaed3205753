"""The rows of the table of efficiency.

Definitions: ``docs/views-efficiency.md#how-it-is-counted``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.traffic import SCHEMA
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.knowledge.formulas import KINDS, MODEL_KINDS
from torch_tb_profiler.knowledge.operator_types import TYPES
from torch_tb_profiler.knowledge.peaks import PEAK_TYPES
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.efficiency.columns import OPERATORS
from torch_tb_profiler.views.measured_columns import OWN_SAMPLES
from torch_tb_profiler.views.null_reasons import missing_reason, needed, not_grouped
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table

COMPUTE, MEMORY, LATENCY = "compute", "memory", "latency"

OUTSIDE_MODULES = "(outside every module)"
OUTSIDE_STEPS = "(outside every step)"
OUTSIDE_OPERATORS = "(launched by no operator)"
UNKNOWN_TYPE = "(unknown type)"

NO_FLOPS = "No formula for the FLOPs of these calls, or its inputs were not recorded."
NO_BYTES = "No formula for the bytes of these calls, or their types were not recorded."
NO_RATE = "Needs known FLOPs (copies have none) and device time."
NO_SPEED = "Needs known bytes and device time."
NO_INTENSITY = "Needs known FLOPs and bytes."
NO_ROOF = (
    "Needs known FLOPs or bytes, device time, and peaks of the device (specify them with "
    "--peak); communication and copies between memories have no roofline limit."
)
NO_PEAK = (
    "Needs known FLOPs, device time, and the peak of the device for this type (specify it "
    "with --peak)."
)
NO_TYPE = "The data types were not recorded, or no peaks are known for them (such as integers)."
NO_KIND = "No formula for these calls."
NO_TILE = "Needs matrix products whose kernel names contain the tile size."
NOT_STATED = "No FLOPs were recorded for these calls."
NO_SHAPES = "The recording contains no input shapes of operators."
NOT_MEASURED = (
    "Needs samples or values of the memory bandwidth in the time of these calls, and for shares of "
    "the peak the peak bandwidth of the device (specify it with --peak bandwidth_gb_per_s=…); the "
    "comparison needs known bytes, too."
)
_MEASURED = ("measured_gbytes_per_s", "measured_ratio", OWN_SAMPLES.key, "measured_bytes")
NOT_TIMED = "No device time in the selection."


def operators_table(
    trace: Trace,
    groups: pl.DataFrame,
    traffic: pl.DataFrame | None,
    outside: pl.DataFrame,
) -> Table:
    """The table, in its default order.

    Args:
        trace: The trace.
        groups: As ``grouped`` gives them.
        traffic: As ``grouped_traffic`` gives it, in the same order; None where nothing is measured.
        outside: Device work that no operator launched, as ``launches_outside`` gives it.
    """
    whole_ns = int(groups["time_ns"].sum()) + int(outside["device_ns"].sum())
    frame = _rows(trace, groups.hstack(_traffic(groups, traffic)), whole_ns)
    if outside.height:
        frame = pl.concat((frame, _outside(trace, groups, outside, whole_ns)))
    # Equals, and all rows of a recording without devices, stand by their FLOPs.
    frame = frame.sort("flops", "name", descending=[True, False], nulls_last=True)
    reasons = _reasons(trace, by_shape="input_shape_code" in groups.columns)
    return in_default_order(Table(OPERATORS, frame, needed(frame, reasons)))


def _rows(trace: Trace, groups: pl.DataFrame, whole_ns: int) -> pl.DataFrame:
    has_time = no_device_time(trace) is None
    timed = pl.lit(has_time)
    flops_time, bytes_time = pl.col("flops_time_ns"), pl.col("bytes_time_ns")
    roof_pct = _share(pl.col("roof_ns"), pl.col("roof_time_ns"))
    left_us = pl.when(roof_pct.is_not_null()).then(pl.col("left_ns") / NS_PER_US)
    difference = _share(pl.col("stated_flops"), pl.col("stated_beside_flops")) - 100
    rows = groups.with_columns(
        microseconds(groups["time_ns"]).alias("device_time_us"), roof_pct.alias("roof_pct")
    )
    values: dict[str, pl.Expr | pl.Series] = {
        "name": _names(trace, groups),
        "input_shape": _shapes(trace, groups),
        "calls": pl.col("calls").cast(pl.Int64),
        "kernels": pl.when(timed).then(pl.col("kernels")),
        "device_time_us": pl.when(timed).then(pl.col("device_time_us")),
        "device_time_pct": pl.when(timed & (whole_ns > 0)).then(pl.col("time_ns") / whole_ns * 100),
        "tflops_per_s": pl.when((flops_time > 0) & (pl.col("flops") > 0)).then(
            pl.col("flops") / flops_time / 1e3
        ),
        "gbytes_per_s": pl.when(bytes_time > 0).then(pl.col("bytes") / bytes_time),
        "bound": _bound(),
        "roof_pct": pl.col("roof_pct"),
        "recoverable_us": left_us,
        "dtype": _texts(groups["peak_type"], PEAK_TYPES),
        "flops": pl.col("flops"),
        "bytes": pl.col("bytes").round().cast(pl.Int64, strict=False),
        "intensity_flop_per_byte": pl.when(pl.col("both_bytes") > 0).then(
            pl.col("both_flops") / pl.col("both_bytes")
        ),
        "peak_pct": _share(pl.col("compute_ns"), pl.col("compute_time_ns")),
        "work": _texts(groups["kind"], KINDS),
        "tiles_pct": _share(pl.col("beside_tiled_flops"), pl.col("tiled_flops")),
        "stated_flops": pl.col("stated_flops"),
        "stated_difference_pct": difference,
        "kind": pl.lit(None, pl.String),
        "source": pl.lit(None, pl.String),
        "measured_gbytes_per_s": pl.when(pl.col("measured_ns") > 0).then(
            pl.col("measured_bytes") / pl.col("measured_ns")
        ),
        "measured_ratio": pl.when(pl.col("computed_bytes") > 0).then(
            pl.col("compared_bytes") / pl.col("computed_bytes")
        ),
        OWN_SAMPLES.key: pl.col("own_pct"),
        "measured_bytes": pl.when(pl.col("measured_ns") > 0)
        .then(pl.col("measured_bytes"))
        .round()
        .cast(pl.Int64, strict=False),
    }
    return rows.with_columns(**values).select(list(OPERATORS.polars_schema()))


def _traffic(groups: pl.DataFrame, traffic: pl.DataFrame | None) -> pl.DataFrame:
    if traffic is not None:
        return traffic
    return pl.DataFrame({key: [None] * groups.height for key in SCHEMA}, schema=SCHEMA)


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole * 100)


def _bound() -> pl.Expr:
    """What bounds a row (``docs/views-efficiency.md#bound``)."""
    limits = efficiency_file()
    compute, memory = pl.col("compute_ns"), pl.col("memory_ns")
    is_short = pl.col("time_ns") < limits.latency_kernel_us * NS_PER_US * pl.col("kernels")
    is_little = pl.col("roof_ns") < limits.latency_work_us * NS_PER_US * pl.col("kernels")
    is_slow = pl.col("roof_pct") < limits.latency_roof_pct
    is_product = pl.any_horizontal(
        pl.col("kind").list.contains(KINDS.index(name)) for name in sorted(MODEL_KINDS)
    )
    of_memory = memory.is_not_null() & (compute < memory).fill_null(~is_product)
    of_compute = compute.is_not_null() & (compute >= memory)
    return (
        pl.when(pl.col("roof_pct").is_null())
        .then(None)
        .when((is_short | is_little) & is_slow)
        .then(pl.lit(LATENCY))
        .when(of_memory)
        .then(pl.lit(MEMORY))
        .when(of_compute)
        .then(pl.lit(COMPUTE))
    )


def _names(trace: Trace, groups: pl.DataFrame) -> pl.Series:
    """What the rows are called."""
    if "name_code" in groups.columns:
        return codes.texts(trace, groups["name_code"])
    if "module" in groups.columns:
        return _names_at(groups["module"], module_tree(trace).nodes.path, OUTSIDE_MODULES)
    if "type" in groups.columns:
        return _names_at(groups["type"], list(TYPES), UNKNOWN_TYPE)
    return _names_at(groups["step"], trace.steps["name"].to_list(), OUTSIDE_STEPS)


def _names_at(indices: pl.Series, names: list[str], otherwise: str) -> pl.Series:
    texts = [names[index] if index >= 0 else otherwise for index in indices.to_list()]
    return pl.Series(texts, dtype=pl.String)


def _shapes(trace: Trace, groups: pl.DataFrame) -> pl.Series:
    if "input_shape_code" not in groups.columns:
        return pl.Series([None] * groups.height, dtype=pl.String)
    return codes.texts(trace, groups["input_shape_code"].replace(-1, None))


def _texts(indices: pl.Series, names: tuple[str, ...]) -> pl.Series:
    """Lists of indices as names; each distinct list is formatted once."""
    known: dict[tuple[int, ...], str | None] = {}

    def text(of_row: tuple[int, ...]) -> str | None:
        if of_row not in known:
            known[of_row] = ", ".join(names[index] for index in of_row if index >= 0) or None
        return known[of_row]

    return pl.Series([text(tuple(of_row)) for of_row in indices.to_list()], dtype=pl.String)


def _outside(
    trace: Trace, groups: pl.DataFrame, outside: pl.DataFrame, whole_ns: int
) -> pl.DataFrame:
    """Device work that no operator launched: by the call that did, or in one row."""
    work = outside.select(
        codes.texts(trace, outside["name_code"].replace(-1, None))
        .fill_null(UNKNOWN_LAUNCH)
        .alias("name"),
        "calls",
        pl.col("device_ns").alias("time_ns"),
    )
    if "name_code" not in groups.columns:
        work = work.select(
            pl.lit(OUTSIDE_OPERATORS).alias("name"), pl.col("calls").sum(), pl.col("time_ns").sum()
        ).head(1)
    shown = work.select(
        "name",
        pl.col("calls").cast(pl.Int64),
        device_time_us=microseconds(work["time_ns"]),
        device_time_pct=pl.when(pl.lit(whole_ns > 0)).then(pl.col("time_ns") / whole_ns * 100),
    )
    schema = OPERATORS.polars_schema()
    return shown.select(
        (pl.col(key) if key in shown.columns else pl.lit(None)).cast(dtype).alias(key)
        for key, dtype in schema.items()
    )


def _reasons(trace: Trace, *, by_shape: bool) -> dict[str, str]:
    """Why columns may hold nulls."""
    no_time = no_device_time(trace)
    of_time = ("kernels", "device_time_us", "device_time_pct")
    timed = ("tflops_per_s", "gbytes_per_s", "roof_pct", "peak_pct", "recoverable_us", "bound")
    shapes = missing_reason(trace, "input_shapes", NO_SHAPES)
    reasons = {
        "input_shape": shapes if by_shape else not_grouped("input shape", "operator+input_shape"),
        "flops": NO_FLOPS,
        "bytes": NO_BYTES,
        "tflops_per_s": NO_RATE,
        "gbytes_per_s": NO_SPEED,
        "intensity_flop_per_byte": NO_INTENSITY,
        "bound": NO_ROOF,
        "roof_pct": NO_ROOF,
        "peak_pct": NO_PEAK,
        "recoverable_us": NO_ROOF,
        "dtype": NO_TYPE,
        "work": NO_KIND,
        "tiles_pct": NO_TILE,
        **dict.fromkeys(("stated_flops", "stated_difference_pct"), NOT_STATED),
        **dict.fromkeys(of_time, no_time or NOT_TIMED),
        **dict.fromkeys(_MEASURED, missing_reason(trace, "gpu_metrics", NOT_MEASURED)),
    }
    return reasons | (dict.fromkeys(timed, no_time) if no_time is not None else {})
