"""The view ``shapes``: how long operators took in each iteration, and with which shapes."""

from torch_tb_profiler.views.parameters import ITERATION, PEAK

PARAMETERS = (ITERATION, PEAK)
