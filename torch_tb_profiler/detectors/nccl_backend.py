"""DistributedDataParallel without NCCL on GPUs that have it (rule 3 in docs/advice.md)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "nccl_backend"
EVIDENCE = TableSpec(
    CODE,
    "Backends",
    "Backends of the recorded collectives.",
    (Column("backend", "Backend", "string", None, "Prefix of the names of the collectives."),),
)


def detect(context: Context) -> Finding | None:
    """The trace has DDP, a GPU that supports NCCL, and only collectives of backends that run on the
    host. A job whose header declares a device backend uses that, recorded or not."""
    devices = context.trace.devices.filter(pl.col("compute_major").is_not_null())
    capability = pl.col("compute_major") + pl.col("compute_minor").fill_null(0) / 10
    capable = devices.with_columns(capability=capability).filter(
        pl.col("capability") >= entry(CODE).threshold
    )
    if capable.is_empty() or not context.present_names({"DistributedDataParallel.forward"}):
        return None
    codes = context.trace.slices["name_code"].unique()
    backends = {communication.backend(context.trace.text(code) or "") for code in codes}
    used = sorted(backend for backend in backends if backend)
    job = context.trace.meta.info.job
    declared = [job.backend] if job is not None and job.backend else []
    on_host = all(communication.runs_on_host(backend) for backend in [*used, *declared])
    if not used or not on_host or context.work["is_communication"].any():
        return None
    newest = max(capable["capability"].to_list())
    return Finding(
        CODE,
        newest,
        None,
        evidence=build_table(EVIDENCE, pl.DataFrame({"backend": used}, EVIDENCE.polars_schema())),
        source={"view": "distributed", "table": "collectives", "sort": "-total_us"},
        architecture=context.architecture_name,
    )
