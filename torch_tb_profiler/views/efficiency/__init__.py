"""The view ``efficiency``."""

from torch_tb_profiler.views.parameters import PEAK

PARAMETERS = (PEAK,)
