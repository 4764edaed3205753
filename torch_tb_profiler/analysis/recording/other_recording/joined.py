"""A trace with what another recording of the same process and time adds to it.

Slices of the other recording get tracks of their own, below those of the trace, and the category
:attr:`~torch_tb_profiler.trace.categories.Category.OTHER_RECORDING`: they are drawn, and no figure
counts them. Arguments of its kernels (counters) become arguments of the same kernels of the trace,
and what it sampled becomes samples, all on the clock of the trace.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.other_recording.kernels import Kernels
from torch_tb_profiler.analysis.recording.other_recording.matching import KernelMatch
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.trace.model import Trace

_DEVICE = re.compile(r"GPU (\d{1,9})")
"""Source of samples of a device."""

_RETAINED = ("track", "category", "raw_category_code", "name_code", "start_ns", "dur_ns")


def kernels_of(trace: Trace) -> tuple[Kernels, Int64]:
    """The kernels of a trace by start, and the row in ``device_work`` of each."""
    work = trace.device_work
    rows = np.flatnonzero((work["category"] == Category.KERNEL).to_numpy())
    start_ns = work["start_ns"].to_numpy()[rows]
    rows = rows[np.argsort(start_ns, kind="stable")]
    codes = work["name_code"].fill_null(-1).to_numpy()[rows]
    distinct, positions = np.unique(codes, return_inverse=True)
    texts = np.array([trace.text(code) or "" for code in distinct.tolist()], np.object_)
    start_ns, dur_ns = (work[name].to_numpy()[rows] for name in ("start_ns", "dur_ns"))
    return Kernels(texts[positions], start_ns, dur_ns), rows


def join(
    trace: Trace, other: Trace, match: KernelMatch, rows: tuple[Int64, Int64], title: str
) -> Trace:
    """``trace`` with the slices, arguments and samples of ``other``.

    Args:
        trace: The trace.
        other: The other recording.
        match: Their kernels.
        rows: Of both, the rows in ``device_work`` of the kernels that were matched.
        title: What the other recording is called above its tracks.
    """
    joining = _Joining(trace, other, match, rows)
    tracks, slices = joining.tracks(title), joining.slices()
    arguments, samples = joining.arguments(), joining.samples(title)
    return replace(
        trace,
        tracks=tracks,
        slices=slices,
        arguments=arguments,
        samples=samples,
        strings=joining.strings(),
        derived=DerivedValues(),
    )


class _Joining:
    def __init__(
        self, trace: Trace, other: Trace, match: KernelMatch, rows: tuple[Int64, Int64]
    ) -> None:
        self._trace, self._other, self._line = trace, other, match.line
        self._work = trace.device_work[rows[0][match.first]]
        self._other_work = other.device_work[rows[1][match.second]]
        self._codes = {text: code for code, text in enumerate(trace.strings.tolist())}
        self._more: list[str] = []

    def strings(self) -> npt.NDArray[np.object_]:
        """The texts of the trace, and those that are new."""
        return np.concatenate([self._trace.strings, np.array(self._more, np.object_)])

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self._trace.strings) + len(self._more)
            self._more.append(text)
        return code

    def _recoded(self, codes: pl.Series) -> pl.Series:
        """Codes of texts of the other recording as codes of the trace."""
        texts = {code: self._other.text(code) for code in codes.drop_nulls().unique().to_list()}
        new = {code: None if text is None else self._code(text) for code, text in texts.items()}
        recoded: pl.Series = codes.replace_strict(new, default=None, return_dtype=pl.Int32)
        return recoded

    def tracks(self, title: str) -> pl.DataFrame:
        """The tracks of both; those of the other are host tracks of no process."""
        own = self._trace.tracks
        own_name = pl.col("thread_name")
        numbers = {
            number: self._own_device(number)
            for number in self._other.tracks["device"].drop_nulls().unique().to_list()
        }
        device = pl.col("device").replace_strict(numbers, default=None, return_dtype=pl.Int64)
        stream = pl.format("device {}, {}", device, own_name.fill_null(pl.col("tid")))
        added = self._other.tracks.select(
            track=pl.col("track") + own.height,
            pid=pl.lit(title),
            tid="tid",
            thread_name=pl.when("is_device").then(stream).otherwise(own_name),
            is_device=pl.lit(value=False),
            sort_index=pl.col("sort_index") + own.height,
        )
        return pl.concat([own, added], how="diagonal_relaxed").cast(own.schema)

    def slices(self) -> pl.DataFrame:
        """The slices of both; those of the other as far as they lie in the time of the trace."""
        own, meta = self._trace.slices, self._trace.meta
        more = self._other.slices.select(_RETAINED)
        start_ns = self._line(more["start_ns"].to_numpy())
        end_ns = np.minimum(start_ns + more["dur_ns"].to_numpy(), meta.end_ns)
        start_ns = np.maximum(start_ns, meta.start_ns)
        added = more.with_columns(
            pl.col("track") + self._trace.tracks.height,
            self._recoded(more["raw_category_code"]),
            self._recoded(more["name_code"]),
            category=pl.lit(Category.OTHER_RECORDING, pl.Int8),
            start_ns=pl.Series(start_ns),
            dur_ns=pl.Series(end_ns - start_ns),
            lane=pl.lit(0),
        )
        added = added.filter(pl.col("dur_ns") >= 0).sort("track", "start_ns", -pl.col("dur_ns"))
        added = added.with_columns(id=pl.int_range(pl.len()) + own.height)
        return pl.concat([own, added], how="diagonal_relaxed").cast(own.schema)

    def arguments(self) -> pl.DataFrame:
        """The arguments of both; of a key that both have of a slice, those of the trace."""
        own = self._trace.arguments
        partners = pl.DataFrame({"slice": self._other_work["slice"], "own": self._work["slice"]})
        added = self._other.arguments.join(partners, on="slice").with_columns(slice="own")
        added = added.with_columns(
            self._recoded(added["key_code"]), self._recoded(added["text_code"])
        )
        added = added.select(own.columns).join(own, on=["slice", "key_code"], how="anti")
        return pl.concat([own, added.cast(own.schema)]).sort("slice", maintain_order=True)

    def samples(self, title: str) -> pl.DataFrame:
        """The samples of both; a source that both have is named after the other recording too."""
        own, more = self._trace.samples, self._other.samples
        known = {self._trace.text(code) for code in own["source_code"].unique().to_list()}
        sources = {}
        for code in more["source_code"].drop_nulls().unique().to_list():
            text = self._on_own_device(self._other.text(code) or "")
            sources[code] = self._code(f"{text} ({title})" if text in known else text)
        added = more.with_columns(
            more["source_code"].replace_strict(sources, default=None, return_dtype=pl.Int32),
            self._recoded(more["metric_code"]),
            self._recoded(more["unit_code"]),
            time_ns=pl.Series(self._line(more["time_ns"].to_numpy()), dtype=pl.Int64),
        )
        return pl.concat([own, added.select(own.columns).cast(own.schema)])

    def _on_own_device(self, source: str) -> str:
        """The source of samples of a device with the number that the trace gives the device."""
        named = _DEVICE.fullmatch(source)
        if named is None:
            return source
        return f"GPU {self._own_device(int(named[1]))}"

    def _own_device(self, number: int) -> int:
        """The number that the trace gives a device of the other recording: of its matched kernels;
        its own number where it has none."""
        kernels = self._work.filter(self._other_work["device"] == number)["device"]
        numbers = kernels.drop_nulls().mode().sort()
        return int(numbers[0]) if len(numbers) else number
