"""Kineto / PyTorch profiler Chrome trace JSON, of every torch release and device vendor."""

from torch_tb_profiler.importers.kineto.reader import read, read_file

__all__ = ["read", "read_file"]
