"""The view ``phases``."""

from torch_tb_profiler.views.parameters import DOMAIN

PARAMETERS = (DOMAIN,)
