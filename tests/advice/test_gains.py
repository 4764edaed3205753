"""What findings say of simulated programs: the gain is there to be had, and the cause is the
cause."""

from __future__ import annotations

import pytest

from tests.advice.claims import complaints, findings
from tests.simulation.machine import run
from tests.simulation.programs import CASES, Case


@pytest.mark.parametrize("name", CASES)
def test_a_gain_is_possible_and_removing_the_cause_brings_half_of_it(name: str) -> None:
    assert complaints(CASES[name].program) == []


@pytest.mark.parametrize("name", CASES)
def test_the_first_finding_is_what_an_expert_would_say(name: str) -> None:
    case: Case = CASES[name]
    codes = [note.code for note in findings(run(case.program))]
    assert not case.first or codes[:1] in [[code] for code in case.first]
    assert not set(codes) & set(case.silent)
