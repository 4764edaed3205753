"""Ten windows of a public B200 recording by hand, its counters read by Perfetto's own classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from torch_tb_profiler.analysis.measured.windows import window_means
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace


def counters(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """Name of a counter track → times in ns and values, in order of time."""
    read = protos.Trace()
    read.ParseFromString(data)
    names = {
        packet.track_descriptor.uuid: packet.track_descriptor.name
        for packet in read.packet
        if packet.HasField("track_descriptor") and packet.track_descriptor.HasField("counter")
    }
    values: dict[str, list[tuple[int, float]]] = {}
    for packet in read.packet:
        event = packet.track_event
        if packet.HasField("track_event") and event.type == protos.TrackEvent.TYPE_COUNTER:
            value = event.double_counter_value or event.counter_value
            values.setdefault(names[event.track_uuid], []).append((packet.timestamp, value))
    return {name: sorted(points) for name, points in values.items()}


@pytest.mark.parametrize(
    ("name", "role"), [("SM Active (%)", "sm_active"), ("DRAM BW (%)", "dram_bandwidth")]
)
def test_ten_windows(corpus: Path, name: str, role: str) -> None:
    path = corpus / "pftrace" / "attention_gym" / "hello_world_training_loop_monitor.pftrace"
    trace = build_trace(import_trace([path.read_bytes()], name=path.name))
    points = counters(path.read_bytes())[name]
    assert len(points) == 7
    times = np.array([at for at, _ in points]) - trace.meta.base_ns
    values = np.array([value for _, value in points])
    random = np.random.default_rng(5)
    windows = np.sort(random.integers(trace.meta.start_ns, trace.meta.end_ns, (10, 2)), axis=1)
    means = window_means(trace, role, windows[:, 0], windows[:, 1], [0])
    assert means is not None
    starts = np.append(times[0] - int(np.median(np.diff(times))), times[:-1])
    for number, (begin, end) in enumerate(windows.tolist()):
        overlap = np.clip(np.minimum(times, end) - np.maximum(starts, begin), 0, None)
        assert means.samples[number] == np.count_nonzero(overlap)
        assert means.mean[number] == pytest.approx((overlap * values).sum() / overlap.sum())
