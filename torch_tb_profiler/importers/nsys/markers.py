"""What texts of NVTX ranges say: operators of PyTorch, markers of PyProf and DLProf, names.

``torch.autograd.profiler.emit_nvtx`` writes ``aten::add, seq = 7, op_id = 3, sizes = [[2, 8]],
input_op_ids = [(1,0)]``, of which each release writes some parts in some order; PyProf and DLProf
write dicts of Python (``{'mod': 'torch', 'op': 'linear', 'args': […]}``, ``traceMarker``) and
``layer:`` names. What is none of these is the name of a range of the program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.nvtx import numbered
from torch_tb_profiler.importers.nsys.pyprof import PyProfMarker, pyprof_marker
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int8, Int64


class Kind(IntEnum):
    """What a text is."""

    RANGE = 0
    """A range of the program."""
    OPERATOR = 1
    STEP = 2
    DATALOADER = 3
    OPTIMIZER = 4
    LAYER = 5
    """A layer that DLProf names."""
    CALL_STACK = 6
    """The place in the source of what is inside."""


NAMED_RANGES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"ProfilerStep#\d+"), Kind.STEP),
    (re.compile(r"enumerate\(Data(Loader|Pipe)\)#"), Kind.DATALOADER),
    (re.compile(r"Optimizer\.(step|zero_grad)"), Kind.OPTIMIZER),
    (re.compile(r"layer:"), Kind.LAYER),
)
"""Ranges that frameworks name, by the beginning of their names."""

PLAIN_OPERATOR = re.compile(
    r"(aten|prims?|prim|autograd|torch|torchvision|torchaudio|quantized|quantized_decomposed|fbgemm"
    r"|inductor|c10d|_c10d_functional|triton|mkldnn|mkldnn_prepacked|xformers|flash_attn)::\w"
)
"""Names that are operators without any tail: namespaces of PyTorch's dispatcher."""

TAILED_OPERATOR = re.compile(
    r"(?!FSDP::)\w[\w.<>]*::~?[\w.<>]|triton_\w+$|record_param_comms$|\w+_$"
)
"""Names that are operators where a tail follows that ranges of the program have too."""

BACKWARD = re.compile(r"[Bb]ackward\d*$|evaluate_function: |AccumulateGrad$")
"""Nodes of the backward pass, where a sequence number follows."""

_KEY = r", (?:stashed )?(?:seq|op_id|sizes|input_op_ids) ?= ?[\d\[-]"
_NAME = r"(?s)^(.*?), (?:stashed )?[a-z_]+ ?= ?"
"""What stands before the first key, in texts that have a key of PyTorch's."""
_SEQUENCE_NUMBER = r", (?:stashed )?seq ?= ?(-?\d{1,18})(?:,|$)"
_STASHED = ", stashed seq"
_OP_ID = r", op_id ?= ?\d+(?:,|$)"
_SIZES = r", sizes ?= ?(\[[\[\]\d, -]*\])(?:, [a-z]|$)"


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """What texts say; all aligned with the texts.

    Attributes:
        name: Names without tails.
        kind: Of :class:`Kind`.
        sequence_number: Of the autograd engine, :data:`ABSENT` for none.
        is_backward: Nodes of the backward pass.
        input_shape: Sizes of the inputs, ``"[[2, 8], []]"``.
        input_type: Types of the inputs, ``"['float32', 'Scalar']"``.
        concrete_inputs: Values of inputs that are no tensors.
        call_stack: Of markers of places, frames joined by ``;``, innermost first.
    """

    name: pl.Series
    kind: Int8
    sequence_number: Int64
    is_backward: Bools
    input_shape: pl.Series
    input_type: pl.Series
    concrete_inputs: pl.Series
    call_stack: pl.Series


def read_markers(texts: Sequence[str]) -> Markers:
    """What each of some texts, best distinct ones, says."""
    tails = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).select(
        name=pl.when(pl.col("text").str.contains(_KEY))
        .then(pl.col("text").str.extract(_NAME))
        .otherwise("text"),
        seq=pl.col("text").str.extract(_SEQUENCE_NUMBER).cast(pl.Int64),
        stashed=pl.col("text").str.contains(_STASHED, literal=True),
        has_op_id=pl.col("text").str.contains(_OP_ID),
        sizes=pl.col("text").str.extract(_SIZES),
    )
    sequence_number = tails["seq"].set(tails["seq"] < 0, None)
    has_sequence, has_sizes = (
        each.is_not_null().to_numpy() for each in (sequence_number, tails["sizes"])
    )
    has_op_id = tails["has_op_id"].to_numpy()
    # Old releases write no op_id, and no ranges of the program with sizes.
    is_operator = has_sequence | (has_sizes & ~has_op_id)
    has_tail = is_operator | has_op_id
    name, kind, ends_backward = _named(tails["name"], is_operator, has_tail)
    frame = pl.DataFrame({"name": name, "input_shape": _spaced(tails["sizes"])}).with_columns(
        pl.lit(None, pl.String).alias(column)
        for column in ("input_type", "concrete_inputs", "call_stack")
    )
    frame, kind = _with_pyprof(frame, kind)
    return Markers(
        kind=kind,
        sequence_number=sequence_number.fill_null(ABSENT).to_numpy(),
        is_backward=has_sequence & (ends_backward | tails["stashed"].to_numpy()),
        **{column: frame[column] for column in frame.columns},
    )


def _named(names: pl.Series, is_operator: Bools, has_tail: Bools) -> tuple[pl.Series, Int8, Bools]:
    """Names, their kinds, and which are those of nodes of the backward pass: looked at once per
    distinct name."""
    known, place = numbered(names)
    given = [_kind_of(name) for name in known]
    kind = np.array([int(each or 0) for each in given], np.int8)[place]
    settled = np.array([each is not None for each in given], np.bool_)[place]
    plain, tailed, backward = (
        np.array([pattern(name) is not None for name in known], np.bool_)[place]
        for pattern in (PLAIN_OPERATOR.match, TAILED_OPERATOR.match, BACKWARD.search)
    )
    operator = ~settled & (is_operator | plain | (has_tail & tailed))
    kind[operator] = Kind.OPERATOR
    return names, kind, backward


def _kind_of(name: str) -> Kind | None:
    return next((kind for pattern, kind in NAMED_RANGES if pattern.match(name)), None)


def _spaced(sizes: pl.Series) -> pl.Series:
    """Lists of sizes as other formats write them: ``[[2, 8], []]``."""
    return sizes.str.replace_all(r"\s+", "").str.replace_all(",", ", ", literal=True)


def _with_pyprof(frame: pl.DataFrame, kind: Int8) -> tuple[pl.DataFrame, Int8]:
    """Names and inputs of the markers that are dicts."""
    rows = np.flatnonzero(frame["name"].str.starts_with("{").to_numpy())
    found = [
        (row, marker) for row in rows.tolist() if (marker := pyprof_marker(frame["name"][row]))
    ]
    if not found:
        return frame, kind
    at = [row for row, _ in found]
    markers = [marker for _, marker in found]
    kind = kind.copy()
    kind[at] = [_kind_of_marker(marker) for marker in markers]
    columns = {
        column: frame[column].scatter(at, [getattr(marker, column) for marker in markers])
        for column in frame.columns
    }
    return pl.DataFrame(columns), kind


def _kind_of_marker(marker: PyProfMarker) -> Kind:
    if marker.is_operator:
        return Kind.OPERATOR
    return Kind.LAYER if marker.call_stack is None else Kind.CALL_STACK
