"""Asks the product for its findings in a case, and compares them with the truth."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.diagnosis.cases import Case
from bench.diagnosis.causes import neutral
from bench.diagnosis.model import Recording
from bench.diagnosis.replay import replay
from bench.diagnosis.writing import write
from torch_tb_profiler.api import RequestError, open_trace
from torch_tb_profiler.views.schema import Note

LARGE_PCT = 5.0
"""A finding of a healthy case may not promise more."""
OVERSTATED = 2.0
"""A finding that promises more than so many times the true gain, and LARGE_PCT besides, is wrong
however right its cause is."""


@dataclass(frozen=True)
class Claim:
    """A finding: its code, the estimated gain per step, and the findings listed with it."""

    code: str
    gain_us: float | None
    gain_pct: float | None
    same_time: tuple[str, ...]
    view: str


@dataclass(frozen=True)
class Verdict:
    """What the product said of a case.

    Attributes:
        case: The case, without its recordings.
        claims: The findings, in order.
        wrong: Those that are wrong.
        is_found: Whether any names the cause.
        is_first: Whether the first one does.
        gain_us: The estimated gain of the finding about the cause; None without one.
        what_if_pct: What the critical path saves without the cause, as share of its step.
    """

    seed: str
    base: str
    name: str
    has_gain: bool
    step_us: float
    true_us: float
    true_pct: float
    is_healthy: bool
    is_expected: bool
    claims: tuple[Claim, ...]
    wrong: tuple[Claim, ...]
    is_found: bool
    is_first: bool
    gain_us: float | None
    what_if_pct: float | None

    @property
    def what_if_error_pct(self) -> float | None:
        """Relative error of the what-if; None where there is none to compare."""
        if self.what_if_pct is None or not self.is_expected:
            return None
        return abs(self.what_if_pct - self.true_pct) / self.true_pct * 100

    @property
    def error_pct(self) -> float | None:
        """Relative error of the estimated gain; None where there is none to compare."""
        if self.gain_us is None or not self.is_expected or not self.has_gain:
            return None
        return abs(self.gain_us - self.true_us) / self.true_us * 100


def judge(case: Case, keep: Path | None = None) -> Verdict:
    """Run the detectors on a case.

    Args:
        case: The case.
        keep: A folder for its recordings; None for a temporary one.
    """
    is_run = len(case.recording) > 1 and (case.cause is None or case.cause.kind == "ranks")
    claims = findings(case.recording, keep, run_first=is_run)
    known = {claim.code for claim in findings(case.base.recording, run_first=is_run)}
    wrong = tuple(claim for claim in claims if _is_wrong(case, claim, known))
    cause = case.cause
    first = cause.first if cause is not None else frozenset[str]()
    about = [claim for claim in claims if {claim.code, *claim.same_time} & first]
    spoken = {code for claim in claims for code in (claim.code, *claim.same_time)}
    has_spoken = cause is None or cause.speaks <= spoken
    ranked = [claim for claim in claims if claim.code not in neutral() - first]
    compared = cause.gain_of if cause is not None else frozenset[str]()
    gains = [claim.gain_us for claim in about if claim.code in compared and claim.gain_us]
    return Verdict(
        case.seed,
        case.base.name,
        case.name,
        cause is None or cause.has_gain,
        case.step_us,
        case.gain_us,
        case.gain_pct,
        case.is_healthy,
        case.is_expected,
        claims,
        wrong,
        bool(about) and has_spoken,
        bool(ranked) and ranked[0].code in first,
        max(gains, default=None),
        _what_if_pct(case) if cause is not None and case.is_expected else None,
    )


def _what_if_pct(case: Case) -> float | None:
    """What the critical path of a step saves without the cause; None where it has no such row."""
    if case.cause is None or case.cause.what_if is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        write(case.recording, replay(case.recording), Path(folder))
        with open_trace(folder, cache=False) as session:
            try:
                view = session.view("critical_path", what_if=case.cause.what_if)
            except RequestError:
                return None
    values = {fact.key: fact.value for fact in view.facts}
    saved = values.get("what_if_saved_pct")
    return float(saved) if isinstance(saved, (int, float)) else 0.0


def findings(
    recording: Recording, keep: Path | None = None, *, run_first: bool = False
) -> tuple[Claim, ...]:
    """The findings of a recording in their order: of the run, where asked for, then of a rank."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        write(recording, replay(recording), folder)
        with open_trace(folder, cache=False) as session:
            claims: list[Claim] = []
            if run_first:
                claims += _claims(session.view("distributed").notes, "distributed")
            claims += _claims(session.view("overview").notes, "overview")
    return tuple(claims)


def _claims(notes: Iterable[Note], view: str) -> Iterable[Claim]:
    for note in notes:
        if note.kind == "advice":
            evidence = note.evidence
            yield Claim(
                note.code,
                evidence["estimated_gain_us_per_step"],  # type: ignore[arg-type]
                evidence["estimated_gain_pct_of_step"],  # type: ignore[arg-type]
                tuple(each["code"] for each in evidence["same_time"]),  # type: ignore[attr-defined]
                view,
            )


def _is_wrong(case: Case, claim: Claim, known: set[str]) -> bool:
    """Whether a finding is wrong: about something that was not put in, unless the recording had it
    before, with little to gain; or right about the cause, but with far too much to gain."""
    promised = claim.gain_pct or 0.0
    if claim.code in neutral():
        return False
    if case.cause is not None and claim.code in case.cause.accepted:
        return promised > max(LARGE_PCT, OVERSTATED * case.gain_pct)
    return not (claim.code in known and promised <= LARGE_PCT)
