"""The calls of a key node that is given as an operator at its place.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.identity import operator_identity, operator_paths
from torch_tb_profiler.analysis.steps.iterations.key_node import Instances, instances, outermost
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def key_operator_instances(trace: Trace, text: str) -> Instances:
    """The calls of the operators or ranges called ``text``; where nothing is called so, of the
    operator with this id (``convolution-forward-17``) or path (``/ResNet_0/aten::conv2d``), as
    the table of operators has them without a selection. Calls inside another one do not count."""
    named = instances(trace, text)
    return named if len(named.slice) else outermost(trace, _calls_of(trace, text))


def _calls_of(trace: Trace, text: str) -> Int64:
    split = split_iterations(trace, None)
    identity = operator_identity(split)
    operator = identity.find(text)
    if operator is not None:
        wanted = np.array([operator])
    elif text.startswith(("/", "…")):
        wanted = np.flatnonzero((operator_paths(split) == text).to_numpy())
    else:
        wanted = np.empty(0, np.int64)
    return np.sort(call_tree(split).slice[np.isin(identity.operator, wanted)])
