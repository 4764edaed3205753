"""The result of a detector, and the note that is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import asdict

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.evidence.tables import declaration, localize
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.device_terms import DeviceTerms
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import Note, Scalar, Severity, Table

MAX_QUOTED = 300
"""Characters of a name that a text quotes; the rows of the evidence have the whole name."""


SMALL_PCT = 2.0
"""A gain below this share of the step has a reason."""

MOSTLY_LIMITED = 3.0
"""Of time at stake of more than so many times the gain only a small part can be saved."""

NOT_ESTIMATED = (
    "No gain is estimated: the recording does not show how much shorter the step would become."
)


class Spot(Struct, frozen=True):
    """The interval of the timeline that shows a finding best: its longest gap or slice.

    Attributes:
        start_ns: Start of the interval, relative to the first slice of the trace.
        end_ns: Its end, likewise.
        slice: Id of the slice to select; None for none.
        worker: The worker whose timeline it is; None for the trace of the request.
    """

    start_ns: int
    end_ns: int
    slice: int | None = None
    worker: str | None = None


class Finding(Struct, frozen=True):
    """One finding.

    Attributes:
        code: Its entry in ``knowledge/advice.toml``.
        measured: The value that crossed the threshold, in the entry's unit.
        gain_us: Estimated time by which a step could be shorter; None if it cannot be estimated.
        evidence: The rows it is about, largest first.
        values: Further values of the text, besides ``measured``, ``gain`` (with its unit),
            ``threshold`` and ``architecture``.
        source: The rows of a view with more detail: view and table, with the group_by, filter
            and sort that show them.
        architecture: The GPU architecture it is about; None for none.
        variant: Which of the entry's texts it uses.
        time: The time in the steps it is about; None for none. Of two findings about the same
            time, the smaller one is listed with the other (``evidence.ranking``).
        spot: The interval of the timeline that shows it.
        at_stake_us: The time per step it is about, for the order of findings without a gain and
            the reason of a small one.
        is_elsewhere: Whether a recorder other than torch.profiler made the recording.
        terms: The terms of the devices; None for NVIDIA's and unknown ones.
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
    terms: DeviceTerms | None = None

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows of the evidence by column key."""
        return self.evidence.frame.to_dicts()

    @property
    def title(self) -> str:
        """The title, in the terms of the devices."""
        return localize(entry(self.code).title, self.terms)

    @property
    def text(self) -> str:
        """The text; names of the trace are quoted as plain text."""
        known = entry(self.code)
        texts = known.texts | known.elsewhere if self.is_elsewhere else known.texts
        text = localize(texts[self.variant], self.terms).format(
            measured=self.measured,
            gain=duration_text(self.gain_us or 0.0),
            threshold=known.threshold,
            architecture=self.architecture or "the GPU",
            **{key: shorten(value) for key, value in self.values.items()},
        )
        return text.rstrip()  # the last sentence of some texts may be empty

    def note(self, step_ns: float = 0.0, same_time: Iterable[Finding] = ()) -> Note:
        """The finding as a note.

        Args:
            step_ns: Mean length of a step; 0 without steps.
            same_time: Smaller findings about the same time.
        """
        known = entry(self.code)
        share = None
        if self.gain_us is not None and step_ns > 0:
            share = self.gain_us * NS_PER_US / step_ns * 100
        evidence: dict[str, object] = {
            "title": self.title,
            "measured": self.measured,
            "unit": known.unit,
            "threshold": known.threshold,
            "threshold_is_ours": not known.published,
            "estimated_gain_us_per_step": self.gain_us,
            "estimated_gain_pct_of_step": share,
            "gain_reason": self._why_little(share, step_ns),
            "architecture": self.architecture,
            "table": declaration(self.evidence, self.terms),
            "rows": self.rows,
            "source": dict(self.source),
            "timeline": None if self.spot is None else asdict(self.spot),
            "same_time": [
                {"code": other.code, "title": other.title, "text": other.text}
                for other in same_time
            ],
            "links": [
                link
                for link in (*known.links, *(() if self.is_elsewhere else known.recording_links))
                if self.terms is None or self.terms.is_own_link(link)
            ],
        }
        severity: Severity = "info" if known.is_remark else "warning"
        return Note("advice", self.code, severity, self.text, evidence)

    def _why_little(self, gain_pct: float | None, step_ns: float) -> str | None:
        """Why a gain below :data:`SMALL_PCT` of the step is so small, or there is none; None for
        larger ones, for remarks, and where the text says it."""
        if self.gain_us is None:
            return None if self._needs_no_gain else self._why_none(step_ns)
        if gain_pct is None or self.at_stake_us is None or not 0 <= gain_pct < SMALL_PCT:
            return None
        at_stake_pct = self.at_stake_us * NS_PER_US / step_ns * 100
        about = f"It concerns {percent_text(at_stake_pct)} of the step"
        if at_stake_pct <= MOSTLY_LIMITED * max(gain_pct, 0.1):
            return f"{about}."
        return f"{about}, but only this much of it can be saved or overlap with other work."

    @property
    def _needs_no_gain(self) -> bool:
        return entry(self.code).is_remark or bool(self.values.get("no_gain_yet"))

    def _why_none(self, step_ns: float) -> str:
        if not self.at_stake_us or step_ns <= 0:
            return NOT_ESTIMATED
        at_stake_pct = self.at_stake_us * NS_PER_US / step_ns * 100
        return f"Roughly {percent_text(at_stake_pct)} of the step is at stake. {NOT_ESTIMATED}"


def plain_evidence(
    title: str,
    table: Table,
    source: Mapping[str, str] | None = None,
    spot: Spot | None = None,
) -> dict[str, object]:
    """The evidence of a note that measures nothing against a threshold: its table alone."""
    return {
        "title": title,
        "measured": None,
        "unit": None,
        "threshold": None,
        "estimated_gain_us_per_step": None,
        "estimated_gain_pct_of_step": None,
        "gain_reason": None,
        "architecture": None,
        "table": declaration(table),
        "rows": table.frame.to_dicts(),
        "source": dict(source or {}),
        "timeline": None if spot is None else asdict(spot),
        "same_time": [],
        "links": [],
    }


def shorten(value: object) -> object:
    """A value as a sentence quotes it: names of a trace on one line, cut at :data:`MAX_QUOTED`."""
    if not isinstance(value, str):
        return value
    line = " ".join(value.split())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"
