"""torch-tb-profiler: where the time, the memory and the GPUs went in a PyTorch profiler trace."""

from torch_tb_profiler._version import __version__

__all__ = ["__version__"]
