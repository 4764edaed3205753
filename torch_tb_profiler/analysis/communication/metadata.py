"""Metadata of the collectives of a trace: group, ranks, sizes, peers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.knowledge import communication, dtypes, kernels
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.model import Trace

_ARROW = re.compile(r"(?:send|recv)\s*(\d+)\s*(->|<-)\s*(\d+)$")
_CALLER = re.compile(r"c10d::(send|recv)_?$")
_PEER_INPUT = 2
"""Position of the peer's rank among the inputs of ``c10d::send`` and ``c10d::recv_``."""

METADATA = {
    "slice": pl.Int64,
    "described": pl.String,  # name of the collective as recorded
    "group": pl.String,
    "group_key": pl.String,
    "group_size": pl.Int64,
    "sequence": pl.Int64,
    "comms_id": pl.Int64,
    "dtype": pl.String,
    "in_bytes": pl.Int64,
    "out_bytes": pl.Int64,
    "ranks_pair": pl.String,
}


def collective_metadata(trace: Trace) -> pl.DataFrame:
    """Collective metadata as text and bytes, one row per slice that carries any."""
    table = trace.collectives
    dtype = codes.texts(trace, table["dtype_code"])
    sizes = {text: dtypes.size_bytes(text) for text in dtype.drop_nulls().unique()}
    size = dtype.replace_strict(sizes, default=None, return_dtype=pl.Int64)
    nelems = (
        table[key].set(~table[key].is_between(0, MAX_BYTES // 16), None)
        for key in ("in_nelems", "out_nelems")
    )
    in_nelems, out_nelems = nelems
    return (
        table.with_columns(
            described=codes.texts(trace, table["collective_code"]),
            name=codes.texts(trace, table["group_code"]),
            text=codes.texts(trace, table["group_description_code"]),
            ranks=codes.texts(trace, table["group_ranks_code"]),
            dtype=dtype,
            in_bytes=in_nelems * size,
            out_bytes=out_nelems * size,
        )
        .select(
            "slice",
            "described",
            group_label().alias("group"),
            group_identity().alias("group_key"),
            "group_size",
            "sequence",
            "comms_id",
            "dtype",
            "in_bytes",
            "out_bytes",
            ranks_pair=pl.when((pl.col("src_rank") >= 0) & (pl.col("dst_rank") >= 0)).then(
                pl.format("{}->{}", "src_rank", "dst_rank")
            ),
        )
        .select(pl.col(key).cast(dtype) for key, dtype in METADATA.items())
    )


def group_label() -> pl.Expr:
    """``"0 (default_pg)"`` from columns ``name`` and ``text``."""
    described = pl.col("text").is_not_null() & (pl.col("text") != "")
    return pl.when(described).then(pl.format("{} ({})", "name", "text")).otherwise("name")


def group_identity() -> pl.Expr:
    """Key that is equal for all members of a group, from columns ``name`` and ``ranks``."""
    spaceless = pl.col("ranks").fill_null("").str.replace_all(" ", "")
    return pl.format("{}|{}", "name", spaceless)


def only_group(trace: Trace) -> tuple[str | None, str | None, int | None]:
    """Label, identity and size of the process group, when the trace lists exactly one."""
    job = trace.meta.info.job
    groups = job.groups or () if job is not None else ()
    if len(groups) != 1 or groups[0].name is None:
        return None, None, None
    name, text = groups[0].name, groups[0].description or groups[0].uid
    label = f"{name} ({text})" if text else name
    return label, f"{name}|", groups[0].size or None


def input_bytes(trace: Trace, slice_id: Int64) -> pl.Series:
    """Per slice the bytes of its inputs, from ``Input Dims`` and ``Input type``; else null."""
    inputs = trace.operators.select("slice", "input_shape_code", "input_type_code")
    recorded = pl.DataFrame({"slice": slice_id}).join(inputs, on="slice", how="left")
    known: dict[tuple[int, int], int | None] = {}
    values: list[int | None] = []
    for shape, types in zip(recorded["input_shape_code"], recorded["input_type_code"], strict=True):
        if shape is None or types is None:
            values.append(None)
            continue
        if (shape, types) not in known:
            known[shape, types] = _tensor_bytes(trace.text(shape), trace.text(types))
        values.append(known[shape, types])
    return pl.Series("dims_bytes", values, pl.Int64)


def _tensor_bytes(shapes: str | None, types: str | None) -> int | None:
    """Bytes of all tensors among the inputs; None when the size of one is unknown."""
    dims, names = _parse_list(shapes), _parse_list(types)
    total, tensors = 0, 0
    for shape, name in zip(dims, names, strict=False):
        size = dtypes.size_bytes(name) if isinstance(name, str) else None
        if size is None:
            if isinstance(shape, list) and shape:
                return None
            continue
        if not isinstance(shape, list) or not all(isinstance(n, int) and n >= 0 for n in shape):
            return None
        total += math.prod(shape) * size
        tensors += 1
    return total if tensors and total <= MAX_BYTES else None


def _parse_list(text: str | None) -> list[Any]:
    """A list as Python or JSON writes it; an empty one for anything else."""
    try:
        value = msgspec.json.decode((text or "[]").replace("'", '"'))
    except msgspec.DecodeError:
        return []
    return value if isinstance(value, list) else []


def own_rank(trace: Trace) -> int | None:
    """The rank of this worker; None where it is not recorded."""
    job = trace.meta.info.job
    return None if job is None else job.rank


def world_size(trace: Trace) -> int | None:
    """Number of ranks of the job; None where it is not recorded."""
    job = trace.meta.info.job
    return None if job is None else job.world_size or None


def in_rank_order(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """The workers by the ranks that their recordings declare; in the given order where one declares
    none, or two declare the same (nodes that each count from 0)."""
    ranks = {worker: own_rank(trace) for worker, trace in traces.items()}
    if None in ranks.values() or len(set(ranks.values())) < len(ranks):
        return dict(traces)
    return {worker: traces[worker] for worker in sorted(traces, key=lambda name: ranks[name] or 0)}


def peer_pairs(trace: Trace, slice_id: Int64) -> pl.Series:
    """Per slice ``"source->destination"`` of a send or receive, null when the peer is unknown.

    From the name of the range (``nccl:send 0->1``), or from the inputs of the ``c10d::send`` or
    ``c10d::recv_`` around it and the rank of this worker.
    """
    names = trace.slices["name_code"].to_numpy()
    caller = innermost_around_start(trace, _callers(trace), slice_id)
    pairs: list[str | None] = []
    for name, around in zip(names[slice_id].tolist(), caller.tolist(), strict=True):
        text = trace.text(name) or ""
        arrow = _ARROW.search(text)
        if arrow:
            rank, direction, peer = arrow.groups()
            pairs.append(f"{rank}->{peer}" if direction == "->" else f"{peer}->{rank}")
        elif communication.collective(text) in ("send", "recv") and around >= 0:
            pairs.append(_pair_of_caller(trace, around, trace.text(names[around]) or ""))
        else:
            pairs.append(None)
    return pl.Series("pair", pairs, pl.String)


def _callers(trace: Trace) -> Int64:
    """Slices of ``c10d::send`` and ``c10d::recv_``."""
    operators = np.flatnonzero(trace.slices["category"].to_numpy() == Category.OPERATOR)
    names = trace.slices["name_code"].to_numpy()[operators]
    is_caller = codes.names_match(trace, names, lambda name: _CALLER.match(name) is not None)
    callers: Int64 = operators[is_caller]
    return callers


def _pair_of_caller(trace: Trace, caller: int, name: str) -> str | None:
    kind, rank = _CALLER.match(name), own_rank(trace)
    row = trace.operators["slice"].search_sorted(caller)
    if kind is None or rank is None or row >= trace.operators.height:
        return None
    if trace.operators["slice"][row] != caller:
        return None
    inputs = _parse_list(trace.text(trace.operators["concrete_inputs_code"][row]))
    if len(inputs) <= _PEER_INPUT or not str(inputs[_PEER_INPUT]).isdecimal():
        return None
    peer = inputs[_PEER_INPUT]
    return f"{rank}->{peer}" if kind[1] == "send" else f"{peer}->{rank}"


def kernel_call_name(kernel: str, collective: str | None) -> str:
    """The name of a communication kernel without a host range: what the range would be called."""
    if collective is not None and kernels.classify(kernel).rule == "nccl":
        return f"nccl:{collective}"
    if collective is not None:
        return collective
    return re.split(r"[(<]", kernel.removeprefix("void "))[0] or kernel
