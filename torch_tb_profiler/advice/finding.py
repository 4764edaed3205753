"""What a detector hands back, and how it becomes a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch_tb_profiler.advice.evidence import declaration
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.scales import multiple_for
from torch_tb_profiler.views.schema import Note, Scalar, Table


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
    """

    code: str
    measured: float
    gain_us: float | None
    evidence: Table
    values: Mapping[str, object] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    architecture: str | None = None
    variant: str = "default"

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows of the evidence by column key."""
        return self.evidence.frame.to_dicts()

    def note(self) -> Note:
        """The finding as a note; what it quotes of the trace stays plain text."""
        known = entry(self.code)
        text = known.texts[self.variant].format(
            measured=self.measured,
            gain=duration_text(self.gain_us or 0.0),
            threshold=known.threshold,
            architecture=self.architecture or "the GPU",
            **self.values,
        )
        evidence: dict[str, object] = {
            "title": known.title,
            "measured": self.measured,
            "unit": known.unit,
            "threshold": known.threshold,
            "estimated_gain_us_per_step": self.gain_us,
            "architecture": self.architecture,
            "table": declaration(self.evidence),
            "rows": self.rows,
            "source": dict(self.source),
            "links": list(known.links),
        }
        return Note("advice", self.code, "warning", text, evidence)


def duration_text(duration_us: float) -> str:
    """A duration in the unit a person would use: ``"12.3 µs"``, ``"59.3 ms"``, ``"1.50 s"``."""
    label, divisor = multiple_for("us", duration_us)
    return f"{duration_us / divisor:.{2 if label == 's' else 1}f} {label}"


def ranked(findings: list[Finding]) -> tuple[Note, ...]:
    """Notes by estimated gain, largest first; those without an estimate after them."""
    by_gain = sorted(findings, key=lambda item: (item.gain_us is None, -(item.gain_us or 0.0)))
    return tuple(item.note() for item in by_gain)
