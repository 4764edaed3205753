"""Parts of sentences about a hang."""

from __future__ import annotations

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.analysis.hang.problems import HangKind, HangProblem
from torch_tb_profiler.knowledge.hang import knowledge
from torch_tb_profiler.views.answering import quoted
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.scales import duration_text

PROBLEMS: dict[HangKind, str] = {
    "mismatch": "calls do not match",
    "not_entered": "not entered by all",
    "not_started": "not started by all",
    "no_counterpart": "no counterpart",
    "transfer_differs": "send and receive differ",
    "no_dump": "members without a dump",
    "not_completed": "entered by all, not completed",
    "queued": "called by all, not started",
}
"""What keeps ranks waiting, for tables."""

STATES = ("scheduled", "started", "completed")


def subject(ranks: tuple[int, ...]) -> str:
    """``"Rank 5"``, ``"Ranks 4-7"``, ``"Ranks 0, 2, 4, 6 … (64 ranks)"``."""
    text = rank_text(ranks, knowledge().limits.named_ranks)
    return f"Rank {text}" if len(ranks) == 1 else f"Ranks {text}"


def in_sentence(ranks: tuple[int, ...]) -> str:
    """As :func:`subject`, within a sentence."""
    text = subject(ranks)
    return f"{text[0].lower()}{text[1:]}"


def call_text(diagnosis: HangDiagnosis, problem: HangProblem) -> str:
    """``"all_reduce #812 of group dp"``."""
    group = group_text(diagnosis, problem.channel)
    number = f" #{problem.sequence}" if problem.sequence else ""
    return f"{operation_text(diagnosis, problem.call)}{number} of {group}"


def group_text(diagnosis: HangDiagnosis, channel: int) -> str:
    """``"group dp"``; ``"the group of all ranks"``."""
    known = diagnosis.dumps.channels.all[channel]
    label = quoted(known.label)
    return "the group of all ranks" if label == "all ranks" else f"group {label}"


def operation_text(diagnosis: HangDiagnosis, call: int) -> str:
    """The name of a call without its backend, on one line."""
    if call < 0:
        return "a call"
    return quoted(diagnosis.dumps.calls["operation"][call].rpartition(":")[2]) or "a call"


def waited_text(diagnosis: HangDiagnosis, since_ns: int | None) -> str | None:
    """``"for 312 s"``, ``"for at least 4 s"``; None where it is not worth a number."""
    waited = diagnosis.waited_s(since_ns)
    if waited is None or waited < knowledge().times.least_wait_s:
        return None
    least = "" if diagnosis.is_end_known else "at least "
    return f"for {least}{duration_text(waited * 1e6)}"
