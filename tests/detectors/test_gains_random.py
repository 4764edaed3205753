"""What findings say of programs that nobody thought of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.detectors.claims import unmet_claims
from tests.simulation.program import Operation, steps
from tests.simulation.programs import OPERATIONS


@given(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=8))
def test_gains_of_any_program_are_possible(names: list[str]) -> None:
    body: list[Operation] = [it for name in names for it in OPERATIONS[name]]
    assert unmet_claims(steps(3, *body)) == []
