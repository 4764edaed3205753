"""How a quantity is read off a view: small makers of functions for the table of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tests.consistency.answers import Answers, Quantity
from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.timeline.categories import COMMUNICATION

ROLES = {f"{name.lower().replace(' ', '_')}_us": name for name in ROLE_TITLES.values()}


def frame(answers: Answers, view: str, table: str) -> pl.DataFrame | None:
    """A table of a view; None where there is no such view or table."""
    found: View | None = getattr(answers, view)
    if found is None or table not in found.tables:
        return None
    return found.tables[table].frame


def sum_of(view: str, table: str, column: str, **where: Any) -> Quantity:
    """The sum of a column, of the rows where others are so; null rows count nothing."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, view, table)
        if rows is None:
            return None
        if where:
            rows = rows.filter(**where)
        return None if len(rows) and rows[column].is_null().all() else rows[column].sum()

    return quantity


def sum_of_parts(view: str, table: str, columns: tuple[str, ...]) -> Quantity:
    """The sum of several columns together."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, view, table)
        return None if rows is None else sum(rows[column].sum() for column in columns)

    return quantity


def with_modules(quantity: Quantity) -> Quantity:
    """``quantity`` where modules are recorded."""
    return lambda answers: quantity(answers) if answers.modules is not None else None


def column_of(view: str, table: str, key: str, column: str, **where: Any) -> Quantity:
    """A column by the value of another; rows without a value are left out."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, view, table)
        if rows is None:
            return None
        rows = (rows.filter(**where) if where else rows).filter(pl.col(column).is_not_null())
        return dict(rows.select(key, column).iter_rows())

    return quantity


def compared(table: str, key: str, column: str) -> Quantity:
    """A column of ``compare``; None where it is per step, as steps of a side are cut."""
    of_all = column_of("compare", table, key, column)

    def quantity(answers: Answers) -> object:
        return None if answers.fact("values_per_step", answers.compare) else of_all(answers)

    return quantity


def height_of(view: str, table: str, **where: Any) -> Quantity:
    """How many rows a table has."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, view, table)
        return None if rows is None else (rows.filter(**where) if where else rows).height

    return quantity


def fact(key: str, view: str = "overview") -> Quantity:
    """A fact of a view."""
    return lambda answers: answers.fact(key, getattr(answers, view))


def idle_and_busy(answers: Answers) -> object:
    """Idle and busy time of one GPU together."""
    if answers.idle is None:
        return None
    times = {fact.key: fact.value for fact in reversed(answers.idle.facts) if fact.scope}
    return float(times["idle_us"]) + float(times["busy_us"])  # type: ignore[arg-type]


def causes_and_busy(answers: Answers) -> object:
    """The causes of all idle time of one GPU, and its busy time, together."""
    causes = frame(answers, "idle", "causes")
    if answers.idle is None or causes is None or causes.is_empty():
        return None
    scope = next(fact.scope for fact in answers.idle.facts if fact.scope)
    own = causes.filter(pl.col("gpu").eq_missing(causes["gpu"][0]))
    if scope not in (f"GPU {causes['gpu'][0]}", "GPU"):
        return None
    busy = next(fact.value for fact in answers.idle.facts if fact.key == "busy_us")
    return float(own["total_us"].sum()) + float(busy)  # type: ignore[arg-type]


def copies_of_kernels(what: str) -> Quantity:
    """The sum of a column over the copies of the view of kernels, without sets."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, "kernels", "copies")
        if rows is None or answers.copies is None:
            return None
        return rows.filter(pl.col("kind").fill_null("") != "set")[what].sum()

    return quantity


def note_count(code: str, view: str = "overview") -> Quantity:
    """The count of a quality note, 0 without one."""

    def quantity(answers: Answers) -> object:
        notes = [note for note in getattr(answers, view).notes if note.code == code]
        return sum(int(note.evidence["count"]) for note in notes)

    return quantity


def restricted_to(quantity: Quantity, other: Quantity) -> Quantity:
    """``quantity`` for the names that ``other`` has too."""

    def restricted(answers: Answers) -> object:
        values, names = quantity(answers), other(answers)
        if values is None or names is None:
            return None
        assert isinstance(values, dict)
        assert isinstance(names, dict)
        return {name: value for name, value in values.items() if name in names}

    return restricted


def kernels_in_range(what: str) -> Quantity:
    """Count or self time of kernels, those that communicate too, of the timeline's whole range."""

    def quantity(answers: Answers) -> object:
        rows = [
            getattr(row, what)
            for row in answers.whole_range.categories
            if row.is_device and row.category in (Category.KERNEL, COMMUNICATION)
        ]
        return sum(rows)

    return quantity


