"""rocmProfileData's names of calls, operations and monitored values, and what they mean.

The same in its databases and in the Chrome JSON that it converts them to.
"""

from __future__ import annotations

import re

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.limits import MAX_BYTES

MARKER = "UserMarker"
"""Name of the call that stands for a range or mark of the program, whose text is its argument."""

KERNEL = "KernelExecution"
"""Operation that executes a kernel."""

_OPERATIONS: tuple[tuple[re.Pattern[str], Category], ...] = (
    (re.compile(rf"{KERNEL}|(Concurrent)?Kernel|Task"), Category.KERNEL),
    (re.compile(r"Copy\w+To\w+|Memcpy|MEMORY_COPY_\w+"), Category.MEMCPY),
    (re.compile(r"FillBuffer|Memset"), Category.MEMSET),
    (re.compile(r"Barrier\w*|Marker\w*"), Category.DEVICE_SYNC),
)
"""Types of operations → category: as roctracer, ROCprofiler-SDK, HIP itself (``Memcpy``) and CUPTI
name them."""

FILLS = frozenset({"Fill"})
"""Descriptions of copies that write one value: the runtime lists these under ``Memcpy``."""

_CALLS: tuple[tuple[re.Pattern[str], Category], ...] = (
    (re.compile(r"_*hip[A-Z]\w*|hsa_\w+|nccl[A-Z]\w*|cu(da)?[A-Z]\w*"), Category.RUNTIME),
    (re.compile(r"\w+(Table|DataSource)::\w+|hcc_activity_callback"), Category.OVERHEAD),
)
"""Names of calls → category: those of the runtimes, and the recorder's own work."""

_TAKES_ITEMS = re.compile(r"hip(Ext|Hcc)\w*ModuleLaunchKernel")
"""Calls whose grid is in work items; that of others is in workgroups."""

COUNTS_ITEMS = "RocprofDataSource::"
"""Beginning of the recorder's own calls where ROCprofiler-SDK states the grids: in work items."""

_LIBRARIES: tuple[tuple[str, str], ...] = (
    ("hsa_", "hsa_api"),
    ("nccl", "rccl_api"),
    ("hip", "hip_api"),
    ("__hip", "hip_api"),
    ("cuda", "cuda_runtime"),
    ("cu", "cuda_driver"),
)
"""Beginning of a call's name → its raw category."""

OTHER_LIBRARY = "rpd_api"

_ALLOCATED = re.compile(r"ptr[=(](0x[0-9a-f]{1,16})\)?\s*\|?\s*(?:size[=(](0x[0-9a-f]{1,16}))?")
"""The arguments of ``hipMalloc`` and ``hipFree``."""

METRICS: dict[str, tuple[str, str]] = {
    "sclk": ("sclk", "MHz"),
    "mclk": ("mclk", "MHz"),
    "power": ("power", "W"),
    "temp": ("temperature", "°C"),
    "util": ("GPU use", "%"),
}
"""Monitored value → metric and unit, by the names of ``knowledge/device_counters.toml``."""


MEANS = frozenset({"util"})
"""Monitored values that are means over the interval of their row."""


def operation_category(kind: str) -> Category:
    """The category of an operation by its type; nothing unknown is work."""
    return next(
        (each for pattern, each in _OPERATIONS if pattern.fullmatch(kind)), Category.DEVICE_OTHER
    )


def call_category(name: str) -> Category:
    """The category of a call by its name."""
    return next((each for pattern, each in _CALLS if pattern.fullmatch(name)), Category.HOST_OTHER)


def takes_items(name: str) -> bool:
    """Whether the grid of a launching call counts work items.

    >>> takes_items("hipExtModuleLaunchKernel"), takes_items("hipLaunchKernel")
    (True, False)
    """
    return _TAKES_ITEMS.fullmatch(name) is not None


def library_name(call: str) -> str:
    """The raw category of a call."""
    return next((name for start, name in _LIBRARIES if call.startswith(start)), OTHER_LIBRARY)


def memory_event(arguments: str) -> tuple[int, int]:
    """The address and the bytes in the arguments of a call that allocates or releases memory;
    ``ABSENT`` where there is none.

    >>> memory_event("ptr=0x7f3ebca00000 | size=0x77400000") == (0x7F3EBCA00000, 0x77400000)
    True
    """
    match = _ALLOCATED.match(arguments)
    address, size = (0, None) if match is None else (int(match[1], 16), match[2])
    is_known = 0 < address < 2**63
    known_size = None if size is None else int(size, 16)
    has_size = known_size is not None and known_size <= MAX_BYTES
    return (
        address if is_known else int(ABSENT),
        known_size if known_size is not None and has_size else int(ABSENT),
    )
