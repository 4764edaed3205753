"""``memory_usage_*.pb``: the tensors of each graph, and in which order its operators run.

Format: docs/format-mindspore.md#memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.mindspore.parsing import UnreadableFileError, child, parse_name
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire, read_field
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

GRAPH, TOTAL = 1, 2
"""Fields of the file: its graphs, and the memory of the device."""

GRAPH_ID, STATIC, OPERATOR, TENSOR, FORWARD_START, BACKWARD_END = range(1, 7)
"""Fields of a graph."""

OPERATOR_NAME, OPERATOR_ID, _INPUTS, OUTPUTS, WORKSPACES = range(1, 6)
"""Fields of an operator; the last three are numbers of tensors."""

TENSOR_ID, SIZE, KIND, FIRST, LAST, LIFETIME = range(1, 7)
"""Fields of a tensor; the first and the last operator are numbers of operators."""

LIFETIMES = {
    "LifeLongNone": "its operators",
    "LifeLongGraphStart": "from the start of the graph",
    "LifeLongGraphEnd": "to the end of the graph",
    "LifeLongGraphAll": "the whole graph",
}
"""How long a tensor lives, in the file and for people."""

FROM_START = ("LifeLongGraphStart", "LifeLongGraphAll")
TO_END = ("LifeLongGraphEnd", "LifeLongGraphAll")

Points = Mapping[str, str]
"""``"forward start"`` and ``"backward end"`` → full name of the operator."""

WORKSPACE = " workspace "
"""In names of tensors between that of the operator and a number."""

_GRAPH_TAG = bytes([GRAPH << 3 | DELIMITED])
_TYPE_PREFIX = "NUMBER_TYPE_"


class MemoryUsage(Struct, frozen=True):
    """The content of a file.

    Attributes:
        device_bytes: Memory of the device; None if it is not recorded.
        tensors: Rows of the side table ``memory_tensors``.
        operators: Rows of the side table ``memory_operators``.
    """

    device_bytes: int | None
    tensors: pl.DataFrame
    operators: pl.DataFrame


def read_memory_usage(
    data: bytes, details: Mapping[str, str], points: Points, quality: QualityReport
) -> MemoryUsage:
    """Read all graphs; of a file that is cut what precedes the cut.

    Args:
        data: The file.
        details: Name of an operator without its scope → JSON of its inputs and outputs.
        points: The first operator of the forward and the last of the backward pass.
        quality: Gets damaged messages, and tensors whose lifetime is not known.

    Raises:
        UnreadableFileError: it holds no graph.
    """
    wire = Wire(data)
    spans, total_bytes = _top_level(data, quality)
    if not spans:
        raise UnreadableFileError("it holds no graph")
    start, end = (np.array(each, np.int64) for each in zip(*spans, strict=True))
    graphs = wire.fields(start, end)
    quality.add("message_damaged", graphs.broken)
    operators, produced = _operators(wire, graphs, points, quality)
    tensors = _tensors(wire, graphs, operators, quality).join(
        _named(produced, details), on=["graph_row", "tensor"], how="left", maintain_order="left"
    )
    is_known = 0 < total_bytes <= MAX_BYTES
    return MemoryUsage(
        total_bytes if is_known else None,
        tensors.select(SIDE_SCHEMAS["memory_tensors"].names()),
        _with_live_bytes(operators, tensors).select(SIDE_SCHEMAS["memory_operators"].names()),
    )


def _top_level(data: bytes, quality: QualityReport) -> tuple[list[tuple[int, int]], int]:
    """The spans of the graphs, the last one cut at the end of the file, and the total memory."""
    spans: list[tuple[int, int]] = []
    at, total_bytes = 0, 0
    while at < len(data):
        field = read_field(data, at, len(data))
        if field is None:
            quality.add("message_damaged")
            if data.startswith(_GRAPH_TAG, at):
                start = read_varint(data, at + 1, len(data))[1]
                spans += [(start, len(data))] if start else []
            break
        number, wire_type, value, start, at = field
        if number == GRAPH and wire_type == DELIMITED:
            spans.append((start, at))
        elif number == TOTAL:
            total_bytes = value
    return spans, total_bytes


def _operators(
    wire: Wire, graphs: Fields, points: Points, quality: QualityReport
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The operators in the order in which they run, and the tensors that they make."""
    picked = graphs.pick(OPERATOR, DELIMITED)
    fields = wire.fields(picked.start, picked.end)
    quality.add("message_damaged", fields.broken)
    frame = pl.DataFrame(
        {
            "graph_row": picked.message,
            "graph": graphs.ints(GRAPH_ID, default=0)[picked.message],
            "name": _texts(wire, fields, OPERATOR_NAME),
            "number": fields.ints(OPERATOR_ID, default=0),
            "static_bytes": graphs.ints(STATIC, default=0)[picked.message],
        }
    )
    # A tensor is of its first operator; one that is an output, too, is no workspace.
    produced = pl.concat(
        _produced(wire, fields, frame, number, text)
        for number, text in ((OUTPUTS, ":"), (WORKSPACES, WORKSPACE))
    ).unique(["graph_row", "tensor"], keep="first", maintain_order=True)
    stated = pl.DataFrame(
        {
            "graph_row": np.arange(graphs.count),
            "start": _texts(wire, graphs, FORWARD_START),
            "end": _texts(wire, graphs, BACKWARD_END),
        }
    )
    of_file = {mark: name.rpartition("/")[2] for mark, name in points.items()}
    name, start, end = pl.col("name"), pl.col("start"), pl.col("end")
    mark = (
        pl.when(name == start.fill_null(of_file.get("forward start", "")))
        .then(pl.lit("forward start"))
        .when(name == end.fill_null(of_file.get("backward end", "")))
        .then(pl.lit("backward end"))
    )
    position = pl.int_range(pl.len(), dtype=pl.Int64).over("graph_row")
    joined = frame.join(stated, on="graph_row", how="left", maintain_order="left")
    return joined.with_columns(mark=mark, position=position), produced


