"""torch-tb-profiler: where the time, the memory and the GPUs went in a PyTorch profiler trace."""

from importlib import import_module

from torch_tb_profiler._version import __version__

TYPE_CHECKING = False  # the one of typing would load it, see torch_tb_profiler.safe_path
if TYPE_CHECKING:
    from torch_tb_profiler.api import open_trace

__all__ = ["__version__", "open_trace"]


def __getattr__(name: str) -> object:
    # TensorBoard and the command line import this package first: they must not wait for polars.
    if name == "open_trace":
        return import_module("torch_tb_profiler.api").open_trace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
