"""Settings of the program as evidence, and findings about them."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

OFF = frozenset({"", "0"})
"""Values of a variable that enable nothing."""


def settings_table(code: str) -> TableSpec:
    """The evidence table of a finding about settings."""
    return TableSpec(
        code,
        "Settings",
        "One row per setting of the program that the finding is about.",
        (
            Column("setting", "Setting", "string", None, "Name of the setting."),
            Column("value", "Value", "string", None, "Its value while the program ran."),
        ),
    )


def enabled_variables(context: Context, *names: str) -> dict[str, str]:
    """The environment variables among ``names`` that are set to something other than 0."""
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
    """A finding if settings affect more of the mean step than the threshold; else None.

    The effect of another setting is unknown, so no gain is estimated.
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
        evidence=build_table(spec, rows),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=variant,
        spot=context.spot(*first),
        at_stake_us=per_step_ns / NS_PER_US,
    )


def named_slice_intervals(context: Context, names: frozenset[str]) -> Intervals:
    """The time in the steps in which any slice with one of these names ran."""
    slices = context.trace.slices
    named = slices.filter(context.match_names(slices["name_code"], lambda name: name in names))
    start = named["start_ns"].to_numpy()
    return context.within_steps(union(start, start + named["dur_ns"].to_numpy()))