def _produced(
    wire: Wire, fields: Fields, operators: pl.DataFrame, number: int, text: str
) -> pl.DataFrame:
    """The tensors in a field of the operators: which one of the operator's each is."""
    row, tensor = wire.numbers(fields, number)
    return pl.DataFrame({"row": row, "tensor": tensor}).select(
        "tensor",
        graph_row=operators["graph_row"].gather(row),
        name=operators["name"].gather(row),
        text=pl.lit(text),
        index=pl.int_range(pl.len(), dtype=pl.Int64).over("row"),
    )


def _tensors(
    wire: Wire, graphs: Fields, operators: pl.DataFrame, quality: QualityReport
) -> pl.DataFrame:
    """The tensors, with the positions of the first and last operator of their lives."""
    picked = graphs.pick(TENSOR, DELIMITED)
    fields = wire.fields(picked.start, picked.end)
    quality.add("message_damaged", fields.broken)
    size = fields.ints(SIZE, default=0)
    is_size = (size >= 0) & (size <= MAX_BYTES)
    quality.add("argument_value", int((~is_size).sum()))
    frame = pl.DataFrame(
        {
            "graph_row": picked.message,
            "graph": graphs.ints(GRAPH_ID, default=0)[picked.message],
            "tensor": fields.ints(TENSOR_ID, default=0),
            "kind": _texts(wire, fields, KIND),
            "size_bytes": pl.Series(size).set(pl.Series(~is_size), None),
            "lifetime": _texts(wire, fields, LIFETIME),
            "first": fields.ints(FIRST, default=0),
            "last": fields.ints(LAST, default=0),
        }
    )
    numbers = operators.select("graph_row", "number", "position").unique(
        ["graph_row", "number"], keep="first"
    )
    for end in ("first", "last"):
        frame = frame.join(
            numbers.rename({"number": end, "position": f"{end}_position"}),
            on=["graph_row", end],
            how="left",
            maintain_order="left",
        )
    counts = operators.group_by("graph_row").agg(final=pl.len().cast(pl.Int64) - 1)
    frame = frame.join(counts, on="graph_row", how="left", maintain_order="left")
    lifetime, final = pl.col("lifetime"), pl.col("final")
    is_known = lifetime.is_in(list(LIFETIMES)) & final.is_not_null()
    first = pl.when(lifetime.is_in(FROM_START)).then(0).otherwise("first_position")
    last = pl.when(lifetime.is_in(TO_END)).then(final).otherwise("last_position")
    frame = frame.with_columns(
        first=pl.when(is_known & (first <= last)).then(first),
        last=pl.when(is_known & (first <= last)).then(last),
        lifetime=lifetime.replace(LIFETIMES),
    )
    quality.add("tensor_lifetime_unknown", frame["first"].null_count())
    return frame


