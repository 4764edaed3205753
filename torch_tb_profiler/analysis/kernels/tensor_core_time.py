"""Kernel time by the use of Tensor Cores, and its shares, some of which are known only as bounds.

Definitions: ``docs/metrics.md#gpus``.
"""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

NO_KNOWN_KERNEL = "The selection holds no kernel whose Tensor Core use is known."
NO_KERNEL_TIME = "The selection holds no kernel time."
NO_COMPUTE_TIME = "The selection holds no kernel time but that of communication."


class BoundedShare(Struct, frozen=True):
    """A share of kernel time in %, as bounds where some kernels are unknown.

    Attributes:
        least_pct: Lower bound: no unknown kernel belongs to it.
        most_pct: Upper bound: every unknown kernel does.
        reason: Why both are None, where they are.
    """

    least_pct: float | None
    most_pct: float | None
    reason: str | None = None

    @property
    def pct(self) -> float | None:
        """The share as one number: the lower bound where the bounds differ by no more than
        ``max-unknown-pct`` of ``knowledge/kernels.toml``; else None."""
        if self.least_pct is None or self.most_pct is None:
            return None
        close = self.most_pct - self.least_pct <= kernel_file().max_unknown_pct
        return self.least_pct if close else None

    @property
    def null_reason(self) -> str | None:
        """Why :attr:`pct` is None; None where it is a number."""
        if self.pct is not None or self.least_pct is None:
            return self.reason
        return (
            "Too much of the time is in kernels no rule knows: the share lies between "
            f"{self.least_pct:.1f} % and {self.most_pct:.1f} %."
        )


class TensorCoreTime(Struct, frozen=True):
    """Kernel time by its use of Tensor Cores, in ns.

    Attributes:
        used_ns: Of kernels that use them.
        unused_ns: Of kernels that do not, communication included.
        unknown_ns: Of kernels no rule knows.
        communication_ns: Of communication.
    """

    used_ns: int
    unused_ns: int
    unknown_ns: int
    communication_ns: int

    @property
    def whole_ns(self) -> int:
        """All kernel time."""
        return self.used_ns + self.unused_ns + self.unknown_ns

    @property
    def used(self) -> BoundedShare:
        """Share of kernel time using Tensor Cores."""
        return self._share(self.used_ns, self.whole_ns, NO_KERNEL_TIME)

    @property
    def unused(self) -> BoundedShare:
        """Share of kernel time not using them."""
        return self._share(self.unused_ns, self.whole_ns, NO_KERNEL_TIME)

    @property
    def used_of_compute(self) -> BoundedShare:
        """Share of the time of kernels other than communication using Tensor Cores."""
        return self._share(self.used_ns, self.whole_ns - self.communication_ns, NO_COMPUTE_TIME)

    @property
    def unknown_pct(self) -> float:
        """Share of kernel time in kernels no rule knows."""
        return self.unknown_ns / self.whole_ns * 100 if self.whole_ns else 0.0

    def _share(self, part_ns: int, whole_ns: int, nothing: str) -> BoundedShare:
        if whole_ns <= 0:
            return BoundedShare(None, None, nothing)
        if self.unknown_ns >= whole_ns:
            return BoundedShare(None, None, NO_KNOWN_KERNEL)
        most_ns = part_ns + self.unknown_ns
        return BoundedShare(part_ns / whole_ns * 100, most_ns / whole_ns * 100)


def tensor_core_time(trace: Trace, gpu: int, mask: Bools) -> TensorCoreTime:
    """Kernel time of ``gpu`` in the rows of ``device_work`` that ``mask`` marks."""
    work = trace.device_work
    kinds = kernel_kinds(trace)
    rows = mask & kinds.is_kernel & (indices(work["device"]) == gpu)
    verdicts = kinds.tensor_core[rows]
    dur = work["dur_ns"].to_numpy()[rows]
    used, unused, unknown = (
        int(dur[verdicts == verdict].sum()) for verdict in (codes.YES, codes.NO, codes.UNKNOWN)
    )
    communication = int(dur[kinds.is_communication[rows]].sum())
    return TensorCoreTime(used, unused, unknown, communication)
