"""FLOPs, bytes and source of generated kernels, as slices state them in their arguments.

Inductor writes ``kernel_flop``, ``kernel_num_gb`` and ``kernel_file`` into the launches of Triton
kernels; tools that count FLOPs write ``flops``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import DecodedArguments
from torch_tb_profiler.importers.kineto.graph_annotations import node_annotations
from torch_tb_profiler.importers.kineto.structs import DEVICE_MARKS, HOST_MARKS, STATED_FIELDS
from torch_tb_profiler.importers.kineto.values import Interner, float_column, text_codes
from torch_tb_profiler.trace.columns import STATED_COLUMNS, ColumnArrays, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

GIGA = 1e9
MAX_AMOUNT = 1e19
"""FLOPs or bytes of one call: hours on the fastest device."""


def stated_table(
    args: DecodedArguments, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays | None:
    """The rows of ``stated``, one per slice that states anything; None if none does.

    Few slices do, so the fields other than the marks are decoded only for these.
    """
    annotations = dict(node_annotations(args))
    marks = [args.rows_with(mark) for mark in _MARKS if args.has_field(mark)]
    marked = np.flatnonzero(np.logical_or.reduce(marks)).tolist() if marks else []
    parts = [_decoded(args, marked, annotations, strings, quality)] if marked else []
    if annotations:
        parts.append(_annotated(annotations, strings))
    if not parts:
        return None
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**table, "slice": rows[table["slice"]].astype(np.int64)}


def _decoded(
    args: DecodedArguments,
    marked: list[int],
    annotations: dict[int, str],
    strings: Interner,
    quality: QualityReport,
) -> ColumnArrays:
    """The statements of some slices, by index into ``args``; removes their annotations from
    ``annotations``."""
    given = decode_args(structs.STATED_ARGS, args.raws(marked), quality)

    def floats(name: str) -> Float64:
        return float_column([getattr(each, name) for each in given], quality, _key(name))

    flops, kernel_flop = floats("flops"), floats("kernel_flop")
    texts = {name: [_text(getattr(each, name)) for each in given] for name in _TEXTS}
    texts["kernel_kwargs"] = [_launch_options(each) for each in given]
    annotation = zip(marked, texts["annotation"], strict=True)
    texts["annotation"] = [annotations.pop(row, written) for row, written in annotation]
    return {
        "slice": np.array(marked, np.int64),
        "flops": _plausible(np.where(np.isnan(flops), kernel_flop, flops)),
        "bytes": _plausible(floats("kernel_num_gb") * GIGA),
        **{f"{name}_code": text_codes(written, strings) for name, written in texts.items()},
    }


def _annotated(annotations: dict[int, str], strings: Interner) -> ColumnArrays:
    """Slices that state only the annotation of their node."""
    absent = {
        name: np.full(len(annotations), np.nan if dtype is np.float64 else -1, dtype)
        for name, dtype in STATED_COLUMNS.items()
    }
    return {
        **absent,
        "slice": np.array(list(annotations), np.int64),
        "annotation_code": text_codes(list(annotations.values()), strings),
    }


_MARKS = tuple(dict.fromkeys((*HOST_MARKS, *DEVICE_MARKS)))
_TEXTS = ("kernel_file", "kernel_kwargs", "annotation", "stack")


def _launch_options(given: Any) -> Any:
    """The constants that a Triton kernel was compiled with, including warps and stages."""
    options = [_text(given.kernel_kwargs)] if given.kernel_kwargs else []
    for name in structs.TRITON_FIELDS:
        value = getattr(given, name)
        if type(value) is int and not any(f"{name}=" in str(option) for option in options):
            options.append(f"{name}={value}")
    return ",".join(map(str, options)) or None


def _key(name: str) -> str:
    return STATED_FIELDS[name].key


def _plausible(values: Float64) -> Float64:
    """Plausible amounts: finite, above 0 (Inductor writes 0 for unknown FLOPs), and at most
    :data:`MAX_AMOUNT`; others become NaN."""
    return np.where(np.isfinite(values) & (values > 0) & (values <= MAX_AMOUNT), values, np.nan)


def _text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
