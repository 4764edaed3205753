"""FLOPs of operators and of the model, read from files of the recording.

Definitions: ``docs/views-efficiency.md#what-files-tell``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.efficiency.columns import AS_RECORDED
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.recorded import recorded_table
from torch_tb_profiler.views.schema import Fact, Table

NO_BYTES = "Bytes read and written by operators were not recorded."
NO_TIME = "Time and calls were not recorded under this name."
NO_MODEL = "The recording has no FLOPs of the model."
NO_PEAK = "The recording has no share of peak to derive the peak from."
TERA = 1e12
_TIMES = {"name": pl.String, "calls": pl.Int64, "device_time_us": pl.Float64}


def recorded_operators(
    trace: Trace, flops: pl.DataFrame | None, sums: pl.DataFrame | None
) -> Table:
    """The operators with recorded FLOPs, with times from a file."""
    if flops is None:
        return Table(AS_RECORDED, pl.DataFrame(schema=AS_RECORDED.polars_schema()))
    rows = with_rates(flops.filter(pl.col("level") == "operator"))
    times = pl.DataFrame(schema=_TIMES)
    if sums is not None:
        named = sums.filter(pl.col("name").is_not_null())
        # A name that several units run has no one time.
        times = named.filter(pl.col("name").is_unique()).select(
            "name", "calls", device_time_us=pl.col("total_us")
        )
    frame = rows.join(times, on="name", how="left", maintain_order="left")
    nothing = {key: pl.lit(None) for key in AS_RECORDED.polars_schema() if key not in frame.columns}
    unknown = dict.fromkeys(nothing, NO_BYTES) | dict.fromkeys(("calls", "device_time_us"), NO_TIME)
    unknown["dtype"] = missing_reason(trace, "input_types", "The data type was not recorded.")
    return in_default_order(recorded_table(AS_RECORDED, frame.with_columns(**nothing), unknown))


def with_rates(flops: pl.DataFrame) -> pl.DataFrame:
    """Recorded FLOPs with the rate columns of the tables."""
    return flops.with_columns(
        tflops_per_s=pl.col("flops_per_s") / TERA, peak_pct=pl.col("utilization_pct")
    )


def recorded_facts(trace: Trace, flops: pl.DataFrame | None) -> tuple[Fact, ...]:
    """FLOPs of the model and share of the peak, read from files."""
    none = missing_reason(trace, "flops", NO_MODEL)
    if flops is None:
        return _model_facts(None, None, None, None, none)
    of_model = flops.filter(pl.col("level") == "model")
    if of_model.is_empty():
        return _model_facts(None, None, None, None, none)
    facts: list[Fact] = []
    for row in of_model.iter_rows(named=True):
        share, rate = row["utilization_pct"], row["flops_per_s"]
        peak = rate / (share / 100) / TERA if share and rate else None
        facts += _model_facts(row["kind"], row["flops"], share, peak, none)
    return tuple(facts)


def _model_facts(
    kind: str | None,
    flops: float | None,
    share: float | None,
    peak: float | None,
    none: str,
) -> tuple[Fact, ...]:
    """Facts of the model, on one kind of cores where ``kind`` is given."""
    scope = None if kind is None else f"{kind} cores"
    return (
        Fact(
            "model_flops_per_step",
            "FLOPs of the model per step",
            flops,
            "flops",
            scope,
            "Floating-point operations of the model per step, as recorded.",
            none if flops is None else None,
        ),
        Fact(
            "mfu_pct",
            "Share of peak",
            share,
            "pct",
            scope,
            "FLOP/s of the model as share of the peak of the device, as recorded.",
            (none if flops is None else NO_PEAK) if share is None else None,
        ),
        Fact(
            "peak_tflops",
            "Peak (TFLOP/s)",
            peak,
            None,
            scope,
            "Peak of the device used in the recording: recorded FLOP/s divided by recorded share.",
            NO_PEAK if peak is None else None,
        ),
    )
