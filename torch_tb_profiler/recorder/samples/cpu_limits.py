"""CPU and memory limits of this process: Linux control groups, and CPU affinity.

In cgroup v2 the files of all enclosing groups apply, in v1 those of the ``cpu`` and ``memory``
hierarchies (the kernel's ``admin-guide/cgroup-v2.rst`` and ``scheduler/sched-bwc.rst``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.samples.sample_log import CounterRates, Reading

ROOT = "/sys/fs/cgroup"
OWN_CGROUPS = "/proc/self/cgroup"
NO_LIMIT_BYTES = 1 << 60
"""cgroup v1 writes a number near the maximum if there is no limit."""


def usable_cores() -> float | None:
    """Number of cores this process may use at once; None if it may use all of them."""
    quota = min((quota for group in groups("cpu") if (quota := _quota(group))), default=None)
    try:
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        allowed = None
    every = os.cpu_count() or 1
    least = min(each for each in (quota, allowed, every) if each is not None)
    return float(least) if least < every else None


def groups(controller: str) -> Iterator[str]:
    """Folders of the control groups that contain this process, innermost first, v1 and v2."""
    try:
        with open(OWN_CGROUPS, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names == "":
            roots = [ROOT, os.path.join(ROOT, "unified")]
        elif controller in names.split(","):
            roots = [os.path.join(ROOT, names), os.path.join(ROOT, controller)]
        else:
            continue
        for root in roots:
            yield from _with_parents(root, path)


def _with_parents(root: str, path: str) -> Iterator[str]:
    """The group and the groups that contain it. Inside a container the path may be that of the
    host, and only the root exists."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for count in range(len(parts), -1, -1):
        folder = os.path.join(root, *parts[:count])
        if os.path.isdir(folder):
            yield folder


def _quota(group: str) -> float | None:
    """CPU quota of a group in cores: v2 writes "quota period" into one file, v1 uses two files."""
    words = (_text(group, "cpu.max") or "").split()
    if len(words) != 2:
        words = [_text(group, f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    quota, period = (_number(each) for each in words)
    return quota / period if quota and period and quota > 0 else None


def _memory_limit(group: str) -> float | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        limit = _number(_text(group, name) or "")
        if limit is not None and 0 < limit < NO_LIMIT_BYTES:
            return limit
    return None


def _text(group: str, name: str) -> str | None:
    try:
        with open(os.path.join(group, name), encoding="ascii", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return None


def _number(text: str) -> float | None:
    try:
        return float(int(text))
    except ValueError:
        return None


class CgroupLimits:
    """Samples of the limits of this process and how often it reaches them; empty without limits."""

    def __init__(self) -> None:
        self._rates = CounterRates()
        self._cores = usable_cores()
        self._cpu = next((group for group in groups("cpu") if _quota(group)), None)
        limited = ((limit, group) for group in groups("memory") if (limit := _memory_limit(group)))
        self._memory = min(limited, default=None)

    def read(self) -> tuple[int, Reading]:
        """Read the CPU limit, throttled periods, and memory relative to its limit."""
        time_ns = clock.perf_ns()
        reading: Reading = {}
        if self._cores is not None:
            reading["CPU limit"] = ("%", 100 * self._cores)
        if self._cpu is not None:
            reading["CPU throttled"] = ("%", self._throttled(self._cpu, time_ns))
        if self._memory is not None:
            limit, group = self._memory
            used = _used(group)
            share = None if used is None else 100 * used / limit
            reading |= {"memory limit": ("bytes", limit), "memory limit in use": ("%", share)}
        return time_ns, reading

    def _throttled(self, group: str, time_ns: int) -> float | None:
        """Percentage of scheduler periods since the last read in which the process was
        throttled."""
        lines = (_text(group, "cpu.stat") or "").splitlines()
        stat = dict(line.split(" ", 1) for line in lines if " " in line)
        counts = [_number(stat.get(key, "")) for key in ("nr_periods", "nr_throttled")]
        if None in counts:
            return None
        periods, throttled = (
            self._rates.growth(key, count or 0.0, time_ns)
            for key, count in zip(("periods", "throttled"), counts, strict=True)
        )
        if periods is None or throttled is None:
            return None
        return min(100.0, 100 * throttled[0] / periods[0]) if periods[0] > 0 else 0.0


def _used(group: str) -> float | None:
    """Memory used by the group without the inactive page cache, which the kernel reclaims first."""
    used = _number(_text(group, "memory.current") or _text(group, "memory.usage_in_bytes") or "")
    if used is None:
        return None
    lines = (_text(group, "memory.stat") or "").splitlines()
    stat = dict(line.split(" ", 1) for line in lines if " " in line)
    inactive_bytes = stat.get("total_inactive_file", stat.get("inactive_file", ""))
    return max(0.0, used - (_number(inactive_bytes) or 0.0))
