"""The causes of idle time: one enumeration for both scopes, all devices together and one GPU.

Definitions: ``docs/metrics.md#idle-devices`` (all devices) and ``docs/views-idle.md#causes`` (one
GPU). They are computed in :mod:`torch_tb_profiler.analysis.idle.attribution`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class IdleCause(IntEnum):
    """Why no work runs at a moment.

    The last three only one GPU has. A wait for another GPU is no idle time of the device set: that
    GPU works. Garbage collection, and what follows the last work, stay with what the host does
    there: the findings on the device set have their own for them.
    """

    KERNEL_TO_KERNEL = 0
    """The next work was launched already; the device takes its time to start it."""
    WAITING_WORK = 1
    """The next work was launched already and does not start for longer than a device needs: it
    waits for something."""
    PROFILER = 2
    """The profiler's own overhead."""
    GRAPH_CAPTURE = 3
    """The host captures or instantiates a graph: nothing that it launches runs yet."""
    BLOCKED = 4
    """The host is blocked in a synchronizing call, though no device works."""
    AFTER_WAIT = 5
    """The host launches again after a synchronizing call that had drained the queue."""
    DATA_LOADING = 6
    """The host waits for the next batch, or loads it."""
    LONG_CALL = 7
    """The host is in one long runtime call."""
    HOST = 8
    """The host runs operators and launches."""
    PYTHON = 9
    """The host runs Python code without operators."""
    UNRECORDED = 10
    """The recording holds nothing of the host."""
    COMMUNICATION_OF_OTHERS = 11
    """The next work waits for another GPU, rank or stream."""
    GARBAGE_COLLECTION = 12
    """Python collects garbage."""
    NOTHING_LAUNCHED = 13
    """The host runs something, but no work of the GPU follows, or the host waits in Python."""


HOST_CAUSES = (
    IdleCause.BLOCKED,
    IdleCause.AFTER_WAIT,
    IdleCause.DATA_LOADING,
    IdleCause.LONG_CALL,
    IdleCause.HOST,
    IdleCause.PYTHON,
    IdleCause.UNRECORDED,
)
"""The causes of time in which the host is late, the profiler's overhead aside."""

LAUNCHED_CAUSES = (IdleCause.KERNEL_TO_KERNEL, IdleCause.WAITING_WORK)
"""The causes of time in which the next work was launched already."""

CAUSE_TITLES: Mapping[IdleCause, str] = MappingProxyType(
    {
        IdleCause.KERNEL_TO_KERNEL: "between launched work",
        IdleCause.WAITING_WORK: "launched work that waits",
        IdleCause.PROFILER: "the profiler",
        IdleCause.GRAPH_CAPTURE: "capture of graphs",
        IdleCause.BLOCKED: "blocked calls",
        IdleCause.AFTER_WAIT: "after waits",
        IdleCause.DATA_LOADING: "data loading",
        IdleCause.LONG_CALL: "long runtime calls",
        IdleCause.HOST: "operators and launches",
        IdleCause.PYTHON: "Python code",
        IdleCause.UNRECORDED: "not recorded",
        IdleCause.COMMUNICATION_OF_OTHERS: "communication of others",
        IdleCause.GARBAGE_COLLECTION: "garbage collection",
        IdleCause.NOTHING_LAUNCHED: "nothing launched",
    }
)
"""The causes as people read them, inside a sentence."""

GPU_CAUSES: Mapping[str, tuple[IdleCause, ...]] = MappingProxyType(
    {
        "launch_bound": (IdleCause.LONG_CALL, IdleCause.HOST),
        "python": (IdleCause.PYTHON,),
        "synchronization": (IdleCause.BLOCKED, IdleCause.AFTER_WAIT),
        "data_loading": (IdleCause.DATA_LOADING,),
        "communication_of_others": (IdleCause.COMMUNICATION_OF_OTHERS,),
        "kernel_to_kernel": (IdleCause.KERNEL_TO_KERNEL,),
        "waiting_work": (IdleCause.WAITING_WORK,),
        "graph_capture": (IdleCause.GRAPH_CAPTURE,),
        "garbage_collection": (IdleCause.GARBAGE_COLLECTION,),
        "nothing_launched": (IdleCause.UNRECORDED, IdleCause.NOTHING_LAUNCHED),
        "profiler": (IdleCause.PROFILER,),
    }
)
"""The causes as they are reported of one GPU: key in ``knowledge/idle.toml``, and what it sums."""
