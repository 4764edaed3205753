"""Paddle's event types by number, and their categories.

Source: ``TracerEventType`` and ``TracerMemEventType`` of Paddle's
``paddle/phi/core/platform/profiler/trace_event.h``.
"""

from __future__ import annotations

from torch_tb_profiler.trace.categories import Category

TYPES = (
    "Operator",
    "Dataloader",
    "ProfileStep",
    "CudaRuntime",
    "Kernel",
    "Memcpy",
    "Memset",
    "UserDefined",
    "OperatorInner",
    "Forward",
    "Backward",
    "Optimization",
    "Communication",
    "PythonOp",
    "PythonUserDefined",
    "DygraphKernelLaunch",
    "StaticKernelLaunch",
)
"""Event types by number. In Paddle 2.4 number 15 was ``MluRuntime``, which no host event has."""

RUNTIME = "CudaRuntime"
COMMUNICATION = "Communication"

CATEGORIES: dict[str, Category] = {
    "profilestep": Category.STEP,
    "dataloader": Category.DATALOADER,
    "forward": Category.ANNOTATION,
    "backward": Category.ANNOTATION,
    "optimization": Category.OPTIMIZER,
    "pythonuserdefined": Category.ANNOTATION,
    "communication": Category.ANNOTATION,
    "cudaruntime": Category.RUNTIME,
    "mluruntime": Category.RUNTIME,
    "pythonop": Category.PYTHON_OPERATOR,
    "operatorinner": Category.HOST_OTHER,
    "dygraphkernellaunch": Category.HOST_OTHER,
    "statickernellaunch": Category.HOST_OTHER,
    "userdefined": Category.HOST_OTHER,
}
"""Categories of the types that Kineto does not have. Parts of operators (``OperatorInner``,
``DygraphKernelLaunch``, ``StaticKernelLaunch``) and the framework's own ranges (``UserDefined``;
the user's are ``PythonUserDefined``) are not operators and own no device work."""

POOL_TYPES = ("ReservedAllocate", "ReservedFree")
"""Memory events of the allocator's pool, as opposed to memory that it hands out."""

MEMORY_TYPES = ("Allocate", "Free", *POOL_TYPES)
"""Types of memory events by number."""
