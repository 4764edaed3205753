"""Parses the texts of NVTX ranges: PyTorch operators, markers of PyProf and DLProf, names.

``torch.autograd.profiler.emit_nvtx`` writes ``aten::add, seq = 7, op_id = 3, sizes = [[2, 8]],
input_op_ids = [(1,0)]``; each release writes some of these parts in some order. PyProf and DLProf
write Python dicts (``{'mod': 'torch', 'op': 'linear', 'args': […]}``, ``traceMarker``) and
``layer:`` names. Any other text is the name of a range of the program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.nsys.nvtx import factorize
from torch_tb_profiler.importers.nsys.pyprof import PyProfMarker, parse_pyprof
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int8, Int64


class MarkerKind(IntEnum):
    """What the text of a range means."""

    RANGE = 0
    """A range of the program."""
    OPERATOR = 1
    STEP = 2
    DATALOADER = 3
    OPTIMIZER = 4
    LAYER = 5
    """A layer named by DLProf."""
    CALL_STACK = 6
    """The source location of the ranges inside."""


NAMED_RANGES: tuple[tuple[re.Pattern[str], MarkerKind], ...] = (
    (re.compile(r"ProfilerStep#\d+"), MarkerKind.STEP),
    (re.compile(r"enumerate\(Data(Loader|Pipe)\)#"), MarkerKind.DATALOADER),
    (re.compile(r"Optimizer\.(step|zero_grad)"), MarkerKind.OPTIMIZER),
    (re.compile(r"layer:"), MarkerKind.LAYER),
)
"""(pattern of the beginning of a name, kind) of ranges that frameworks name."""

PLAIN_OPERATOR = re.compile(
    r"(aten|prims?|prim|autograd|torch|torchvision|torchaudio|quantized|quantized_decomposed|fbgemm"
    r"|inductor|c10d|_c10d_functional|triton|mkldnn|mkldnn_prepacked|xformers|flash_attn)::\w"
)
"""Names that are operators even without a tail: namespaces of PyTorch's dispatcher."""

TAILED_OPERATOR = re.compile(
    r"(?!FSDP::)\w[\w.<>]*::~?[\w.<>]|triton_\w+$|record_param_comms$|\w+_$"
)
"""Names that are operators if a tail follows that ranges of the program can have too."""

BACKWARD = re.compile(r"[Bb]ackward\d*$|evaluate_function: |AccumulateGrad$")
"""Names of nodes of the backward pass, if a sequence number follows."""

_KEY = r", (?:stashed )?(?:seq|op_id|sizes|input_op_ids) ?= ?[\d\[-]"
_NAME = r"(?s)^(.*?), (?:stashed )?[a-z_]+ ?= ?"
"""The part before the first key, in texts with one of PyTorch's keys."""
_SEQUENCE_NUMBER = r", (?:stashed )?seq ?= ?(-?\d{1,18})(?:,|$)"
_STASHED = ", stashed seq"
_OP_ID = r", op_id ?= ?\d+(?:,|$)"
_SIZES = r", sizes ?= ?(\[[\[\]\d, -]*\])(?:, [a-z]|$)"


class ParsedMarkers(Struct, frozen=True, eq=False):
    """The parsed texts; arrays are aligned with the texts.

    Attributes:
        name: Names without tails.
        kind: The :class:`MarkerKind`.
        sequence_number: Sequence number of the autograd engine, :data:`ABSENT` for none.
        is_backward: Whether it is a node of the backward pass.
        input_shape: Sizes of the inputs, ``"[[2, 8], []]"``.
        input_type: Types of the inputs, ``"['float32', 'Scalar']"``.
        concrete_inputs: Values of inputs that are not tensors.
        call_stack: Frames of source location markers joined by ``;``, innermost first.
    """

    name: pl.Series
    kind: Int8
    sequence_number: Int64
    is_backward: Bools
    input_shape: pl.Series
    input_type: pl.Series
    concrete_inputs: pl.Series
    call_stack: pl.Series


def parse_markers(texts: Sequence[str] | pl.Series) -> ParsedMarkers:
    """Parse texts; callers pass distinct texts, for speed."""
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
    # Old releases write no op_id; ranges of the program have no sizes there.
    is_operator = has_sequence | (has_sizes & ~has_op_id)
    has_tail = is_operator | has_op_id
    name, kind, ends_backward = _classify(tails["name"], is_operator, has_tail)
    frame = pl.DataFrame({"name": name, "input_shape": _spaced(tails["sizes"])}).with_columns(
        pl.lit(None, pl.String).alias(column)
        for column in ("input_type", "concrete_inputs", "call_stack")
    )
    frame, kind = _with_pyprof(frame, kind)
    return ParsedMarkers(
        kind=kind,
        sequence_number=sequence_number.fill_null(ABSENT).to_numpy(),
        is_backward=has_sequence & (ends_backward | tails["stashed"].to_numpy()),
        **{column: frame[column] for column in frame.columns},
    )


def _classify(
    names: pl.Series, is_operator: Bools, has_tail: Bools
) -> tuple[pl.Series, Int8, Bools]:
    """Names, their kinds, and whether they belong to the backward pass; computed once per distinct
    name."""
    known, inverse = factorize(names)
    named_kinds = [_kind_of(name) for name in known]
    kind = np.array([int(each or 0) for each in named_kinds], np.int8)[inverse]
    has_named_kind = np.array([each is not None for each in named_kinds], np.bool_)[inverse]
    plain, tailed, backward = (
        np.array([pattern(name) is not None for name in known], np.bool_)[inverse]
        for pattern in (PLAIN_OPERATOR.match, TAILED_OPERATOR.match, BACKWARD.search)
    )
    operator = ~has_named_kind & (is_operator | plain | (has_tail & tailed))
    kind[operator] = MarkerKind.OPERATOR
    return names, kind, backward


def _kind_of(name: str) -> MarkerKind | None:
    return next((kind for pattern, kind in NAMED_RANGES if pattern.match(name)), None)


def _spaced(sizes: pl.Series) -> pl.Series:
    """Lists of sizes with the spaces of other formats: ``[[2, 8], []]``."""
    return sizes.str.replace_all(r"\s+", "").str.replace_all(",", ", ", literal=True)


def _with_pyprof(frame: pl.DataFrame, kind: Int8) -> tuple[pl.DataFrame, Int8]:
    """Replace names and inputs of the markers that are dicts."""
    rows = np.flatnonzero(frame["name"].str.starts_with("{").to_numpy())
    parsed = [
        (row, marker) for row in rows.tolist() if (marker := parse_pyprof(frame["name"][row]))
    ]
    if not parsed:
        return frame, kind
    at = [row for row, _ in parsed]
    markers = [marker for _, marker in parsed]
    kind = kind.copy()
    kind[at] = [_kind_of_marker(marker) for marker in markers]
    columns = {
        column: frame[column].scatter(at, [getattr(marker, column) for marker in markers])
        for column in frame.columns
    }
    return pl.DataFrame(columns), kind


def _kind_of_marker(marker: PyProfMarker) -> MarkerKind:
    if marker.is_operator:
        return MarkerKind.OPERATOR
    return MarkerKind.LAYER if marker.call_stack is None else MarkerKind.CALL_STACK
