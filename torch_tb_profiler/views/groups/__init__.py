"""The view ``groups``."""

from torch_tb_profiler.views.parameters import DOMAIN

PARAMETERS = (DOMAIN,)
