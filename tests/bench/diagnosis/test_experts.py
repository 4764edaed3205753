"""The experts of DLProf that no recording of ours had speak where their cause is put in."""

from __future__ import annotations

import pytest

from bench.diagnosis.cases import make_case
from bench.diagnosis.causes import causes
from bench.diagnosis.judging import judge

EXPERTS = {
    "odd sizes": "tensor_core_candidates",
    "float32 products": "tensor_cores_unused",
    "no cuDNN benchmark": "cudnn_benchmark",
    "uneven devices": "gpu_imbalance",
    "small batch, free memory": "spare_memory",
    "device only": "operators_missing",
}


@pytest.mark.parametrize(("name", "code"), EXPERTS.items())
@pytest.mark.parametrize("seed", ["72/1", "74/0"])
def test_the_expert_speaks_and_nothing_wrong_is_said(name: str, code: str, seed: str) -> None:
    verdict = judge(make_case(seed, causes()[name]))
    assert code in {claim.code for claim in verdict.claims}
    assert (verdict.is_expected, verdict.is_found, verdict.is_first) == (True, True, True)
    assert verdict.wrong == ()


def test_a_remark_that_must_speak_and_does_not_is_missed() -> None:
    case = make_case("74/0", causes()["small batch, free memory"])
    [rank] = case.recording
    rank.moments = [moment for moment in rank.moments if moment.span.name != "[memory]"]
    verdict = judge(case)
    assert (verdict.is_first, verdict.is_found) == (True, False)
