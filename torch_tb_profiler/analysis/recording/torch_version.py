"""The version of torch that wrote a trace, or the versions that may have.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

from torch_tb_profiler.knowledge.recorders import TORCH_PROFILER
from torch_tb_profiler.knowledge.surroundings import torch_versions
from torch_tb_profiler.trace.categories import GRAPH_NODES
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def torch_version(trace: Trace) -> str | None:
    """The version of torch that a recording names, else the range of versions that its format fits;
    None for other recorders."""
    if trace.meta.info.settings.torch_version:
        return trace.meta.info.settings.torch_version
    if trace.meta.info.recorder != TORCH_PROFILER:
        return None
    operators = trace.operators
    categories = {trace.text(code) for code in trace.slices["raw_category_code"].unique()}
    options = trace.meta.info.recording
    types = {trace.text(code) for code in operators["input_type_code"].unique()}
    marks = {
        "capital_categories": "Operator" in categories,
        "lower_categories": "cpu_op" in categories,
        "graph_nodes": not categories.isdisjoint(GRAPH_NODES),
        "settings": any(getattr(options, key) is not None for key in options.__struct_fields__),
        "shapes": operators["input_shape_code"].null_count() < operators.height,
        "input_types": bool(types - {None, "", "[]"}),
        "concrete_inputs": operators["concrete_inputs_code"].null_count() < operators.height,
        "record_function_ids": operators["record_function_id"].null_count() < operators.height,
    }
    return torch_versions({mark for mark, is_present in marks.items() if is_present})
