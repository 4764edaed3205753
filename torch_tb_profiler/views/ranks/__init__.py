"""The view ``ranks``."""

from torch_tb_profiler.views.parameters import PARALLEL

PARAMETERS = (PARALLEL,)
