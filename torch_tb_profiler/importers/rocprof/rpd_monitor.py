"""The values that rocmProfileData monitors: clocks, power, temperature, utilization.

A row holds from its start to its end. A mean is a sample at the end; any other value is one at the
start, and once more at the end of the last row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.importers.nsys.nvtx import factorize
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.rocprof.recording import Agent, ProcessRecording
from torch_tb_profiler.importers.rocprof.rocpd_tables import TableRows
from torch_tb_profiler.importers.rocprof.rpd_names import MEANS, METRICS
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, Int64

MONITOR = "rocpd_monitor"
HOST_TYPE = "cpu"


def add_monitored(
    database: Database, recording: ProcessRecording, gpus: Sequence[int], texts: TextCodes
) -> None:
    """Add the monitored values of GPUs as samples.

    Args:
        database: The database.
        recording: Receives the samples.
        gpus: The GPUs that operations ran on.
        texts: Receives names and units.
    """
    rows = TableRows(database, MONITOR, None)
    columns, value = rows.ints("deviceId", "start", "end"), rows.floats("value")
    if not len(value):
        return
    device_types = rows.texts("deviceType")
    known, position = factorize(rows.texts("monitorType"))
    kind_names = [text or UNNAMED for text in known.to_list()]
    is_host = (device_types == HOST_TYPE).fill_null(False).to_numpy()
    device = np.where(is_host, ABSENT, columns["deviceId"])
    numbers = shown_devices(set(device[~is_host].tolist()), gpus)
    agent = np.array([numbers.get(each, each) for each in device.tolist()], np.int64)
    for number in set(agent.tolist()) - {int(ABSENT)}:
        recording.agents.setdefault(number, Agent(True, number=number))
    names = [METRICS.get(name, (name, "")) for name in kind_names]
    is_mean = np.array([name in MEANS for name in kind_names], np.bool_)[position]
    metric = texts.codes(name for name, _ in names).astype(np.int64)[position]
    unit = texts.codes(unit for _, unit in names).astype(np.int64)[position]
    last = _last_rows(agent, metric, columns["end"])
    last = last[~is_mean[last] & (columns["end"][last] > columns["start"][last])]
    shown = np.concatenate([np.arange(len(value)), last])
    time = np.where(is_mean, columns["end"], columns["start"])
    recording.add(
        "samples",
        len(shown),
        agent=agent[shown],
        metric=metric[shown],
        unit=unit[shown],
        time=np.concatenate([time, columns["end"][last]]),
        value=value[shown],
    )


def shown_devices(monitored: set[int], gpus: Sequence[int]) -> dict[int, int]:
    """Number of a monitored device → number of the GPU that it is.

    The monitor counts GPUs, operations may count all agents, processors first: where none of both
    numbers is equal and there are as many, they are in the same order.
    """
    known = sorted(monitored - {int(ABSENT)})
    if len(known) != len(gpus) or known == sorted(gpus):
        return {}
    return dict(zip(known, sorted(gpus), strict=True))


def _last_rows(agent: Int64, metric: Int64, end: Int64) -> Int64:
    """The last row of each device and metric."""
    order = np.lexsort((end, metric, agent))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (np.diff(agent[order]) != 0) | (np.diff(metric[order]) != 0)
    return order[is_last]
