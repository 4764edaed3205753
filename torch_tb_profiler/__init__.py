"""torch-tb-profiler: where the time, the memory and the GPUs went in a PyTorch profiler trace."""

from importlib import import_module

from torch_tb_profiler._version import __version__

TYPE_CHECKING = False  # the one of typing would load it, see torch_tb_profiler.safe_path
if TYPE_CHECKING:
    from torch_tb_profiler.api import open_trace
    from torch_tb_profiler.recorder.in_program import record
    from torch_tb_profiler.recorder.lightning import RecordCallback as LightningRecorder
    from torch_tb_profiler.recorder.program_timer import Timer
    from torch_tb_profiler.recorder.transformers import RecordCallback as TransformersRecorder

__all__ = [
    "LightningRecorder",
    "Timer",
    "TransformersRecorder",
    "__version__",
    "open_trace",
    "record",
]

_LAZY = {
    "LightningRecorder": ("recorder.lightning", "RecordCallback"),
    "TransformersRecorder": ("recorder.transformers", "RecordCallback"),
    "open_trace": ("api", "open_trace"),
    "Timer": ("recorder.program_timer", "Timer"),
    "record": ("recorder.in_program", "record"),
}
"""Public name → its module, and its name there."""


def __getattr__(name: str) -> object:
    # TensorBoard and the command line import this package first: they must not wait for polars.
    if name in _LAZY:
        module, attribute = _LAZY[name]
        return getattr(import_module(f"torch_tb_profiler.{module}"), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
