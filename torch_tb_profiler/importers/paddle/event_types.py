"""Paddle's types of events and their numbers, and what they are here.

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
"""By number. Paddle 2.4 called 15 ``MluRuntime``, a type that no host event of a file has."""

RUNTIME = "CudaRuntime"
COMMUNICATION = "Communication"

WORDS: dict[str, Category] = {
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
"""Its types that are none of Kineto's. Parts of operators (``OperatorInner``,
``DygraphKernelLaunch``, ``StaticKernelLaunch``) and the framework's own ranges (``UserDefined``;
the user's are ``PythonUserDefined``) are no operators and own nothing."""

RESERVED = ("ReservedAllocate", "ReservedFree")
"""Types of memory events that tell of the pool an allocator keeps, not of what it hands out."""

MEMORY_TYPES = ("Allocate", "Free", *RESERVED)
"""By number."""
