"""Kineto / PyTorch profiler Chrome trace JSON, of every torch release and device vendor."""

from torch_tb_profiler.importers.kineto.reader import read

__all__ = ["read"]
