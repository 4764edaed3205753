"""``summary``: several small tables about the whole of what was looked at."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.reports.dlprof.detail import operators
from torch_tb_profiler.reports.dlprof.table import (
    OPERATORS,
    Report,
    ReportTable,
    Views,
    frame_of,
    in_ns,
)
from torch_tb_profiler.views.schema import Fact, Scalar

SOURCE = "overview"

PROFILE_NAME = "Profile Name"
"""Its value is not in any view: a view does not know what its recording is called."""

_SYSTEM = (
    (PROFILE_NAME, "profile_name"),
    ("GPU Count", "gpu_count"),
    ("GPU Names", "gpu_names"),
    ("CPU Model", "cpu_model"),
    ("GPU Driver Version", "cuda_driver_version"),
    ("Framework", "framework"),
    ("CUDA Version", "cuda_runtime_version"),
    ("cuDNN Version", "cudnn_version"),
    ("Profiler Version", "profiler"),
    ("Tool Version", "tool_version"),
)
_ITERATIONS = (
    ("Total Iterations", "iterations_total"),
    ("Aggregated Iterations", "iterations_selected"),
    ("Iteration Start", "iterations_first"),
    ("Iteration Stop", "iterations_last"),
    ("Average Iteration Time (ns)", "iteration_mean_us"),
    ("Standard Deviation of Iteration Time (ns)", "iteration_stddev_us"),
)
_RESOURCES = (
    ("Tensor Core Kernel Duration", "tensor_core"),
    ("Non-Tensor Core Kernel Duration", "other_kernels"),
    ("Memory Duration", "memory"),
    ("CPU Duration", "cpu"),
    ("Other Duration", "other"),
)
NO_STEPS = "no_steps"
"""Code of the note that says so."""

_WITHOUT_TENSOR_CORES = ("all", "memory")
"""The classes that do not depend on the use of Tensor Cores."""

_OPERATORS = {
    "all": "All Ops",
    "using_tensor_cores": "Ops Using TC",
    "eligible_not_using": "Ops Eligible For TC But Not Using",
    "other": "All Other Ops",
}
_KERNELS = {
    "all": "All Kernels",
    "using_tensor_cores": "Kernels Using TC",
    "memory": "Memory",
    "other": "All Other Kernels",
}


def summary(views: Views) -> Report:
    """The report: system, performance, iterations, operators and kernels."""
    facts = {fact.key: fact for fact in views[SOURCE].facts if fact.scope is None}
    has_iterations = all(note.code != NO_STEPS for note in views[SOURCE].notes)
    return Report(
        "summary",
        (
            _named("System", [(title, _value(facts, key)) for title, key in _SYSTEM]),
            _named("Performance", _performance(views, facts)),
            _named("Iterations", _iterations(facts, has_iterations)),
            _classes(views, "Operators", "operator_classes", _OPERATORS),
            _classes(views, "Kernels", "kernel_classes", _KERNELS),
        ),
    )


def _iterations(facts: dict[str, Fact], has_iterations: bool) -> list[tuple[str, Scalar]]:
    """None where the recording, which then counts as one interval, names no iterations."""
    if has_iterations:
        return [(title, _value(facts, key)) for title, key in _ITERATIONS]
    counts = {"iterations_total", "iterations_selected"}
    return [(title, 0 if key in counts else None) for title, key in _ITERATIONS]


def _performance(views: Views, facts: dict[str, Fact]) -> list[tuple[str, Scalar]]:
    frame = frame_of(views, (SOURCE, "resources"))
    # Of one rank of a job, whose other ranks may use the other GPUs, the mean of its own.
    of_all = pl.coalesce("visible_gpus_pct", "pct")
    shares = dict(frame.select("category", of_all).iter_rows())
    if _is_unknown(frame_of(views, (SOURCE, "kernel_classes"))):
        shares |= dict.fromkeys(("tensor_core", "other_kernels"))
    return [
        ("Wall Clock Time (ns)", _value(facts, "wall_clock_us")),
        ("Tensor Core Kernel Utilization (%)", _value(facts, "tensor_core_efficiency_pct")),
        ("GPU Utilization (%)", _gpu_utilization(facts)),
        *((f"{title} (%)", shares.get(category)) for title, category in _RESOURCES),
    ]


def _gpu_utilization(facts: dict[str, Fact]) -> Scalar:
    """Of all visible GPUs; of one rank of a job, of those that it uses."""
    visible = _value(facts, "gpu_utilization_mean_pct")
    return _value(facts, "gpu_utilization_used_mean_pct") if visible is None else visible


def _value(facts: dict[str, Fact], key: str) -> Scalar:
    """The value of a fact, times in whole ns; None where it is not known."""
    fact = facts.get(key)
    value = None if fact is None else fact.value
    if key.endswith("_us") and isinstance(value, int | float):
        return round(value * 1000)
    return value


def _named(title: str, rows: list[tuple[str, Scalar]]) -> ReportTable:
    """Names and values; values of several kinds stand in one column as text."""
    texts = [(name, None if value is None else str(value)) for name, value in rows]
    schema = {"Name": pl.String, "Value": pl.String}
    return ReportTable(title, pl.DataFrame(texts, schema=schema, orient="row"))


def _classes(views: Views, title: str, table: str, names: dict[str, str]) -> ReportTable:
    frame = frame_of(views, (SOURCE, table))
    if table == "operator_classes":
        host, host_key, counts = "CPU Time", "cpu_time_us", {"# Ops": "operators"}
        frame = frame.drop("operators").join(_operator_counts(views), on="class", how="left")
    else:
        host, host_key = "API Time", "api_time_us"
        counts = {"# Kernels": "kernel_names", "# Calls": "kernels"}
    cells = (
        in_ns(pl.col("gpu_time_us")).alias("GPU Time (ns)"),
        in_ns(pl.col(host_key)).alias(f"{host} (ns)"),
        *(pl.col(key).alias(heading) for heading, key in counts.items()),
    )
    known = pl.lit(True) if not _is_unknown(frame) else pl.col("class").is_in(_WITHOUT_TENSOR_CORES)
    return ReportTable(
        title,
        frame.select(
            pl.col("class").replace(names).alias("Class"),
            *(pl.when(known).then(cell) for cell in cells),
        ),
    )


def _operator_counts(views: Views) -> pl.DataFrame:
    """Rows of the report ``detail`` by class; none where the recording holds no operators, and
    no classes where it does not hold what they launched."""
    if OPERATORS[0] not in views:
        return pl.DataFrame(schema={"class": pl.String, "operators": pl.Int64})
    using = pl.col("tensor_core_used").fill_null(value=False)
    eligible = pl.col("tensor_core_eligible").fill_null(value=False) & ~using
    is_known = pl.col("tensor_core_used").is_not_null().any()
    counts = operators(views).select(
        pl.len().alias("all"),
        pl.when(is_known).then(using.sum()).alias("using_tensor_cores"),
        pl.when(is_known).then(eligible.sum()).alias("eligible_not_using"),
        pl.when(is_known).then((~using & ~eligible).sum()).alias("other"),
    )
    columns = counts.unpivot(variable_name="class", value_name="operators")
    return columns.with_columns(pl.col("operators").cast(pl.Int64))


def _is_unknown(classes: pl.DataFrame) -> bool:
    """Whether kernels whose Tensor Core use no rule knows take so much of the device time that the
    time with and without is unknown."""
    whole = classes.filter(pl.col("class") == "all")
    unknown_us, all_us = whole.select("tensor_core_unknown_us", "gpu_time_us").row(0)
    return bool(all_us) and (unknown_us or 0.0) / all_us * 100 > kernel_file().max_unknown_pct
