"""The tables of all ranks from their measures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.parallel.coordinates import AXES
from torch_tb_profiler.analysis.ranks.late_arrivals import ACTIVITIES
from torch_tb_profiler.analysis.ranks.measures import PHASES
from torch_tb_profiler.analysis.recording.missing_reasons import recorded_reason
from torch_tb_profiler.analysis.steps.phases.evidence import DETECTED_PHASES
from torch_tb_profiler.knowledge.rank_measures import rank_measures_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.ranks.columns import OUTLIERS, PATTERNS, RANK_STEPS, RANKS
from torch_tb_profiler.views.ranks.texts import change_text, shares_text
from torch_tb_profiler.views.scales import value_text
from torch_tb_profiler.views.schema import Table, TableSpec

NO_DEVICE_WORK = "No GPU work was recorded on these ranks."
NO_MEMORY = "The recording of the rank holds no memory events of a device."
NO_STEP = "None of the selected steps was recorded on this rank."
NO_PHASES = "The recording holds nothing by which phases are known."
NO_RANK = "The recording does not say which rank it is of."
NEVER_LAST = "The rank entered no collective after all others, as far as recorded."
NO_DIMENSION = "The job is not divided along this dimension, as far as recorded."
NO_NODE = "The recording does not name the machine."
_DETECTED = tuple(phase.name.lower() for phase in DETECTED_PHASES)
_NAMES = ("worker", "rank", "node")
_SHOWN_NODES = 5
_SHOWN_DIFFERENCES = 4


def _shown(spec: TableSpec, frame: pl.DataFrame, reasons: Mapping[str, str]) -> Table:
    """A table from columns of its keys, or in ns of those that are declared in µs."""
    in_us = [
        microseconds(frame[f"{stem}_ns"]).alias(f"{stem}_us")
        for key in spec.polars_schema()
        if key not in frame.columns and f"{(stem := key.removesuffix('_us'))}_ns" in frame.columns
    ]
    whole = frame.with_columns(in_us)
    shown = whole.select(pl.col(key).cast(kind) for key, kind in spec.polars_schema().items())
    return Table(spec, shown, needed(shown, reasons))


def ranks_table(
    traces: Mapping[str, Trace],
    ranks: pl.DataFrame,
    measures: pl.DataFrame,
    outliers: pl.DataFrame,
    late: pl.DataFrame,
) -> Table:
    """The table ``ranks``.

    Args:
        traces: All ranks.
        ranks: ``worker`` (name), ``rank``, ``node``, ``pattern`` and the coordinates of each.
        measures: Of each, aligned.
        outliers: As ``analysis.ranks.outliers``.
        late: As ``analysis.ranks.late_arrivals``.
    """
    texts = _outlier_texts(outliers, measures.height)
    frame = measures.join(_meanwhile(late), on="worker", how="left", maintain_order="left")
    per_step = pl.col("others_wait_ns") / pl.col("steps")
    frame = frame.with_columns(
        *ranks.drop("switch", "source", strict=False).get_columns(),
        outliers=texts,
        others_wait_ns=per_step,
        **_slowest(measures),
    )
    return _shown(RANKS, frame, _reasons(traces))


def _reasons(traces: Mapping[str, Trace]) -> dict[str, str]:
    """Why values of ranks are null; the words of the first recording."""
    first = next(iter(traces.values()))
    own = {
        "rank": NO_RANK,
        "node": NO_NODE,
        "utilization_pct": recorded_reason(first, "kernels") or NO_DEVICE_WORK,
        "kernels": recorded_reason(first, "kernels") or NO_DEVICE_WORK,
        "memory_peak_bytes": recorded_reason(first, "memory") or NO_MEMORY,
        "slowest_phase": NO_PHASES,
        "slowest_phase_us": NO_PHASES,
        **dict.fromkeys(("others_wait_us", "meanwhile"), NEVER_LAST),
        **dict.fromkeys(AXES, NO_DIMENSION),
    }
    times = [column.key for column in RANKS.columns if column.unit == "us"]
    return dict.fromkeys((*times, "steps"), NO_STEP) | own


def _meanwhile(late: pl.DataFrame) -> pl.DataFrame:
    """Per rank that entered collectives last ``others_wait_ns``, and what it did ``meanwhile``."""
    texts = [
        shares_text({ACTIVITIES[key]: row[key] for key in ACTIVITIES})
        for row in late.iter_rows(named=True)
    ]
    return late.select("worker", "others_wait_ns", meanwhile=pl.Series(texts, dtype=pl.String))


def _slowest(measures: pl.DataFrame) -> dict[str, pl.Series]:
    """Name and time of the longest phase of each rank."""
    values = np.stack(
        [measures[f"{name}_ns"].fill_null(-1.0).to_numpy() for name in _DETECTED], axis=1
    )
    longest = values.argmax(axis=1)
    time_ns = values[np.arange(len(values)), longest]
    names = pl.Series(np.array(_DETECTED, np.object_)[longest], dtype=pl.String)
    known = pl.Series(time_ns > 0)
    frame = pl.DataFrame({"name": names, "time": time_ns, "known": known}).select(
        name=pl.when("known").then("name"), time=pl.when("known").then("time")
    )
    return {"slowest_phase": frame["name"], "slowest_phase_ns": frame["time"]}


def _outlier_texts(outliers: pl.DataFrame, ranks: int) -> pl.Series:
    """Per rank what it stands out in, largest first; null where in nothing."""
    titles = {each.key: each.title for each in rank_measures_file().measures}
    texts = [
        f"{titles[key]} {change_text(key, value, median)}"
        for key, value, median in outliers.select("measure", "value", "median").iter_rows()
    ]
    joined = (
        outliers.select("worker", pl.Series("text", texts, pl.String))
        .group_by("worker", maintain_order=True)
        .agg(pl.col("text").str.join("; "))
    )
    workers = pl.DataFrame({"worker": pl.int_range(ranks, dtype=pl.Int32, eager=True)})
    return workers.join(joined, on="worker", how="left", maintain_order="left")["text"]


def outliers_table(ranks: pl.DataFrame, outliers: pl.DataFrame) -> Table:
    """The table ``rank_outliers``."""
    measures = {each.key: each for each in rank_measures_file().measures}
    keys = outliers["measure"].to_list()
    rows = outliers.select("measure", "value", "median").rows()
    is_time = pl.Series([key.endswith("_ns") for key in keys], dtype=pl.Boolean)
    frame = outliers.with_columns(
        *ranks.select("worker", "rank")[outliers["worker"].to_numpy()],
        column=pl.Series([_column_key(key) for key in keys], dtype=pl.String),
        measure=pl.Series([measures[key].title for key in keys], dtype=pl.String),
        unit=pl.Series([_unit(key) for key in keys], dtype=pl.String),
        robust_z=pl.when(pl.col("z").is_finite()).then("z"),
        change=pl.Series([change_text(*row) for row in rows], dtype=pl.String),
        value_text=pl.Series([_value(key, value) for key, value, _ in rows], dtype=pl.String),
        median_text=pl.Series([_value(key, median) for key, _, median in rows], dtype=pl.String),
    ).with_columns(
        pl.when(is_time).then(pl.col(key) / 1000).otherwise(key) for key in ("value", "median")
    )
    return _shown(OUTLIERS, frame, {"rank": NO_RANK})


def _value(key: str, value: float) -> str:
    """The value of a measure, whose key ends with its unit."""
    return value_text(key.rpartition("_")[2], value)


def _column_key(key: str) -> str:
    return f"{key.removesuffix('_ns')}_us" if key.endswith("_ns") else key


def _unit(key: str) -> str | None:
    return {"ns": "us", "pct": "pct", "bytes": "bytes"}.get(key.rpartition("_")[2], "count")


def patterns_table(
    ranks: pl.DataFrame, measures: pl.DataFrame, differences: pl.DataFrame, late: pl.DataFrame
) -> Table:
    """The table ``patterns``; ``ranks`` as in :func:`ranks_table`."""
    values = ["step_ns", *(f"{name}_{kind}" for name in PHASES for kind in ("ns", "busy_pct"))]
    waits = ("others_wait_ns", *ACTIVITIES)
    held = measures.select("worker").join(late, on="worker", how="left", maintain_order="left")
    frame = measures.select(values).with_columns(
        *ranks.select(*_NAMES, "pattern").get_columns(),
        *(held[key].alias(f"late {key}") for key in waits),
    )
    by_pattern = (
        frame.group_by("pattern")
        .agg(
            pl.len().cast(pl.Int64).alias("rank_count"),
            pl.col(values).median(),
            pl.col([f"late {key}" for key in waits]).sum(),
            "rank",
            "worker",
            pl.col("node").drop_nulls().unique(maintain_order=True),
        )
        .sort("pattern")
    )
    numbers = by_pattern["pattern"].to_list()
    texts: dict[int, list[str]] = {number: [] for number in numbers}
    for number, title, unit, value, usual in differences.iter_rows():
        own, other = value_text(unit, value), value_text(unit, usual)
        texts[number].append(f"{title} {own} instead of {other}")
    nodes = [listed(names, _SHOWN_NODES, ", ") for names in by_pattern["node"]]
    differs = [listed(texts[number], _SHOWN_DIFFERENCES, "; ") for number in numbers]
    meanwhile = [
        shares_text({ACTIVITIES[key]: row[f"late {key}"] for key in ACTIVITIES})
        for row in by_pattern.select(f"late {key}" for key in ACTIVITIES).iter_rows(named=True)
    ]
    frame = by_pattern.with_columns(
        meanwhile=pl.Series(meanwhile, dtype=pl.String),
        ranks=pl.Series(_members(by_pattern), dtype=pl.String),
        nodes=pl.Series(nodes, dtype=pl.String),
        differs_in=pl.Series(differs, dtype=pl.String),
    )
    return _shown(PATTERNS, frame, {"nodes": NO_NODE, "meanwhile": NEVER_LAST})


def listed(texts: list[str] | pl.Series, most: int, between: str) -> str | None:
    """The first of some texts, and how many more there are; None where there is none."""
    known = list(texts)
    if not known:
        return None
    more = f"{between}{len(known) - most:,} more" if len(known) > most else ""
    return between.join(known[:most]) + more


def _members(by_pattern: pl.DataFrame) -> list[str]:
    """The ranks of each pattern, or its workers where a rank is unknown, or of several programs."""
    ranks = by_pattern["rank"].explode()
    if ranks.n_unique() == len(ranks) and not ranks.null_count():
        return [rank_text(numbers) for numbers in by_pattern["rank"].to_list()]
    return [listed(workers, _SHOWN_NODES, ", ") or "" for workers in by_pattern["worker"].to_list()]


def rank_steps_table(
    traces: Mapping[str, Trace], ranks: pl.DataFrame, steps: pl.DataFrame
) -> Table:
    """The table ``rank_steps``, by step as first seen and rank."""
    position = steps["name"].unique(maintain_order=True).to_frame().with_row_index("position")
    frame = steps.join(position, on="name", maintain_order="left").sort(
        "position", "worker", maintain_order=True
    )
    frame = frame.with_columns(
        *ranks.select("worker", "rank")[frame["worker"].to_numpy()],
        step=pl.col("name"),
        step_ns=pl.col("duration_ns"),
    )
    reasons = _reasons(traces)
    keys = ("rank", "memory_peak_bytes")
    return _shown(RANK_STEPS, frame, {key: reasons[key] for key in keys})
