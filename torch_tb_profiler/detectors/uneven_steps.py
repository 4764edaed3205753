"""Some steps take far longer than the others, so the averages describe no real step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES, Role
from torch_tb_profiler.analysis.steps.iterations.split import split_of
from torch_tb_profiler.analysis.steps.iterations.steady import steadiness
from torch_tb_profiler.analysis.steps.phases.evidence import serving_ranges
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import trains
from torch_tb_profiler.evidence.tables import filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "uneven_steps"
EVIDENCE = TableSpec(
    CODE,
    "Long steps",
    "One row per step above the threshold, the longest first.",
    (
        Column("step", "Step", "string", None, "Number of the step."),
        Column(
            "total_us", "Total time", "number", "us", "From its start to its end.", family="step"
        ),
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
            "The part of the step that is furthest above its own median.",
        ),
        Column("growth_us", "Growth", "number", "us", "By how much that part is.", family="step"),
    ),
)


def detect(context: Context) -> Finding | None:
    """The longest step is more than the threshold times the median.

    Only steps count that were recorded, and are selected, from end to end; of those that a recorder
    timed, neither warm-up nor what its profiler slowed, where there are others, and none where
    steps are too short to tell. The gain is how far
    they pull the mean above the median; warm-up at the begin of a recording can gain nothing, nor
    a server, whose prompts take longer than what it generates, nor another choice of what cuts the
    recording into iterations.
    """
    known = entry(CODE)
    every = np.flatnonzero(context.windows.whole)
    whole = _usual(context, every)
    total_ns = (context.windows.end_ns - context.windows.start_ns)[whole]
    if len(total_ns) < known.parameters["min_steps"]:
        return None
    median_ns = float(np.median(total_ns))
    slow = np.flatnonzero(total_ns > known.threshold * median_ns)
    if not len(slow) or median_ns <= 0 or median_ns < _least_ns(context):
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
            "steady": f"{_left_out(len(every) - len(whole))}{_steady_range(context)}",
        },
        evidence=filled(EVIDENCE, steps.head(int(known.parameters["max_rows"]))),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=variant,
        spot=context.spot(context.windows.start_ns[longest], context.windows.end_ns[longest]),
        at_stake_us=None if variant in ("serving", "cuts") else gain_us,
    )


def _usual(context: Context, whole: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Of whole steps those that a recorder does not tell to be slow; all, where few are left."""
    timed = context.trace.side.get("timed_steps")
    if timed is None or split_of(context.trace).by.kind != "steps":
        return whole
    # the profiler writes its trace in the step after those that it slowed
    is_slowed = pl.col("is_traced") | pl.col("is_traced").shift(1, fill_value=False)
    is_odd = pl.col("is_warmup") | is_slowed
    trained = timed.frame.filter(phase="train").sort("start_us", maintain_order=True)
    odd = set(trained.filter(is_odd)["step"].cast(pl.String).to_list())
    usual = np.array([row for row in whole.tolist() if context.windows.names[row] not in odd], int)
    return usual if len(usual) >= entry(CODE).parameters["min_steps"] else whole


def _least_ns(context: Context) -> float:
    """Steps of a timed run that are shorter vary by themselves: Python alone takes as long."""
    is_timed = "timed_steps" in context.trace.side
    return entry(CODE).parameters["least_timed_us"] * NS_PER_US if is_timed else 0.0


def _left_out(steps: int) -> str:
    are = "1 step is" if steps == 1 else f"{steps} steps are"
    return f"{are} left out: warm-up, or slowed by the profiler. " if steps else ""


def _variant(context: Context, rows: npt.NDArray[np.intp]) -> str:
    if len(serving_ranges(context.trace)) and not trains(context.trace):
        return "serving"
    if _began_recording(context, rows):
        return "first"
    is_cut = split_of(context.trace).by.kind != "steps"
    return "cuts" if is_cut and len(rows) >= entry(CODE).parameters["min_again"] else "default"


def _steady_range(context: Context) -> str:
    """The steps that vary little, as a sentence; empty where there are none."""
    steady = steadiness(context.trace, context.selection)
    if steady.steady_variation is None:
        return ""
    varies = steady.steady_variation * 100
    return f"Steps {steady.first} to {steady.last} are steady: they vary by {varies:.1f} %."


def _steps(
    names: list[str], total_ns: Int64, median_ns: float, growth_ns: npt.NDArray[np.float64]
) -> pl.DataFrame:
    """The steps, longest first, each with the part that grew most over its median."""
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
    """Whether some windows are the first steps recorded, with no other step among them."""
    first: Int64 = context.trace.steps.filter("kept")["start_ns"].to_numpy()[: len(rows)]
    return bool(np.isin(context.windows.start_ns[rows], first).all())


def step_list(names: list[str], most: int) -> str:
    """``"Step 6"``, ``"Steps 2, 3 and 6"``, ``"Steps 1, 2, 3 and 4 more"``."""
    if len(names) == 1:
        return f"Step {names[0]}"
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return f"Steps {', '.join(shown[:-1])} and {shown[-1]}"
