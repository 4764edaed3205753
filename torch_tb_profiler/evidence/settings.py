"""Settings of the program as evidence: what is set, and what of a step it is about."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

OFF = frozenset({"", "0"})
"""Values by which a variable switches nothing on."""


def settings_table(code: str) -> TableSpec:
    """Evidence that names settings."""
    return TableSpec(
        code,
        "Settings",
        "One row per setting of the program that the finding is about.",
        (
            Column("setting", "Setting", "string", None, "Its name."),
            Column("value", "Value", "string", None, "What it was while the program ran."),
        ),
    )


def switched_on(context: Context, *names: str) -> dict[str, str]:
    """Which of some variables of the environment are set, and to something else than 0."""
    environment = context.trace.meta.info.settings.environment or {}
    return {name: environment[name] for name in names if environment.get(name, "") not in OFF}


def settings_finding(
    context: Context,
    spec: TableSpec,
    settings: dict[str, object],
    per_step_ns: float,
    *,
    variant: str = "default",
    values: dict[str, object] | None = None,
) -> Finding | None:
    """That settings are about more of the mean step than the threshold; else None.

    What another setting would save cannot be told: no gain is claimed.
    """
    share = context.share_pct(per_step_ns)
    if share <= entry(spec.name).threshold:
        return None
    rows = pl.DataFrame(
        [(name, str(value)) for name, value in settings.items()],
        schema=["setting", "value"],
        orient="row",
    )
    first = context.windows.start_ns[0], context.windows.end_ns[0]
    return Finding(
        spec.name,
        share,
        None,
        values={
            "settings": " and ".join(f"{k}={v}" for k, v in settings.items()),
            **(values or {}),
        },
        evidence=filled(spec, rows),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=variant,
        spot=context.spot(*first),
        at_stake_us=per_step_ns / NS_PER_US,
    )


def time_in(context: Context, names: frozenset[str]) -> Intervals:
    """When, in the steps, any slice of one of these names ran."""
    slices = context.trace.slices
    found = slices.filter(context.names_that(slices["name_code"], lambda name: name in names))
    start = found["start_ns"].to_numpy()
    return context.within_steps(union(start, start + found["dur_ns"].to_numpy()))
