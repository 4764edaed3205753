"""Frames of C++ that say how memory was allocated and recorded, not for what.

They are the innermost of every stack that was recorded with ``stacks="all"``. torch's own viewer
(https://pytorch.org/memory_viz) leaves such frames out, too.
"""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"""
      (torch::)?unwind::                                # walks the stack for the record itself
    | .*\b(CapturedTraceback::|gather_with_cpp\b)
    | .*(Caching|Pluggable)\w*Allocator\b               # the allocator
    | .*\bAllocator::(raw_)?alloc
    | c10::(cuda|hip)::\w*(malloc|alloc)
    | c10::impl::                                       # the dispatcher
    | at::detail::                                      # making of any tensor
    | at::((_ops|native|\(anonymous\ namespace\))::)*\w*empty\w*(\(|::)
    | at::(\(anonymous\ namespace\)::)+(create_out|resize_out|maybe_create_proxy)\b
    | .*::set_output_(raw_)?strided\(
    | at::TensorIteratorBase::
    | (std|boost)::
    | _?Py[A-Z]\w*$ | _Py\w+$ | Py\w+_\w+$              # the interpreter
    | _?_?(libc_)?start(_main)?$ | __libc_\w+$ | _*clone3?$ | pthread_\w+$ | main$
    """,
    re.VERBOSE,
)
"""Matched at the beginning of a function's name."""


def is_mechanism(name: str, file: str) -> bool:
    """Whether a frame belongs to the recording, the allocator, the dispatcher or the interpreter;
    never a frame of Python."""
    return not file.endswith(".py") and _NAMES.match(name) is not None
