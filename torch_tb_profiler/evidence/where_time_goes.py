"""Where the time goes, for recordings in which no check finds anything that costs time: the kinds
and the names with the most device time; of recordings without device work those of the host.

It is the first line of such a recording: a person never sees a list of findings that says nothing
about time.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.operators.by_name import operators_by_name
from torch_tb_profiler.analysis.recording.device_terms import device_word
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_name_kinds
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.analysis.steps.iterations.split import has_recorded_steps, split_of
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Spot, plain_evidence, shorten
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table
from torch_tb_profiler.knowledge.kernels import spoken_kind
from torch_tb_profiler.knowledge.operator_types import operator_types
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, Category
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, Note, TableSpec
from torch_tb_profiler.views.shares import of_whole

CODE = "where_time_goes"
NAMED = 3
"""Kinds and names that the sentence has."""
MAX_ROWS = 10
MAX_NAME_CHARS = 80
"""Of a name in the sentence; the evidence has the whole."""
LEAST_OPERATORS_PCT = 25.0
"""Operators that run for less of the steps say little of the host: then all it does counts."""
TITLE = "Where the time goes"
EVIDENCE = TableSpec(
    CODE,
    TITLE,
    "The names with the most time; shares of the time of all names.",
    (
        Column("name", "Name", "string", None, "Kernel, copy, operator, call or range."),
        Column("kind", "Kind", "string", None, "What it does."),
        CALLS,
        TOTAL_US,
        Column("share_pct", "Share", "number", "pct", "Share of the time of all names."),
    ),
)
REASONS = {"kind": "No rule knows what it does.", "share_pct": "Nothing has a duration."}

KERNELS = {"view": "kernels", "table": "kernels", "sort": "-total_us"}
OPERATORS = {"view": "operators", "table": "operators", "sort": "-host_self_us"}
HOST = tuple(
    category
    for category in Category
    if category not in (*DEVICE_CATEGORIES, Category.STEP, Category.SPAN)
)
OTHER_DEVICE_ROWS = (Category.DEVICE_OTHER, Category.DEVICE_ANNOTATION)

_KINDS_OF_WORK = {
    Category.MEMCPY: "copies",
    Category.MEMSET: "memory sets",
    Category.DEVICE_OTHER: "other device work",
}


def where_time_goes(context: Context) -> Note | None:
    """The note; None where nothing in the selection has a duration, or the recording is of memory
    and not of execution.

    Raises:
        SelectionError: the selection makes no sense for the trace.
    """
    if Role.OTHER in unknown_roles(context.trace):
        return None
    has_work = not context.work.is_empty()
    operators_pct = _operators_pct(context)
    by_operator = _operator_names(context) if operators_pct >= LEAST_OPERATORS_PCT else None
    for names, intro, source in (
        (_device_names(context) if has_work else None, _device_sentence, KERNELS),
        (by_operator, partial(_operators_sentence, operators_pct), OPERATORS),
        (_slice_names(context, HOST), _host_sentence, None),
        (_slice_names(context, OTHER_DEVICE_ROWS), _other_sentence, None),
    ):
        if names is None or not int(names["dur_ns"].sum()):
            continue
        text = f"{intro(context)} {_shares(names)}"
        rows = build_table(EVIDENCE, names.head(MAX_ROWS), REASONS)
        spot = _longest(context, int(names["name_code"][0]))
        return Note("advice", CODE, "info", text, plain_evidence(TITLE, rows, source, spot))
    return None


def _with_shares(names: pl.DataFrame) -> pl.DataFrame:
    """Names (columns name, kind, calls, dur_ns), the longest first, with times and shares."""
    names = names.filter(pl.col("dur_ns") > 0).sort("dur_ns", "name", descending=[True, False])
    return names.with_columns(
        total_us=microseconds(names["dur_ns"]),
        share_pct=of_whole(names["dur_ns"], int(names["dur_ns"].sum())),
    )


def _device_names(context: Context) -> pl.DataFrame:
    """The names of the device work in the steps."""
    groups = context.work.group_by("name_code", "category", maintain_order=True).agg(
        pl.len().alias("calls"),
        pl.col("dur_ns").sum(),
        pl.col("is_communication").any(),
        pl.col("is_kernel").any(),
    )
    known = kernel_name_kinds(context.trace)
    kinds = [known.kinds[index].kind for index in known.index[groups["name_code"].to_numpy()]]
    rows = zip(kinds, groups["category"], groups["is_communication"], strict=True)
    return _with_shares(
        groups.with_columns(
            name=pl.Series(kernel_names(context.trace).short(groups["name_code"])).fill_null(
                context.texts(groups["name_code"])
            ),
            kind=pl.Series([_kind_of_work(*row) for row in rows], dtype=pl.String),
        )
    )


def _kind_of_work(kind: str, category: int, communicates: bool) -> str | None:
    if communicates:
        return "communication"
    if category != Category.KERNEL:
        return _KINDS_OF_WORK.get(Category(category))
    return spoken_kind(kind)


def _operator_names(context: Context) -> pl.DataFrame | None:
    """The operators of the selection by their own host time; None without operators."""
    groups = operators_by_name(context.trace, context.selection)
    if groups.is_empty():
        return None
    names = context.texts(groups["name_code"])
    types = operator_types(names.to_list())
    kinds = [None if kind is None else spoken_kind(kind) for kind in types]
    return _with_shares(
        groups.select("name_code", "calls", dur_ns="host_self_ns").with_columns(
            name=names, kind=pl.Series(kinds, dtype=pl.String)
        )
    )


def _slice_names(context: Context, categories: tuple[Category, ...]) -> pl.DataFrame:
    """The slices of some categories by their own time."""
    slices = context.trace.slices
    parent, dur = indices(slices["parent"]), slices["dur_ns"].to_numpy()
    inner = parent >= 0
    inside_ns = np.bincount(parent[inner], dur[inner], len(dur)).astype(np.int64)
    is_meant = np.isin(slices["category"].to_numpy(), categories)
    chosen = np.flatnonzero(is_meant & slice_mask(context.trace, context.selection))
    frame = pl.DataFrame(
        {
            "name_code": slices["name_code"].to_numpy()[chosen],
            "dur_ns": np.maximum(dur - inside_ns, 0)[chosen],
        }
    )
    groups = frame.group_by("name_code", maintain_order=True).agg(
        pl.len().alias("calls"), pl.col("dur_ns").sum()
    )
    names = context.texts(groups["name_code"])
    return _with_shares(groups.with_columns(name=names, kind=pl.lit(None, pl.String)))


def _longest(context: Context, name_code: int) -> Spot | None:
    """The longest slice of a name that starts in the steps."""
    slices = context.trace.slices.select("id", "name_code", "start_ns", "dur_ns")
    slices = slices.filter(pl.col("name_code") == name_code)
    slices = slices.filter(pl.Series(context.inside(slices["start_ns"].to_numpy())))
    if slices.is_empty():
        return None
    start_ns, dur_ns, slice_id = slices.sort("dur_ns").select("start_ns", "dur_ns", "id").row(-1)
    return context.spot(start_ns, start_ns + dur_ns, slice_id)


def _whole(context: Context) -> str:
    """``"the mean step of 12.9 ms"``, or that there are no steps."""
    length = duration_text(context.step_ns / NS_PER_US)
    is_cut = split_of(context.trace).by.kind != "steps"
    if not is_cut and not has_recorded_steps(context.trace):
        return f"the {length} of the recording"
    return f"a step of {length}" if context.step_count == 1 else f"the mean step of {length}"


def _device_sentence(context: Context) -> str:
    work = context.work
    busy_pct = []
    for device in work["device"].unique().to_list():
        same = pl.col("device").is_null() if device is None else pl.col("device") == device
        rows = work.filter(same).select("start_ns", "dur_ns").sort("start_ns")
        start = rows["start_ns"].to_numpy()
        busy = context.within_steps(union(start, start + rows["dur_ns"].to_numpy()))
        busy_pct.append(total(busy) / (context.step_ns * context.step_count) * 100)
    device = device_word(context.trace)
    if len(busy_pct) == 1:
        return f"The {device} runs kernels or copies for {busy_pct[0]:.0f} % of {_whole(context)}."
    least, most = min(busy_pct), max(busy_pct)
    share = f"{least:.0f} %" if round(least) == round(most) else f"{least:.0f} to {most:.0f} %"
    each = f"Each of {len(busy_pct)} {device}s"
    return f"{each} runs kernels or copies for {share} of {_whole(context)}."


def _operators_pct(context: Context) -> float:
    """The share of the steps in which the host runs operators."""
    slices = context.trace.slices.filter(pl.col("category") == Category.OPERATOR)
    start = slices["start_ns"].to_numpy()
    running = context.within_steps(union(start, start + slices["dur_ns"].to_numpy()))
    return context.share_pct(context.per_step_ns(running))


def _operators_sentence(share_pct: float, context: Context) -> str:
    return (
        f"{_no_device_work(context)} Operators of the host run for {share_pct:.0f} % of "
        f"{_whole(context)}."
    )


def _host_sentence(context: Context) -> str:
    return f"{_no_device_work(context)} This is what the host does in {_whole(context)}."


def _no_device_work(context: Context) -> str:
    if context.work.is_empty():
        return "No device work is recorded."
    return "The device work of the recording has no duration."


def _other_sentence(context: Context) -> str:
    return (
        f"No kernel, copy, operator or call is recorded in {_whole(context)}, only rows whose kind "
        "is not known."
    )


def _shares(names: pl.DataFrame) -> str:
    """The largest kinds and names with their shares."""
    kinds = (
        names.drop_nulls("kind")
        .group_by("kind", maintain_order=True)
        .agg(pl.col("share_pct").sum())
        .sort("share_pct", descending=True, maintain_order=True)
        .head(NAMED)
    )
    by_kind = ", ".join(
        f"{kind} {share:.0f} %" for kind, share in kinds.iter_rows() if round(share) >= 1
    )
    by_name = ", ".join(
        f"{_cut(name)} {share:.0f} % ({calls:,}×)"
        for name, share, calls in names.head(NAMED).select("name", "share_pct", "calls").iter_rows()
        if round(share) >= 1
    )
    unknown_pct = float(names.filter(pl.col("kind").is_null())["share_pct"].sum())
    unknown = f", not recognized {unknown_pct:.0f} %" if by_kind and unknown_pct >= 1 else ""
    first = f"By kind: {by_kind}{unknown}. " if by_kind else ""
    return f"{first}Most time: {by_name}."


def _cut(name: str) -> str:
    """A name as the sentence has it."""
    line = str(shorten(name))
    return line if len(line) <= MAX_NAME_CHARS else f"{line[:MAX_NAME_CHARS]}…"
