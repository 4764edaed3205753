"""Links of GPUs: every GPU of gpus.toml has them or is known to have none, with a source."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.gpus import gpu_file
from torch_tb_profiler.knowledge.links import (
    LinkEntry,
    copy_limit,
    link_file,
    link_rates,
    pcie_gb_per_s,
)

WITHOUT = {"NVIDIA GB10", "AMD Instinct MI300A"}
"""They share the memory of the host."""


def test_every_gpu_has_links() -> None:
    names = {name for gpu in gpu_file().gpus for name in gpu.examples}
    assert {name for name in names if link_rates(name) is None} == WITHOUT


@pytest.mark.parametrize("entry", link_file().links, ids=lambda entry: entry.examples[0])
def test_an_entry_matches_and_has_a_source(entry: LinkEntry) -> None:
    assert entry.source.startswith("https://")
    for name in entry.examples:
        rates = link_rates(name)
        assert rates is not None
        assert (rates.peer, rates.source) == (entry.peer, entry.source), name


@pytest.mark.parametrize(
    ("generation", "both_directions"), [(3, 31.5), (4, 63.0), (5, 126.0)], ids=str
)
def test_pcie_carries_what_its_specification_prints(
    generation: int, both_directions: float
) -> None:
    # Vendors print 32, 64 and 128 GB/s for 16 lanes, both directions, before line coding.
    assert 2 * pcie_gb_per_s(generation, 16) == pytest.approx(both_directions, rel=0.002)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "HtoD", 63.015),
        ("NVIDIA H100 80GB HBM3", "PtoP", 450),  # 900 GB/s in both directions
        ("NVIDIA H100 80GB HBM3", "DtoD", 1675),  # of 3350 GB/s, read and written
        ("NVIDIA GH200 480GB", "DtoH", 450),
        ("NVIDIA B200", "HtoD", None),
        ("NVIDIA H100 80GB HBM3", "HtoH", None),
        ("Some GPU", "HtoD", None),
        ("Some GPU", "DtoD", None),
    ],
)
def test_limits_of_copies(name: str, kind: str, expected: float | None) -> None:
    rates = copy_limit(name, kind)
    assert rates == (None if expected is None else pytest.approx(expected, abs=0.01))
