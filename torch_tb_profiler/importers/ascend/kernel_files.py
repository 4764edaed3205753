"""``kernel_details.csv`` and ``l2_cache.csv``: blocks, units and metrics of kernels."""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.importers.ascend.chain import NONE
from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.ascend.kernels import add_blocks, match_slices, unit_labels
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.trace.columns import ABSENT, EventColumns

MEASURE = re.compile(r"ai(?:c|v|core)\w*_(?:ratio|rate)|cube_utilization\(%\)", re.IGNORECASE)
PERCENT = "%"
PERCENT_PER_UNIT = 100.0
"""Values are fractions of 1, except in columns with ``%`` in the header."""

CACHE_RATES = {"Hit Rate": "L2 hit rate", "Victim Rate": "L2 victim rate"}


def read_kernels(table: CsvTable) -> pl.DataFrame:
    """The kernels of ``kernel_details.csv``, with the columns of ``kernels.KERNELS``."""
    return pl.DataFrame(
        {
            "name": table.texts("Name").fill_null(""),
            "type": table.texts("Type"),
            "unit": unit_labels(table.texts("Accelerator Core")),
            "start_ns": pl.Series(table.times_ns("Start Time(us)")),
            "dur_us": table.texts("Duration(us)").cast(pl.Float64, strict=False),
            "blocks": pl.Series(table.integers("Block Dim", "Block Num")),
        }
    )


def add_kernels(columns: EventColumns, table: CsvTable, samples: SampleRows) -> pl.DataFrame:
    """Add the blocks and metrics of kernels to a trace; returns the kernels."""
    kernels = read_kernels(table)
    strings = samples.strings
    rows = match_slices(columns, kernels, strings)
    add_blocks(columns, rows, kernels["blocks"].to_numpy(), strings)
    time_ns = kernels["start_ns"].to_numpy()
    known = time_ns != ABSENT
    for header in table.headers_matching(MEASURE):
        factor = 1.0 if PERCENT in header else PERCENT_PER_UNIT
        values = table.numbers(header)[known] * factor
        name = header.removesuffix("(%)").strip()
        samples.add("AI Core", name, PERCENT, time_ns[known] - columns.base_ns, values)
    columns.quality.add(
        "ascend_kernel_unmatched", int((rows[kernels["unit"].to_numpy() != "HCCL"] == NONE).sum())
    )
    return kernels


def add_cache_rates(
    columns: EventColumns, rates: CsvTable, details: CsvTable, samples: SampleRows
) -> None:
    """Add the hit and victim rate of the L2 cache of each kernel, at its start."""
    starts = pl.DataFrame(
        {
            "stream": details.texts("Stream ID"),
            "task": details.texts("Task ID"),
            "name": details.texts("Name"),
            "time_ns": pl.Series(details.times_ns("Start Time(us)")),
        }
    ).unique(["stream", "task", "name"], keep="none")
    for header, metric in CACHE_RATES.items():
        joined = pl.DataFrame(
            {
                "stream": rates.texts("Stream Id"),
                "task": rates.texts("Task Id"),
                "name": rates.texts("Op Name"),
                "value": pl.Series(rates.numbers(header)),
            }
        ).join(starts, on=["stream", "task", "name"], how="inner", maintain_order="left")
        joined = joined.filter(pl.col("time_ns") != int(ABSENT))
        time_ns = joined["time_ns"].to_numpy() - columns.base_ns
        samples.add(
            "L2 cache", metric, PERCENT, time_ns, joined["value"].to_numpy() * PERCENT_PER_UNIT
        )
