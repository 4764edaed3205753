"""Names of counters: each entry is used, and those that recorders write mean what they say."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.device_counters import counter_file, counter_meaning, roles
from torch_tb_profiler.knowledge.resources import metric_meaning, metric_rank

WRITTEN = [
    # torch 2.15
    ("SM Active", "%", "sm_active", "%"),
    ("DRAM BW", "%", "dram_bandwidth", "%"),
    ("HBM BW", "%", "dram_bandwidth", "%"),
    ("HBM Read", "%", "dram_read_pct", "%"),
    ("HBM Read", "", "dram_read", "bytes/s"),
    ("HBM Write", "", "dram_write", "bytes/s"),
    ("NVLink RX", "%", "nvlink_rx_pct", "%"),
    ("NVLink TX", "", "nvlink_tx", "bytes/s"),
    ("PCIe", "%", "pcie_pct", "%"),
    ("Power", "W", "power", "W"),
    ("Temperature", "C", "temperature", "°C"),
    ("SM Clock", "MHz", "sm_clock", "MHz"),
    ("Memory Clock", "MHz", "memory_clock", "MHz"),
    ("Fan Speed", "%", "fan", "%"),
    # CUPTI
    ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "", "sm_active", "%"),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "", "dram_bandwidth", "%"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "", "dram_bandwidth", "%"),
    ("dram__bytes_read.sum.per_second", "", "dram_read", "bytes/s"),
    ("dram__bytes_write.sum", "", "dram_write_bytes", "bytes"),
    ("nvlrx__bytes.avg.pct_of_peak_sustained_elapsed", "", "nvlink_rx_pct", "%"),
    ("nvltx__bytes.sum.per_second", "", "nvlink_tx", "bytes/s"),
    ("pcie__throughput.avg.pct_of_peak_sustained_elapsed", "", "pcie_pct", "%"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "", "occupancy", "%"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "", "tensor_active", "%"),
    # Nsight Systems
    ("SMs Active", "%", "sm_active", "%"),
    ("SM Active", "%", "sm_active", "%"),
    ("SM Issue", "%", "sm_issue", "%"),
    ("GR Active", "%", "gpu_busy", "%"),
    ("Tensor Active", "%", "tensor_active", "%"),
    ("Compute Warps in Flight", "%", "occupancy", "%"),
    ("DRAM Read Throughput", "%", "dram_read_pct", "%"),
    ("DRAM Write Bandwidth", "%", "dram_write_pct", "%"),
    ("GPC Clock Frequency", "MHz", "sm_clock", "MHz"),
    # our recorder (NVML) and AMD SMI
    ("utilization", "%", "gpu_busy", "%"),
    ("power", "W", "power", "W"),
    ("power limit", "W", "power_limit", "W"),
    ("throttled by heat", "%", "throttled_heat", "%"),
    ("average_socket_power", "W", "power", "W"),
    ("current_gfxclk", "MHz", "sm_clock", "MHz"),
    # rocprof
    ("GPUBusy", "", "gpu_busy", "%"),
    ("GRBM_GUI_ACTIVE", "", "active_cycles", ""),
    ("GRBM_COUNT", "", "elapsed_cycles", ""),
    ("SQ_WAVES", "", "waves", ""),
    ("FETCH_SIZE", "", "dram_read_bytes", "bytes"),
    ("WRITE_SIZE", "", "dram_write_bytes", "bytes"),
    ("OccupancyPercent", "", "occupancy", "%"),
    ("MeanOccupancyPerCU", "", "waves_per_unit", ""),
    ("MfmaUtil", "", "tensor_active", "%"),
]


@pytest.mark.parametrize(("name", "unit", "role", "role_unit"), WRITTEN)
def test_a_name_has_its_role(name: str, unit: str, role: str, role_unit: str) -> None:
    meaning = counter_meaning(name, unit)
    assert meaning.role is not None
    assert (meaning.role.role, meaning.unit) == (role, role_unit)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("SM Active Cycles", ""),
        ("sm__cycles_active.avg", ""),
        ("sm__cycles_active.sum.pct_of_peak_sustained_active", ""),
        ("Compute Warps in Flight", "warps per cycle"),
        ("Power", "J"),
        ("GPU Utilization", ""),
        ("x" * 10_000, ""),
    ],
)
def test_a_name_in_another_unit_or_of_nothing_known_has_no_role(name: str, unit: str) -> None:
    meaning = counter_meaning(name, unit)
    assert meaning.role is None
    assert (meaning.unit, meaning.scale, meaning.title) == (unit, 1.0, name)


@pytest.mark.parametrize(
    ("name", "unit", "scale", "role_unit"),
    [
        ("FETCH_SIZE", "", 1024, "bytes"),
        ("HBM Read", "GB/s", 1e9, "bytes/s"),
        ("Power", "mW", 1e-3, "W"),
        ("SM Clock", "GHz", 1e3, "MHz"),
        ("Power", "W", 1, "W"),
    ],
)
def test_numbers_are_in_the_unit_of_the_role(
    name: str, unit: str, scale: float, role_unit: str
) -> None:
    meaning = counter_meaning(name, unit)
    assert (meaning.scale, meaning.unit) == (scale, role_unit)


def test_names_that_only_tools_know_follow_their_role() -> None:
    assert counter_meaning("FETCH_SIZE").title == "Bytes read from DRAM (FETCH_SIZE)"
    assert counter_meaning("SM Active", "%").title == "SM Active"


def test_every_entry_is_of_a_role_and_every_role_of_a_group() -> None:
    known = counter_file()
    assert {name.role for name in known.names} == set(roles())
    assert len(roles()) == len(known.roles)
    assert {role.group for role in known.roles} == set(known.groups)
    order = [known.groups.index(role.group) for role in roles().values()]
    assert order == sorted(order)
    for name in known.names:
        re.compile(name.metric)
        assert name.unit in ("", roles()[name.role].unit)


def test_host_and_data_reads_the_same_file() -> None:
    active = metric_meaning("GPU 0", "SMs Active", "%")
    assert active is not None
    assert (active.interval, active.rare) == (True, False)
    power = metric_meaning("GPU 0", "power", "W")
    assert power is not None
    assert not power.interval
    assert metric_meaning("host", "power", "W") is None
    assert metric_meaning("AI Core", "MfmaUtil") is None
    ranked = [("host", "CPU user"), ("GPU 0", "SMs Active"), ("GPU 0", "power"), ("GPU 0", "x")]
    ranks = [metric_rank(*each) for each in ranked]
    assert ranks == sorted(ranks)
