"""The view ``kernels``."""

from torch_tb_profiler.views.parameters import OPERATOR, OPERATOR_ID

PARAMETERS = (OPERATOR_ID, OPERATOR)
