"""The view ``kernels``."""

from torch_tb_profiler.views.parameters import OPERATOR_ID

PARAMETERS = (OPERATOR_ID,)
