"""The header becomes :class:`TraceInfo`, and nothing else of it leaves the importer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torch_tb_profiler
from tests.helpers.traces import trace
from tests.importers.kineto.reference import document
from tests.importers.kineto.test_header_types import ODD, WHOLE, paths, with_odd
from torch_tb_profiler.importers.kineto.header_types import HEADER, typed_header
from torch_tb_profiler.importers.kineto.info import RECORDER, trace_info
from torch_tb_profiler.reports.chrome_header import chrome_header
from torch_tb_profiler.trace.info import (
    DeviceInfo,
    JobInfo,
    ProcessGroup,
    ProgramSettings,
    RecordingSettings,
    TraceInfo,
)
from torch_tb_profiler.trace.quality import QualityReport

PACKAGE = Path(torch_tb_profiler.__file__).parent


def info(**header: Any) -> TraceInfo:
    return trace_info(typed_header(header, QualityReport()))


def test_a_header_with_every_key() -> None:
    assert info(**WHOLE) == TraceInfo(
        framework="pytorch-lightning",
        recorder=RECORDER,
        recorder_version="1",
        host_name="vm",
        cuda_runtime_version=12040,
        cuda_driver_version=12090,
        hip_runtime_version=60443483,
        devices=(
            DeviceInfo(
                device=0,
                name="NVIDIA H100",
                memory_bytes=85018279936,
                compute_major=9,
                compute_minor=0,
                sm_count=132,
                max_threads_per_sm=2048,
                max_threads_per_block=1024,
                registers_per_sm=65536,
                registers_per_block=65536,
                warp_size=32,
                shared_memory_per_sm_bytes=233472,
                shared_memory_per_block_bytes=49152,
                shared_memory_per_block_optin_bytes=232448,
            ),
        ),
        job=JobInfo(
            backend="nccl",
            rank=0,
            world_size=2,
            group_count=1,
            groups=(
                ProcessGroup(
                    name="0",
                    description="default_pg",
                    uid="u",
                    backend="cuda:nccl",
                    size=2,
                    ranks=(0, 1),
                ),
            ),
            library_version="2.21.5",
        ),
        process_cpu_pct=40.0,
        system_cpu_pct=100.0,
        recording=RecordingSettings(
            record_shapes=True,
            with_stack=True,
            profile_memory=False,
            with_flops=True,
            with_modules=False,
        ),
        settings=ProgramSettings(
            cudnn_benchmark=False,
            autocast="bfloat16",
            matmul_precision="high",
            anomaly_mode=True,
            loader_workers=4,
            batch_size=64,
        ),
    )


def test_values_that_are_not_recorded_are_none() -> None:
    assert info() == TraceInfo(recorder=RECORDER)
    assert info(distributedInfo={}).job is None


@pytest.mark.parametrize(
    ("given_ranks", "ranks"),
    [
        ([3, 1], (3, 1)),
        ("[0, 1,2]", (0, 1, 2)),
        ("7", (7,)),
        ([], ()),
        ("0-7", None),
        ("all", None),
        ("99999999", None),
        ("", None),
    ],
)
def test_ranks_of_a_group(given_ranks: object, ranks: tuple[int, ...] | None) -> None:
    job = info(distributedInfo={"pg_config": [{"pg_name": 4, "ranks": given_ranks}]}).job
    assert job is not None
    assert job.groups == (ProcessGroup(name="4", ranks=ranks),)


@pytest.mark.parametrize("version", [[2, 21, 5], "2.21.5"])
def test_a_version_in_parts(version: object) -> None:
    job = info(distributedInfo={"nccl_version": version}).job
    assert job is not None
    assert job.library_version == "2.21.5"


def test_multiprocessors_under_the_key_of_threads() -> None:
    """As torch 2.13's python exporter writes them."""
    (device,) = info(deviceProperties=[{"id": 3, "maxThreadsPerMultiprocessor": 132}]).devices
    assert device == DeviceInfo(device=3, sm_count=132)


def _again(header: dict[str, Any]) -> TraceInfo:
    """Through the header of an exported trace."""
    exported = json.loads(msgspec.json.encode(chrome_header(trace([], **header).meta)))
    quality = QualityReport()
    typed = typed_header(exported, quality)
    assert quality == QualityReport()
    return trace_info(typed)


def _exported_parts(whole: TraceInfo) -> TraceInfo:
    return TraceInfo(
        recorder=RECORDER,
        recorder_version="1",
        devices=whole.devices,
        job=whole.job,
        recording=whole.recording,
    )


def test_an_exported_header_says_the_same(samples: Path) -> None:
    one_of_each = {path.parent: path for path in samples.glob("*/*.json.gz")}
    del one_of_each[samples / "kineto_resnet50_nw0"]  # large, and in older words than the others
    headers = [WHOLE, *(document(path) for path in one_of_each.values())]
    assert len(headers) > 5
    for header in headers:
        known = {key: value for key, value in header.items() if key in HEADER.parts}
        plain = json.loads(json.dumps(known, default=float))
        assert _again(plain) == _exported_parts(info(**plain))


@given(path=st.sampled_from(sorted(paths(), key=str)), odd=st.sampled_from(sorted(ODD)))
def test_the_info_of_odd_values_survives_encoding(path: tuple[Any, ...], odd: str) -> None:
    decoded = info(**with_odd(path, ODD[odd]))
    encoded = msgspec.json.encode(decoded)
    assert msgspec.json.decode(encoded, type=TraceInfo) == decoded


WRITERS = ("chrome_header.py", "chrome_merged.py")
"""Reports that write the format."""


def test_no_reader_knows_a_key_of_kineto() -> None:
    keys = set(HEADER.parts) - set(TraceInfo.__struct_fields__)
    keys -= set(RecordingSettings.__struct_fields__)
    keys -= {"Framework"}  # a title too: what people read of the system
    keys -= {"torch_tb_profiler"}  # the name of this package too
    readers = [
        path
        for path in PACKAGE.rglob("*.py")
        if not {"importers", "recorder"} & set(path.parts) and path.name not in WRITERS
    ]
    assert len(readers) > 100
    for path in readers:
        text = path.read_text(encoding="utf-8")
        assert not [key for key in keys if f'"{key}"' in text], path
