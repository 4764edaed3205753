"""Cases: limits of control groups, of both versions and of outer groups, bound cores and memory;
without any the machine does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torch_tb_profiler.loading.processes import resources

GIB = 1 << 30
MEMINFO = f"MemTotal: 99 kB\nMemAvailable: {8 * GIB // 1024} kB\n"


@pytest.fixture(name="system")
def fake_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(resources, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(12)), raising=False)
    write(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/a/b\n"})
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_without_limits_the_machine_counts(system: Path) -> None:
    write(system, {"cgroup/a/b/cpu.max": "max 100000\n", "cgroup/a/b/memory.max": "max\n"})
    assert resources.free_memory_bytes() == 8 * GIB
    assert resources.usable_cores() == min(12, os.cpu_count() or 1)


def test_the_tightest_group_bounds(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    write(
        system,
        {
            "cgroup/a/cpu.max": "250000 100000\n",  # an outer group: two cores and a half
            "cgroup/a/b/cpu.max": "400000 100000\n",
            "cgroup/a/memory.max": f"{4 * GIB}\n",
            "cgroup/a/memory.current": f"{3 * GIB}\n",
            "cgroup/a/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n",
        },
    )
    assert resources.usable_cores() == 3
    assert resources.free_memory_bytes() == 3 * GIB // 2
    assert resources.total_memory_bytes() <= 4 * GIB


def test_version_one(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    write(
        system,
        {
            "proc/self/cgroup": "4:memory:/job\n2:cpu,cpuacct:/job\n",
            "cgroup/memory/job/memory.limit_in_bytes": f"{2 * GIB}\n",
            "cgroup/memory/job/memory.usage_in_bytes": f"{GIB}\n",
            "cgroup/cpu/job/cpu.cfs_quota_us": "200000\n",
            "cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
        },
    )
    assert resources.usable_cores() == 2
    assert resources.free_memory_bytes() == GIB


def test_a_system_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path / "no")
    monkeypatch.setattr(resources, "_PROC", tmp_path / "no")
    assert resources.free_memory_bytes() == resources.UNKNOWN_FREE_BYTES
    assert resources.usable_cores() >= 1
