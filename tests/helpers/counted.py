"""Small programs run on the CPU: what PyTorch's own counter says of each, and its recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.opening import open_file
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Counted:
    """A run of a program.

    Attributes:
        trace: Its recording, with shapes.
        flops: By name of the operator (``aten::mm``) as ``FlopCounterMode`` counts them.
    """

    trace: Trace
    flops: dict[str, int]


def counted(program: Callable[[], Any], folder: Path) -> Counted:
    """Run a program twice: once beside PyTorch's counter, once recorded into a folder."""
    import torch  # noqa: PLC0415 - not everywhere
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    counter = FlopCounterMode(display=False)
    with counter:
        program()
    file = folder / "worker.pt.trace.json"
    with torch.profiler.profile(record_shapes=True) as profiler:
        program()
    profiler.export_chrome_trace(str(file))
    told = counter.get_flop_counts().get("Global", {})
    flops = {str(name).replace(".", "::"): count for name, count in told.items()}
    return Counted(open_file(open_location(str(file)), cache=None), flops)
