"""Join the roles of one job: recordings of rollout and training, of prefill and decode servers.

* SGLang names a file after the stage it profiled (``1719.5-TP-0-EXTEND``, ``1719.5-TP-0-DECODE``):
  stages of one id are one job.
* verl writes a folder per role (``rollout_generate/``, ``actor_update/`` …).
* People name folders, or groups of ranks in one folder, by roles (``rollout/``, ``train/``). These
  are one job only where a role that generates is beside one that uses it, every recording is of a
  rank or has a time in its name, and these times are near each other: folders with such names may
  be anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from torch_tb_profiler.storage.detected_names import parse_detected_name, recording_time_s
from torch_tb_profiler.storage.trace_files import NamedTrace

TOOL_FOLDERS = (
    "rollout_generate", "actor_update", "actor_compute_log_prob", "ref_compute_log_prob",
    "compute_values", "critic_compute_values", "update_critic", "critic_update",
    "compute_rm_score",
)  # fmt: skip
"""Names of folders that verl writes, one per role: nothing else is called so."""

GENERATING = ("rollout", "rollouts", "generator")
USING = (
    "train", "trainer", "training", "actor", "learner", "ref", "reference", "critic", "reward",
    "reward_model",
)  # fmt: skip
SERVERS = ("prefill", "decode")
"""Names that people give."""

STAGES = ("EXTEND", "DECODE")
"""The ends of names of SGLang's files: modes of a forward pass."""

MAX_GAP_S = 3600.0
"""Recordings of one job whose names have times end within an hour of each other."""

_INSTANCE = re.compile(r"(?P<word>[a-z_]+?)[-_ ]?(?P<number>[0-9]{0,4})", re.IGNORECASE)
_STAGE = re.compile(rf"(?P<job>.+)-(?P<stage>{'|'.join(STAGES)})")
_TP_RANK = re.compile(r"TP-[0-9]+")


def join_roles(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, list[NamedTrace]]:
    """Join runs that are the roles of one job; its workers are called after role and worker.

    Args:
        by_run: Run → its traces.
    """
    targets = {**_stage_targets(by_run), **_folder_targets(by_run)}
    joined: dict[str, list[NamedTrace]] = {}
    for run, traces in by_run.items():
        target, name = targets.get(run, (run, None))
        renamed = list(traces) if name is None else [_renamed(trace, name) for trace in traces]
        joined.setdefault(target, []).extend(renamed)
    return joined


_Target = tuple[str, str]
"""The joined run, and what the names of its workers become, with ``{}`` for the worker."""


def _stage_targets(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, _Target]:
    jobs: dict[str, dict[str, str]] = {}
    for run, traces in by_run.items():
        stage = _STAGE.fullmatch(run)
        if stage and all(_TP_RANK.match(trace.name.worker) for trace in traces):
            jobs.setdefault(stage["job"], {})[run] = stage["stage"]
    return {
        run: (job, f"{{}}-{stage}")
        for job, stages in jobs.items()
        if len(stages) > 1 and job not in by_run
        for run, stage in stages.items()
    }


def _folder_targets(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, _Target]:
    jobs: dict[str, dict[str, list[str]]] = {}
    for run, traces in by_run.items():
        role = _role_path(run, traces)
        if role is not None:
            parent, _, last = role.rpartition("/")
            jobs.setdefault(parent, {}).setdefault(last, []).append(run)
    targets: dict[str, _Target] = {}
    for parent, folders in jobs.items():
        single = {last: runs[0] for last, runs in folders.items() if len(runs) == 1}
        if parent in by_run or len(single) < len(folders):
            continue
        traces = [trace for run in single.values() for trace in by_run[run]]
        if _is_one_job({_word(last) for last in single}, traces):
            targets |= {run: (parent, f"{last}-{{}}") for last, run in single.items()}
    return targets


def _role_path(run: str, traces: Sequence[NamedTrace]) -> str | None:
    """The path whose last part names the role of a run: the run itself, or the folder of its files;
    None where neither does."""
    folders = {trace.folder for trace in traces}
    paths = [run, *(folders if len(folders) == 1 else ())]
    words = (*TOOL_FOLDERS, *GENERATING, *USING, *SERVERS)
    return next((path for path in paths if _word(path.rpartition("/")[2]) in words), None)


def _word(name: str) -> str:
    """The name of a role without the number of its instance."""
    match = _INSTANCE.fullmatch(name)
    return match["word"].lower() if match else name


def _is_one_job(words: set[str], traces: Iterable[NamedTrace]) -> bool:
    if len(words) > 1 and words <= set(TOOL_FOLDERS):
        return True
    generates, uses = words & {*GENERATING}, words & {*USING}
    if not ((generates and uses) or words >= {*SERVERS}):
        return False
    times = []
    for trace in traces:
        time_s = recording_time_s(trace.location.name)
        if time_s is not None:
            times.append(time_s)
        elif not parse_detected_name(trace.name.worker, ()).is_rank:
            return False
    return not times or max(times) - min(times) <= MAX_GAP_S


def _renamed(trace: NamedTrace, name: str) -> NamedTrace:
    return replace(trace, name=replace(trace.name, worker=name.format(trace.name.worker)))