def gpus_in_steps(*parts: str) -> Quantity:
    """Per step the sum of ``parts`` of the only GPU in the timeline's summary of it."""

    def quantity(answers: Answers) -> object:
        if any(len(step.gpus) != 1 for step in answers.step_ranges):
            return None
        names = answers.overview.tables["steps"].frame["step"].to_list()
        sums = [
            sum(getattr(gpu, part) for gpu in step.gpus for part in parts)
            for step in answers.step_ranges
        ]
        return dict(zip(names, sums, strict=True))

    return quantity


def utilization_by_timeline(*parts: str) -> Quantity:
    """Share in % of the steps' time in which the only GPU did ``parts``, by the timeline."""

    def quantity(answers: Answers) -> object:
        spent_us = gpus_in_steps(*parts)(answers)
        length_ns = sum(end - start for start, end in answers.step_edges)
        if not isinstance(spent_us, dict) or not length_ns:
            return None
        return sum(spent_us.values()) * NS_PER_US / length_ns * 100

    return quantity


def only_gpu(column: str) -> Quantity:
    """A column of the overview's GPUs where there is one."""

    def quantity(answers: Answers) -> object:
        rows = answers.overview.tables["gpus"].frame
        return rows[column].item() if rows.height == 1 else None

    return quantity


def per_step_parts(columns: tuple[str, ...]) -> Quantity:
    """Per step the sum of columns of the distributed view's overlap."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, "distributed", "overlap")
        if rows is None:
            return None
        rows = rows.filter(pl.col("step") != "all")
        if rows.select(columns).null_count().sum_horizontal().item():
            return None
        return dict(rows.select("step", pl.sum_horizontal(columns)).iter_rows())

    return quantity


def computes_on_device(quantity: Quantity) -> Quantity:
    """``quantity`` where kernels that compute are recorded: else the host stands for them."""

    def restricted(answers: Answers) -> object:
        steps = answers.overview.tables["steps"].frame
        return quantity(answers) if steps["kernel_us"].sum() > 0 else None

    return restricted


def computes_on_host(quantity: Quantity) -> Quantity:
    """``quantity`` where no device work is recorded."""
    return lambda answers: quantity(answers) if answers.trace.device_work.is_empty() else None


def composition_of_peak(grouping: str) -> Quantity:
    """Per device what its memory held at the peak, by the rows of one grouping."""

    def quantity(answers: Answers) -> object:
        rows = frame(answers, "memory", "peak_composition")
        if rows is None:
            return None
        rows = rows.filter(grouping=grouping).group_by("device").agg(pl.col("size_bytes").sum())
        return dict(rows.iter_rows())

    return quantity


def work_duration(answers: Answers) -> object:
    """The summed duration of the device work selected; None where none is recorded."""
    work = answers.trace.device_work
    selected = device_work_mask(answers.trace, answers.selection)
    return None if work.is_empty() else int(work["dur_ns"].to_numpy()[selected].sum()) / NS_PER_US


def work_without_launch(answers: Answers) -> object:
    """Rows of device work whose launch is not in the file."""
    return answers.trace.device_work["launch"].null_count()


def step_parts(answers: Answers) -> object:
    """Per step the sum of its categories."""
    steps = answers.overview.tables["steps"].frame
    return dict(steps.select("step", pl.sum_horizontal(*ROLES)).iter_rows())


def average_of_whole_steps(answers: Answers) -> object:
    """The mean of the overview's steps that no note says are cut."""
    steps = answers.overview.tables["steps"].frame
    cut = [note for note in answers.overview.notes if note.code == "step_cut"]
    names = [name for note in cut for name in note.evidence["steps"]]  # type: ignore[attr-defined]
    whole = steps.filter(~pl.col("step").is_in(names))
    return (whole if whole.height else steps)["total_us"].mean()


def series_of_steps(answers: Answers) -> object:
    """Per category the sum over the bars of the steps."""
    series = answers.overview.series["step_time"]
    if not answers.overview.tables["steps"].frame.height:
        return None
    return {line.name: float(np.sum([value or 0 for value in line.y])) for line in series.lines}


def categories_of_steps(answers: Answers) -> object:
    """Per category the sum over the rows of the steps."""
    steps = answers.overview.tables["steps"].frame
    return {title: steps[key].sum() for key, title in ROLES.items() if not steps[key].null_count()}


def event_slices(answers: Answers) -> object:
    """Slices on the timeline's tracks of events."""
    tracks = answers.timeline.tracks
    return sum(track.slices for track in tracks if track.kind not in ("merged", "counter"))


def highest_of_memory_counters(answers: Answers) -> object:
    """Per device the highest value of the timeline's counter of allocated memory."""
    ending = " memory allocated"
    return {
        track.title.removesuffix(ending): track.maximum
        for track in answers.timeline.tracks
        if track.kind == "counter" and track.title.endswith(ending)
    }
