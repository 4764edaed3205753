"""The benchmark's trace is valid: twice the sample is twice the calls, steps and times, no more."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.api import OpenedTrace, open_trace

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("make_trace", ROOT / "bench" / "make_trace.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path_factory.mktemp("bench") / "double.json"
    module.make_trace(2, path)
    return path


def _calls_and_time(trace: OpenedTrace, view: str, column: str) -> tuple[int, Any]:
    frame = trace.view(view).frame
    return int(frame["calls"].sum()), frame[column].sum()


def test_it_is_json_with_ids_of_its_own_for_every_copy(double: Path) -> None:
    events = json.loads(double.read_bytes())["traceEvents"]
    ids = [e["args"]["correlation"] for e in events if e.get("cat") == "Kernel"]
    assert len(ids) == len(set(ids)) == 2 * 8772
    starts = [e["id"] for e in events if e["ph"] == "s"]
    assert len(starts) == len(set(starts)) == 2 * 9096


def test_everything_is_there_twice_and_nothing_is_orphaned(double: Path, samples: Path) -> None:
    one = open_trace(samples / "kineto_resnet50_nw0", cache=False)
    two = open_trace(double, cache=False)
    assert two.overview().table("steps")["step"].to_list() == [str(n) for n in range(5, 17)]
    for view, column in (("operators", "device_self_us"), ("kernels", "total_us")):
        calls, time_us = _calls_and_time(one, view, column)
        assert _calls_and_time(two, view, column) == (2 * calls, pytest.approx(2 * time_us))
    orphans = {code: 2 * count for code, count in one.trace.quality.counts.items()}
    assert two.trace.quality.counts == orphans
