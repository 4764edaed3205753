"""The view ``compiled``."""

from torch_tb_profiler.views.parameters import OPERATOR_ID

PARAMETERS = (OPERATOR_ID,)
