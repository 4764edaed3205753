"""Which dimension of the parallel strategy each process group divides the job along.

What decides, the first that does (``docs/views-strategy.md#dimensions``): the strategy that people
give; the name of the group; its traffic, where needed with its members. Groups of the same size and
stride are one family, decided together. Where nothing decides, the dimension is null with a reason.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from operator import is_
from typing import Any, Literal

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.analysis.communication.records import Records, records
from torch_tb_profiler.analysis.parallel.groups import process_groups
from torch_tb_profiler.analysis.parallel.layout import ParallelLayout, parse_layout
from torch_tb_profiler.analysis.parallel.traffic import group_traffic, runs_expert_kernels
from torch_tb_profiler.knowledge.parallel import Dimension, name_rule, parallel_file
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

_Shape = tuple[int | None, int | None]
"""Size and stride."""

Source = Literal["given", "name", "traffic", "members"]

DIMENSIONS = pl.Schema(
    {
        "group_key": pl.String(),  # as in records; null for calls in which no group is named
        "group": pl.String(),  # label
        "dimension": pl.String(),
        "source": pl.String(),  # what decided
        "is_axis": pl.Boolean(),  # whether the groups divide the ranks along that dimension alone
        "reason": pl.String(),  # why there is no dimension
        "size": pl.Int64(),
        "ranks": pl.List(pl.Int64),  # null where unknown
    }
)
"""One row per process group."""

ONE_RANK = "one rank is nothing to divide"
SPANS = "its ranks differ in several dimensions of the given strategy"
MEMBERS_UNKNOWN = "its members are unknown"
WHOLE_JOB = "all ranks of a job that its other groups divide"
NO_CALLS = "its name does not say, and it has no calls"
SCALARS = "it only moves single numbers, such as the norm of gradients"
UNDECIDED = "neither its name nor its calls say"
EQUAL_ALL_TO_ALL = "all-to-alls of equal sizes: experts or context (Ulysses)"
NO_GROUP = "the recording does not name the group of these calls"


class _Verdict(Struct, frozen=True):
    dimension: Dimension | None
    source: Source | None
    axis: Literal["yes", "else", "no"] = "no"
    reason: str | None = None


_BY_LAYERS = _Verdict("tensor", "traffic", axis="yes")
"""Of all-reduces of equal size in every layer."""


def job_size(traces: Mapping[str, Trace]) -> int | None:
    """Number of ranks of the job; None where no recording declares it."""
    sizes = (world_size(trace) for trace in traces.values())
    return max((size for size in sizes if size is not None), default=None)


def group_dimensions(traces: Mapping[str, Trace], given: str | None = None) -> pl.DataFrame:
    """The dimension of each process group of a job, as :data:`DIMENSIONS`.

    Args:
        traces: The recordings of the job, or their summaries.
        given: The strategy as people give it (:mod:`torch_tb_profiler.analysis.parallel.layout`).

    Raises:
        SelectionError: ``given`` is no strategy, or does not fit the world size.
    """
    parts = [records(trace) for trace in traces.values()]
    if not parts:
        return _dimensions(traces, given)
    last = _last_dimensions(next(iter(traces.values())))
    if last.result is not None:
        known, known_given, dimensions = last.result
        if given == known_given and len(known) == len(parts) and all(map(is_, known, parts)):
            return dimensions
    dimensions = _dimensions(traces, given)
    last.result = (parts, given, dimensions)
    return dimensions


class _LastDimensions(Struct, eq=False):
    """The last result with what it was computed from; one attribute, as several threads read and
    write it."""

    result: tuple[list[Records], str | None, pl.DataFrame] | None = None


@per_split
def _last_dimensions(_trace: Trace) -> _LastDimensions:
    """The cache that the first trace of a run holds: a view asks several times."""
    return _LastDimensions()


def _dimensions(traces: Mapping[str, Trace], given: str | None) -> pl.DataFrame:
    ranks = job_size(traces)
    layout = parse_layout(given, ranks) if given and given.strip() else None
    traffic = {row["group_key"]: row for row in group_traffic(traces).iter_rows(named=True)}
    groups = process_groups(traces).to_dicts()
    if layout is not None:
        verdicts = [_given(group, layout, traffic.get(group["group_key"])) for group in groups]
    else:
        verdicts = _recognized(groups, traffic, ranks, runs_expert_kernels(traces))
    if None in traffic:
        groups.append(dict.fromkeys(("group_key", "group", "size", "ranks")))
        verdicts.append(_of_unnamed(layout))
    return pl.DataFrame(
        {
            **{key: [group[key] for group in groups] for key in ("group_key", "group")},
            "dimension": [verdict.dimension for verdict in verdicts],
            "source": [verdict.source for verdict in verdicts],
            "is_axis": _axes(groups, verdicts),
            "reason": [verdict.reason for verdict in verdicts],
            **{key: [group[key] for group in groups] for key in ("size", "ranks")},
        },
        schema=DIMENSIONS,
    )


def _axes(groups: Sequence[Mapping[str, Any]], verdicts: Sequence[_Verdict]) -> list[bool]:
    """Which groups divide the ranks along their dimension alone."""
    alone = {
        verdict.dimension
        for group, verdict in zip(groups, verdicts, strict=True)
        if verdict.axis == "yes" and group["size"] != 1
    }
    return [
        verdict.axis == "yes"
        or (verdict.axis == "else" and not alone & {verdict.dimension, "context"})
        for verdict in verdicts
    ]


def _given(
    group: Mapping[str, Any], layout: ParallelLayout, calls: Mapping[str, Any] | None
) -> _Verdict:
    if group["size"] == 1:
        return _Verdict(None, None, reason=ONE_RANK)
    if group["ranks"] is None:
        return _Verdict(None, None, reason=MEMBERS_UNKNOWN)
    tokens = calls is not None and calls["all_to_all"] + calls["expert_kernels"] > 0
    dimension = layout.dimension(group["ranks"], exchanges_tokens=tokens)
    if dimension is None:
        return _Verdict(None, None, reason=SPANS)
    return _Verdict(dimension, "given", axis="yes")


def _of_unnamed(layout: ParallelLayout | None) -> _Verdict:
    """Of calls in which no group is named: the only dimension that a given strategy has."""
    if layout is not None and layout.experts == 1:
        divided = [name for name, size in layout.sizes.items() if size > 1]
        if len(divided) == 1:
            return _Verdict(parallel_file().names[divided[0]], "given")
    return _Verdict(None, None, reason=NO_GROUP)


def _recognized(
    groups: Sequence[Mapping[str, Any]],
    traffic: Mapping[str | None, Mapping[str, Any]],
    job_ranks: int | None,
    runs_experts: bool,
) -> list[_Verdict]:
    """The verdicts from names, then from what calls and members of a family say together: groups of
    one size and stride with the same kind of calls."""
    shapes = [(group["size"], _stride(group["ranks"])) for group in groups]
    calls = [traffic.get(group["group_key"]) for group in groups]
    verdicts = {
        number: verdict for number, group in enumerate(groups) if (verdict := _named(group))
    }
    is_divided = any(verdict.dimension for verdict in verdicts.values())
    is_divided |= len({shape for shape in shapes if shape[0] != 1}) > 1
    largest = max((row["largest_bytes"] or 0 for row in traffic.values()), default=0)
    whole: list[int] = []
    families: defaultdict[tuple[_Shape, str | None], list[int]] = defaultdict(list)
    for number in itertools.filterfalse(verdicts.__contains__, range(len(groups))):
        size, kind = shapes[number][0], _main_kind(calls[number])
        if size == 1:
            verdicts[number] = _Verdict(None, None, reason=ONE_RANK)
        elif is_divided and size is not None and size == job_ranks:
            whole.append(number)
        elif kind is None:
            verdicts[number] = _Verdict(None, None, reason=NO_CALLS)
        elif _moves_scalars(calls[number], largest):
            verdicts[number] = _Verdict(None, None, reason=SCALARS)
        else:
            families[shapes[number], kind].append(number)
    for ((size, stride), _), numbers in families.items():
        rows = [row for number in numbers if (row := calls[number])]
        verdicts |= dict.fromkeys(numbers, _by_traffic(rows, size, stride, is_divided))
    verdicts |= _one_tensor_family(list(families.values()), verdicts, calls)
    open_families = [
        each for each in families.values() if verdicts[each[0]].reason == EQUAL_ALL_TO_ALL
    ]
    if runs_experts and len(open_families) == 1:
        verdicts |= dict.fromkeys(open_families[0], _Verdict("expert", "traffic", axis="yes"))
    others = {verdict.dimension for verdict in verdicts.values() if _divides(verdict)}
    for number in whole:
        verdicts[number] = _of_whole(calls[number], largest, job_ranks, others)
    return [
        _like_others(verdicts[number], shape, shapes, verdicts)
        for number, shape in enumerate(shapes)
    ]


def _moves_scalars(row: Mapping[str, Any] | None, largest: int) -> bool:
    """Whether the calls of a group carry single numbers, in a job whose others carry more.

    Args:
        row: Its traffic.
        largest: Bytes of the largest call of the job.
    """
    if row is None or row["largest_bytes"] is None:
        return False
    return int(row["largest_bytes"]) <= parallel_file().traffic.scalar_bytes < largest


def _divides(verdict: _Verdict) -> bool:
    """Whether a group, by its verdict, has a dimension, or calls whose dimension is open."""
    return verdict.reason not in (ONE_RANK, NO_CALLS, SCALARS)


def _one_tensor_family(
    families: Sequence[Sequence[int]],
    verdicts: Mapping[int, _Verdict],
    calls: Sequence[Mapping[str, Any] | None],
) -> dict[int, _Verdict]:
    """Changed verdicts where the all-reduces of several families look like those of tensor
    parallelism: a mesh has it once. It talks in every layer of every microbatch, and so most often;
    equal buckets of gradients are of data parallelism."""

    def often(numbers: Sequence[int]) -> float:
        rows = [row for number in numbers if (row := calls[number])]
        return max((row["all_reduces_per_step"] or 0.0 for row in rows), default=0.0)

    alike = [each for each in families if verdicts[each[0]] == _BY_LAYERS]
    alike.sort(key=often)
    data = _Verdict("data", "traffic", axis="yes")
    return {number: data for numbers in alike[:-1] for number in numbers}


def _of_whole(
    row: Mapping[str, Any] | None,
    largest: int,
    job_ranks: int | None,
    others: Set[Dimension | None],
) -> _Verdict:
    """The verdict of a group of all ranks of a job with other groups. Sizes of dimensions multiply
    to that of the job, so it is one only where the others are of experts, which divide the ranks
    of data parallelism again.

    Args:
        row: Its traffic.
        largest: Bytes of the largest call of the job.
        job_ranks: Number of ranks.
        others: Dimensions of the other groups; None among them where one is open.
    """
    if row is not None and others <= {"expert"} and not _moves_scalars(row, largest):
        verdict = _by_traffic([row], job_ranks, None, is_divided=True)
        if verdict.dimension in ("data", "sharded"):
            return verdict
    return _Verdict(None, None, reason=WHOLE_JOB)


def _like_others(
    verdict: _Verdict,
    shape: _Shape,
    shapes: Sequence[_Shape],
    verdicts: Mapping[int, _Verdict],
) -> _Verdict:
    """The verdict of a group whose calls are not recorded, where all others of its size and stride
    are of one dimension."""
    if verdict.reason != NO_CALLS or shape[1] is None:
        return verdict
    alike = {verdicts[number].dimension for number, other in enumerate(shapes) if other == shape}
    dimensions = alike - {None}
    if len(dimensions) != 1:
        return verdict
    return _Verdict(dimensions.pop(), "members", axis="yes")


def _main_kind(row: Mapping[str, Any] | None) -> str | None:
    """What most of the calls in a group are."""
    if row is None or not row["calls"]:
        return None
    counts = {kind: row[kind] for kind in ("peer_to_peer", "all_to_all", "all_reduce")}
    counts["expert_kernels"] = row["expert_kernels"]
    counts["gathers"] = row["all_gather"] + row["reduce_scatter"]
    return max(counts, key=lambda kind: counts[kind])


def _named(group: Mapping[str, Any]) -> _Verdict | None:
    """What the description or name of a group says; None for nothing."""
    for text in (group["description"], group["name"]):
        rule = name_rule(text) if text else None
        if rule is not None and rule.dimension is None:
            return _Verdict(None, None, reason=f"its name stands for {rule.several}")
        if rule is not None:
            return _Verdict(rule.dimension, "name", axis=rule.axis)
    return None


def _stride(ranks: Sequence[int] | None) -> int | None:
    """The distance between neighbours among the ranks of a group; 0 for one rank, None where it is
    unknown or not the same everywhere."""
    if not ranks:
        return None
    steps = {after - before for before, after in itertools.pairwise(ranks)}
    return 0 if not steps else steps.pop() if len(steps) == 1 else None


def _by_traffic(
    rows: Sequence[Mapping[str, Any]], size: int | None, stride: int | None, is_divided: bool
) -> _Verdict:
    """The verdict of the calls of a family of groups.

    Args:
        rows: The traffic of its groups, with calls.
        size: Ranks of each group.
        stride: Distance of their ranks.
        is_divided: Whether the job has groups of other sizes or strides, too.
    """
    total: Counter[str] = Counter()
    for row in rows:
        total.update({key: value for key, value in row.items() if isinstance(value, int)})
    limits = parallel_file().traffic
    share = {key: 100 * count / total["calls"] for key, count in total.items()}
    if share["peer_to_peer"] >= limits.peer_to_peer_pct:
        ring = any(_is_ring(row["pairs"]) for row in rows)
        return _Verdict("context" if ring else "pipeline", "traffic", axis="yes")
    if total["expert_kernels"]:
        return _Verdict("expert", "traffic", axis="yes")
    if total["all_to_all"] and share["all_to_all"] >= limits.peer_to_peer_pct / 2:
        if total["all_to_all_sizes"] >= max(4 * total["all_to_all_steps"], total["all_to_all"] / 8):
            return _Verdict("expert", "traffic", axis="yes")
        return _Verdict(None, None, reason=EQUAL_ALL_TO_ALL)
    shares_node = stride == 1 and size is not None and size <= limits.tensor_size
    if total["reduce_scatter"] and total["all_gather"]:
        if shares_node and is_divided and _alternate(rows):
            return _Verdict("tensor", "members", axis="yes")
        return _Verdict("sharded", "traffic", axis="yes")
    if size is not None and total["all_gather"] and all(_scatters(row, size) for row in rows):
        return _Verdict("sharded", "traffic", axis="yes")
    if share["all_reduce"] >= limits.peer_to_peer_pct:
        per_step = max((row["all_reduces_per_step"] or 0 for row in rows), default=0)
        same = 100 * total["same_size"] / max(total["sized_all_reduces"], 1)
        by_layers = per_step >= limits.same_size_calls and same >= limits.same_size_pct
        return _BY_LAYERS if by_layers else _Verdict("data", "traffic", axis="yes")
    return _Verdict(None, None, reason=UNDECIDED)


def _alternate(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all-gathers and reduce-scatters take turns in every layer: those of activations,
    forward and backward. Sharded weights are gathered for all layers of a forward pass, or once
    per step, before the first gradients are scattered."""
    limits = parallel_file().traffic
    often = max((row["scatters_per_step"] or 0 for row in rows), default=0)
    run = max((row["longest_run"] or 0 for row in rows), default=0)
    return often >= limits.same_size_calls and run <= limits.longest_run


def _scatters(row: Mapping[str, Any], size: int) -> bool:
    """Whether all-reduces are of the whole of what all-gathers collect: gloo has no reduce-scatter,
    and a sharded model reduces all of a gradient there."""
    whole = {size * each for each in row["gathered_bytes"]}
    return bool(row["reduced_bytes"]) and set(row["reduced_bytes"]) <= whole


def _is_ring(pairs: Sequence[str]) -> bool:
    """Whether all ranks send round a circle in one direction: the blocks of ring attention. Stages
    of a pipeline send both ways, or the last sends nothing."""
    ends = [pair.partition("->")[::2] for pair in pairs]
    targets = dict(ends)
    if len(targets) < 3 or len(targets) < len(ends):
        return False
    at, steps = next(iter(targets)), 0
    while at in targets and steps <= len(targets):
        at, steps = targets[at], steps + 1
        if at == next(iter(targets)):
            return steps == len(targets)
    return False
