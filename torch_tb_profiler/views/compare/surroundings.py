"""Differences of the environment of two recordings, and whether their times are comparable.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch_tb_profiler.analysis.recording.torch_version import torch_version
from torch_tb_profiler.knowledge.surroundings import (
    can_be_one_version,
    surroundings,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare import program, recorded
from torch_tb_profiler.views.compare.environment_table import (
    NOT_KNOWN,
    Compared,
    Verdict,
    by_text,
    compared_aspect,
    reasons,
)
from torch_tb_profiler.views.compare.recorded import NO_DEVICE, Setting
from torch_tb_profiler.views.compare.renames import Renames
from torch_tb_profiler.views.compare.shared_work import shared_work
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.workload import Workload, workload

Bases = tuple[StepBasis, StepBasis]

OF_PROGRAM: dict[str, Callable[[Trace], Setting]] = {
    "processor": program.processor,
    "switches": program.switches,
    "compilation": program.compilation,
    "parameters": program.parameters,
    "optimizer": program.optimizer,
    "data_parallel": program.data_parallel,
    "loader": program.loader,
}
"""EnvironmentAspect → what a recording says that its program had set."""

WHERE_RECORDED = frozenset(
    {"driver", "library", "backend", "cudnn_benchmark", *OF_PROGRAM, "environment"}
)
"""Aspects of which nothing is said where neither side records them."""


def compared_surroundings(bases: Bases, renames: Renames) -> tuple[Compared, ...]:
    """Every aspect of two recordings, in the order of ``knowledge/surroundings.toml``.

    Args:
        bases: Both sides.
        renames: What is called differently on the sides.
    """
    compared: dict[str, Callable[[Bases], Verdict]] = {
        **_COMPARED,
        "work": partial(_work, renames),
    }
    rows = []
    for aspect in surroundings().aspects:
        verdict = compared[aspect.kind](bases)
        is_silent = verdict.baseline.text is verdict.candidate.text is None
        if is_silent and aspect.kind in WHERE_RECORDED:
            continue
        rows.append(compared_aspect(aspect, verdict))
    return tuple(rows)


def _of_trace(read: Callable[[Trace], Setting]) -> Callable[[Bases], Verdict]:
    return lambda bases: by_text(read(bases[0].trace), read(bases[1].trace))


def _device(bases: Bases) -> Verdict:
    """Models; a device of unknown model still differs from none."""
    sides = recorded.device(bases[0].trace), recorded.device(bases[1].trace)
    if NO_DEVICE in (sides[0].text, sides[1].text) and all(
        side.text is not None or not basis.trace.device_work.is_empty()
        for side, basis in zip(sides, bases, strict=True)
    ):
        return Verdict(*sides, sides[0].text == sides[1].text)
    text = sides[0].text
    if text is not None and text == sides[1].text and text.endswith(recorded.NO_MODEL):
        return Verdict(*sides, None, "Neither side names its model.")
    return by_text(*sides)


def _device_count(bases: Bases) -> Verdict:
    sides = recorded.device_count(bases[0].trace), recorded.device_count(bases[1].trace)
    # Where one has none, the row of the device says it.
    return by_text(*sides, matters="0" not in (sides[0].text, sides[1].text))


def _world_size(bases: Bases) -> Verdict:
    """Ranks; beside a job of several a recording without any word of one is a single process."""
    sides = [recorded.world_size(basis.trace) for basis in bases]
    texts = [side.text for side in sides]
    if recorded.NO_JOB in (sides[0].reason, sides[1].reason) and {*texts} - {None, "1"}:
        sides = [Setting(recorded.ALONE) if side.text is None else side for side in sides]
    elif None not in texts and sum(str(text).startswith(recorded.AT_LEAST) for text in texts) == 1:
        least, known = sorted(texts, key=lambda text: not str(text).startswith(recorded.AT_LEAST))
        if int(str(least).removeprefix(recorded.AT_LEAST)) <= int(str(known)):
            return Verdict(
                sides[0], sides[1], None, "One side records the size of process groups only."
            )
    return by_text(sides[0], sides[1])


def _loads(bases: Bases) -> tuple[Workload, Workload]:
    return workload(bases[0].trace), workload(bases[1].trace)


def _batch(bases: Bases) -> Verdict:
    sides = []
    for basis, load in zip(bases, _loads(bases), strict=True):
        named = basis.trace.meta.info.settings.batch_size
        value = load.batch if named is None else named
        sides.append(recorded.setting(value, load.reasons.get("batch", "")))
    return by_text(*sides)


def _shapes(bases: Bases) -> Verdict:
    a, b = _loads(bases)
    shared_names = {name for name, _ in a.products} & {name for name, _ in b.products}
    share, sides = 1.0, []
    for own, other in ((a, b), (b, a)):
        calls = {key: n for key, n in own.products.items() if key[0] in shared_names}
        both = sum(n for key, n in calls.items() if key in other.products)
        share = min(share, both / sum(calls.values())) if calls else share
        lone = [key for key in own.hottest if key[0] in shared_names and key not in other.products]
        hottest = lone or [key for key in a.hottest if key in own.products] or list(own.hottest)
        text = f"{hottest[0][0]} {hottest[0][1]}" if hottest else None
        sides.append(recorded.setting(text, own.reasons.get("products", "")))
    if not a.products or not b.products:
        return Verdict(sides[0], sides[1], None, reasons(*sides))
    if not shared_names:
        reason = "The sides have no matrix product or convolution in common."
        return Verdict(sides[0], sides[1], None, reason)
    return Verdict(sides[0], sides[1], share >= surroundings().shapes_shared)


def _precision(bases: Bases) -> Verdict:
    loads = _loads(bases)
    sides, chosen = [], []
    for basis, load in zip(bases, loads, strict=True):
        settings = basis.trace.meta.info.settings
        parts = [f"autocast {settings.autocast}"] if settings.autocast else []
        parts += [settings.matmul_precision] if settings.matmul_precision else []
        chosen.append(parts)
        parts = [f"{kind} {share:.0f} %" for kind, share in load.precision_pct.items()] + parts
        sides.append(recorded.setting(", ".join(parts), load.reasons.get("precision_pct", "")))
    if bool(loads[0].precision_pct) != bool(loads[1].precision_pct) and chosen[0] == chosen[1]:
        return Verdict(sides[0], sides[1], None, "One side records no element types of operators.")
    if not loads[0].precision_pct or not loads[1].precision_pct:
        return by_text(*sides)
    a, b = (load.precision_pct for load in loads)
    apart = max(abs(a.get(kind, 0.0) - b.get(kind, 0.0)) for kind in {*a, *b})
    return Verdict(sides[0], sides[1], apart < surroundings().precision_points)


def _work(renames: Renames, bases: Bases) -> Verdict:
    """By name: pairs are other code, though they may do the same work."""
    shared = shared_work(bases[0].trace, bases[1].trace, renames)
    if not shared:
        nothing = Setting(None, "no operators and no kernels")
        return Verdict(nothing, nothing, None, "A side has no operators and no kernels.")
    a, b = (Setting("; ".join(each.text(side) for each in shared)) for side in (0, 1))
    is_all = all(each.text(side).endswith(" 100 %") for each in shared for side in (0, 1))
    most = max(min(each.by_name) for each in shared)
    return Verdict(a, b, is_all, matters=most < surroundings().work_shared)


def _steps(bases: Bases) -> Verdict:
    a, b = len(bases[0].rows), len(bases[1].rows)
    sides = recorded.steps(bases[0]), recorded.steps(bases[1])
    matters = max(a, b) >= surroundings().steps_ratio * max(min(a, b), 1)
    same = None if sides[0].text is None or sides[1].text is None else a == b
    reason = reasons(*sides) if same is None else None
    return Verdict(*sides, same, reason, matters)


def _quality(bases: Bases) -> Verdict:
    """Damage forbids whether one side has it or both."""
    sides = recorded.damage(bases[0].trace), recorded.damage(bases[1].trace)
    texts = [side.text for side in sides]
    is_damaged = any(text != recorded.NO_DAMAGE for text in texts)
    return Verdict(*sides, texts[0] == texts[1], regardless=is_damaged)


def _torch(bases: Bases) -> Verdict:
    """Versions as they are recorded; else by how the traces are written, or by the lines of
    torch's own functions."""
    traces = bases[0].trace, bases[1].trace
    named = [recorded.setting(trace.meta.info.settings.torch_version) for trace in traces]
    if all(side.text is not None for side in named):
        return by_text(*named)
    sides = [
        recorded.setting(torch_version(trace), "the torch version is not recorded")
        for trace in traces
    ]
    lines = [recorded.torch_lines(trace) for trace in traces]
    for file, function in sorted(lines[0].keys() & lines[1].keys()):
        a, b = lines[0][file, function], lines[1][file, function]
        if not a & b:
            sides = [
                Setting(f"{side.text or NOT_KNOWN} ({function} at {file}:{min(at)})")
                for side, at in zip(sides, (a, b), strict=True)
            ]
            return Verdict(sides[0], sides[1], False)
    if sides[0].text is None or sides[1].text is None:
        return Verdict(sides[0], sides[1], None, reasons(*sides))
    if not can_be_one_version(sides[0].text, sides[1].text):
        return Verdict(sides[0], sides[1], False)
    if sides[0].text != sides[1].text:
        return Verdict(sides[0], sides[1], None, "The possible version ranges overlap.")
    reason = "The torch version is not recorded, and both traces have the same layout."
    return Verdict(sides[0], sides[1], None, reason)


