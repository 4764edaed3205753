"""DataParallel on several GPUs (rule 2 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "data_parallel"
EVIDENCE = TableSpec(
    CODE,
    "Devices",
    "Devices with work.",
    (
        Column("device", "Device", "integer", None, "Number of the device in its process."),
        Column("name", "Name", "string", None, "Model."),
    ),
)


def detect(context: Context) -> Finding | None:
    """The trace has a ``DataParallel.forward``, and more than one device ran work."""
    devices = context.used_devices
    if devices.height <= entry(CODE).threshold:
        return None
    if not context.present_names({"DataParallel.forward"}):
        return None
    return Finding(
        CODE,
        float(devices.height),
        None,
        evidence=build_table(EVIDENCE, devices),
        source={"view": "overview", "table": "gpus", "sort": "-utilization_pct"},
        architecture=context.architecture_name,
    )
