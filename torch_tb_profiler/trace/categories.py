"""The category of a slice, in one vocabulary for every input format.

Importers translate the categories and naming conventions of their format into :class:`Category`;
nothing after them reads a format's own category names.
"""

from __future__ import annotations

from enum import IntEnum


class Category(IntEnum):
    """The category of one slice. Stored as int8 in the ``category`` column."""

    OPERATOR = 0
    """A framework operator (``aten::mm``, an autograd node, a compiled region)."""
    PYTHON_OPERATOR = 1
    """Old ``cat: python`` slice: nests like an operator but is not one in tables."""
    ANNOTATION = 2
    """A user range (``record_function``), also ``nccl:all_reduce`` and the like."""
    STEP = 3
    """A host-side ``ProfilerStep#N``."""
    DATALOADER = 4
    """``enumerate(DataLoader)#….__next__`` or ``enumerate(DataPipe)#…``."""
    OPTIMIZER = 5
    """``Optimizer.step…`` / ``Optimizer.zero_grad…``."""
    MODULE = 6
    """A python frame that is an ``nn.Module`` call (has a module id)."""
    PYTHON_FUNCTION = 7
    """A python frame."""
    RUNTIME = 8
    """A host call into a device runtime or driver (``cudaLaunchKernel``, ``cuLaunchKernelEx``)."""
    KERNEL = 9
    """A kernel on a device."""
    MEMCPY = 10
    """A memory copy on a device."""
    MEMSET = 11
    """A memory set on a device."""
    DEVICE_ANNOTATION = 12
    """A user range projected onto a device stream; never work by itself."""
    DEVICE_SYNC = 13
    """A synchronization shown on a device row (``cuda_sync``); never work by itself."""
    DEVICE_OTHER = 14
    """A slice of an unknown category on a device row."""
    OVERHEAD = 15
    """The profiler's own overhead."""
    SPAN = 16
    """The span of the recording (``PyTorch Profiler (0)``); never work."""
    HOST_OTHER = 17
    """A slice of an unknown category on a host row."""
    OTHER_RECORDING = 18
    """A slice of another recording of the same process: drawn, and counted in no figure."""


GRAPH_NODES = EVENT_NODE, HOST_NODE = "graph_event_node", "graph_host_node"
"""Raw categories of nodes of graphs that are no device work, as torch >= 2.15 writes them: events
that are recorded, and callbacks of the host."""

NODE_CATEGORIES = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.ANNOTATION,
    Category.STEP,
    Category.DATALOADER,
    Category.OPTIMIZER,
)
"""The categories that form the operator tree of a host thread and may own launches."""

PYTHON_CATEGORIES = (Category.MODULE, Category.PYTHON_FUNCTION)
"""The categories that form the python tree of a host thread (nested apart from operators)."""

DEVICE_WORK_CATEGORIES = (Category.KERNEL, Category.MEMCPY, Category.MEMSET)
"""The categories of work on a device that a host call launches."""

DEVICE_CATEGORIES = (
    *DEVICE_WORK_CATEGORIES,
    Category.DEVICE_ANNOTATION,
    Category.DEVICE_SYNC,
    Category.DEVICE_OTHER,
)
"""The categories of slices on device rows."""
