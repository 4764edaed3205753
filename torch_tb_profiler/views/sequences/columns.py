"""The declared table of the view of sequences."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec


def _us(key: str, title: str, text: str, family: str = "time", **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


SEQUENCES = TableSpec(
    "sequences",
    "Repeated sequences",
    "One row per sequence of kernels that ran back to back on a stream three times or more and "
    "could be fused into one kernel. Sequences do not overlap; the largest possible saving comes "
    "first.",
    (
        Column("sequence", "Kernels", "string", None, "Names of its kernels, in order."),
        Column("length", "Length", "integer", "count", "Number of kernels in the sequence."),
        Column("calls", "Times", "integer", "count", "How often it ran.", additive=True),
        _us(
            "saved_us",
            "Might Save",
            "Device Gaps inside the sequence plus the part 1 − 2 / (length + 1) of its kernel "
            "time, which goes to reading and writing intermediate results. After a matrix product "
            "the time of the product itself is excluded.",
            estimated=True,
            additive=True,
        ),
        _us("kernel_us", "Kernels' Time", "Summed duration of its kernels.", additive=True),
        _us("gap_us", "Gaps", "Idle time of the stream between its kernels.", additive=True),
        _us(
            "device_gap_us",
            "Device Gaps",
            "Part of Gaps between two kernels that were both launched in time: the next one was "
            "launched before the gap began, and started within 0.2 ms. Fusing removes only these, "
            "not the gaps in which the device waits for the host or an event.",
            additive=True,
        ),
        _us("mean_kernel_us", "Mean Kernel", "Mean duration of its kernels.", "kernel"),
        Column(
            "launches",
            "Launches Saved",
            "integer",
            "count",
            "Launches that fusing would avoid: all but one per execution of the sequence.",
            additive=True,
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "epilogue: kernels after a matrix product or convolution; chain: no kernel is a "
            "matrix product or convolution.",
        ),
        Column(
            "operators", "Operators", "string", None, "Operators that launched its first execution."
        ),
        Column("module", "Module", "string", None, "Module around these operators, if known."),
        Column("full_names", "Full Names", "string", None, "As recorded.", hidden=True),
        Column("slice", "Slice", "integer", None, "Its first kernel on the timeline.", hidden=True),
    ),
    sort="-saved_us,-kernel_us,sequence",
    when_empty="No fusible sequence of kernels occurs three times or more.",
)
