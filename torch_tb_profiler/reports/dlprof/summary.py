"""``summary``: several small tables about the whole of what was looked at."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.dlprof.table import Report, ReportTable, Views, frame_of, in_ns
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
    return Report(
        "summary",
        (
            _named("System", [(title, _value(facts, key)) for title, key in _SYSTEM]),
            _named("Performance", _performance(views, facts)),
            _named("Iterations", [(title, _value(facts, key)) for title, key in _ITERATIONS]),
            _classes(views, "Operators", "operator_classes", _OPERATORS),
            _classes(views, "Kernels", "kernel_classes", _KERNELS),
        ),
    )


def _performance(views: Views, facts: dict[str, Fact]) -> list[tuple[str, Scalar]]:
    frame = frame_of(views, (SOURCE, "resources"))
    shares = dict(frame.select("category", "pct").iter_rows())
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
    is_of_operators = table == "operator_classes"
    host, host_key = ("CPU Time", "cpu_time_us") if is_of_operators else ("API Time", "api_time_us")
    count, count_key = ("# Ops", "operators") if is_of_operators else ("# Kernels", "kernels")
    return ReportTable(
        title,
        frame.select(
            pl.col("class").replace(names).alias("Class"),
            in_ns(pl.col("gpu_time_us")).alias("GPU Time (ns)"),
            in_ns(pl.col(host_key)).alias(f"{host} (ns)"),
            pl.col(count_key).alias(count),
        ),
    )
