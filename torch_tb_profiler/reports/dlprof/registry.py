"""The reports there are, and what each is made of."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from torch_tb_profiler.reports.dlprof.detail import detail
from torch_tb_profiler.reports.dlprof.expert_systems import expert_systems
from torch_tb_profiler.reports.dlprof.group_node import group_node
from torch_tb_profiler.reports.dlprof.iteration import iteration
from torch_tb_profiler.reports.dlprof.kernel import kernel
from torch_tb_profiler.reports.dlprof.model_data import model_data
from torch_tb_profiler.reports.dlprof.op_type import op_type
from torch_tb_profiler.reports.dlprof.summary import summary
from torch_tb_profiler.reports.dlprof.table import Report, Views
from torch_tb_profiler.reports.dlprof.tensor import tensor

OPERATORS, TYPES, ITERATIONS, ARGUMENTS, GROUPS, OVERVIEW = (
    "operators",
    "operator_types",
    "iterations",
    "iteration_operators",
    "groups",
    "overview",
)


class ViewNeed(Struct, frozen=True):
    """A view that reports are made of, as it is asked.

    Attributes:
        table: The table of which all rows are wanted; None where none is paged.
        group_by: How its rows are grouped.
        view: The view, where it is not called as the need is.
        of_domain: Whether it may be asked for the ranges of one domain.
    """

    table: str | None = None
    group_by: str | None = None
    view: str | None = None
    of_domain: bool = False


NEEDS: dict[str, ViewNeed] = {
    OPERATORS: ViewNeed("operators", "path"),
    TYPES: ViewNeed(),
    ITERATIONS: ViewNeed("iteration_kernels"),
    ARGUMENTS: ViewNeed("iteration_operators", view=ITERATIONS),
    GROUPS: ViewNeed(of_domain=True),
    OVERVIEW: ViewNeed(),
}
"""How each view is asked."""


class ReportKind(Struct, frozen=True):
    """One report.

    Attributes:
        make: Makes it of its views.
        views: The views it is made of.
        wishes: Views that it uses where the recording has something for them.
        of_domain: Whether it differs from domain to domain.
    """

    make: Callable[[Views], Report]
    views: tuple[str, ...]
    of_domain: bool = False
    wishes: tuple[str, ...] = ()


REPORTS: dict[str, ReportKind] = {
    "summary": ReportKind(summary, (OVERVIEW,), wishes=(OPERATORS, ITERATIONS)),
    "detail": ReportKind(detail, (OPERATORS, ARGUMENTS), wishes=(ITERATIONS,)),
    "iteration": ReportKind(iteration, (ITERATIONS,), wishes=(OPERATORS,)),
    "kernel": ReportKind(kernel, (ITERATIONS,), wishes=(OPERATORS,)),
    "tensor": ReportKind(tensor, (OPERATORS, ITERATIONS)),
    "op_type": ReportKind(op_type, (TYPES,)),
    "group_node": ReportKind(group_node, (GROUPS,), of_domain=True),
    "expert_systems": ReportKind(expert_systems, (OVERVIEW,)),
}
"""By DLProf's name, in the order of its guide."""

MODEL_DATA = "model_data"
KINDS = {
    **REPORTS,
    MODEL_DATA: ReportKind(model_data, (ITERATIONS,), wishes=(OPERATORS, ARGUMENTS)),
}
"""With the raw tables, which are written as JSON and only if they are asked for."""
