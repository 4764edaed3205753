"""Which time explains a difference – of devices or of the host – and its parts on both sides.

Definitions: ``docs/views-compare.md#what-explains-the-difference``.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES, Role
from torch_tb_profiler.analysis.recording.kernel_names import common_short_names
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.views.compare.average import TOTAL
from torch_tb_profiler.views.compare.explained import explained
from torch_tb_profiler.views.compare.leaves import (
    device_leaves,
    host_leaves,
    with_names_of_baseline,
)
from torch_tb_profiler.views.compare.renames import Renames
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.tables import NO_CHANGE, SHARE
from torch_tb_profiler.views.schema import Fact, Table

DEVICE, HOST = "device time", "host time"
_MEANING = {
    DEVICE: "summed duration of the kernels, copies and memsets of a step",
    HOST: "self time of operators, runtime calls, data loading and optimizers of a step, summed "
    "over threads",
}
_DEVICE_ROLES = tuple(
    ROLE_TITLES[role] for role in (Role.KERNEL, Role.MEMCPY, Role.MEMSET, Role.COMMUNICATION)
)
_HOST_ROLES = tuple(ROLE_TITLES[role] for role in (Role.RUNTIME, Role.DATALOADER, Role.CPU_EXEC))
ModuleNames = tuple[list[str] | None, list[str] | None]


class Explanation(Struct, frozen=True):
    """What explains the difference.

    Attributes:
        tables: The ranked table and the tree.
        facts: Which time it is of, and its change.
        phase_shares: Phase → share of the change in percent; empty where nothing changed.
    """

    tables: tuple[Table, Table]
    facts: tuple[Fact, ...]
    phase_shares: dict[str, float]


def explanation(
    bases: tuple[StepBasis, StepBasis], average: Table, modules: ModuleNames, renames: Renames
) -> Explanation:
    """What explains the difference of two sides.

    Args:
        bases: Both sides, of whole steps.
        average: The compared average step.
        modules: Names of the modules of each side by node, the same for those that meet; None
            where a side has no modules.
        renames: What is called differently on the sides.
    """
    measure = _measure(bases, average)
    leaves_of, inner = (device_leaves, "kernel") if measure == DEVICE else (host_leaves, "call")
    names = modules if None not in modules else (None, None)
    leaves = [leaves_of(basis, of_side) for basis, of_side in zip(bases, names, strict=True)]
    shorts = common_short_names(basis.trace for basis in bases)
    leaves[1] = with_names_of_baseline(leaves[1], renames)
    tables = explained(leaves[0], leaves[1], inner, shorts, renames)
    rows = tables[1].frame.filter(pl.col("kind") == "phase")
    shares = dict(zip(rows["name"], rows["share_of_delta_pct"], strict=True))
    delta = tables[1].frame["delta_time_us"][0]
    return Explanation(
        tables,
        _facts(measure, delta),
        {phase: share for phase, share in shares.items() if share is not None},
    )


def _measure(bases: tuple[StepBasis, StepBasis], average: Table) -> str:
    """The time of devices if both sides have it, and it changed at least as much as that of the
    host; time in which nothing is known to run is neither."""
    if any(no_device_time(basis.trace) is not None for basis in bases):
        return HOST
    rows = average.frame.select("category", "delta_duration_us").drop_nulls().rows()
    device, host = (
        abs(sum(delta for category, delta in rows if category in roles))
        for roles in (_DEVICE_ROLES, _HOST_ROLES)
    )
    return DEVICE if device >= host else HOST


def _facts(measure: str, delta_us: float) -> tuple[Fact, ...]:
    return (
        Fact(
            "explained_by",
            "Explained by",
            measure,
            None,
            None,
            f"Time that is compared: {_MEANING[measure]}. It is not the length of the step, "
            "because concurrent work counts several times.",
        ),
        Fact(
            "delta_explained_us",
            f"Change of {measure}",
            delta_us,
            "us",
            None,
            f"Candidate minus baseline per step: {_MEANING[measure]}.",
        ),
    )


def with_shares_of_total(average: Table) -> Table:
    """``average`` with the part of each category in the change of the step, which add up to it."""
    total = average.frame.filter(pl.col("category") == TOTAL)["delta_duration_us"][0]
    share = pl.lit(None, pl.Float64)
    if total:
        share = 100 * pl.col("delta_duration_us") / total + 0.0  # + 0: no negative 0
    frame = average.frame.with_columns(share.alias(SHARE.key))
    reasons = {**average.null_reasons}
    if not total:
        reasons[SHARE.key] = reasons.get("delta_duration_us", NO_CHANGE)
    return replace(average, frame=frame, null_reasons=reasons)


def with_phase_shares(phases: Table, explanation: Explanation) -> Table:
    """``phases`` with the part of each in the change that is explained."""
    shares = explanation.phase_shares
    values = [shares.get(phase, 0.0 if shares else None) for phase in phases.frame["phase"]]
    frame = phases.frame.with_columns(pl.Series(SHARE.key, values, dtype=pl.Float64))
    reasons = phases.null_reasons if shares else phases.null_reasons | {SHARE.key: NO_CHANGE}
    return replace(phases, frame=frame, null_reasons=reasons)
