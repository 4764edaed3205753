"""The view ``strategy``."""

from torch_tb_profiler.views.parameters import PARALLEL, Parameter

MEASURES = (
    "computation",
    "exposed_communication",
    "wait",
    "idle",
    "step",
    "input_wait",
    "host_wait",
    "busy",
    "memory_peak",
)
"""What ranks are compared by, the default first; columns of ``rank_matrix`` with their unit."""

PARAMETERS = (
    PARALLEL,
    Parameter(
        "measure",
        "measure",
        "NAME",
        f"what rows and columns of the matrix of ranks are compared by: {', '.join(MEASURES)}",
        "choice",
        choices=MEASURES,
    ),
)
