"""What findings say of simulated programs: the gain is there to be had, and the cause is the
cause."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.detectors.claims import TOLERANCE_US, at_most_us, claimed_us, findings, unmet_claims
from tests.simulation.machine import run
from tests.simulation.programs import CASES, Case


@pytest.mark.parametrize("name", CASES)
def test_a_gain_is_possible_and_removing_the_cause_brings_half_of_it(name: str) -> None:
    assert unmet_claims(CASES[name].program) == []


@pytest.mark.parametrize("name", CASES)
def test_the_first_finding_is_what_an_expert_would_say(name: str) -> None:
    case: Case = CASES[name]
    codes = [note.code for note in findings(run(case.program))]
    assert not case.first or codes[:1] in [[code] for code in case.first]
    assert not set(codes) & set(case.silent)


OF_CALLS = {
    "launch_bound",
    "host_bound",
    "long_calls",
    "pageable_copies",
    "python_code",
    "unrecorded_host",
    "blocked_host",
}
CALL = re.compile("^(cuda|hip)")
HOST = frozenset({"cpu_op", "user_annotation", "python_function", "cuda_runtime"})


@pytest.mark.parametrize("name", CASES)
def test_without_calls_there_are_no_findings_about_launches_and_waits(name: str) -> None:
    of = run(CASES[name].program)
    notes = findings(of, frozenset({"cuda_runtime"}))
    assert not OF_CALLS & {note.code for note in notes}
    for note in notes:
        claimed = claimed_us(note, CASES[name].program)
        assert claimed is None or claimed <= at_most_us(note.code, of) + TOLERANCE_US


@pytest.mark.parametrize("name", CASES)
def test_of_a_device_alone_no_gain_is_estimated(name: str) -> None:
    notes = findings(run(CASES[name].program), HOST)
    assert not (OF_CALLS | {"host_synchronization", "dataloader_bound"}) & {n.code for n in notes}
    assert [note.code for note in notes if note.evidence["estimated_gain_us_per_step"]] == []


@pytest.mark.parametrize(("prefix", "category"), [("hip", "cuda_runtime"), ("cu", "cuda_driver")])
@pytest.mark.parametrize("name", CASES)
def test_calls_of_every_vendor_and_driver_mean_the_same(
    name: str, prefix: str, category: str
) -> None:
    of = run(CASES[name].program)
    renamed = [
        {**event, "name": CALL.sub(prefix, event["name"]), "cat": category}
        if event["cat"] == "cuda_runtime"
        else event
        for event in of.events
    ]
    codes = [note.code for note in findings(replace(of, events=renamed))]
    assert codes == [note.code for note in findings(of)]
