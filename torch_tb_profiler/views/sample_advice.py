"""Advice derived from samples of host and devices.

Thresholds: ``knowledge/resources.toml``. Rules: ``docs/views-resources.md#advice``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch_tb_profiler.analysis.memory.selected import selected_time
from torch_tb_profiler.analysis.recording.samples import (
    SampleSeries,
    has_own_clock,
    samples,
    select_within,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.resources import SampleAdvice, resources_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.sample_waits import waits_pct
from torch_tb_profiler.views.schema import Note, Severity

HOST, PROCESS, GPU, WORKER = "host", "process", r"GPU \d+", "loader worker .*"
PIPELINES = ("pipeline", "queues")
"""Side tables of recordings of a data pipeline, which have no wait times."""


class Measured:
    """The series of a selection by source and metric that have enough samples."""

    def __init__(self, series: Sequence[SampleSeries], least: int) -> None:
        self._series = [each for each in series if len(each.value) >= least]

    def find(self, source: str, metric: str) -> list[SampleSeries]:
        """The series of a metric whose source fully matches a pattern."""
        return [
            each
            for each in self._series
            if each.metric == metric and re.fullmatch(source, each.source)
        ]

    def mean(self, source: str, metric: str) -> float | None:
        """The mean of the first series of a metric, None without one."""
        matches = self.find(source, metric)
        return matches[0].mean() if matches else None

    def highest(self, source: str, metric: str) -> float | None:
        """The highest value of the first series of a metric, None without one."""
        matches = self.find(source, metric)
        return float(matches[0].value.max()) if matches else None


class SampleContext:
    """What the rules check.

    Attributes:
        trace: The trace.
        selection: The selected part of it.
        samples: Its samples.
        thresholds: The thresholds of the rules.
    """

    def __init__(self, trace: Trace, selection: Selection, series: Sequence[SampleSeries]) -> None:
        self.trace = trace
        self.selection = selection
        self.thresholds: SampleAdvice = resources_file().advice
        self.samples = Measured(series, self.thresholds.least_samples)

    @property
    def workers_cpu(self) -> float:
        """What all workers together used, in percent of a core."""
        return sum(each.mean() for each in self.samples.find(WORKER, "CPU"))


def advice(trace: Trace, selection: Selection, series: Sequence[SampleSeries]) -> list[Note]:
    """Notes with advice from the samples of a selection, warnings first.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    context = SampleContext(trace, selection, series)
    notes = [note for rule in RULES if (note := rule(context)) is not None]
    return sorted(notes, key=lambda note: note.severity != "warning")


