"""Device work of a selection that is of no module.

Definitions: ``docs/views-modules.md#how-it-is-counted``.
"""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.operators.modules.times import occurrences_of_work
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.model import Trace


class ModuleCoverage(Struct, frozen=True):
    """Device time of a selection in ns, kernels, copies and memsets added up.

    Attributes:
        inside_ns: Launched in a module, in its backward nodes, or where it ran again.
        outside_ns: Launched outside every module: by an optimizer, a loss, data loading.
        unlinked_ns: The file does not tell what launched it.
    """

    inside_ns: int
    outside_ns: int
    unlinked_ns: int

    @property
    def inside_pct(self) -> float | None:
        """Share that is of modules in %; None of nothing."""
        whole = self.inside_ns + self.outside_ns + self.unlinked_ns
        return self.inside_ns / whole * 100 if whole else None


def module_coverage(trace: Trace, selection: Selection) -> ModuleCoverage:
    """How much of the selected device work is of modules.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    occurrence, _ = occurrences_of_work(trace, module_tree(trace))
    duration = trace.device_work["dur_ns"].to_numpy()
    selected = device_work_mask(trace, selection)
    inside, linked = occurrence >= 0, indices(trace.device_work["launch"]) >= 0
    parts = (inside, ~inside & linked, ~inside & ~linked)
    return ModuleCoverage(*(int(duration[selected & part].sum()) for part in parts))
