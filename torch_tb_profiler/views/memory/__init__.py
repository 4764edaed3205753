"""The view ``memory``."""

from torch_tb_profiler.views.parameters import AT_US, Parameter

AT_OPERATOR = Parameter(
    "at_operator",
    "at operator",
    "N",
    "position of the operator at which live tensors are listed, where the recording has them",
    "number",
)

PARAMETERS = (AT_US, AT_OPERATOR)