def urgent(trace: Trace, selection: Selection) -> list[Note]:
    """The advice from samples that affects all times of the recording, for the findings of the
    overview.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    if has_own_clock(trace) or not (sampled := samples(trace).series):
        return []
    stretches = selected_time(trace, selection)
    chosen = [part for each in sampled if len((part := select_within(each, stretches)).time_ns)]
    context = SampleContext(trace, selection, chosen)
    notes = [note for rule in URGENT if (note := rule(context)) is not None]
    return [note for note in notes if note.severity == "warning"]


class AdviceKind(NamedTuple):
    """Stable name, title and severity of the notes of a rule."""

    code: str
    title: str
    severity: Severity


def _note(
    kind: AdviceKind, text: str, measured: float, threshold: float, unit: str = "pct"
) -> Note:
    evidence: dict[str, object] = {
        "title": kind.title,
        "measured": measured,
        "threshold": threshold,
        "threshold_is_ours": True,
        "unit": unit,
    }
    return Note("advice", kind.code, kind.severity, text, evidence)


def _host_cpu_low(context: SampleContext) -> Note | None:
    """Cores are idle while steps wait for data."""
    user, limit = context.samples.mean(HOST, "CPU user"), context.thresholds.low_user_pct
    if user is None or user >= limit:
        return None
    waits = waits_pct(context.trace, context.selection)
    if waits is None:
        if not any(name in context.trace.side for name in PIPELINES):
            return None
        text = (
            f"Programs used {user:.1f} % of the host's CPU cores. If steps wait for data, more "
            "loader workers can use the free cores."
        )
        return _note(AdviceKind("host_cpu_low", "CPU cores idle", "info"), text, user, limit)
    if waits < context.thresholds.waits_pct:
        return None
    text = (
        f"The program waits for data {waits:.0f} % of the time while programs use only "
        f"{user:.0f} % of the host's CPU cores. {_workers_text(context)}"
    )
    return _note(
        AdviceKind("host_cpu_low", "CPU cores idle while steps wait", "warning"), text, user, limit
    )


def _workers_text(context: SampleContext) -> str:
    busy = [each.mean() for each in context.samples.find(WORKER, "CPU")]
    if not busy:
        return "Load data in worker processes (num_workers of the DataLoader), or in more of them."
    mean = sum(busy) / len(busy)
    if mean >= context.thresholds.busy_worker_pct:
        return (
            f"Its {len(busy)} workers are busy all the time ({mean:.0f} % of a core each): use "
            "more."
        )
    return (
        f"Its {len(busy)} workers are busy only {mean:.0f} % of the time: they wait for storage "
        "or for a free place in the queue. The Data view shows which."
    )


def _host_cpu_system(context: SampleContext) -> Note | None:
    """The operating system uses much CPU time."""
    system, limit = context.samples.mean(HOST, "CPU system"), context.thresholds.high_system_pct
    if system is None or system <= limit:
        return None
    switches = context.samples.find(HOST, "context switches")
    counted = ""
    if switches:
        rate_unit = "a second" if switches[0].unit == "1/s" else "per sample"
        counted = f", with {switches[0].mean():,.0f} context switches {rate_unit}"
    text = (
        f"The operating system used {system:.1f} % of the host's CPU cores{counted}. Fewer "
        "workers or threads leave more CPU time to the program."
    )
    return _note(AdviceKind("host_cpu_system", "High system CPU time", "info"), text, system, limit)


def _io_wait(context: SampleContext) -> Note | None:
    """Cores wait for storage."""
    wait, limit = context.samples.mean(HOST, "CPU I/O wait"), context.thresholds.io_wait_pct
    if wait is None or wait <= limit:
        return None
    read, written = (context.samples.mean(HOST, f"disk {way}") for way in ("read", "written"))
    moved = ""
    if read is not None and written is not None:
        moved = (
            f" Disks read {read / 1e6:,.0f} and wrote {written / 1e6:,.0f} MB/s during that time."
        )
    text = (
        f"{wait:.1f} % of the host's CPU time was spent waiting for storage.{moved} Put the data "
        "on a local or faster disk, cache it in memory, or store it in fewer and larger files; "
        "write checkpoints in a background thread."
    )
    return _note(AdviceKind("host_io_wait", "CPU waits for storage", "warning"), text, wait, limit)


def _shared(context: SampleContext) -> Note | None:
    """Other programs use the cores."""
    cores, limit = context.samples.mean(HOST, "cores"), context.thresholds.shared_others_pct
    idle, own = context.samples.mean(HOST, "CPU idle"), context.samples.mean(PROCESS, "CPU")
    job = context.trace.meta.info.job
    if cores is None or idle is None or own is None or (job and (job.world_size or 1) > 1):
        return None
    used = (own + context.workers_cpu) / cores
    waiting = context.samples.mean(HOST, "CPU I/O wait") or 0.0
    others = 100 - idle - waiting - used
    if idle >= context.thresholds.shared_idle_pct or others < limit:
        return None
    text = (
        f"All {cores:.0f} CPU cores of the host were busy ({idle:.0f} % idle). This process and "
        f"its workers used {used:.0f} %, other programs {others:.0f} %: times in this recording "
        "are longer than on an idle machine."
    )
    kind = AdviceKind("host_shared", "Other programs use the CPU", "warning")
    return _note(kind, text, others, limit)


def _memory_full(context: SampleContext) -> Note | None:
    """The container, or the host, is about to run out of memory."""
    limit = context.thresholds.memory_pct
    for source, metric, label in (
        (PROCESS, "memory limit in use", "Container memory"),
        (HOST, "memory in use", "Host memory"),
    ):
        most = context.samples.highest(source, metric)
        if most is not None and most > limit:
            text = (
                f"{label} was {most:.1f} % full at its peak: with a little more the system kills a "
                "process or swaps memory to disk. Use fewer workers, a smaller prefetch_factor, "
                "or memory-mapped datasets."
            )
            return _note(
                AdviceKind("memory_nearly_full", "Memory nearly full", "warning"), text, most, limit
            )
    return None


def _swapped(context: SampleContext) -> Note | None:
    """Memory of the process is swapped to disk."""
    most, limit = (
        context.samples.highest(PROCESS, "swapped memory"),
        context.thresholds.swapped_bytes,
    )
    if most is None or most < limit:
        return None
    text = (
        f"{most / 1e6:,.0f} MB of the process were swapped to disk: the first access to each "
        "swapped page waits for the disk. Reduce the memory use of all programs on this machine "
        "to keep the process in RAM."
    )
    return _note(
        AdviceKind("process_swapped", "Process swapped out", "warning"),
        text,
        most,
        limit,
        "bytes",
    )


def _cpu_limit(context: SampleContext) -> Note | None:
    """The container, or the affinity, allows no more."""
    cores = context.samples.mean(PROCESS, "CPU limit")
    throttled, limit = (
        context.samples.mean(PROCESS, "CPU throttled"),
        context.thresholds.cpu_throttled_pct,
    )
    allowed = "" if cores is None else f" of {cores / 100:g} cores"
    if throttled is not None and throttled > limit:
        text = (
            f"The container used up its CPU limit{allowed} in {throttled:.0f} % of the scheduler "
            "periods, and all of its threads were paused for the rest of each period. Raise the "
            "limit, or use no more threads and workers than the container has cores."
        )
        return _note(
            AdviceKind("cpu_limit_reached", "CPU limit", "warning"), text, throttled, limit
        )
    own = context.samples.mean(PROCESS, "CPU")
    if cores is None or own is None:
        return None
    used = own + context.workers_cpu
    share, limit = 100 * used / cores, context.thresholds.cpu_limit_pct
    if share < limit:
        return None
    text = (
        f"The process and its workers used {share:.0f} % of the {cores / 100:g} cores available "
        "to them; the host has more. Raise the CPU limit or widen the CPU affinity."
    )
    return _note(AdviceKind("cpu_limit_reached", "CPU limit", "info"), text, share, limit)


def _throttled(metric: str, kind: AdviceKind, text: str) -> Callable[[SampleContext], Note | None]:
    """A rule about GPUs whose clocks were throttled for one reason."""

    def rule(context: SampleContext) -> Note | None:
        limit = context.thresholds.gpu_throttled_pct
        matches = {
            each.source: each.mean()
            for each in context.samples.find(GPU, metric)
            if each.mean() > limit
        }
        if not matches:
            return None
        most = max(matches, key=lambda source: matches[source])
        filled = text.format(
            gpus=", ".join(matches), share=matches[most], state=_state(context, most)
        )
        return _note(kind, filled, matches[most], limit)

    return rule


def _state(context: SampleContext, gpu: str) -> str:
    """``"312 W of 400 W, 71 °C, SM clock 1,410 MHz, at most 1,980 MHz"``: means, of one GPU."""
    power, allowed = context.samples.mean(gpu, "power"), context.samples.mean(gpu, "power limit")
    heat, clock = context.samples.mean(gpu, "temperature"), context.samples.mean(gpu, "SM clock")
    parts = []
    if power is not None:
        parts.append(f"{power:.0f} W" + ("" if allowed is None else f" of {allowed:.0f} W"))
    if heat is not None:
        parts.append(f"{heat:.0f} °C")
    if clock is not None:
        most = context.samples.highest(gpu, "SM clock") or clock
        parts.append(f"SM clock {clock:,.0f} MHz, at most {most:,.0f} MHz")
    return f"{gpu} on average: {', '.join(parts)}. " if parts else ""


def _one_thread(context: SampleContext) -> Note | None:
    """GPUs wait while the program uses one core, and not for data."""
    thresholds = context.thresholds
    used = [each.mean() for each in context.samples.find(GPU, "utilization")]
    working = [each for each in used if each > 0]
    cpu = context.samples.mean(PROCESS, "CPU")
    if not working or cpu is None or max(working) >= thresholds.gpu_idle_pct:
        return None
    if not thresholds.one_core_from_pct <= cpu <= thresholds.one_core_to_pct:
        return None
    waits = waits_pct(context.trace, context.selection)
    if waits is not None and waits >= thresholds.waits_pct:
        return None
    text = (
        f"The GPU was busy {max(working):.0f} % of the time while the process used {cpu:.0f} % "
        "of a core, about one: a single host thread limits the speed. Larger batches, "
        "torch.compile or CUDA graphs give the GPU more work per host call."
    )
    kind = AdviceKind("one_thread_bound", "Limited by one host thread", "warning")
    return _note(kind, text, max(working), thresholds.gpu_idle_pct)


URGENT: tuple[Callable[[SampleContext], Note | None], ...] = (
    _shared,
    _swapped,
    _memory_full,
    _cpu_limit,
    _throttled(
        "throttled by heat",
        AdviceKind("gpu_throttled_heat", "GPU thermally throttled", "warning"),
        "{gpus}: thermally throttled in {share:.0f} % of the samples. {state}Check the cooling "
        "and other load on the machine.",
    ),
    _throttled(
        "throttled by hardware",
        AdviceKind("gpu_throttled_hardware", "GPU slowed by hardware", "warning"),
        "{gpus}: the hardware halved the clocks in {share:.0f} % of the samples. {state}Check "
        "the power supply and its cables, and nvidia-smi -q -d PERFORMANCE.",
    ),
)
"""Rules about conditions that slow everything down, most urgent first; the overview reports them
too."""

RULES = (
    *URGENT,
    _one_thread,
    _host_cpu_low,
    _io_wait,
    _host_cpu_system,
    _throttled(
        "throttled by power",
        AdviceKind("gpu_throttled_power", "GPU at its power limit", "info"),
        "{gpus}: at the power limit in {share:.0f} % of the samples, which lowers the clocks. "
        "{state}This is normal for dense work. A higher limit (nvidia-smi -pl), if the card "
        "allows it, makes it faster; compare runs only at the same limit.",
    ),
    _throttled(
        "clocks limited by settings",
        AdviceKind("gpu_clocks_limited", "GPU clocks limited by settings", "info"),
        "{gpus}: the clocks were limited by settings in {share:.0f} % of the samples. "
        "{state}nvidia-smi -rac and -rgc reset them.",
    ),
)
"""All rules, most urgent first."""
