"""What the names of a trace's kernels and operators tell, per row, looked up once per trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, with_ancestors
from torch_tb_profiler.analysis.recording.collective_slices import moving_slices
from torch_tb_profiler.analysis.recording.device_kind import device_kind
from torch_tb_profiler.knowledge import communication, kernels, operators
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

HOST_COMMUNICATION_CATEGORIES = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.ANNOTATION,
)
"""The host slices that may be communication (``docs/metrics.md#categories``)."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelKinds:
    """Per row of ``trace.device_work``.

    Attributes:
        is_kernel: A kernel, neither copy nor set.
        is_communication: A kernel that moves data between devices: recognised by its name, by
            collective metadata, or (unknown name) by being launched directly by a communication
            range (``docs/metrics.md#categories``).
        tensor_core: Verdict (``analysis.algebra.codes``) whether a kernel runs on
            matrix units; ``NO`` for copies, sets and communication, ``UNKNOWN`` for all kernels of
            devices that have units of another kind.
    """

    is_kernel: Bools
    is_communication: Bools
    tensor_core: Int8


@dataclass(frozen=True, slots=True, eq=False)
class KindsOfNames:
    """What the names of a trace's kernels tell.

    Attributes:
        kinds: The distinct answers.
        number: Per string of the trace the place of its answer in ``kinds``; 0, which is
            ``kernels.UNKNOWN_KERNEL``, for what is no name of a kernel.
    """

    kinds: list[kernels.KernelKind]
    number: npt.NDArray[np.int16]

    def verdicts(self, names: npt.NDArray[Any], rule: Callable[[kernels.KernelKind], int]) -> Int8:
        """What ``rule`` says of each name code."""
        said = np.array([rule(kind) for kind in self.kinds], np.int8)
        of_rows: Int8 = said[self.number[names]]
        return of_rows


@per_trace
def kinds_of_names(trace: Trace) -> KindsOfNames:
    """The kinds of all names of kernels; made once, all names at a time."""
    is_kernel = trace.device_work["category"] == Category.KERNEL
    present = trace.device_work["name_code"].filter(is_kernel).unique().to_numpy()
    kinds = kernels.classify_all([str(text) for text in trace.strings[present]])
    place = {kernels.UNKNOWN_KERNEL: 0}
    number = np.zeros(len(trace.strings), np.int16)
    number[present] = [place.setdefault(kind, len(place)) for kind in kinds]
    return KindsOfNames(list(place), number)


@per_trace
def kernel_kinds(trace: Trace) -> KernelKinds:
    """The kinds of all device work; made once."""
    work = trace.device_work
    is_kernel = work["category"].to_numpy() == Category.KERNEL
    rows = np.flatnonzero(is_kernel)
    names = work["name_code"].to_numpy()[rows]
    known = kinds_of_names(trace)
    tensor_core = np.full(len(is_kernel), codes.NO, np.int8)
    tensor_core[rows] = known.verdicts(names, lambda kind: codes.verdict(kind.tensor_core))
    by_name = known.verdicts(names, lambda kind: kind.communication) == codes.YES
    unknown = known.verdicts(names, lambda kind: kind.rule is None) == codes.YES
    owner = indices(work["owner"])[rows]
    communicates = communication_slices(trace)
    of_owner = np.append(communicates, False)[owner]
    described = communicates[work["slice"].to_numpy()[rows]]
    is_communication = np.zeros(len(is_kernel), np.bool_)
    is_communication[rows] = by_name | described | (unknown & of_owner)
    tensor_core[is_communication] = codes.NO
    if device_kind(trace) is not None:
        tensor_core[is_kernel] = codes.UNKNOWN
    return KernelKinds(is_kernel, is_communication, tensor_core)


@per_trace
def communication_slices(trace: Trace) -> Bools:
    """Per slice whether it is communication by its host name or its collective metadata; records
    that move nothing (``init``, ``wait``) are none."""
    category = trace.slices["category"].to_numpy()
    mask = np.zeros(len(category), np.bool_)
    hosts = np.flatnonzero(np.isin(category, HOST_COMMUNICATION_CATEGORIES))
    names = trace.slices["name_code"].to_numpy()[hosts]
    mask[hosts] = codes.map_names(trace, names, communication.is_communication, np.bool_)
    mask[moving_slices(trace)] = True
    return mask


@per_trace
def eligible_slices(trace: Trace) -> Int8:
    """Per slice the verdict whether it could use Tensor Cores; only nodes are meaningful.

    Yes if its name says so, if a node inside it is eligible, or if it launched a kernel that did
    use them (``docs/metrics.md#operators``); else what its name says. Nothing is known of operators
    for devices that have no Tensor Cores.
    """
    names = trace.slices["name_code"].to_numpy()
    category = trace.slices["category"].to_numpy()
    verdicts = np.full(len(names), codes.NO, np.int8)
    rows = np.flatnonzero(category == Category.OPERATOR)
    if device_kind(trace) is not None:
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
    known = np.unique(np.concatenate((np.flatnonzero(verdicts == codes.YES), used)))
    verdicts[with_ancestors(known, indices(trace.slices["parent"]))] = codes.YES
    return verdicts
