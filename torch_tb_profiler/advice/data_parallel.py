"""DataParallel on several GPUs (rule 2 of peer-behaviour §3.3)."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.knowledge.advice import entry

CODE = "data_parallel"


def detect(context: Context) -> Advice | None:
    """The trace has a ``DataParallel.forward`` and more than one device ran work."""
    devices = context.used_devices
    if devices.height <= entry(CODE).threshold:
        return None
    if not context.host_names({"DataParallel.forward"}):
        return None
    rows = tuple(devices.select("device", "name").to_dicts())
    return Advice(
        CODE,
        float(devices.height),
        None,
        rows=rows,
        source={"view": "overview", "table": "gpus"},
        architecture=context.architecture_name,
    )
