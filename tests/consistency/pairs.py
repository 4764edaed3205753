"""One quantity, the places that show it: a row per quantity, a column per place.

To add one: a :class:`Shown` below. A place is a function of :class:`Answers` that gives a number,
numbers by name, or None where the recording has nothing of the kind; all places that give
something must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.consistency import quantities as of
from tests.consistency.answers import Quantity


@dataclass(frozen=True)
class Shown:
    """A quantity and where it is shown.

    Attributes:
        what: The quantity.
        places: By the name of each place, how it is read there.
        of_selections: Whether the places also agree of some steps and of a range of time; else
            only of the whole recording.
        is_exact: Whether they do where slices are as short as the clock's resolution, of which an
            overlap is rounding on the timeline.
    """

    what: str
    places: dict[str, Quantity]
    of_selections: bool = True
    is_exact: bool = True


WHOLE = {"class": "all"}
"""The row of a table of classes that is the sum of the others."""

SELECTED = {"selected": True}
"""The rows of the table of iterations that a selection means."""

SHOWN = (
    Shown(
        "the mean iteration",
        {
            "overview": of.fact("average_step_us"),
            "its iterations": of.fact("iteration_mean_us"),
            "iterations": of.fact("iteration_mean_us", "iterations"),
        },
    ),
    Shown(
        "how many iterations",
        {
            "overview": of.height_of("overview", "steps"),
            "figures": of.fact("iterations_selected", "iterations"),
            "iterations": of.height_of("iterations", "iterations", **SELECTED),
        },
    ),
    Shown(
        "time of all iterations",
        {
            "overview": of.sum_of("overview", "steps", "total_us"),
            "iterations": of.sum_of("iterations", "iterations", "duration_us", **SELECTED),
            "idle and busy time of a GPU": of.idle_and_busy,
            "causes and busy time of a GPU": of.causes_and_busy,
        },
        of_selections=False,
    ),
    Shown(
        "copies",
        {
            "kernels": of.copies_of_kernels("calls"),
            "copies": of.sum_of("copies", "copies_by_kind", "calls"),
        },
    ),
    Shown(
        "time of copies",
        {
            "kernels": of.copies_of_kernels("total_us"),
            "copies": of.sum_of("copies", "copies_by_kind", "total_us"),
        },
    ),
    *(
        Shown(
            f"{resource} time",
            {
                "overview": of.sum_of("overview", "resources", "duration_us", category=resource),
                "iterations": of.sum_of("iterations", "iterations", f"{resource}_us", **SELECTED),
            },
            of_selections=False,
        )
        for resource in ("tensor_core", "other_kernels", "memory", "cpu", "other")
    ),
    Shown(
        "kernel time",
        {
            "kernels": of.sum_of("kernels", "kernels", "total_us"),
            "kernels by launch": of.sum_of("kernels_by_launch", "kernels", "total_us"),
            "Tensor Core shares": of.sum_of("kernels", "tensor_core_time", "total_us"),
        },
    ),
    Shown(
        "kernel time of the whole recording",
        {
            "kernels": of.sum_of("kernels", "kernels", "total_us"),
            "timeline": of.kernels_in_range("self_us"),
        },
        of_selections=False,
        is_exact=False,
    ),
    Shown(
        "kernel calls",
        {
            "kernels": of.sum_of("kernels", "kernels", "calls"),
            "kernels by launch": of.sum_of("kernels_by_launch", "kernels", "calls"),
            "Tensor Core shares": of.sum_of("kernels", "tensor_core_time", "calls"),
        },
    ),
    Shown(
        "kernel calls of the whole recording",
        {
            "overview": of.fact("kernel_calls"),
            "kernels": of.sum_of("kernels", "kernels", "calls"),
            "timeline": of.kernels_in_range("count"),
        },
        of_selections=False,
    ),
    Shown(
        "the kernels with most time",
        {
            "overview": of.column_of("overview", "top_kernels", "name", "total_us"),
            "kernels": of.restricted_to(
                of.column_of("kernels", "kernels", "name", "total_us"),
                of.column_of("overview", "top_kernels", "name", "total_us"),
            ),
        },
    ),
    Shown(
        "the operators with most device time",
        {
            "overview": of.column_of("overview", "top_operators", "name", "device_self_us"),
            "operators": of.restricted_to(
                of.column_of("operators", "operators", "name", "device_self_us"),
                of.column_of("overview", "top_operators", "name", "device_self_us"),
            ),
        },
    ),
    Shown(
        "device time",
        {
            "the recording": of.work_duration,
            "operators and what they did not launch": of.sum_of(
                "operators", "operators", "device_self_us"
            ),
            "operators by Tensor Core use": of.sum_of(
                "overview", "operator_classes", "gpu_time_us", **WHOLE
            ),
            "kernels by class": of.sum_of("overview", "kernel_classes", "gpu_time_us", **WHOLE),
        },
    ),
    Shown(
        "time launched inside the operators with most device time",
        {
            "overview": of.restricted_to(
                of.column_of("overview", "top_operators", "name", "gpu_time_us"),
                of.column_of("operators", "operators", "name", "device_total_us"),
            ),
            "operators": of.restricted_to(
                of.column_of("operators", "operators", "name", "device_total_us"),
                of.column_of("overview", "top_operators", "name", "gpu_time_us"),
            ),
        },
    ),
    Shown(
        "device time, by modules",
        {
            "the recording": of.with_modules(of.work_duration),
            "modules and what is outside": of.sum_of_parts(
                "modules",
                "modules",
                ("device_self_us", "backward_device_self_us", "recompute_device_self_us"),
            ),
        },
        of_selections=False,
    ),
    Shown(
        "calls of operators",
        {
            "fact": of.fact("operator_calls", "operators"),
            "by name": of.sum_of("operators", "operators", "calls", kind="operator"),
            "by shape": of.sum_of("operators_by_shape", "operators", "calls", kind="operator"),
        },
    ),
    Shown(
        "host time of operators",
        {
            "by name": of.sum_of("operators", "operators", "host_self_us", kind="operator"),
            "by shape": of.sum_of(
                "operators_by_shape", "operators", "host_self_us", kind="operator"
            ),
        },
    ),
    Shown(
        "device time of operators",
        {
            "fact": of.fact("device_self_us", "operators"),
            "by name": of.sum_of("operators", "operators", "device_self_us", kind="operator"),
            "by shape": of.sum_of(
                "operators_by_shape", "operators", "device_self_us", kind="operator"
            ),
        },
    ),
    Shown(
        "events",
        {"overview": of.fact("event_count"), "timeline": of.event_slices},
        of_selections=False,
    ),
    Shown(
        "steps shown",
        {
            "overview": of.height_of("overview", "steps"),
            "compare": of.height_of("compare", "steps"),
        },
        of_selections=False,
    ),
    Shown(
        "length of each step",
        {
            "overview": of.column_of("overview", "steps", "step", "total_us"),
            "sum of its categories": of.step_parts,
            "distributed": of.per_step_parts(
                ("computation_us", "overlap_us", "communication_us", "other_us")
            ),
        },
    ),
    Shown(
        "length of each step that is compared",
        {
            "compare": of.column_of("compare", "steps", "baseline_step", "baseline_total_us"),
            "overview": of.restricted_to(
                of.column_of("overview", "steps", "step", "total_us"),
                of.column_of("compare", "steps", "baseline_step", "baseline_total_us"),
            ),
        },
    ),
    Shown(
        "length of the average step",
        {
            "fact": of.fact("average_step_us"),
            "its parts": of.sum_of("overview", "average_step", "duration_us"),
            "mean of the whole steps": of.average_of_whole_steps,
            "compare": of.sum_of(
                "compare", "average_step", "baseline_duration_us", category="Total"
            ),
            "compare, candidate": of.sum_of(
                "compare", "average_step", "candidate_duration_us", category="Total"
            ),
        },
    ),
    Shown(
        "parts of the average step",
        {
            "overview": of.column_of("overview", "average_step", "category", "duration_us"),
            "compare": of.restricted_to(
                of.column_of("compare", "average_step", "category", "baseline_duration_us"),
                of.column_of("overview", "average_step", "category", "duration_us"),
            ),
        },
    ),
    Shown(
        "time of each category",
        {"chart": of.series_of_steps, "table": of.categories_of_steps},
    ),
    Shown(
        "computation in each step",
        {
            "overview": of.computes_on_device(
                of.column_of("overview", "steps", "step", "kernel_us")
            ),
            "distributed": of.computes_on_device(
                of.per_step_parts(("computation_us", "overlap_us"))
            ),
            "timeline": of.computes_on_device(of.gpus_in_steps("computation_us", "overlap_us")),
        },
    ),
    Shown(
        "communication on devices in each step",
        {
            "distributed": of.computes_on_device(
                of.per_step_parts(("communication_us", "overlap_us"))
            ),
            "timeline": of.computes_on_device(of.gpus_in_steps("communication_us", "overlap_us")),
        },
    ),
    Shown(
        "communication on the host in each step",
        {
            "overview": of.computes_on_host(
                of.column_of("overview", "steps", "step", "communication_us")
            ),
            "distributed": of.computes_on_host(
                of.per_step_parts(("communication_us", "overlap_us"))
            ),
        },
    ),
    Shown(
        "GPU utilization",
        {
            "overview": of.only_gpu("utilization_pct"),
            "timeline": of.utilization_by_timeline(
                "computation_us", "communication_us", "overlap_us"
            ),
        },
    ),
    Shown(
        "GPU utilization without communication",
        {
            "overview": of.only_gpu("compute_utilization_pct"),
            "timeline": of.utilization_by_timeline("computation_us", "overlap_us"),
        },
    ),
    Shown(
        "peak memory",
        {
            "memory": of.column_of("memory", "memory_peaks", "device", "peak_allocated_bytes"),
            "timeline": of.highest_of_memory_counters,
            "what operators held": of.composition_of_peak("operator"),
        },
        of_selections=False,
    ),
    Shown(
        "device work without launch",
        {"note": of.note_count("kernel_without_launch"), "rows": of.work_without_launch},
        of_selections=False,
    ),
    Shown(
        "slices that overlap",
        {
            "note": of.note_count("overlapping_slices"),
            "timeline": lambda answers: answers.timeline.overlapping,
        },
        of_selections=False,
    ),
    Shown(
        "calls of each operator",
        {
            "operators": of.column_of("operators", "operators", "name", "calls", kind="operator"),
            "compare": of.compared("operators", "name", "baseline_calls"),
        },
        of_selections=False,
    ),
    Shown(
        "device time of each operator",
        {
            "operators": of.column_of(
                "operators", "operators", "name", "device_total_us", kind="operator"
            ),
            "compare": of.compared("operators", "name", "baseline_device_total_us"),
        },
        of_selections=False,
    ),
    Shown(
        "time of each kernel",
        {
            "kernels": of.column_of("kernels", "kernels", "name", "total_us"),
            "compare": of.compared("kernels", "name", "candidate_total_us"),
        },
        of_selections=False,
    ),
    Shown(
        "device time of each module",
        {
            "modules": of.column_of("modules", "modules", "path", "device_total_us", kind="module"),
            "flame graph": of.column_of("modules", "module_flame", "path", "device_width_us"),
            "compare": of.compared("modules", "path", "baseline_device_total_us"),
        },
        of_selections=False,
    ),
    Shown(
        "host time of each module",
        {
            "modules": of.column_of("modules", "modules", "path", "host_total_us", kind="module"),
            "flame graph": of.column_of("modules", "module_flame", "path", "host_width_us"),
            "compare": of.compared("modules", "path", "baseline_host_total_us"),
        },
        of_selections=False,
    ),
    Shown(
        "collectives without a match",
        {
            "collectives": of.sum_of("distributed", "collectives", "unmatched_calls"),
            "rows": of.height_of("distributed", "unmatched"),
        },
    ),
)
