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
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, calls_and_time, filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.loader_diagnosis import describe_diagnosis
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "dataloader_bound"
TORCH = "DataLoader)#"
"""In the names of ranges of PyTorch's own loader; pinned memory is an option of that one."""
OPTIONS, PINNED = "num_workers=4", ", pin_memory=True"
EVIDENCE = TableSpec(
    CODE,
    "Data loading",
    "One row per kind of iterator that was waited for.",
    (
        Column("name", "Iterator", "string", None, "The range the profiler recorded."),
        CALLS,
        TOTAL_US,
    ),
)


def detect(context: Context) -> Finding | None:
    """Data loading takes more than the threshold of the average step.

    The gain is that time, where devices worked that in which none does; of a recorded loader as
    much of it as more workers would win, nothing where no core is left for them.
    """
    waited_ns = context.role_ns(Role.DATALOADER)
    share = context.share_pct(waited_ns)
    if share <= entry(CODE).threshold:
        return None
    iterators = calls_and_time(context.ranges_of(Category.DATALOADER), "name_code")
    iterators = iterators.with_columns(name=context.texts(iterators["name_code"]))
    names = " ".join(iterators["name"])
    time = context.within_steps(_gained(context.trace))
    gain_us = min(context.in_steps_ns(time), waited_ns) / NS_PER_US
    variant = "default"
    if "SingleProcess" in names:
        variant = "single"
    elif "MultiProcess" in names:
        variant = "multi"
    recorded, won_share = _recorded(context)
    is_pinnable = TORCH in names and not context.trace.device_work.is_empty()
    return Finding(
        CODE,
        share,
        (gain_us * won_share or None) if won_share is not None else None,
        evidence=filled(EVIDENCE, iterators),
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
    """What the recorder of the loader says holds it up, as the view ``data`` does, None where no
    recorder told of one that is waited for while training; and how much of the waiting could be
    won, None where no core is left to win it with."""
    found = [(each, diagnosis(each)) for each in loadings(context.trace, context.selection)]
    slow = [pair for pair in found if pair[0].phase == TRAIN and pair[1].kind != MODEL]
    if not slow:
        return None, 1.0
    loading, found_kind = max(slow, key=lambda pair: pair[0].wait.total_us)
    said = describe_diagnosis(loading, found_kind)
    texts = {
        "variant": "recorded_stage" if said.stage else "recorded",
        "why": said.reason,
        "stage": said.stage,
        "rest": said.won,
    }
    return texts, _won_share(loading, found_kind)


def _won_share(loading: Loading, found: Diagnosis) -> float | None:
    """The part of the waiting that the advice could win: all where no cores are asked for."""
    if loading.has_no_core_left:
        return None
    if found.step_us is None or loading.steady_wait_us <= 0:
        return 1.0
    return min(max((loading.steady_us - found.step_us) / loading.steady_wait_us, 0.0), 1.0)


def _gained(trace: Trace) -> Intervals:
    """When the step does nothing but to wait for data."""
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
