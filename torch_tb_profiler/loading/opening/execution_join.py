"""Joins the nodes of an execution trace to the operators of a trace, by record function id.

Ids are counted per process from 1, so those of another process exist too: names decide.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.execution.collectives import collective_table
from torch_tb_profiler.importers.execution.columns import NodeColumns
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.model import Trace, schema_of
from torch_tb_profiler.trace.nulls import table_to_frame
from torch_tb_profiler.trace.side_tables import SideTable

MIN_SHARE = 0.5
"""An execution trace in which fewer of the ids have the same name is of another process."""

_INPUTS = (
    ("input_shape_code", "shapes"), ("input_type_code", "types"), ("concrete_inputs_code", "values")
)  # fmt: skip
"""Columns of ``operators``, and what the nodes call them."""


class ExecutionMatch(Struct, frozen=True, eq=False):
    """The operators of a trace that an execution trace has, too.

    Attributes:
        name: The file.
        columns: Its nodes.
        row: Rows of ``operators`` with a node of the same id and name.
        node: The node of each, by row of ``columns``.
        total: Operators of the trace with an id.
    """

    name: str
    columns: NodeColumns
    row: Int64
    node: Int64
    total: int

    @property
    def operators(self) -> int:
        """How many operators match."""
        return len(self.row)

    @property
    def is_of_trace(self) -> bool:
        """Whether both are of the same process and time."""
        return self.operators > 0 and self.operators >= MIN_SHARE * self.total

    @property
    def described(self) -> str:
        """How many operators match, for people."""
        share = f"{self.operators / self.total:.1%}".replace("%", " %") if self.total else "0 %"
        return (
            f"{self.operators:,} of {self.total:,} operators with a record function id ({share}) "
            "have the same name there"
        )


def match_execution(trace: Trace, columns: NodeColumns, name: str) -> ExecutionMatch:
    """The operators of ``trace`` that ``columns`` has under the same id and name."""
    ids = trace.operators["record_function_id"].fill_null(0).to_numpy()
    rows = np.flatnonzero(ids > 0)
    known, first = np.unique(columns.numbers("record_function_id"), return_index=True)
    if not len(known) or not len(rows):
        return ExecutionMatch(name, columns, rows[:0], rows[:0], len(rows))
    at = np.minimum(np.searchsorted(known, ids[rows]), len(known) - 1)
    node = first[at]
    slices = trace.operators["slice"].to_numpy()[rows]
    names = trace.slices["name_code"].to_numpy()[slices]
    code_of_trace = _codes_in_trace(trace, columns, columns.codes("name")[node])
    is_same = (known[at] == ids[rows]) & (code_of_trace == names)
    return ExecutionMatch(name, columns, rows[is_same], node[is_same], len(rows))


def _codes_in_trace(trace: Trace, columns: NodeColumns, codes: Int32) -> Int32:
    """Codes of nodes as codes of the trace; -1 for texts that it lacks."""
    own = {text: code for code, text in enumerate(trace.strings.tolist())}
    by_code = np.full(len(columns.texts) + 1, -1, np.int32)
    for text, code in columns.texts.items():
        by_code[code] = own.get(text, -1)
    return by_code[codes]


def join_match(trace: Trace, match: ExecutionMatch) -> Trace:
    """``trace`` with what the matching nodes add: inputs that it does not have itself, collectives
    without metadata, process groups, and the tensors of its operators."""
    strings = trace.strings.tolist()
    operators = _with_inputs(trace.operators, match, strings)
    collectives = _with_collectives(trace, match, strings)
    ids = np.full(len(match.columns), -1, np.int64)
    ids[match.node] = match.columns.numbers("record_function_id")[match.node]
    tensors = SideTable("execution_tensors", match.name, match.columns.tensor_frame(ids))
    return replace(
        trace,
        meta=replace(trace.meta, info=replace(trace.meta.info, job=_job(trace, match.columns.job))),
        strings=np.array(strings, dtype=object),
        operators=operators,
        collectives=collectives,
        side={**trace.side, tensors.name: tensors},
    )


def _with_inputs(
    operators: pl.DataFrame, match: ExecutionMatch, strings: list[str]
) -> pl.DataFrame:
    """``operators`` with the inputs of their nodes where they have none; new texts are appended to
    ``strings``."""
    own = {text: code for code, text in enumerate(strings)}
    texts = list(match.columns.texts)
    columns = []
    for column, name in _INPUTS:
        codes = match.columns.codes(name)[match.node]
        of_text = np.full(len(texts) + 1, -1, np.int32)
        for code in np.unique(codes[codes >= 0]).tolist():
            of_text[code] = own.setdefault(texts[code], len(strings))
            if of_text[code] == len(strings):
                strings.append(texts[code])
        values = np.full(operators.height, -1, np.int32)
        values[match.row] = of_text[codes]
        given = pl.Series(values).set(pl.Series(values < 0), None)
        columns.append(operators[column].fill_null(given).alias(column))
    return operators.with_columns(columns)


def _with_collectives(trace: Trace, match: ExecutionMatch, strings: list[str]) -> pl.DataFrame:
    """``collectives`` with those of nodes whose slices have no metadata."""
    slices = trace.operators["slice"].to_numpy()[match.row]
    known = set(trace.collectives["slice"].to_list())
    missing = {
        slice_id: match.columns.collectives[node]
        for slice_id, node in zip(slices.tolist(), match.node.tolist(), strict=True)
        if node in match.columns.collectives and slice_id not in known
    }
    if not missing:
        return trace.collectives
    added = table_to_frame(collective_table(missing, strings))
    columns = list(schema_of("collectives"))
    return pl.concat([trace.collectives.select(columns), added.select(columns)]).sort("slice")


def _job(trace: Trace, described: JobInfo | None) -> JobInfo | None:
    """The job as the trace declares it, with the process groups of the nodes where it has none."""
    job = trace.meta.info.job
    if described is None or (job is not None and job.groups):
        return job
    if job is None:
        return described
    return replace(
        job,
        groups=described.groups,
        group_count=job.group_count or described.group_count,
        backend=job.backend or described.backend,
        world_size=job.world_size or described.world_size,
    )
