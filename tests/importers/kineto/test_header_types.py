"""Cases: every known key, at every depth, with values of every type; wrong items of lists;
that good headers of the samples stay as they are; the example of a wrong value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.importers.kineto.reference import document, read_bytes
from torch_tb_profiler.importers.kineto.header_types import HEADER, typed_header
from torch_tb_profiler.importers.kineto.info import RECORDER
from torch_tb_profiler.importers.recorder import JOURNAL_KEY
from torch_tb_profiler.trace.info import JobInfo, TraceInfo
from torch_tb_profiler.trace.quality import QualityReport

DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]

WHOLE = {
    "schemaVersion": 1,
    "baseTimeNanoseconds": 1775078550000000000,
    "deviceProperties": [
        {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "computeMajor": 9,
         "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
         "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32,
         "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 233472, "numSms": 132,
         "sharedMemPerBlockOptin": 232448, "maxSharedMemoryPerMultiProcessor": 65536,
         "smCount": 132}
    ],
    "computeProperties": [{"id": 0, "name": "Tesla V100"}],
    "distributedInfo": {
        "backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "nccl_version": "2.21.5",
        "pg_config": [
            {"pg_name": "0", "pg_desc": "default_pg", "uid": "u", "backend_config": "cuda:nccl",
             "pg_size": 2, "ranks": [0, 1]}
        ],
    },
    "Framework": "pytorch-lightning",
    "host_name": "vm",
    "cuda_runtime_version": 12040,
    "cuda_driver_version": 12090,
    "hip_runtime_version": 60443483,
    "record_shapes": 1,
    "with_stack": True,
    "profile_memory": 0,
    "with_flops": 1,
    "with_modules": False,
    "displayTimeUnit": "ms",
    "ExtraInfo": {"Process Cpu Utilization": 0.4, "System Cpu Utilization": 1.0},
    "program_settings": {
        "cudnn_benchmark": False, "autocast": "bfloat16", "matmul_precision": "high",
        "anomaly_mode": 1, "loader_workers": 4, "batch_size": 64,
    },
}  # fmt: skip
"""A header with every known key."""

ODD: dict[str, Any] = {
    "true": True, "false": False, "null": None, "1.5": 1.5, "2**70": 2**70, "-1": -1, "x": "x",
    "empty text": "", "[]": [], "{}": {}, "[true]": [True], "[[1]]": [[1]], "[null]": [None],
    "[{}]": [{}], "deep": DEEP, "NaN": float("nan"), "1e308": 1e308, "long": "n" * 300_000,
    "huge list": list(range(5000)), "digits": "9" * 30, "surrogate": "\ud800", "-2**70": -(2**70),
}  # fmt: skip

TEXTS = {"name", "backend", "pg_name", "pg_desc", "uid", "backend_config", "nccl_version",
         "ranks", "Framework", "host_name", "displayTimeUnit", "schemaVersion", "autocast",
         "matmul_precision"}  # fmt: skip
FLAGS = {"record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules",
         "cudnn_benchmark", "anomaly_mode"}  # fmt: skip
LISTS = {"ranks": ("[]", "huge list"), "nccl_version": ("[]", "huge list"),
         "pg_config": ("[]", "[{}]", "[null]"), "deviceProperties": ("[]", "[{}]", "[null]"),
         "computeProperties": ("[]", "[{}]", "[null]")}  # fmt: skip
VERSIONS = {"cuda_runtime_version", "cuda_driver_version", "hip_runtime_version"}


def paths(value: Any = WHOLE, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all keys of :data:`WHOLE`."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        if isinstance(key, str):
            yield (*above, key)
        if isinstance(part, dict) or (isinstance(part, list) and isinstance(part[0], dict)):
            yield from paths(part, (*above, key))


def with_odd(path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    """:data:`WHOLE` with another value at one path."""
    header = deepcopy(WHOLE)
    inner: Any = header
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return header


def _is_right(key: str, odd: str) -> bool:
    """Whether an odd value is one that the key may have, or absent."""
    if odd in ("null", *LISTS.get(key, ())):
        return True
    if odd in ("x", "empty text", "long", "digits", "surrogate"):
        return key in TEXTS
    if odd in ("true", "false"):
        return key in FLAGS
    if odd == "1.5":
        return key.endswith("Utilization")
    is_object = key in ("distributedInfo", "ExtraInfo", "program_settings")
    return (odd == "{}" and is_object) or (odd == "-1" and key in VERSIONS)


def _typed(header: dict[str, Any]) -> tuple[dict[str, Any], QualityReport]:
    quality = QualityReport()
    return typed_header(header, quality), quality


@pytest.mark.parametrize("path", list(paths()), ids=lambda path: ".".join(map(str, path)))
def test_every_key_takes_any_value(path: tuple[Any, ...]) -> None:
    key = path[-1]
    for name, odd in ODD.items():
        header, quality = _typed(with_odd(path, odd))

        assert (quality.counts.get("header_value", 0) > 0) != _is_right(key, name), (path, name)
        assert _typed(header) == (header, QualityReport()), (path, name)
        json.dumps(header, allow_nan=False, ensure_ascii=False).encode()
        for example in quality.examples.get("header_value", []):
            assert example.startswith(str(path[0]))
            assert key in example
            assert len(example) < 200


def test_a_valid_header_stays_as_it_is() -> None:
    assert _typed(WHOLE) == (WHOLE, QualityReport())
    assert set(HEADER.parts) == {*WHOLE, JOURNAL_KEY}  # that one: test_recorded_run.py


def test_headers_of_recordings_stay_as_they_are(samples: Path) -> None:
    paths = sorted(samples.glob("*/*.json*"))
    assert len(paths) > 10
    for path in paths:
        header = json.loads(json.dumps(document(path), default=float))
        expected = {key: value for key, value in header.items() if key in HEADER.parts}
        assert _typed(expected) == (expected, QualityReport()), path


def test_a_wrong_item_invalidates_a_list_of_numbers_but_only_itself_among_objects() -> None:
    header, quality = _typed(
        {
            "distributedInfo": {"pg_config": [{"ranks": [0, True]}, 7, {"ranks": [0, 1.0]}]},
            "deviceProperties": [{"id": True, "name": "no"}, {"id": "1"}, "x", {"name": "third"}],
        }
    )
    assert header["distributedInfo"]["pg_config"] == [{}, {"ranks": [0, 1]}]
    assert header["deviceProperties"] == [{"id": 1}, {"name": "third"}]
    assert quality.counts == {"header_value": 4}


def test_a_note_shows_the_key_and_an_escaped_value() -> None:
    text = '<script>\x1b[31m"\u202e' + "y" * 500
    header, quality = _typed({"distributedInfo": {"rank": text, "world_size": {"secret": "s"}}})
    assert header == {"distributedInfo": {}}
    first, second = quality.examples["header_value"]
    assert first.startswith(r'distributedInfo.rank: "<script>\u001b[31m\"\u202eyyy')
    assert first.endswith("…")
    assert first.isprintable()
    assert second == "distributedInfo.world_size: an object of 1"


def test_nan_in_a_header_is_absent_and_counted() -> None:
    columns = read_bytes(b'{"distributedInfo": {"rank": NaN, "world_size": 2}, "traceEvents": []}')
    assert columns.info == TraceInfo(recorder=RECORDER, job=JobInfo(world_size=2))
    assert columns.quality.counts == {"not_a_number": 1}


def test_a_wrong_base_time_is_ignored() -> None:
    for odd in ("true", "-5", "99999999999999999999999", '"x"', "[]"):
        columns = read_bytes(b'{"baseTimeNanoseconds": %s, "traceEvents": []}' % odd.encode())
        assert columns.base_ns == 0
        assert columns.quality.counts == {"header_value": 1}
