"""What a recording says of its job, for one that says nothing else."""

from __future__ import annotations

from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.model import Trace

NAMED_RANKS = 8
"""Of more ranks the number is stated."""


def job_text(trace: Trace) -> str | None:
    """``"Its files describe a job, of which this is rank 0, in stage 0 (ranks 0, 1; auto_parallel).
    Times are in other files of the recording."``; None without a rank."""
    job = trace.meta.info.job
    if job is None or job.rank is None:
        return None
    own = [group for group in job.groups or () if job.rank in (group.ranks or ())]
    inside = f", in {', '.join(map(_group_text, own))}" if own else ""
    return (
        f"Its files describe a job, of which this is rank {job.rank}{inside}. "
        "Times are in other files of the recording."
    )


def _group_text(group: ProcessGroup) -> str:
    ranks = group.ranks or ()
    many = len(ranks) > NAMED_RANKS
    listed = f"{len(ranks):,} ranks" if many else f"ranks {', '.join(map(str, ranks))}"
    return f"{group.name or 'a group'} ({'; '.join(filter(None, (listed, group.description)))})"