def _environment(bases: Bases) -> Verdict:
    return by_text(*program.environments(bases[0].trace, bases[1].trace))


def _of_basis(read: Callable[[StepBasis], Setting]) -> Callable[[Bases], Verdict]:
    return lambda bases: by_text(read(bases[0]), read(bases[1]))


_COMPARED: dict[str, Callable[[Bases], Verdict]] = {
    "device": _device,
    "device_count": _device_count,
    "world_size": _world_size,
    "batch": _batch,
    "shapes": _shapes,
    "precision": _precision,
    "steps": _steps,
    "quality": _quality,
    "torch": _torch,
    "runtime": _of_trace(recorded.runtime),
    "driver": _of_trace(recorded.driver),
    "library": _of_trace(recorded.library),
    "backend": _of_trace(recorded.backend),
    "recording": _of_trace(recorded.recording),
    "format": _of_trace(recorded.file_format),
    "cudnn_benchmark": _of_trace(recorded.cudnn_benchmark),
    **{kind: _of_trace(read) for kind, read in OF_PROGRAM.items()},
    "environment": _environment,
    "rank": _of_trace(recorded.rank),
    "host": _of_trace(recorded.host),
    "links": _of_trace(recorded.links),
    "cut_steps": _of_basis(recorded.cut_steps),
}
