"""The tables of iterations and of what could cut them."""

from __future__ import annotations

from torch_tb_profiler.views.energy import ENERGY_COLUMNS
from torch_tb_profiler.views.measured_columns import OF_STEP
from torch_tb_profiler.views.schema import Column, TableSpec

ITERATION = Column("iteration", "Iteration", "integer", None, "Number of the iteration.")

_OF_GPUS = "mean over the GPUs that ran work"


def _part(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="duration", additive=True)


ITERATIONS = TableSpec(
    "iterations",
    "Iterations",
    "One row per iteration, in time order. The columns Tensor Core Kernels to Other count each "
    f"moment once ({_OF_GPUS}) and add up to the duration.",
    (
        ITERATION,
        Column("start_us", "Start", "number", "us", "Start, since the start of the recording."),
        _part(
            "duration_us",
            "Duration",
            "Length of the iteration: from the end of the previous iteration to the end of its "
            "host range and of the device work it launched.",
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels launched in it, without copies and memsets.",
            additive=True,
        ),
        Column(
            "tensor_core_kernels",
            "Kernels using Tensor Cores",
            "integer",
            "count",
            "Kernels that are known to use Tensor Cores (matrix units).",
            additive=True,
        ),
        Column(
            "gpu_time_mean_us",
            "GPU Time",
            "number",
            "us",
            f"Summed duration of the kernels, copies and memsets launched in it, {_OF_GPUS}; "
            "concurrent streams add up.",
            family="gpu",
        ),
        Column(
            "gpu_time_pct",
            "GPU Time Share",
            "number",
            "pct",
            "GPU Time as share of Duration; above 100 % where streams run concurrently.",
        ),
        Column(
            "tensor_core_time_mean_us",
            "Tensor Core Time",
            "number",
            "us",
            f"Summed duration of the kernels known to use Tensor Cores, {_OF_GPUS}.",
            family="gpu",
        ),
        Column(
            "tensor_core_time_pct",
            "Tensor Core Time Share",
            "number",
            "pct",
            "Tensor Core Time as share of Duration.",
        ),
        _part(
            "tensor_core_us",
            "Tensor Core Kernels",
            "A kernel known to use Tensor Cores ran on the GPU.",
        ),
        _part("other_kernels_us", "Other Kernels", "Another kernel ran, and none of the above."),
        _part("memory_us", "Memory", "The GPU copied or set memory, and none of the above."),
        _part(
            "cpu_us",
            "CPU",
            "The host was in an operator, a range, the data loader, a device API call or a host "
            "collective, and none of the above.",
        ),
        _part("other_us", "Other", "None of the above."),
        Column("selected", "Selected", "boolean", None, "Whether it is in the selection."),
        Column(
            "memory_operations",
            "Copies and Sets",
            "integer",
            "count",
            "Copies and memsets of device memory launched in it.",
            additive=True,
        ),
        *OF_STEP,
        *ENERGY_COLUMNS,
    ),
    when_empty="The recording holds no iterations.",
)

KEY_NODES = TableSpec(
    "key_nodes",
    "Key nodes",
    "Candidates that split the recording into iterations, best first: one row per operator, "
    "range, data loader, optimizer step or outermost module that is called more than once.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "Its name; * stands for numbers that differ between calls. iterations_by=name:<name> "
            "splits at its ends, iterations_by=start:<name> at its starts.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "operator, range, step, data loader, optimizer or module.",
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Number of calls, without recursive ones.",
        ),
        Column(
            "first_start_us",
            "First Start",
            "number",
            "us",
            "Start of the first call, since the start of the recording.",
        ),
        Column(
            "interval_mean_us",
            "Mean Interval",
            "number",
            "us",
            "Mean time from one end to the next, in the same process.",
            family="interval",
        ),
        Column(
            "interval_stddev_us",
            "Standard Deviation",
            "number",
            "us",
            "Standard deviation of these times.",
            family="interval",
        ),
        Column(
            "score",
            "Score",
            "number",
            None,
            "Suitability, 0 to 100: called evenly over the whole recording, early in the "
            "interval, as often as other candidates, and not nested in another one called as "
            "often.",
        ),
        Column("reason", "Reason", "string", None, "Reasons for the score."),
    ),
    sort="-score,first_start_us",
    when_empty="No operator, range or module was called more than once and at most 100,000 times.",
)
