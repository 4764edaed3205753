"""Some steps take far longer than the others, so averages are misleading."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES, Role
from torch_tb_profiler.analysis.steps.iterations.split import split_of
from torch_tb_profiler.analysis.steps.iterations.steady import steadiness
from torch_tb_profiler.analysis.steps.phases.evidence import serving_ranges
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "uneven_steps"
EVIDENCE = TableSpec(
    CODE,
    "Long steps",
    "One row per step above the threshold, longest first.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        Column("total_us", "Total time", "number", "us", "Time from start to end.", family="step"),
        Column(
            "excess_us",
            "Excess",
            "number",
            "us",
            "Total time less that of the median step.",
            family="step",
        ),
        Column(
            "grew_most",
            "Grew most",
            "string",
            None,
            "The part of the step that exceeds its median most.",
        ),
        Column(
            "growth_us",
            "Growth",
            "number",
            "us",
            "By how much that part exceeds its median.",
            family="step",
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """The longest step is more than the threshold times the median.

    Only steps count that are recorded and selected completely. In a run that a recorder timed,
    neither warm-up steps nor those slowed by its profiler count if there are others, and very short
    steps are not judged. The gain is how far the long steps raise the mean above the median. There
    is no gain for warm-up at the start of a recording, for a server, whose prompts take longer than
    its decoding, and for a key node that is called several times per repetition.
    """
    known = entry(CODE)
    every = np.flatnonzero(context.windows.whole)
    whole = _typical(context, every)
    total_ns = (context.windows.end_ns - context.windows.start_ns)[whole]
    if len(total_ns) < known.parameters["min_steps"]:
        return None
    median_ns = float(np.median(total_ns))
    slow = np.flatnonzero(total_ns > known.threshold * median_ns)
    if not len(slow) or median_ns <= 0 or median_ns < _min_step_ns(context):
        return None
    costs = context.costs[whole]
    growth_ns = costs[slow] - np.median(costs, axis=0)
    part = int(growth_ns.sum(axis=0).argmax())
    longest_us = float(total_ns.max()) / NS_PER_US
    gain_us = (float(total_ns.mean()) - median_ns) / NS_PER_US
    names = [context.windows.names[row] for row in whole[slow]]
    up_to = "up to " if len(slow) > 1 else ""
    steps = _steps(names, total_ns[slow], median_ns, growth_ns)
    variant = _variant(context, whole[slow])
    longest = int(whole[total_ns.argmax()])
    return Finding(
        CODE,
        longest_us * NS_PER_US / median_ns,
        gain_us if gain_us > 0 and variant == "default" else None,
        values={
            "steps": step_list(names, int(known.parameters["max_named"])),
            "longest": up_to + duration_text(longest_us),
            "median": duration_text(median_ns / NS_PER_US),
            "part": ROLE_TITLES[Role(part)],
            "excess": up_to + duration_text(float(growth_ns[:, part].max()) / NS_PER_US),
            "steady": f"{_exclusion_text(len(every) - len(whole))}{_steady_range(context)}",
        },
        evidence=build_table(EVIDENCE, steps.head(int(known.parameters["max_rows"]))),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=variant,
        time=Intervals(context.windows.start_ns[whole[slow]], context.windows.end_ns[whole[slow]]),
        spot=context.spot(context.windows.start_ns[longest], context.windows.end_ns[longest]),
        at_stake_us=None if variant in ("serving", "cuts") else gain_us,
    )


def _typical(context: Context, whole: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The whole steps that a recorder does not mark as slow; all of them if few remain."""
    timed = context.trace.side.get("timed_steps")
    if timed is None or split_of(context.trace).by.kind != "steps":
        return whole
    # the profiler writes its trace in the step after those that it slowed
    is_slowed = pl.col("is_traced") | pl.col("is_traced").shift(1, fill_value=False)
    is_atypical = pl.col("is_warmup") | is_slowed
    trained = timed.frame.filter(phase="train").sort("start_us", maintain_order=True)
    atypical = set(trained.filter(is_atypical)["step"].cast(pl.String).to_list())
    typical = np.array(
        [row for row in whole.tolist() if context.windows.names[row] not in atypical], int
    )
    return typical if len(typical) >= entry(CODE).parameters["min_steps"] else whole


def _min_step_ns(context: Context) -> float:
    """The shortest median step to judge: shorter steps of a timed run vary by Python's own time."""
    is_timed = "timed_steps" in context.trace.side
    return entry(CODE).parameters["least_timed_us"] * NS_PER_US if is_timed else 0.0


def _exclusion_text(steps: int) -> str:
    are = "1 step is" if steps == 1 else f"{steps} steps are"
    return f"{are} excluded: warm-up, or slowed by the profiler. " if steps else ""


def _variant(context: Context, rows: npt.NDArray[np.intp]) -> str:
    if len(serving_ranges(context.trace)) and not is_training(context.trace):
        return "serving"
    if _began_recording(context, rows):
        return "first"
    split = split_of(context.trace)
    is_doubtful = split.by.kind != "steps" and not split.is_default
    return "cuts" if is_doubtful and len(rows) >= entry(CODE).parameters["min_again"] else "default"


def _steady_range(context: Context) -> str:
    """A sentence about the steps that vary little; empty without any."""
    steady = steadiness(context.trace, context.selection)
    if steady.steady_variation is None:
        return ""
    varies = steady.steady_variation * 100
    return f"Suggested range: steps {steady.first}–{steady.last}, which vary by {varies:.1f} %."


def _steps(
    names: list[str], total_ns: Int64, median_ns: float, growth_ns: npt.NDArray[np.float64]
) -> pl.DataFrame:
    """The steps, longest first, each with the part that exceeds its median most."""
    order = np.argsort(-total_ns, kind="stable")
    parts = [ROLE_TITLES[Role(part)] for part in growth_ns.argmax(axis=1).tolist()]
    return pl.DataFrame(
        {
            "step": [names[row] for row in order.tolist()],
            "total_us": microseconds(pl.Series(total_ns[order])),
            "excess_us": microseconds(pl.Series(total_ns[order] - median_ns)),
            "grew_most": [parts[row] for row in order.tolist()],
            "growth_us": microseconds(pl.Series(growth_ns.max(axis=1)[order])),
        }
    )


def _began_recording(context: Context, rows: npt.NDArray[np.intp]) -> bool:
    """Whether the steps of ``rows`` are exactly the first recorded steps."""
    first: Int64 = context.trace.steps.filter("kept")["start_ns"].to_numpy()[: len(rows)]
    return bool(np.isin(context.windows.start_ns[rows], first).all())


def step_list(names: list[str], most: int) -> str:
    """``"Step 6"``, ``"Steps 2, 3 and 6"``, ``"Steps 1, 2, 3 and 4 more"``."""
    if len(names) == 1:
        return f"Step {names[0]}"
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return f"Steps {', '.join(shown[:-1])} and {shown[-1]}"
