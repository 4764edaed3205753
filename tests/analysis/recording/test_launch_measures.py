"""Cases: blocks per multiprocessor and occupancy that a recording lacks are those that CUPTI gives
for the same launches; other vendors, unknown devices and formats that say why have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.helpers.traces import kernel, memcpy, trace
from torch_tb_profiler.analysis.recording.launch_measures import (
    computed_measures,
    launch_measures,
)
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.detail_tables import LAUNCH_MEASURES
from torch_tb_profiler.trace.info import NotRecorded
from torch_tb_profiler.trace.model import Trace

B200: dict[str, Any] = {
    "id": 0, "name": "NVIDIA B200", "computeMajor": 10, "computeMinor": 0, "numSms": 148,
}  # fmt: skip
LAUNCH: dict[str, Any] = {
    "grid": [148, 1, 1], "block": [256, 1, 1], "registers per thread": 168,
    "shared memory": 200_000,
}  # fmt: skip


def without_measures(recorded: Trace) -> Trace:
    """The recording without what CUPTI says."""
    nulls = [pl.lit(None, pl.Float64).alias(name) for name in LAUNCH_MEASURES]
    work = recorded.device_work.with_columns(nulls)
    return msgspec.structs.replace(recorded, device_work=work, derived=type(recorded.derived)())


@pytest.mark.parametrize("sample", ["h100_bert_small", "kineto_resnet50_nw0"])
def test_values_are_those_of_cupti(samples: Path, sample: str) -> None:
    """The profiler rounds: occupancy to whole percents, blocks to single precision."""
    path = sorted((samples / sample).glob("*.json*"))[0]
    recorded = build_trace(import_trace([path.read_bytes()], name=path.name))
    work = recorded.device_work
    assert_frame_equal(launch_measures(recorded), work.select(LAUNCH_MEASURES))
    computed = launch_measures(without_measures(recorded))
    given = work["est_achieved_occupancy_pct"].is_not_null()
    assert given.sum() > 20
    difference = (computed - work.select(LAUNCH_MEASURES)).filter(given)
    assert difference["est_achieved_occupancy_pct"].abs().max() <= 1  # type: ignore[operator]
    relative = difference["blocks_per_sm"] / work["blocks_per_sm"].filter(given)
    assert relative.abs().max() <= 1e-4


def test_one_resident_block_of_256_threads_is_an_eighth_of_2048() -> None:
    built = trace([kernel("k", 0, 5, **LAUNCH), memcpy(9, 1)], deviceProperties=[B200])
    assert launch_measures(built).rows() == [(1.0, 12.5), (None, None)]
    assert computed_measures(built) == LAUNCH_MEASURES


@pytest.mark.parametrize(
    ("device", "launch", "measures"),
    [
        ({**B200, "name": "AMD Instinct MI300X", "computeMajor": 9}, LAUNCH, (1.0, None)),
        ({**B200, "computeMajor": None}, LAUNCH, (1.0, None)),
        ({**B200, "numSms": None}, LAUNCH, (None, None)),
        (B200, {**LAUNCH, "grid": None}, (None, None)),
        (B200, {**LAUNCH, "block": [0, 1, 1]}, (1.0, None)),
        (B200, {**LAUNCH, "registers per thread": None}, (1.0, None)),
        (B200, {**LAUNCH, "shared memory": 10**9}, (1.0, None)),
    ],
)
def test_what_is_unknown_is_null(
    device: dict[str, Any], launch: dict[str, Any], measures: tuple[float | None, float | None]
) -> None:
    built = trace([kernel("k", 0, 5, **launch)], deviceProperties=[device])
    assert launch_measures(built).rows() == [measures]


def test_a_format_that_records_none_has_none() -> None:
    built = trace([kernel("k", 0, 5, **LAUNCH)], deviceProperties=[B200])
    reasons = (NotRecorded("occupancy", "not there"),)
    info = msgspec.structs.replace(built.meta.info, not_recorded=reasons)
    meta = msgspec.structs.replace(built.meta, info=info)
    built = msgspec.structs.replace(built, meta=meta, derived=type(built.derived)())
    assert launch_measures(built).rows() == [(1.0, None)]
    assert computed_measures(built) == ("blocks_per_sm",)


def test_a_recorded_measure_of_one_kernel_is_the_only_one() -> None:
    events = [
        kernel("k", 0, 5, blocks=3.0, **LAUNCH),
        kernel("k", 9, 5, **LAUNCH),
    ]
    built = trace(events, deviceProperties=[B200])
    assert launch_measures(built).rows() == [(3.0, 12.5), (None, 12.5)]
