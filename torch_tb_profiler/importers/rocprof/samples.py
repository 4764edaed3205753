"""Sampled values of devices: clocks, power, temperature, counters."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.downsampling import downsample
from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.parts import SlicePart, build_table, empty_slices
from torch_tb_profiler.importers.rocprof.assembly import RocprofAssembly, or_unnamed
from torch_tb_profiler.trace.columns import ABSENT

HOST = "host"
"""Source of samples that belong to no GPU."""


def read_samples(assembly: RocprofAssembly, recording: int) -> SlicePart:
    """The samples, in order of series and time, downsampled to the limit ``samples``."""
    rows = assembly.take(recording, "samples")
    is_number = ~np.isnan(rows["value"])
    device = assembly.gpus.numbers(recording, rows["agent"][is_number])
    metrics = or_unnamed(assembly, rows["metric"][is_number].astype(np.int32)).astype(np.int64)
    known, series = distinct_rows(device, metrics, rows["unit"][is_number])
    before = len(series)
    time_ns, values, series = downsample(
        rows["time"][is_number], rows["value"][is_number], series, UNLIMITED.count("samples")
    )
    assembly.quality.add("samples_thinned", before - len(series), UNLIMITED.described("samples"))
    sources = (HOST if each == ABSENT else f"GPU {each}" for each in known[0].tolist())
    source = assembly.texts.codes(sources)[series]
    no_unit = assembly.texts.code("")
    metric, unit = known[1][series], np.where(known[2] < 0, no_unit, known[2])[series]
    table = build_table(
        "samples",
        len(series),
        source_code=source,
        metric_code=metric,
        unit_code=unit,
        time_ns=time_ns,
        value=values,
    )
    return SlicePart(empty_slices(), {"samples": table})
