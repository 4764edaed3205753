"""Display names of a trace's kernels: short, and demangled.

Definition: ``docs/metrics.md#kernel-names``.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class KernelNames(Struct, frozen=True):
    """Names of kernels by their code in the dictionary of the trace.

    Attributes:
        shorts: Code → short name, different for different names.
        demangleds: Code → demangled name, of those whose recorded name is mangled.
    """

    shorts: dict[int, str]
    demangleds: dict[int, str]

    def short(self, codes: pl.Series) -> pl.Series:
        """The short name of each code; null for null, and for codes that are no kernel's name."""
        return _lookup(codes, self.shorts)

    def short_text(self, code: int | None) -> str | None:
        """The short name of one code; None for a code that is no kernel's name."""
        return None if code is None else self.shorts.get(code)

    def demangled_text(self, code: int | None) -> str | None:
        """The demangled name of one code; None where the recorded name is not mangled."""
        return None if code is None else self.demangleds.get(code)

    def demangled(self, codes: pl.Series) -> pl.Series:
        """The demangled name of each code; null where the recorded name is not mangled."""
        return _lookup(codes, self.demangleds)


@per_trace
def kernel_names(trace: Trace) -> KernelNames:
    """The names of all kernels of a trace."""
    texts = _recorded_names(trace)
    if not texts:
        return KernelNames({}, {})
    from torch_tb_profiler.knowledge.demangling import demangled  # noqa: PLC0415 - start-up
    from torch_tb_profiler.knowledge.kernel_names import short_names  # noqa: PLC0415

    shorts = short_names(set(texts.values()))
    return KernelNames(
        {code: shorts[text] for code, text in texts.items()},
        {code: demangled(text) for code, text in texts.items() if demangled(text) != text},
    )


def common_short_names(traces: Iterable[Trace]) -> dict[str, str]:
    """Recorded name → short name, the same for all ``traces``, so that kernels that run in several
    have one name."""
    from torch_tb_profiler.knowledge.kernel_names import short_names  # noqa: PLC0415 - start-up

    return short_names({name for trace in traces for name in _recorded_names(trace).values()})


def _recorded_names(trace: Trace) -> dict[int, str]:
    """The names of kernels by code."""
    work = trace.device_work
    codes = work.filter(pl.col("category") == Category.KERNEL)["name_code"].unique().drop_nulls()
    return {code: str(trace.strings[code]) for code in codes.to_list() if code >= 0}


def _lookup(codes: pl.Series, names: dict[int, str]) -> pl.Series:
    return pl.Series(codes.name, [names.get(code) for code in codes.to_list()], dtype=pl.String)
