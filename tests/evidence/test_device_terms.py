"""Findings about GPUs of other vendors than NVIDIA use their terms and no links about NVIDIA."""

from __future__ import annotations

from typing import Any, cast

import polars as pl
import pytest

from tests.detectors.scenes import GEMM, awaited, context, device, launched, one_step
from tests.helpers.traces import Event, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.detectors.low_sm_efficiency import EVIDENCE
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.device_terms import AMD, device_kinds
from torch_tb_profiler.trace.model import Trace

NVIDIA_LINKS = ("nvidia.com", "nvidia.github.io", "github.com/NVIDIA")


def on(name: str, **header: Any) -> Trace:
    """A matrix kernel without matrix units on a GPU of that name, which limits the step."""
    events: list[Event] = [op("aten::mm", 0, 20), *launched(GEMM, 30, 900, 1, launch_at=5)]
    return one_step(awaited(events, 40), deviceProperties=[device(name=name)], **header)


@pytest.mark.parametrize(
    ("name", "header", "vendor"),
    [
        ("AMD Instinct MI300X", {}, AMD),
        ("", {"hip_runtime_version": 60_000_000}, AMD),
        ("Intel(R) Data Center GPU Max 1550", {}, "Intel"),
        ("NVIDIA A100-SXM4-80GB", {}, None),
    ],
)
def test_the_vendor_follows_from_the_devices(
    name: str, header: dict[str, Any], vendor: str | None
) -> None:
    result = context(on(name, **header)).terms
    assert (result.name if result else None) == vendor


def test_titles_texts_and_links_are_those_of_the_vendor() -> None:
    report = run_detectors(on("AMD Instinct MI300X"), Selection())
    (note,) = [note for note in report.notes if note.code == "tensor_cores_unused"]
    assert note.evidence["title"] == "Matrix Cores unused"
    assert "Matrix Cores" in note.text
    table = note.evidence["table"]
    assert isinstance(table, dict)
    assert table["title"] == "Kernels without Matrix Cores"
    links = [str(link) for each in report.notes for link in cast(list[str], each.evidence["links"])]
    assert not [link for link in links if any(host in link for host in NVIDIA_LINKS)]
    titles = report.checks.frame["check"].to_list()
    assert "Idle CUs" in titles
    assert not [title for title in titles if "Tensor Core" in title or "SMs" in title]


def test_names_of_the_trace_are_quoted_as_recorded() -> None:
    empty = build_table(EVIDENCE, pl.DataFrame(schema=EVIDENCE.polars_schema()))
    values = {"gpus": "GPU 0", "kernel": "kernel of 4 SMs", "how": "estimated", "no_gain_yet": ""}
    finding = Finding("low_sm_efficiency", 3.0, None, empty, values, terms=device_kinds()[AMD])
    assert "only 3.0 % of the CUs have work" in finding.text
    assert "most of that time is in kernel of 4 SMs" in finding.text
