"""Shares of kernel time using Tensor Cores: worked, and against the raw events of real traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import trace
from torch_tb_profiler.analysis.kernels.tensor_core_time import (
    NO_COMPUTE_TIME,
    NO_KERNEL_TIME,
    NO_KNOWN_KERNEL,
    TensorCoreTime,
    tensor_core_time,
)
from torch_tb_profiler.knowledge.kernels import kernel_file

NS = st.integers(0, 10**12)


def test_a_bound_is_no_value() -> None:
    time = TensorCoreTime(used_ns=115, unused_ns=123, unknown_ns=762, communication_ns=23)

    assert (time.used.least_pct, time.used.most_pct, time.used.pct) == (11.5, 87.7, None)
    assert "between 11.5 % and 87.7 %" in (time.used.null_reason or "")
    assert time.used_of_compute.least_pct == pytest.approx(115 / 977 * 100)
    assert time.unused.most_pct == pytest.approx(88.5)


def test_communication_is_part_of_one_share_alone() -> None:
    time = TensorCoreTime(used_ns=64, unused_ns=936, unknown_ns=0, communication_ns=733)

    assert time.used.pct == 6.4
    assert time.used_of_compute.pct == pytest.approx(64 / 267 * 100)


def test_nothing_known_is_null_with_its_reason() -> None:
    assert TensorCoreTime(0, 0, 0, 0).used.null_reason == NO_KERNEL_TIME
    assert TensorCoreTime(0, 0, 9, 0).used.null_reason == NO_KNOWN_KERNEL
    assert TensorCoreTime(0, 9, 0, 9).used_of_compute.null_reason == NO_COMPUTE_TIME
    assert TensorCoreTime(0, 9, 5, 9).used_of_compute.null_reason == NO_KNOWN_KERNEL


@given(NS, NS, NS, st.floats(0, 1))
def test_every_share_lies_between_its_bounds(
    used: int, unused: int, unknown: int, communicating: float
) -> None:
    time = TensorCoreTime(used, unused, unknown, int(unused * communicating))

    for share in (time.used, time.unused, time.used_of_compute):
        assert (share.pct is None) == (share.null_reason is not None)
        if share.least_pct is None or share.most_pct is None:
            continue
        assert 0 <= share.least_pct <= share.most_pct <= 100 + 1e-9
        assert share.pct in (None, share.least_pct)
        assert (share.pct is None) == (
            share.most_pct - share.least_pct > kernel_file().max_unknown_pct
        )


USED = {
    "h100_bert_small": ("cutlass_80", "sm90_xmma_gemm", "flash_fwd"),
    "mi300_bert_small": ("Cijk_", "attn_fwd"),
    "torch_compile_triton": ("Cijk_", "attn_fwd"),
    "dlrm_8_ranks": (),
}
"""What the names of the kernels on matrix units begin with or hold, read by eye."""


@pytest.mark.parametrize("folder", USED)
def test_shares_are_those_of_the_raw_events(corpus: Path, folder: str) -> None:
    path = min((corpus / folder).rglob("*.json.gz"))
    events = json.loads(gzip.decompress(path.read_bytes()), strict=False)["traceEvents"]
    kernels = [event for event in events if str(event.get("cat", "")).lower() == "kernel"]
    built = trace(events)
    (gpu,) = {event["args"]["device"] for event in kernels}

    time = tensor_core_time(built, gpu, np.ones(built.device_work.height, np.bool_))

    used = sum(k["dur"] for k in kernels if any(part in k["name"] for part in USED[folder]))
    moving = sum(k["dur"] for k in kernels if "nccl" in k["name"])
    whole = sum(k["dur"] for k in kernels)
    assert time.unknown_ns == 0
    assert time.used.pct == pytest.approx(used / whole * 100)
    assert time.used_of_compute.pct == pytest.approx(used / (whole - moving) * 100)
    assert time.communication_ns == pytest.approx(moving * 1000)
