"""Cores and memory available to this process, within its control group."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

from torch_tb_profiler.loading.processes import address_space

UNKNOWN_FREE_BYTES = 4 << 30
"""Assumed free where the system does not report it (neither Linux nor a control group)."""

OOM_SCORE_ADJUSTMENT = "800"
"""Added, in thousandths of all memory, to this process's size when the system selects a process to
kill: a worker is killed before the server that started it, and before others."""

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def usable_cores() -> int:
    """Cores this process may run on: its affinity, and the quota of its control group."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(cores, math.ceil(_quota(_own_cgroup("cpu")))))


def free_memory_bytes() -> int:
    """Memory that can be allocated without anything being refused, killed or swapped out."""
    return max(0, min(_free_on_machine(), _free_in_cgroup(), address_space.free_bytes()))


def total_memory_bytes() -> int:
    """All memory of this machine, or the limit of the control group or of the address space."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = UNKNOWN_FREE_BYTES * 2
    limits = [address_space.limit_bytes(), *map(_limit, _own_cgroup("memory"))]
    return min(total, *(limit for limit in limits if limit is not None))


def prefer_oom_kill() -> None:
    """Let the system kill this process first when memory runs out."""
    with contextlib.suppress(OSError):  # not available on other systems
        (_PROC / "self" / "oom_score_adj").write_text(OOM_SCORE_ADJUSTMENT, encoding="ascii")


def _own_cgroup(controller: str) -> list[Path]:
    """Folders of the control groups of this process, from its own to the outermost."""
    folders: list[Path] = []
    for line in (_text(_PROC / "self" / "cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = _CGROUPS / controller if controllers else _CGROUPS
        own = base / path.strip("/")
        folders += [own, *(parent for parent in own.parents if parent.is_relative_to(base))]
    return folders


def _quota(folders: list[Path]) -> float:
    """Cores that the CPU quotas allow."""
    quotas = [math.inf]
    for folder in folders:
        words = (_text(folder / "cpu.max") or "").split()
        if not words:
            parts = [_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
            words = [part.strip() for part in parts if part]
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    lowest = min(quotas)
    return lowest if math.isfinite(lowest) else os.cpu_count() or 1


def _limit(folder: Path) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        number = _number(folder / name)
        if number is not None:
            return number
    return None


def _free_in_cgroup() -> int:
    """The least that any control group leaves; reclaimable file pages count as free."""
    free = [1 << 62]
    for folder in _own_cgroup("memory"):
        limit = _limit(folder)
        used = _number(folder / "memory.current")
        if used is None:
            used = _number(folder / "memory.usage_in_bytes")
        if limit is not None and used is not None:
            free.append(limit - used + _reclaimable(folder))
    return min(free)


def _reclaimable(folder: Path) -> int:
    """File pages, including those of subgroups where the system separates them (version 1)."""
    lines = (_text(folder / "memory.stat") or "").splitlines()
    sizes = dict(line.split(" ", 1) for line in lines if " " in line)
    names = ("inactive_file", "active_file")
    values = [sizes.get(f"total_{name}", sizes.get(name, "")) for name in names]
    return sum(int(value) for value in values if value.isdigit())


def _free_on_machine() -> int:
    for line in (_text(_PROC / "meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return UNKNOWN_FREE_BYTES


def _number(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
