"""Host operators of a program without devices use one of several cores."""

from __future__ import annotations

from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import settings_finding, settings_table
from torch_tb_profiler.trace.info import JobInfo

CODE = "single_thread"
EVIDENCE = settings_table(CODE)
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def detect(context: Context) -> Finding | None:
    """An environment variable allows one thread, each process could have more cores, and host
    operators take more than the threshold of the step."""
    info = context.trace.meta.info
    environment, cores = info.settings.environment or {}, info.settings.cpu_cores
    limits = {name: value for name in VARIABLES if (value := environment.get(name)) == "1"}
    if not limits or not cores or not context.trace.device_work.is_empty():
        return None
    local = environment.get("LOCAL_WORLD_SIZE", "")
    processes = int(local) if local.isdecimal() else (info.job or JobInfo()).world_size or 1
    share = cores // max(processes, 1)
    if share < 2:
        return None
    return settings_finding(
        context,
        EVIDENCE,
        {**limits, "cores": cores},
        context.role_ns(Role.CPU_EXEC),
        values={"limits": " and ".join(f"{name}=1" for name in limits), "cores": share},
    )
