"""``detail``: a row per operator."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED, UNKNOWN_LAUNCH
from torch_tb_profiler.reports.dlprof.table import (
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    sixteen_times,
    unassociated,
    with_callers,
)

SOURCE = ("operators", "operators")
KERNELS = ("iterations", "iteration_kernels")
ARGUMENTS = ("iteration_operators", "iteration_operators")

IS_OPERATOR = pl.col("kind") == "operator"
"""Other rows are device work that no operator launched, by the host call that did."""

_TITLES = {
    "Op ID": "operator_id",
    "Op Name": "name",
    "Direction": "direction",
    "Op Type": "type",
    "No. Calls": "calls",
    "TC Eligibility": "tensor_core_eligible",
    "Using TC": "tensor_core_used",
    **sixteen_times(),
    "Data Type": "dtype",
    "Input Shapes": "input_shapes",
    "Stack Trace": "call_stack",
}


def operators(views: Views) -> pl.DataFrame:
    """The operators at their places, and what none of them launched, with whether they use Tensor
    Cores and all sixteen times."""
    frame = frame_of(views, SOURCE)
    outside = unassociated(pl.col("name"))
    rows = frame.with_columns(
        operator_id=pl.when(IS_OPERATOR).then("operator_id").otherwise(outside),
        name=pl.when(IS_OPERATOR).then("name").otherwise(outside),
        type=pl.when(IS_OPERATOR).then("type").otherwise(outside),
        tensor_core_used=pl.col("tensor_core_total_pct") > 0,
        cpu_total_us="host_total_us",
        gpu_total_us="device_total_us",
    )
    if KERNELS[0] not in views:
        return rows
    kernels = frame_of(views, KERNELS)
    outside_work = kernels.filter(pl.col("operator_id").str.starts_with(UNASSOCIATED))
    rows = _with_work_without_launch(_with_times_of_calls(rows, outside_work), outside_work)
    return _with_certain_use(rows, with_callers(kernels, frame))


def _with_certain_use(rows: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """``rows``, where what launched a kernel that uses Tensor Cores uses them, however many of its
    kernels no rule knows; and so could use them, if it is no operator."""
    uses = kernels.group_by("operator_id").agg(uses=pl.col("tensor_core_used").any())
    joined = rows.join(uses, on="operator_id", how="left", maintain_order="left")
    used = pl.col("tensor_core_used") | pl.col("uses").fill_null(value=False)
    eligible = pl.col("tensor_core_eligible")
    return joined.with_columns(
        tensor_core_used=used,
        tensor_core_eligible=pl.when(used & eligible.is_null())
        .then(pl.lit(True))
        .otherwise(eligible),
    ).drop("uses")


def _with_work_without_launch(rows: pl.DataFrame, outside_work: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with an operator per name of the work whose launch is not recorded, as DLProf names
    it and as the reports of kernels do, in the place of one of all."""
    time, uses = pl.col("gpu_time_us"), pl.col("tensor_core_used")
    by_name = (
        outside_work.filter(pl.col("api_start_us").is_null())
        .group_by("operator_id", maintain_order=True)
        .agg(
            calls=pl.len().cast(rows.schema["calls"]),
            tensor_core_used=uses.any(ignore_nulls=False),
            tensor_core_total_pct=pl.when(uses.is_not_null().all())
            .then(time.filter(uses).sum() / time.sum() * 100)
            .fill_nan(None),
            gpu_total_us=time.sum(),
            gpu_mean_us=time.mean(),
            gpu_min_us=time.min(),
            gpu_max_us=time.max(),
        )
        .with_columns(name="operator_id", type="operator_id")
        .sort("gpu_total_us", descending=True, maintain_order=True)
    )
    if by_name.is_empty():
        return rows
    is_one_of_all = pl.col("operator_id") == f"{UNASSOCIATED}{UNKNOWN_LAUNCH}"
    return pl.concat([rows.filter(~is_one_of_all), by_name], how="diagonal_relaxed")


def detail(views: Views) -> Report:
    """The report; operators in the order of the view, most time first. Shapes and stack are those
    of the first call."""
    calls = frame_of(views, ARGUMENTS).select("operator_id", "input_shapes", "call_stack")
    first = calls.unique("operator_id", keep="first")
    rows = operators(views).drop("call_stack")
    rows = rows.join(first, on="operator_id", how="left", maintain_order="left")
    return Report("detail", (ReportTable(None, renamed(rows, _TITLES)),))


def _with_times_of_calls(rows: pl.DataFrame, outside_work: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with mean, least and largest CPU and GPU time of the host calls outside operators,
    where all their calls launched device work that is recorded."""
    by_call = (
        outside_work.drop_nulls("api_start_us")
        .group_by("operator_id", "api_start_us")
        .agg(cpu=pl.col("api_time_us").first(), gpu=pl.col("gpu_time_us").sum())
    )
    statistics = [
        getattr(pl.col(stem), statistic)().alias(f"{stem}_{statistic}_known")
        for stem in ("cpu", "gpu")
        for statistic in ("mean", "min", "max")
    ]
    times = by_call.group_by("operator_id").agg(pl.len().alias("known_calls"), *statistics)
    joined = rows.join(times, on="operator_id", how="left", maintain_order="left")
    is_complete = pl.col("known_calls") == pl.col("calls")
    return joined.with_columns(
        pl.coalesce(key, pl.when(is_complete).then(f"{stem}_{statistic}_known")).alias(key)
        for stem in ("cpu", "gpu")
        for statistic in ("mean", "min", "max")
        for key in [f"{stem}_{statistic}_us"]
    )
