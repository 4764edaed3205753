"""The resource breakdown: step time by resource, as the mean over GPUs and for each GPU.

Definitions: ``docs/metrics.md#resources``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.idle.resources import (
    NO_GPU,
    Resource,
    maybe_tensor_core_times,
    mean_of_visible,
    resource_intervals,
    resource_times,
    unknown_resources,
)
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.overview.gpus import OF_OTHER_RANKS
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NO_STEP_TIME = "The selection contains no step time."
UNNUMBERED = "The recording has no device indices."
NOT_OF_IT = "Applies to other kernels only: Tensor Core use is known for the other rows."

DIFFERENCE = (
    "Unlike the average step, it treats each GPU separately, lists Tensor Core time separately, "
    "counts communication kernels as kernels, and covers all steps shown instead of the mean of "
    "complete steps."
)

RESOURCES = TableSpec(
    "resources",
    "Resource breakdown",
    "How step time divides among resources, averaged over the GPUs that ran work. Every moment "
    "counts once, for the first row that was active, so the rows add up to step time. "
    + DIFFERENCE,
    (
        Column(
            "category",
            "Category",
            "string",
            None,
            "tensor_core: a kernel that uses Tensor Cores (matrix units) ran. other_kernels: "
            "another kernel ran, communication included. memory: the GPU ran a copy or memset. "
            "cpu: the host was in an operator, a range, a device API call or data loading. "
            "other: none of these.",
        ),
        Column("duration_us", "Duration", "number", "us", "Time of the category.", additive=True),
        Column("pct", "Share", "number", "pct", "Share of step time.", additive=True),
        Column(
            "visible_gpus_pct",
            "Share, Mean of Visible GPUs",
            "number",
            "pct",
            "Share of step time, averaged over the GPUs visible to the program. On unused ones "
            "only the host was active, or nothing.",
            additive=True,
            hidden=True,
        ),
        Column(
            "tensor_core_unknown_us",
            "Tensor Core Use Unknown",
            "number",
            "us",
            "Part of the other kernels' time in which a kernel of unknown Tensor Core use ran.",
        ),
    ),
    is_summary=True,
)


def _columns_of_gpu() -> tuple[Column, ...]:
    titles = {
        Resource.TENSOR_CORE: "Tensor Core Kernels",
        Resource.OTHER_KERNELS: "Other Kernels",
        Resource.MEMORY: "Memory",
        Resource.CPU: "CPU",
        Resource.OTHER: "Other",
    }
    of_time = tuple(
        Column(
            f"{resource.name.lower()}_us",
            titles[resource],
            "number",
            "us",
            f"Time in category {resource.name.lower()} for this GPU.",
            family="time",
        )
        for resource in Resource
    )
    of_share = tuple(
        Column(
            f"{resource.name.lower()}_pct",
            f"{titles[resource]}, Share",
            "number",
            "pct",
            f"Category {resource.name.lower()} as share of step time.",
            hidden=True,
        )
        for resource in Resource
    )
    return (*of_time, *of_share)


RESOURCES_BY_GPU = TableSpec(
    "resources_by_gpu",
    "Resource breakdown by GPU",
    "One row per GPU that ran work: how step time divides among resources for this GPU. Every "
    "moment counts once.",
    (
        Column("gpu", "GPU", "integer", None, "Index of the device, as the program numbers them."),
        *_columns_of_gpu(),
        Column(
            "tensor_core_unknown_us",
            "Tensor Core Use Unknown",
            "number",
            "us",
            "Part of the other kernels' time in which a kernel of unknown Tensor Core use ran.",
            family="time",
        ),
    ),
    sort="gpu",
    is_summary=True,
    when_empty="No GPU work was recorded: the program used no GPU, or devices were not profiled.",
)


def resource_tables(trace: Trace, windows: StepWindows) -> tuple[Table, Table]:
    """The tables :data:`RESOURCES` and :data:`RESOURCES_BY_GPU` of the time of ``windows``."""
    start, end = windows.start_ns, windows.end_ns
    gpus = list(resource_intervals(trace))
    times = np.array([resource_times(trace, gpu, start, end).sum(axis=0) for gpu in gpus], float)
    maybe = np.array([maybe_tensor_core_times(trace, gpu, start, end).sum() for gpu in gpus], float)
    whole_ns = int((end - start).sum())
    unknown = unknown_resources(trace)
    visible = mean_of_visible(trace, start, end)
    mean = _mean_table(times.mean(axis=0), visible, float(maybe.mean()), whole_ns, unknown)
    if trace.device_work.is_empty():
        return mean, Table(RESOURCES_BY_GPU, pl.DataFrame(schema=RESOURCES_BY_GPU.polars_schema()))
    return mean, _by_gpu(gpus, times, maybe, whole_ns, unknown)


def _mean_table(
    mean: Float64,
    visible: Float64 | None,
    maybe: float,
    whole_ns: int,
    unknown: dict[Resource, str],
) -> Table:
    rows: list[tuple[object, ...]] = []
    for resource in Resource:
        is_known = resource not in unknown and whole_ns > 0
        rows.append(
            (
                resource.name.lower(),
                mean[resource] / NS_PER_US if is_known else None,
                mean[resource] / whole_ns * 100 if is_known else None,
                visible[resource] / whole_ns * 100 if is_known and visible is not None else None,
                maybe / NS_PER_US if is_known and resource is Resource.OTHER_KERNELS else None,
            )
        )
    frame = pl.DataFrame(rows, schema=RESOURCES.polars_schema(), orient="row")
    missing = " ".join(dict.fromkeys(unknown.values())) if whole_ns else NO_STEP_TIME
    reasons = dict.fromkeys(("duration_us", "pct"), missing)
    reasons["visible_gpus_pct"] = missing or OF_OTHER_RANKS
    reasons["tensor_core_unknown_us"] = (
        missing if Resource.OTHER_KERNELS in unknown or not whole_ns else NOT_OF_IT
    )
    return Table(RESOURCES, frame, needed(frame, reasons))


def _by_gpu(
    gpus: list[int], times: Float64, maybe: Float64, whole_ns: int, unknown: dict[Resource, str]
) -> Table:
    columns: dict[str, object] = {"gpu": [None if gpu == NO_GPU else gpu for gpu in gpus]}
    nothing = [None] * len(gpus)
    reasons = {"gpu": UNNUMBERED}
    for resource in Resource:
        key = resource.name.lower()
        is_known = resource not in unknown and whole_ns > 0
        columns[f"{key}_us"] = times[:, resource] / NS_PER_US if is_known else nothing
        columns[f"{key}_pct"] = times[:, resource] / whole_ns * 100 if is_known else nothing
        for unit in ("us", "pct"):
            reasons[f"{key}_{unit}"] = unknown.get(resource, NO_STEP_TIME)
    columns["tensor_core_unknown_us"] = maybe / NS_PER_US
    frame = pl.DataFrame(
        {key: columns[key] for key in RESOURCES_BY_GPU.polars_schema()},
        schema=RESOURCES_BY_GPU.polars_schema(),
    )
    return Table(RESOURCES_BY_GPU, frame, needed(frame, reasons))