def _named(produced: pl.DataFrame, details: Mapping[str, str]) -> pl.DataFrame:
    """The tensors with their names, and the type, shape and format of outputs."""
    documents = {name: _document(details.get(name or "")) for name in produced["name"].unique()}
    described = [
        _described(documents[name] if text != WORKSPACE else None, index)
        for name, text, index in produced.select("name", "text", "index").iter_rows()
    ]
    schema = {"dtype": pl.String, "shape": pl.String, "format": pl.String}
    return produced.select(
        "graph_row", "tensor", name=pl.concat_str("name", "text", pl.col("index").cast(pl.String))
    ).hstack(pl.DataFrame(described, schema=schema, orient="row"))


def _document(details: str | None) -> Any:
    """What the framework says of an operator; None if it is no JSON."""
    try:
        return json.loads(details or "null")
    except (ValueError, RecursionError):
        return None


def _described(operator: object, index: int) -> tuple[str | None, str | None, str | None]:
    """Type, shape and format of an output, as the framework describes it."""
    output = child(operator, f"output_{index}")
    kind = parse_name(child(output, "data_type"))
    return (
        None if kind is None else kind.removeprefix(_TYPE_PREFIX),
        _shape(child(output, "shape")),
        parse_name(child(output, "format")),
    )


def _shape(shape: Any) -> str | None:
    """``[32, 1]`` and ``"32,1"`` are ``"[32, 1]"``."""
    sizes = shape.split(",") if isinstance(shape, str) else shape
    if not isinstance(sizes, list):
        return None
    return parse_name(f"[{', '.join(str(each).strip() for each in sizes)}]")


def _with_live_bytes(operators: pl.DataFrame, tensors: pl.DataFrame) -> pl.DataFrame:
    """The operators with the memory in use while each runs: static memory and live tensors."""
    known = tensors.drop_nulls(["first", "size_bytes"])
    changes = pl.concat(
        [
            known.select("graph_row", position="first", change="size_bytes"),
            known.select("graph_row", position=pl.col("last") + 1, change=-pl.col("size_bytes")),
        ]
    )
    sums = changes.group_by("graph_row", "position").agg(pl.col("change").sum())
    return (
        operators.join(sums, on=["graph_row", "position"], how="left", maintain_order="left")
        .with_columns(
            live_bytes=pl.col("static_bytes")
            + pl.col("change").fill_null(0).cum_sum().over("graph_row")
        )
        .drop("change")
    )


def _texts(wire: Wire, fields: Fields, number: int) -> pl.Series:
    """One text per message; null where it has none, or an empty one."""
    codes, texts = distinct_texts(wire, *fields.spans(number))
    names = pl.Series([parse_name(text) for text in texts], dtype=pl.String)
    return names.gather(pl.Series(codes).cast(pl.Int64).set(pl.Series(codes) < 0, None))
