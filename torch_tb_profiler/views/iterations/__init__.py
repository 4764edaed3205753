"""The view ``iterations``."""

from torch_tb_profiler.views.parameters import ITERATION, OPERATOR_ID

PARAMETERS = (ITERATION, OPERATOR_ID)
