"""The declared table of the view of sequences."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec


def _us(key: str, title: str, text: str, family: str = "time", **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


SEQUENCES = TableSpec(
    "sequences",
    "Repeated sequences",
    "One row per sequence of kernels that ran three times or more, one right after the other on a "
    "stream, and could be fused into one kernel. Sequences do not overlap; what fusing might save "
    "comes first.",
    (
        Column("sequence", "Kernels", "string", None, "Names of its kernels, in order."),
        Column("length", "Length", "integer", "count", "Kernels in it."),
        Column("calls", "Times", "integer", "count", "How often it ran.", additive=True),
        _us(
            "saved_us",
            "Might Save",
            "Gaps inside, and the part 1 − 2 / (length + 1) of the kernels' time, which goes to "
            "reading and writing what lies between them; of what follows a matrix product without "
            "the product's own time.",
            estimated=True,
            additive=True,
        ),
        _us("kernel_us", "Kernels' Time", "Time its kernels ran.", additive=True),
        _us("gap_us", "Gaps", "Time the stream ran nothing between its kernels.", additive=True),
        _us("mean_kernel_us", "Mean Kernel", "Mean time of its kernels.", "kernel"),
        Column(
            "launches",
            "Launches Saved",
            "integer",
            "count",
            "Kernels that would not be launched any more: all but one of each.",
            additive=True,
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "epilogue: what follows a matrix product or convolution; chain: none of its kernels is "
            "one.",
        ),
        Column("operators", "Operators", "string", None, "What launched it the first time."),
        Column("module", "Module", "string", None, "The module around that, where known."),
        Column("full_names", "Full Names", "string", None, "As recorded.", hidden=True),
        Column(
            "slice", "Slice", "integer", None, "Its first kernel, on the timeline.", hidden=True
        ),
    ),
    sort="-saved_us,-kernel_us,sequence",
    when_empty="No kernels that could be fused follow each other three times or more.",
)
