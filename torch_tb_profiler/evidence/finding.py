"""What a detector hands back, and how it becomes a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.evidence.tables import declaration
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note, Scalar, Table

MAX_QUOTED = 300
"""Characters of a name that a text repeats; the rows of the evidence have all of it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the timeline shows a finding best: its worst gap or slices.

    Attributes:
        start_ns: Start of the stretch, counted from the first slice of the trace.
        end_ns: Its end, likewise.
        slice: The slice to select, None for none.
        worker: Whose timeline, None for the trace that was asked about.
    """

    start_ns: int
    end_ns: int
    slice: int | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice.

    Attributes:
        code: Its entry in ``knowledge/advice.toml``.
        measured: The value that crossed the threshold, in the entry's unit.
        gain_us: Estimated time a step could be shorter; None where nothing can be estimated.
        evidence: The rows it speaks of, largest first.
        values: What the text quotes besides ``measured``, ``gain`` (as text with its unit),
            ``threshold`` and ``architecture``.
        source: Which rows to look at further: view and table, with the group_by, filter
            and sort that show them.
        architecture: The GPU generation it is about, None when it is about none.
        variant: Which of the entry's texts.
        time: When, in the steps, the time lies that it means; None where it means none. Of two
            findings on the same time the smaller one is told with the other (:func:`ranked`).
        spot: Where to look on the timeline.
        at_stake_us: For the order only: how much of a step it is about, where no gain can be
            estimated.
        is_elsewhere: Whether another than torch.profiler recorded what it is about.
    """

    code: str
    measured: float
    gain_us: float | None
    evidence: Table
    values: Mapping[str, object] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    architecture: str | None = None
    variant: str = "default"
    time: Intervals | None = None
    spot: Spot | None = None
    at_stake_us: float | None = None
    is_elsewhere: bool = False

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows of the evidence by column key."""
        return self.evidence.frame.to_dicts()

    @property
    def text(self) -> str:
        """What it says; what it quotes of the trace stays plain text."""
        known = entry(self.code)
        texts = known.texts | known.elsewhere if self.is_elsewhere else known.texts
        said = texts[self.variant].format(
            measured=self.measured,
            gain=duration_text(self.gain_us or 0.0),
            threshold=known.threshold,
            architecture=self.architecture or "the GPU",
            **{key: shortened(value) for key, value in self.values.items()},
        )
        return said.rstrip()  # a last sentence that is only sometimes needed may be empty

    def note(self, step_ns: float = 0.0, same_time: Iterable[Finding] = ()) -> Note:
        """The finding as a note.

        Args:
            step_ns: Mean length of a step; 0 where there is none to compare the gain with.
            same_time: Smaller findings that mean the same time.
        """
        known = entry(self.code)
        share = None
        if self.gain_us is not None and step_ns > 0:
            share = self.gain_us * NS_PER_US / step_ns * 100
        evidence: dict[str, object] = {
            "title": known.title,
            "measured": self.measured,
            "unit": known.unit,
            "threshold": known.threshold,
            "threshold_is_ours": not known.published,
            "estimated_gain_us_per_step": self.gain_us,
            "estimated_gain_pct_of_step": share,
            "architecture": self.architecture,
            "table": declaration(self.evidence),
            "rows": self.rows,
            "source": dict(self.source),
            "timeline": None if self.spot is None else asdict(self.spot),
            "same_time": [
                {"code": other.code, "title": entry(other.code).title, "text": other.text}
                for other in same_time
            ],
            "links": [*known.links, *(() if self.is_elsewhere else known.recording_links)],
        }
        return Note("advice", self.code, "warning", self.text, evidence)


def shortened(value: object) -> object:
    """A value as a sentence quotes it: names of a trace on one line and not endless."""
    if not isinstance(value, str):
        return value
    line = " ".join(value.split())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"
