"""The view of the critical path."""

from torch_tb_profiler.views.parameters import Parameter

PARAMETERS = (
    Parameter(
        "what_if",
        "what if",
        "ROW:CHANGE",
        "change of the critical path: aten::mm:halve",
    ),
)
