"""Kinds of kernels and operators per row, from their names: kernel, communication, Tensor Cores."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, with_ancestors
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.hlo_categories import hlo_texts
from torch_tb_profiler.analysis.recording.matrix_units import (
    recorded_matrix_use,
    unknown_matrix_units,
)
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.knowledge import communication, kernels, operators
from torch_tb_profiler.knowledge.hlo import hlo_kernel_kind
from torch_tb_profiler.knowledge.user_rules import kind_by_user
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

HOST_COMMUNICATION_CATEGORIES = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.ANNOTATION,
)
"""The host slices that may be communication (``docs/metrics.md#categories``)."""


class RecognizedBy(IntEnum):
    """The strongest source of what is known of a kernel: whether it moves data between devices,
    and what work it does.

    ``OPERATOR`` says only that it moves none: an operator of PyTorch's own launched it. Of copies
    and sets the category says all there is.
    """

    NOTHING = 0
    OPERATOR = 1
    NAME = 2
    RANGE = 3
    COLLECTIVE = 4
    USER_RULE = 5


class KernelKinds(Struct, frozen=True, eq=False):
    """Per row of ``trace.device_work``.

    Attributes:
        is_kernel: A kernel, neither copy nor set.
        is_communication: A kernel that moves data between devices: recognised by its name, by
            collective metadata, or (unknown name) because a communication range, or a call of
            ``c10d``, launched it directly (``docs/metrics.md#categories``).
        tensor_core: Verdict (``analysis.algebra.codes``) whether a kernel runs on
            matrix units, by its name, or where names do not show it as recorded; ``NO`` for copies,
            sets and communication, ``UNKNOWN`` for all kernels where nothing is recorded.
        recognized_by: :class:`RecognizedBy`; ``NAME`` for copies and memsets.
    """

    is_kernel: Bools
    is_communication: Bools
    tensor_core: Int8
    recognized_by: Int8


class KernelNameKinds(Struct, frozen=True, eq=False):
    """The kinds of a trace's kernels by name.

    Attributes:
        kinds: The distinct kinds.
        index: Per string of the trace the index of its kind in ``kinds``; 0, which is
            ``kernels.UNKNOWN_KERNEL``, for strings that are no name of a kernel.
    """

    kinds: list[kernels.KernelKind]
    index: npt.NDArray[np.int16]

    def verdicts(self, names: npt.NDArray[Any], rule: Callable[[kernels.KernelKind], int]) -> Int8:
        """``rule`` of the kind of each name code."""
        by_kind = np.array([rule(kind) for kind in self.kinds], np.int8)
        verdicts: Int8 = by_kind[self.index[names]]
        return verdicts


@per_trace
def kernel_name_kinds(trace: Trace) -> KernelNameKinds:
    """The kinds of all names of kernels, by the user's rules and else, in one batch, by ours; of
    HLO operations that no rule knows, by their category."""
    is_kernel = trace.device_work["category"] == Category.KERNEL
    present = trace.device_work["name_code"].filter(is_kernel).unique().to_numpy()
    names = [str(text) for text in trace.strings[present]]
    own_rules = user_rules(trace)
    kinds = [
        kind_by_user(own_rules, name) or kind
        for name, kind in zip(names, kernels.classify_all(names), strict=True)
    ]
    hlo = hlo_texts(trace)
    if hlo:
        kinds = [
            _hlo_kind(hlo.get(code, ())) or kind if kind.rule is None else kind
            for code, kind in zip(present.tolist(), kinds, strict=True)
        ]
    distinct = {kernels.UNKNOWN_KERNEL: 0}
    index = np.zeros(len(trace.strings), np.int16)
    index[present] = [distinct.setdefault(kind, len(distinct)) for kind in kinds]
    return KernelNameKinds(list(distinct), index)


def _hlo_kind(texts: tuple[str, ...]) -> kernels.KernelKind | None:
    return next(filter(None, map(hlo_kernel_kind, texts)), None)


@per_trace
def kernel_kinds(trace: Trace) -> KernelKinds:
    """The kinds of all device work."""
    work = trace.device_work
    is_kernel = work["category"].to_numpy() == Category.KERNEL
    rows = np.flatnonzero(is_kernel)
    names = work["name_code"].to_numpy()[rows]
    by_name = kernel_name_kinds(trace)
    tensor_core = np.full(len(is_kernel), codes.NO, np.int8)
    tensor_core[rows] = by_name.verdicts(names, lambda kind: codes.verdict(kind.tensor_core))
    is_named_so = by_name.verdicts(names, lambda kind: kind.communication) == codes.YES
    unknown = by_name.verdicts(names, lambda kind: kind.rule is None) == codes.YES
    by_user = by_name.verdicts(names, lambda kind: kind.by_user) == codes.YES
    node = indices(work["node"])[rows]
    communicates = communication_slices(trace)
    calls = _are_named(trace, node, HOST_COMMUNICATION_CATEGORIES, communication.is_wrapper)
    in_range = unknown & (np.append(communicates, False)[node] | calls)
    described = communicates[work["slice"].to_numpy()[rows]] & ~by_user
    is_communication = np.zeros(len(is_kernel), np.bool_)
    is_communication[rows] = is_named_so | described | in_range
    tensor_core[is_communication] = codes.NO
    local = _are_named(trace, node, (Category.OPERATOR,), communication.is_local_operator)
    recognized_by = np.full(len(is_kernel), RecognizedBy.NAME, np.int8)
    recognized_by[rows] = np.select(
        [by_user, described, in_range, ~unknown, local],
        [
            RecognizedBy.USER_RULE,
            RecognizedBy.COLLECTIVE,
            RecognizedBy.RANGE,
            RecognizedBy.NAME,
            RecognizedBy.OPERATOR,
        ],
        RecognizedBy.NOTHING,
    )
    kind = device_terms(trace)
    if kind is not None and kind.no_matrix_units:
        recorded = recorded_matrix_use(trace)
        tensor_core[is_kernel] = codes.UNKNOWN if recorded is None else recorded[is_kernel]
        tensor_core[is_communication] = codes.NO if recorded is not None else codes.UNKNOWN
    return KernelKinds(is_kernel, is_communication, tensor_core, recognized_by)


@per_trace
def unknown_classes(trace: Trace) -> Bools:
    """Per row of device work whether it is a kernel whose kind of work nothing tells: its name
    says nothing, or only who made it, and it does not communicate."""
    kinds = kernel_kinds(trace)
    names = trace.device_work["name_code"].to_numpy()
    unknown = kernel_name_kinds(trace).verdicts(
        names, lambda kind: kind.kind == kernels.OTHER and not kind.by_user
    )
    mask: Bools = kinds.is_kernel & ~kinds.is_communication & (unknown == codes.YES)
    return mask


def _are_named(
    trace: Trace, node: Int64, categories: Collection[Category], rule: Callable[[str], bool]
) -> Bools:
    """Per node (-1 for none) whether it is a slice of these categories whose name fulfils
    ``rule``."""
    known = np.flatnonzero(node >= 0)
    category = trace.slices["category"].to_numpy()[node[known]]
    known = known[np.isin(category, list(categories))]
    names = trace.slices["name_code"].to_numpy()[node[known]]
    mask = np.zeros(len(node), np.bool_)
    mask[known] = codes.names_match(trace, names, rule)
    return mask


@per_trace
def communication_slices(trace: Trace) -> Bools:
    """Per slice whether it is communication by its host name or its collective metadata; records
    that move no data (``init``, ``wait``) are not."""
    category = trace.slices["category"].to_numpy()
    mask = np.zeros(len(category), np.bool_)
    hosts = np.flatnonzero(np.isin(category, HOST_COMMUNICATION_CATEGORIES))
    names = trace.slices["name_code"].to_numpy()[hosts]
    mask[hosts] = codes.names_match(trace, names, communication.is_communication)
    mask[collective_slices(trace)] = True
    return mask


def collective_slices(trace: Trace) -> Int64:
    """Ids of the slices with metadata of a collective that moves data (``init`` and ``wait`` do
    not), in the order of ``trace.collectives``."""
    table = trace.collectives
    moves = codes.present_names_match(trace, table["collective_code"], _moves_data, absent=True)
    slices: Int64 = table["slice"].to_numpy()[moves]
    return slices


def _moves_data(name: str) -> bool:
    known = communication.entry(communication.collective(name) or "")
    return known is None or known.moves_data


@per_trace
def eligible_slices(trace: Trace) -> Int8:
    """Per slice the verdict whether it could use Tensor Cores; only nodes are meaningful.

    Yes if its name is eligible, if a node inside it is, or if it launched a kernel that uses them
    (``docs/metrics.md#operators``); else the verdict of its name. Unknown for operators of devices
    of which nothing is known about matrix units.
    """
    names = trace.slices["name_code"].to_numpy()
    category = trace.slices["category"].to_numpy()
    verdicts = np.full(len(names), codes.NO, np.int8)
    rows = np.flatnonzero(category == Category.OPERATOR)
    if unknown_matrix_units(trace) is not None:
        verdicts[rows] = codes.UNKNOWN
        return verdicts
    verdicts[rows] = codes.map_names(
        trace,
        names[rows],
        lambda name: codes.verdict(operators.tensor_core_eligible(name)),
        np.int8,
    )
    owner = indices(trace.device_work["owner"])
    used = owner[(kernel_kinds(trace).tensor_core == codes.YES) & (owner >= 0)]
    known = distinct_values(np.concatenate((np.flatnonzero(verdicts == codes.YES), used)))
    verdicts[with_ancestors(known, indices(trace.slices["parent"]))] = codes.YES
    return verdicts
