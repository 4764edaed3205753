"""The tables of iterations and of what could cut them."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

ITERATION = Column("iteration", "Iteration", "integer", None, "Number of the iteration.")

_OF_GPUS = "mean over the GPUs that ran work"


def _part(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="duration", additive=True)


ITERATIONS = TableSpec(
    "iterations",
    "Iterations",
    "One row per iteration, in time order. Tensor Core Kernels to Other give each moment of it "
    f"once ({_OF_GPUS}), so they add up to its duration.",
    (
        ITERATION,
        Column("start_us", "Start", "number", "us", "When it began, since the recording's time 0."),
        _part(
            "duration_us",
            "Duration",
            "Length of the iteration: its range on the host, stretched to the end of the device "
            "work it launched and begun where the iteration before ended.",
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels that were launched in it; copies and sets are none.",
            additive=True,
        ),
        Column(
            "tensor_core_kernels",
            "Kernels using Tensor Cores",
            "integer",
            "count",
            "Those of them that are known to run on Tensor Cores (matrix units).",
            additive=True,
        ),
        Column(
            "gpu_time_mean_us",
            "GPU Time",
            "number",
            "us",
            "Summed duration of the kernels, copies and sets that were launched in it, "
            f"{_OF_GPUS}; what runs at the same time on several streams adds up.",
            family="gpu",
        ),
        Column(
            "gpu_time_pct",
            "GPU Time Share",
            "number",
            "pct",
            "GPU Time as share of Duration; above 100 where streams run at the same time.",
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
        _part("other_kernels_us", "Other Kernels", "Another kernel ran, and nothing above."),
        _part("memory_us", "Memory", "The GPU copied or set memory, and nothing above happened."),
        _part(
            "cpu_us",
            "CPU",
            "The host was in an operator, a range, the data loader, a device API call or a "
            "collective of its own, and nothing above happened.",
        ),
        _part("other_us", "Other", "None of the above."),
        Column("selected", "Selected", "boolean", None, "Whether it is in the selection."),
        Column(
            "memory_operations",
            "Copies and Sets",
            "integer",
            "count",
            "Copies and sets of device memory that were launched in it.",
            additive=True,
        ),
    ),
    when_empty="The recording holds nothing that could be an iteration.",
)

KEY_NODES = TableSpec(
    "key_nodes",
    "Key nodes",
    "What could cut the recording into iterations, best first: one row per operator, range, data "
    "loader, optimizer step or outermost module that was called more than once.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "Its name; * stands for numbers that differ between calls. iterations_by=name:<name> "
            "cuts at its ends, iterations_by=start:<name> at its starts.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "What it is: operator, range, step, data loader, optimizer or module.",
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "How often it was called, without calls inside calls of it.",
        ),
        Column(
            "first_start_us",
            "First Start",
            "number",
            "us",
            "When it was first called, since the recording's time 0.",
        ),
        Column(
            "interval_mean_us",
            "Mean Interval",
            "number",
            "us",
            "Mean time between one end of it and the next, in the same process.",
            family="interval",
        ),
        Column(
            "interval_stddev_us",
            "Standard Deviation",
            "number",
            "us",
            "Root of the mean squared difference of these times from their mean.",
            family="interval",
        ),
        Column(
            "score",
            "Score",
            "number",
            None,
            "How good it is, 0 to 100: called more than once, evenly, over the whole recording, "
            "early in the interval, as often as other things, and not inside another one called as "
            "often.",
        ),
        Column("reason", "Reason", "string", None, "What its score is made of, in words."),
    ),
    sort="-score,first_start_us",
    when_empty="Nothing in the recording was called more than once and at most 100 000 times.",
)
