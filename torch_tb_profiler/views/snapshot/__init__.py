"""The view ``snapshot``."""

from torch_tb_profiler.views.parameters import AT_US

PARAMETERS = (AT_US,)
