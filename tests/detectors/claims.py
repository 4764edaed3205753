"""What findings of a simulated program claim, against what the program tells."""

from __future__ import annotations

from tests.detectors.scenes import device, notes_of
from tests.helpers.traces import trace
from tests.simulation.machine import Run, length, run
from tests.simulation.program import Program
from tests.simulation.removals import REMOVALS
from torch_tb_profiler.views.schema import Note

TOLERANCE_US = 1.0
NOISE = 0.005
"""What of a program's length is too short to be argued about."""
OF_COPIES = {"memcpy_share", "pageable_copies"}
OF_COMMUNICATION = {"communication_share", "exposed_communication"}
OF_KERNELS = {
    "mixed_precision",
    "tensor_core_candidates",
    "tensor_cores_unused",
    "unfused_kernels",
    "eager_attention",
    "layout_transposes",
}


def findings(of: Run, without: frozenset[str] = frozenset()) -> list[Note]:
    """What the product says of a recording that lacks some categories of events, in its order."""
    events = [event for event in of.events if event["cat"] not in without]
    return list(notes_of(trace(events, deviceProperties=[device()])).values())


def claimed_us(note: Note, program: Program) -> float | None:
    """The claim over all steps."""
    gain = note.evidence["estimated_gain_us_per_step"]
    assert gain is None or isinstance(gain, float)
    return None if gain is None else gain * len(program)


def at_most_us(code: str, of: Run) -> float:
    """What there is to gain: where the device is idle, or what the cause alone keeps busy."""
    if code in OF_KERNELS:
        return length(of.running)
    if code in OF_COPIES:
        return of.length_us - length(of.running)
    if code in OF_COMMUNICATION:
        return of.length_us - length(of.computing)
    return of.idle_us


def saved_us(code: str, program: Program, of: Run) -> float:
    """How much shorter the program is without the cause."""
    assert code in REMOVALS, f"tests/simulation/removals.py: add {code} to REMOVALS"
    return of.length_us - min(run(without(program)).length_us for without in REMOVALS[code])


def unmet_claims(program: Program) -> list[str]:
    """Claims that cannot be met."""
    of, problems = run(program), []
    for note in findings(of):
        claimed = claimed_us(note, program)
        if claimed is None:
            continue
        if claimed > at_most_us(note.code, of) + TOLERANCE_US:
            problems.append(f"{note.code}: {claimed:.0f} of {at_most_us(note.code, of):.0f} µs")
        saved = saved_us(note.code, program, of)
        if saved < claimed / 2 - TOLERANCE_US - of.length_us * NOISE:
            problems.append(f"{note.code}: {claimed:.0f} claimed, {saved:.0f} µs saved")
    return problems
