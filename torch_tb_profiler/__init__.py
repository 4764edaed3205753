"""torch-tb-profiler: where the time, the memory and the GPUs went in a PyTorch profiler trace."""

from importlib import import_module

from torch_tb_profiler._version import __version__

TYPE_CHECKING = False  # the one of typing would load it, see torch_tb_profiler.safe_path
if TYPE_CHECKING:
    from torch_tb_profiler.api import open_trace
    from torch_tb_profiler.callback.profiler_callback import ProfilerCallback
    from torch_tb_profiler.recorder.in_program import record
    from torch_tb_profiler.recorder.lightning import LightningRecorder
    from torch_tb_profiler.recorder.throughput.timer import Timer
    from torch_tb_profiler.recorder.transformers import TransformersRecorder
    from torch_tb_profiler.scrubbing.call import scrub

__all__ = [
    "LightningRecorder",
    "ProfilerCallback",
    "Timer",
    "TransformersRecorder",
    "__version__",
    "open_trace",
    "record",
    "scrub",
]

_LAZY = {
    "LightningRecorder": "recorder.lightning",
    "ProfilerCallback": "callback.profiler_callback",
    "TransformersRecorder": "recorder.transformers",
    "open_trace": "api",
    "Timer": "recorder.throughput.timer",
    "record": "recorder.in_program",
    "scrub": "scrubbing.call",
}
"""Public name → the module that defines it."""


def __getattr__(name: str) -> object:
    # TensorBoard and the command line import this package first: they must not wait for polars.
    if name in _LAZY:
        return getattr(import_module(f"torch_tb_profiler.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
