"""The kernels whose class or Tensor Core use nothing shows, each with a rule to fill in.

Definitions: ``docs/metrics.md#what-is-not-recognized``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.kernel_kinds import RecognizedBy, kernel_name_kinds
from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.kernel_dtypes import split_parameters
from torch_tb_profiler.knowledge.user_rules import rule_text
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.filling import Rows, fill, microseconds, text
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NO_LAUNCHER = "Its launch was not recorded, or is outside all operators and ranges of its thread."
NO_COMPANY = "No recognized kernel ran on its streams."
_IS_KERNEL = pl.col("category") == Category.KERNEL
_PLAIN_ARGUMENTS = re.compile(r"(\([\w: ]+\))?-?\w+(, (\([\w: ]+\))?-?\w+)*>")
"""Template arguments up to the end: words and numbers, also ``(lab::Mode)1`` of an enumeration."""

MAX_COMPARED = 2000
"""Of more kernels each rule has the whole name: to compare all names would take seconds."""

CLASS, COMMUNICATION, TENSOR_CORES = "class", "communication", "Tensor Core use"


def _rules(rows: Rows) -> pl.Series:
    """Per row the rule to copy; the same one for variants of a function template."""
    trace, known = rows.trace, kernel_name_kinds(rows.trace)
    own = {
        code: "" if unknown_class else known.kinds[known.index[code]].kind
        for code, unknown_class in zip(
            rows["name_code"].to_list(), rows["unknown_class"], strict=True
        )
    }
    every = trace.device_work.filter(_IS_KERNEL)["name_code"].unique().to_list()
    category = {}
    if len(every) <= MAX_COMPARED:
        category = {demangled(str(trace.strings[code])): own.get(code) for code in every}
    texts = []
    for code, of_row in own.items():
        match, is_whole = _match(demangled(str(trace.strings[code])), category)
        texts.append(rule_text(match, of_row, is_whole=is_whole))
    return pl.Series(texts, dtype=pl.String)


def _match(name: str, category: Mapping[str, str | None]) -> tuple[str, bool]:
    """What the rule of a kernel looks for: its name without result and parameters; of a function
    template whose arguments are numbers and plain types, the name of the template, if all kernels
    of the recording that contain it lack the same. And whether that is the whole name: where other
    kernels contain it too, or there are too many to know.

    Args:
        name: The demangled name.
        category: Demangled name → the category in its rule, for all kernels; None for those that
            are recognized. Empty: there are too many.
    """
    text = split_parameters(name)[0].removeprefix("void ") or name
    template, bracket, arguments = text.partition("<")
    if category and bracket and _PLAIN_ARGUMENTS.fullmatch(arguments):
        shorter = template + bracket
        if {known for other, known in category.items() if shorter in other} == {category[name]}:
            return shorter, False
    matches = {known for other, known in category.items() if text in other}
    return text, matches != {category.get(name)}


UNRECOGNIZED = TableSpec(
    "unrecognized",
    "Unrecognized kernels",
    "One row per kernel whose class or Tensor Core use is unknown: neither its name nor the "
    "operator that launched it shows it. Copy its rule into your file of rules and fill in what is "
    "missing: the rule then holds in every view.",
    (
        Column("name", "Name", "string", None, "Name of the kernel.", value=text("name_code")),
        Column(
            "unknown",
            "Unknown",
            "string",
            None,
            "What is unknown of it: its class; if several ranks took part, whether it "
            "communicates; whether it uses Tensor Cores (matrix units).",
        ),
        Column("calls", "Calls", "integer", "count", "Number of executions.", additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Summed duration.",
            additive=True,
            value=microseconds("total_ns"),
        ),
        Column(
            "kernel_time_pct",
            "Share of Kernel Time",
            "number",
            "pct",
            "Total as share of the kernel time of the selection.",
            additive=True,
            null_reason=NO_KERNEL_TIME,
        ),
        Column(
            "launched_by",
            "Launched by",
            "string",
            None,
            "Innermost operator or range around its launches; of several the one with most time.",
            value=text("around_code"),
            null_reason=lambda trace: missing_reason(trace, "launches", NO_LAUNCHER),
        ),
        Column(
            "stream_communication_pct",
            "Communication on its Streams",
            "number",
            "pct",
            "Share of communication in the time of the recognized kernels on the streams that it "
            "ran on. Collectives often have streams of their own.",
            null_reason=NO_COMPANY,
        ),
        Column(
            "rule",
            "Rule",
            "string",
            None,
            "A rule for it in TOML, to be filled in.",
            hidden=True,
            value=_rules,
        ),
        *OTHER_NAMES,
    ),
    sort="-total_us,name",
    is_summary=True,
    when_empty="All kernels of the selection are recognized.",
)


def unrecognized_table(trace: Trace, calls: pl.DataFrame) -> Table:
    """The rows of :data:`UNRECOGNIZED`.

    Args:
        trace: The trace.
        calls: The selected rows of ``kernel_calls``.
    """
    whole_ns = int(calls["dur_ns"].sum())
    asks = pl.col("unknown_class")
    kind = device_terms(trace)
    if kind is None or not kind.no_matrix_units:  # a rule by name could say it
        asks |= pl.col("tensor_core") == codes.UNKNOWN
    chosen = calls.filter(asks)
    by_launcher = (
        chosen.group_by("name_code", "around_code", maintain_order=True)
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", descending=True, maintain_order=True)
        .group_by("name_code", maintain_order=True)
        .agg(pl.col("around_code").first())
    )
    groups = (
        chosen.group_by("name_code", maintain_order=True)
        .agg(
            pl.col("unknown_class").any(),
            pl.col("may_communicate").any(),
            (pl.col("tensor_core") == codes.UNKNOWN).any().alias("unknown_use"),
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("dur_ns").sum().alias("total_ns"),
        )
        .join(by_launcher, on="name_code", how="left", maintain_order="left")
        .join(_company(calls, chosen), on="name_code", how="left", maintain_order="left")
        .with_columns(
            unknown=pl.concat_str(
                pl.when("unknown_class").then(pl.lit(CLASS)),
                pl.when("may_communicate").then(pl.lit(COMMUNICATION)),
                pl.when("unknown_use").then(pl.lit(TENSOR_CORES)),
                separator=", ",
                ignore_nulls=True,
            ),
            kernel_time_pct=pl.when(whole_ns > 0).then(pl.col("total_ns") / max(whole_ns, 1) * 100),
        )
    )
    return in_default_order(fill(UNRECOGNIZED, Rows(trace, groups)))


def _company(calls: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Per name of ``chosen`` the share of communication among the recognized kernels of its
    streams, in %; null where there are none."""
    stream = ["device", "stream"]
    recognized = calls.filter(pl.col("recognized_by") != RecognizedBy.NOTHING)
    of_streams = recognized.group_by(stream).agg(
        pl.col("dur_ns").sum().alias("known_ns"),
        pl.col("dur_ns").filter("is_communication").sum().alias("communication_ns"),
    )
    known, communication = pl.col("known_ns").sum(), pl.col("communication_ns").sum()
    return (
        chosen.select("name_code", *stream)
        .unique()
        .join(of_streams, on=stream, how="left", nulls_equal=True)
        .group_by("name_code")
        .agg(pl.when(known > 0).then(communication / known * 100).alias("stream_communication_pct"))
    )
