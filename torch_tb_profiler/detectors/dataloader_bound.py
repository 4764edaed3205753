"""The step waits for data (rule 1 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.communication.roles import Role, exclusive_intervals
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import MODEL, Diagnosis, diagnosis
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, loadings
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.loader_diagnosis import describe_diagnosis
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "dataloader_bound"
TORCH = "DataLoader)#"
"""Part of the names of ranges of PyTorch's DataLoader, which has an option for pinned memory."""
OPTIONS, PINNED = "num_workers=4", ", pin_memory=True"
EVIDENCE = TableSpec(
    CODE,
    "Data loading",
    "One row per iterator that the program waited for.",
    (
        Column("name", "Iterator", "string", None, "The range recorded by the profiler."),
        CALLS,
        TOTAL_US,
    ),
)


def detect(context: Context) -> Finding | None:
    """Data loading takes more than the threshold of the average step.

    The gain is that time; if device work is recorded, the part in which no device works. For a
    recorded loader it is the part that more workers would save, nothing if no core is free for
    them.
    """
    waited_ns = context.role_ns(Role.DATALOADER)
    share = context.share_pct(waited_ns)
    if share <= entry(CODE).threshold:
        return None
    iterators = sum_calls(context.ranges_of(Category.DATALOADER), "name_code")
    iterators = iterators.with_columns(name=context.texts(iterators["name_code"]))
    names = " ".join(iterators["name"])
    time = context.within_steps(_waiting_time(context.trace))
    gain_us = min(context.per_step_ns(time), waited_ns) / NS_PER_US
    variant = "default"
    if "SingleProcess" in names:
        variant = "single"
    elif "MultiProcess" in names:
        variant = "multi"
    recorded, saved_share = _recorded(context)
    is_pinnable = TORCH in names and not context.trace.device_work.is_empty()
    return Finding(
        CODE,
        share,
        (gain_us * saved_share or None) if saved_share is not None else None,
        evidence=build_table(EVIDENCE, iterators),
        source={"view": "overview", "table": "steps", "sort": "-dataloader_us"},
        variant=variant if recorded is None else recorded.pop("variant"),
        values={
            "waited": duration_text(waited_ns / NS_PER_US),
            "options": OPTIONS + (PINNED if is_pinnable else ""),
            **(recorded or {}),
        },
        time=time,
        spot=_spot(context),
        at_stake_us=gain_us,
    )


def _recorded(context: Context) -> tuple[dict[str, str] | None, float | None]:
    """The texts about the bottleneck of a recorded loader, as in the view ``data``; None if no
    loader of training is recorded that the program waits for. And the share of the waiting that
    could be saved; None if no core is free for more workers."""
    diagnoses = [(each, diagnosis(each)) for each in loadings(context.trace, context.selection)]
    slow = [pair for pair in diagnoses if pair[0].phase == TRAIN and pair[1].kind != MODEL]
    if not slow:
        return None, 1.0
    loading, bottleneck = max(slow, key=lambda pair: pair[0].wait.total_us)
    text = describe_diagnosis(loading, bottleneck)
    texts = {
        "variant": "recorded_stage" if text.stage else "recorded",
        "why": text.reason,
        "stage": text.stage,
        "rest": text.won,
    }
    return texts, _saved_share(loading, bottleneck)


def _saved_share(loading: Loading, bottleneck: Diagnosis) -> float | None:
    """The share of the waiting that the advice could save: all if it needs no more workers."""
    if loading.has_no_core_left:
        return None
    if bottleneck.step_us is None or loading.steady_wait_us <= 0:
        return 1.0
    return min(max((loading.steady_us - bottleneck.step_us) / loading.steady_wait_us, 0.0), 1.0)


def _waiting_time(trace: Trace) -> Intervals:
    """The time in which the step only waits for data."""
    if trace.device_work.is_empty():
        return exclusive_intervals(trace)[Role.DATALOADER]
    return idle_causes(trace).intervals[IdleCause.DATA_LOADING]


def _spot(context: Context) -> Spot | None:
    ranges = context.ranges_of(Category.DATALOADER).sort("dur_ns", descending=True)
    if ranges.is_empty():
        return None
    longest = ranges.row(0, named=True)
    start_ns = longest["start_ns"]
    return context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"])
