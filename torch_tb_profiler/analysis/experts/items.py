"""The work of layers of experts: kernels and collectives with their stage.

Kernels have the stage that their name says, else that of the operator that launched them, else they
are of no stage where a range of a layer is around their launch. A collective is a dispatch or a
combine by the name of its kernel, by the range or operator around it, or as an ``all_to_all`` of
a group of experts (``docs/views-experts.md#what-counts-as-work-of-experts``). Where a recording has
no kernels, operators of the host are the products.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.analysis.communication.records import Records, records
from torch_tb_profiler.analysis.experts.marks import EXPERT, ExpertMarks, expert_marks
from torch_tb_profiler.analysis.experts.stages import NONE, Stage, code
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    KernelNameKinds,
    kernel_kinds,
    kernel_name_kinds,
)
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import launched_in
from torch_tb_profiler.knowledge import experts
from torch_tb_profiler.knowledge.operator_types import operator_type
from torch_tb_profiler.knowledge.parallel import name_rule
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

EXCHANGES = (Stage.DISPATCH, Stage.COMBINE, Stage.EXCHANGE, Stage.NOTIFY)
"""The stages that move tokens between ranks."""

_PRODUCT_KINDS = frozenset({"gemm", "gemv", "other"})
_BOUNDARY_KINDS = frozenset({"attention", "normalization"})
"""Kernels of these kinds lie between layers of experts, never inside one."""

_ALL_TO_ALL = "all_to_all"
_GATHERED = ("all_gather", "reduce_scatter")
"""Dispatches that send every token to all ranks of the experts, and their combines."""


class ExpertItems(Struct, frozen=True, eq=False):
    """Work of experts, one element per kernel, range of a collective or operator; by ``order_ns``.

    Attributes:
        stage: :class:`~torch_tb_profiler.analysis.experts.stages.Stage` of each.
        order_ns: When it was launched, where all have a launch of their own; else when it began.
        start_ns: When it began.
        end_ns: When it ended.
        stream: Number of its stream, different for streams of different devices; -1 on the host.
        step: Row of ``trace.steps``, -1 for none.
        layer: The layer around it, as :meth:`ExpertMarks.layer_around`, -1 for none.
        operator: Slice of the operator that launched it and has a stage, -1 for none.
        host: Slice of the host that launched it, -1 for none.
        name: Code of its name; of a collective that of its kernel, or of the call.
        record: Row of the records of communication, -1 for work that is none.
        boundary_ns: Order of the kernels that lie between layers, ascending.
        boundary_stream: The stream of each of these.
        is_launch_order: Whether ``order_ns`` is that of launches.
    """

    stage: Int8
    order_ns: Int64
    start_ns: Int64
    end_ns: Int64
    stream: Int64
    step: Int64
    layer: Int64
    operator: Int64
    host: Int64
    name: Int64
    record: Int64
    boundary_ns: Int64
    boundary_stream: Int64
    is_launch_order: bool

    def __len__(self) -> int:
        return len(self.stage)

    def layer_slices(self, trace: Trace) -> Int64:
        """The slice of the range or module of each layer, -1 for none."""
        count = max(trace.slices.height, 1)
        return np.where(self.layer >= 0, self.layer % count, -1)


@per_split
def expert_items(trace: Trace) -> ExpertItems:
    """The work of experts of a trace."""
    marks = expert_marks(trace)
    work, work_stage, boundary = _device_items(trace, marks)
    of_range = _exchange_stages(trace, marks)
    device = trace.device_work
    work_slice = device["slice"].to_numpy()
    launch = launched_in(trace)
    computes_on_host = device.is_empty() and not marks.is_empty
    operators = _host_products(trace, marks) if computes_on_host else np.empty(0, np.int64)
    calls = records(trace)
    is_certain = len(work) or len(operators) or np.isin(of_range, EXCHANGES).any()
    # An all_to_all that could be anything is of interest only where there are experts.
    ranges = np.flatnonzero(of_range != NONE) if is_certain else np.empty(0, np.int64)
    call_host = _hosts_of_calls(trace, calls, launch)
    call_stream = _streams_of_calls(trace, calls)
    row = calls.record[ranges]
    slices = trace.slices
    host_start = slices["start_ns"].to_numpy()
    duration = slices["dur_ns"].to_numpy()
    host = np.concatenate((launch[work], call_host[row], operators))
    start = np.concatenate(
        (device["start_ns"].to_numpy()[work], calls.start_ns[ranges], host_start[operators])
    )
    end = np.concatenate(
        (
            device["start_ns"].to_numpy()[work] + device["dur_ns"].to_numpy()[work],
            calls.end_ns[ranges],
            host_start[operators] + duration[operators],
        )
    )
    boundary_host = launch[boundary]
    # Kernels of a graph share one launch, which says nothing of their order.
    launches = np.concatenate((launch[work], boundary_host))
    is_known = len(host) > 0 and min(host.min(), boundary_host.min(initial=0)) >= 0
    launched = bool(is_known) and len(distinct_values(launches)) == len(launches)
    order = host_start[host] if launched else start
    own = np.concatenate((work_slice[work], calls.frame["work"].to_numpy()[row], operators))
    device_start = device["start_ns"].to_numpy()
    boundary_order = host_start[boundary_host] if launched else device_start[boundary]
    boundary_stream = _streams(trace)[boundary]
    stages = np.concatenate(
        (work_stage, of_range[ranges], np.full(len(operators), Stage.PRODUCTS, np.int8))
    )
    by_boundary = np.argsort(boundary_order, kind="stable")
    by = np.lexsort((start, order))
    steps = indices(slices["step"])
    return ExpertItems(
        stage=stages[by],
        order_ns=order[by],
        start_ns=start[by],
        end_ns=end[by],
        stream=np.concatenate(
            (_streams(trace)[work], call_stream[row], np.full(len(operators), -1))
        )[by],
        step=steps[own][by],
        layer=marks.layer_around(trace, host)[by],
        operator=marks.operator_around(trace, host)[0][by],
        host=host[by],
        name=slices["name_code"].to_numpy()[own][by].astype(np.int64),
        record=np.concatenate((np.full(len(work), -1), row, np.full(len(operators), -1)))[
            by
        ].astype(np.int64),
        boundary_ns=boundary_order[by_boundary],
        boundary_stream=boundary_stream[by_boundary],
        is_launch_order=launched,
    )


def _device_items(trace: Trace, marks: ExpertMarks) -> tuple[Int64, Int8, Int64]:
    """Rows of device work that do not communicate and are of experts, their stage; and rows of the
    kernels that lie between layers (none where no work is of experts)."""
    device, kinds = trace.device_work, kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication)
    names = device["name_code"].to_numpy()[rows]
    stage = codes.map_names(trace, names, _kernel_stage, np.int8)
    if marks.is_empty and not (stage != NONE).any() and not _has_exchange(trace):
        return np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int64)
    kind_names = kernel_name_kinds(trace)
    is_product = _are_kinds(kind_names, names, _PRODUCT_KINDS)
    host = launched_in(trace)[rows]
    _, by_operator = marks.operator_around(trace, host)
    fits = (by_operator != Stage.PRODUCTS) | is_product
    stage = np.where((stage == NONE) & fits, by_operator, stage)
    _, by_range = marks.range_around(trace, host)
    inside = (marks.layer_around(trace, host) >= 0) | (by_range == EXPERT)
    in_expert = np.isin(by_range, (EXPERT, Stage.PRODUCTS)) & is_product
    stage = np.where((stage == NONE) & in_expert, np.int8(Stage.PRODUCTS), stage)
    stage = np.where((stage == NONE) & inside, np.int8(Stage.OTHER), stage)
    boundary = (stage == NONE) & _are_kinds(kind_names, names, _BOUNDARY_KINDS)
    chosen = stage != NONE
    return rows[chosen], stage[chosen].astype(np.int8), rows[boundary]


def _kernel_stage(name: str) -> int:
    return code(experts.kernel_stage(name))


def _are_kinds(kinds: KernelNameKinds, names: Int64, wanted: frozenset[str]) -> Bools:
    verdicts: Bools = kinds.verdicts(names, lambda kind: kind.kind in wanted) == codes.YES
    return verdicts


def _has_exchange(trace: Trace) -> bool:
    """Whether any collective could be of experts."""
    calls = records(trace).frame
    names = trace.slices["name_code"].to_numpy()[calls["work"].to_numpy()]
    by_name = codes.map_names(trace, names, _kernel_stage, np.int8) != NONE
    return bool(by_name.any() or (calls["collective"] == _ALL_TO_ALL).any())


def _exchange_stages(trace: Trace, marks: ExpertMarks) -> Int8:
    """The stage of each range of the records of communication."""
    calls = records(trace)
    frame = calls.frame
    slices = frame["slice"].to_numpy()
    names = trace.slices["name_code"].to_numpy()[frame["work"].to_numpy()]
    stage = codes.map_names(trace, names, _kernel_stage, np.int8)
    stage = np.where(np.isin(stage, EXCHANGES), stage, NONE)
    host = _hosts_of_calls(trace, calls, launched_in(trace))
    _, by_operator = marks.operator_around(trace, host)
    _, by_range = marks.range_around(trace, host)
    stated = np.where(np.isin(by_operator, EXCHANGES), by_operator, by_range)
    exchanges = (frame["collective"] == _ALL_TO_ALL).fill_null(value=False).to_numpy()
    labels = {label: _of_experts(label) for label in frame["group"].drop_nulls().unique()}
    unnamed = _of_unnamed(trace)
    verdicts = np.array([labels.get(each, unnamed) for each in frame["group"]], np.int8)
    inside = marks.layer_around(trace, host) >= 0
    by_group = np.select(
        [
            np.isin(stated, EXCHANGES) & (verdicts != codes.NO),
            (verdicts == codes.YES) | (inside & (verdicts != codes.NO)),
            verdicts == codes.UNKNOWN,
        ],
        [stated, np.full(len(slices), Stage.EXCHANGE), np.full(len(slices), Stage.UNDECIDED)],
        NONE,
    )
    of_call = np.where((stage == NONE) & exchanges, by_group, stage).astype(np.int8)
    gathers = frame["collective"].is_in(_GATHERED).fill_null(value=False).to_numpy()
    named = (verdicts == codes.YES) & frame["group"].is_not_null().to_numpy()
    of_call[(of_call == NONE) & gathers & named] = Stage.EXCHANGE
    of_range: Int8 = of_call[calls.record]
    return of_range


def _of_unnamed(trace: Trace) -> int:
    """The verdict of calls that name no group: of experts, where the job declares a group of
    experts and none of sequences, which exchange in the same way."""
    job = trace.meta.info.job
    groups = (job.groups or ()) if job is not None else ()
    texts = [text for group in groups for text in (group.description, group.name) if text]
    dimensions = {rule.dimension for text in texts if (rule := name_rule(text)) is not None}
    is_certain = "expert" in dimensions and "context" not in dimensions
    return codes.verdict(True if is_certain else None)


def _of_experts(label: str) -> int:
    """The verdict whether a process group divides experts, by ``"name (description)"``."""
    name, _, description = label.partition(" (")
    rules = (name_rule(text) for text in (description.removesuffix(")"), name) if text)
    rule = next(filter(None, rules), None)
    if rule is None or rule.dimension is None:
        return codes.UNKNOWN
    return codes.verdict(rule.dimension == "expert")


def _hosts_of_calls(trace: Trace, calls: Records, launch: Int64) -> Int64:
    """Per record the slice of the host where it was called; of a kernel alone its launch."""
    slices = calls.frame["slice"].to_numpy()
    row_of_slice = np.full(trace.slices.height + 1, -1, np.int64)
    row_of_slice[trace.device_work["slice"].to_numpy()] = np.arange(trace.device_work.height)
    row = row_of_slice[slices]
    return np.where(row >= 0, gather(launch, row), slices)


def _streams(trace: Trace) -> Int64:
    """Per row of device work the number of its stream among all of the trace."""
    device = indices(trace.device_work["device"]) + 1
    stream = indices(trace.device_work["stream"]) + 1
    pairs = pl.DataFrame({"device": device, "stream": stream}).select(
        pl.struct("device", "stream").rank("dense").cast(pl.Int64)
    )
    numbers: Int64 = pairs.to_series().to_numpy()
    return numbers


def _streams_of_calls(trace: Trace, calls: Records) -> Int64:
    """Per record the stream of its first kernel, -1 where it has none."""
    row_of_slice = np.full(trace.slices.height + 1, -1, np.int64)
    row_of_slice[trace.device_work["slice"].to_numpy()] = np.arange(trace.device_work.height)
    return gather(_streams(trace), row_of_slice[calls.frame["work"].to_numpy()])


def _host_products(trace: Trace, marks: ExpertMarks) -> Int64:
    """The operators that are products of experts, where the host computes them: those that are
    named so, and matrix products inside modules of experts."""
    named: Int64 = marks.operators[marks.operator_codes == Stage.PRODUCTS]
    operators = np.flatnonzero(trace.slices["category"].to_numpy() == Category.OPERATOR)
    names = trace.slices["name_code"].to_numpy()[operators]
    inside = operators[codes.names_match(trace, names, _is_product)]
    _, by_range = marks.range_around(trace, inside)
    parent = indices(trace.slices["parent"])
    inside = inside[np.isin(by_range, (EXPERT, Stage.PRODUCTS))]
    # Nodes of the backward pass around named products are called like products, too.
    products = np.union1d(named, np.setdiff1d(inside, with_ancestors(named, parent)))
    around = innermost_around_start(trace, products, parent[products])
    return products[around < 0]


def _is_product(name: str) -> bool:
    return operator_type(name) == "matrix_product"
