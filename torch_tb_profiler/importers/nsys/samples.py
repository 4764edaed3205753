"""Reads sampled metrics of GPUs and network cards."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.downsampling import downsample
from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import SlicePart, build_table, empty_slices
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.text_codes import until_nul
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Float64, Int64
from torch_tb_profiler.trace.counter_names import split_unit

GPU_METRICS = "GPU_METRICS"
GPU_METRIC_NAMES = "TARGET_INFO_GPU_METRICS"
NIC_METRICS = "NET_NIC_METRIC"
NIC_METRIC_NAMES = "TARGET_INFO_NETWORK_METRICS"
NIC_NUMBERS = "NIC_ID_MAP"
NICS = "TARGET_INFO_NIC_INFO"

_GPU_OF_TYPE = 0xFF
"""The low bits of ``typeId`` are the number of the GPU."""

_Series = tuple[str, str, str]
"""Source, metric, unit."""


def read_samples(export: Export) -> list[SlicePart]:
    """Read the samples of all metrics, identified by name: metric numbers differ between GPUs and
    recordings."""
    return [_gpu_samples(export), _nic_samples(export)]


def _gpu_samples(export: Export) -> SlicePart:
    rows = TimedRows(export.database, GPU_METRICS, export.quality, start="timestamp")
    columns = rows.columns("typeId", "metricId")
    values = rows.floats("value")
    names: dict[tuple[int, int], str] = {}
    any_type: dict[int, str] = {}
    for type_id, metric, name in _rows_if_present(
        export, GPU_METRIC_NAMES, "typeId", "metricId", "metricName"
    ):
        if isinstance(name, str) and isinstance(metric, int):
            any_type.setdefault(metric, until_nul(name))
            if isinstance(type_id, int):
                names[type_id, metric] = until_nul(name)
    (types, metrics), inverse = distinct_rows(columns["typeId"], columns["metricId"])
    series: list[_Series] = []
    for type_id, metric in zip(types.tolist(), metrics.tolist(), strict=True):
        name = names.get((type_id, metric)) or any_type.get(metric, f"metric {metric}")
        series.append((_gpu(export, type_id), *split_unit(name)))
    return SlicePart(
        empty_slices(), {"samples": _table(export, rows.start_ns, values, series, inverse)}
    )


def _gpu(export: Export, type_id: int) -> str:
    number = (
        ABSENT
        if type_id == ABSENT
        else export.devices.device_number_in_machine(type_id & _GPU_OF_TYPE)
    )
    return "GPU" if number == ABSENT else f"GPU {number}"


def _nic_samples(export: Export) -> SlicePart:
    rows = TimedRows(export.database, NIC_METRICS, export.quality)
    columns = rows.columns("globalId", "portId", "metricsListId", "metricsIdx")
    values = rows.floats("value")
    metrics = {
        (list_id, index): (until_nul(str(name)), until_nul(str(unit or "")))
        for list_id, index, name, unit in _rows_if_present(
            export, NIC_METRIC_NAMES, "metricsListId", "metricsIdx", "name", "unit"
        )
    }
    cards = {
        nic: until_nul(name)
        for nic, name in _rows_if_present(export, NICS, "nicId", "name")
        if isinstance(name, str)
    }
    nic_by_number = {
        number: nic for nic, number in _rows_if_present(export, NIC_NUMBERS, "nicId", "globalId")
    }
    known, inverse = distinct_rows(*columns.values())
    series: list[_Series] = []
    for card, port, list_id, index in zip(*(each.tolist() for each in known), strict=True):
        source = cards.get(nic_by_number.get(card, card), f"NIC {card}")
        metric, unit = metrics.get((list_id, index), (f"metric {index}", ""))
        series.append((source if port in (ABSENT, 0) else f"{source} port {port}", metric, unit))
    return SlicePart(
        empty_slices(), {"samples": _table(export, rows.start_ns, values, series, inverse)}
    )


def _rows_if_present(export: Export, table: str, *columns: str) -> Sequence[tuple[object, ...]]:
    return export.database.rows(table, columns) if table in export.database.tables else ()


def _table(
    export: Export, time_ns: Int64, values: Float64, series: list[_Series], series_index: Int64
) -> ColumnArrays:
    """Samples in order of series and time, downsampled to the limit ``samples``."""
    count = len(time_ns)
    most = UNLIMITED.count("samples")
    time_ns, values, series_index = downsample(time_ns, values, series_index, most, at_end=True)
    averaged = count - len(time_ns)
    export.quality.add("samples_thinned", averaged, UNLIMITED.described("samples"))
    codes = [export.names.codes(each[part] for each in series) for part in range(3)]
    return build_table(
        "samples",
        len(time_ns),
        source_code=codes[0][series_index],
        metric_code=codes[1][series_index],
        unit_code=codes[2][series_index],
        time_ns=time_ns,
        value=values,
    )
