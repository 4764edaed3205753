"""The monitored values in rocmProfileData's Chrome JSON, which are counters of their own name."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.rocprof.recording import Agent, ProcessRecording
from torch_tb_profiler.importers.rocprof.rpd_monitor import shown_devices
from torch_tb_profiler.importers.rocprof.rpd_names import MEANS, METRICS
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, EventColumns, Int64
from torch_tb_profiler.trace.limits import MAX_DEVICES


def monitored(columns: EventColumns, recording: ProcessRecording, texts: TextCodes) -> ColumnArrays:
    """Add the monitored values of a file as samples.

    Args:
        columns: The events of the file.
        recording: Receives the samples; its agents are the GPUs of the operations.
        texts: Receives names and units.

    Returns:
        The other counters, with codes of ``texts``.
    """
    counters = columns.tables["counters"]
    strings, series = columns.strings, counters["series_code"]
    known = [text in METRICS for text in strings]
    is_monitored = np.array([*known, False], np.bool_)[series]
    rows = np.flatnonzero(is_monitored)
    _add(columns, recording, texts, rows)
    others = {name: values[~is_monitored] for name, values in counters.items()}
    codes = np.append(texts.codes(strings), np.int32(-1))
    for name in ("name_code", "series_code"):
        others[name] = codes[others[name]]
    return others


def _add(columns: EventColumns, recording: ProcessRecording, texts: TextCodes, rows: Int64) -> None:
    counters = {name: values[rows] for name, values in columns.tables["counters"].items()}
    devices = [gpu_number(each.pid) for each in columns.tracks]
    device = np.array(devices, np.int64)[counters["track"]]
    numbers = shown_devices(set(device.tolist()), sorted(recording.agents))
    agent = np.array([numbers.get(each, each) for each in device.tolist()], np.int64)
    for number in set(agent.tolist()) - {int(ABSENT)}:
        recording.agents.setdefault(number, Agent(True, number=number))
    names = [METRICS.get(text, (text, "")) for text in columns.strings]
    used = sorted(set(counters["series_code"].tolist()))
    metric, unit = (np.full(len(names), -1, np.int64) for _ in range(2))
    for code in used:
        metric[code], unit[code] = map(texts.code, names[code])
    is_mean = np.array([text in MEANS for text in columns.strings], np.bool_)
    time, value = counters["time_ns"].copy(), counters["value"]
    chosen = np.ones(len(rows), np.bool_)
    for code in used:
        if is_mean[code]:  # the value holds until the next one, and is the mean until then
            for number in set(agent.tolist()):
                at = np.flatnonzero((counters["series_code"] == code) & (agent == number))
                at = at[np.argsort(time[at], kind="stable")]
                time[at[:-1]] = time[at[1:]]
                chosen[at[-1:]] = False
    recording.add(
        "samples",
        int(chosen.sum()),
        agent=agent[chosen],
        metric=metric[counters["series_code"]][chosen],
        unit=unit[counters["series_code"]][chosen],
        time=time[chosen],
        value=value[chosen],
    )


def gpu_number(text: str) -> int:
    """The number of a GPU that a process stands for; ``ABSENT`` for other processes."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_DEVICES))
    return int(text) if is_number and int(text) < MAX_DEVICES else int(ABSENT)
